//! `transom man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Flags of `transom man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The command whose page is printed, such as check or config show; without it, that of transom
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Write the pages of all commands into this directory, a file for each
    #[arg(long, value_name = "DIR", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
