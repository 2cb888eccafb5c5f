//! `transom schema`.

use anyhow::Result;

/// Prints the JSON Schema of the configuration.
pub(super) fn run() -> Result<()> {
    super::print(&format!("{:#}\n", crate::config::schema()))
}
