//! `transom completions`: a script for a shell on stdout.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::terminal;

/// Prints the script, made from the definition of the command line.
pub(super) fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "transom", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}
