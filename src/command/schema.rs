//! `transom schema`.

use anyhow::Result;

use crate::{config, terminal};

/// Prints the JSON Schema of the configuration.
pub(super) fn run() -> Result<()> {
    terminal::print(&format!("{:#}\n", config::schema()))
}
