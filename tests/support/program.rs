//! The program itself.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn run(directory: &Path, args: &[&str]) -> Output {
    transom(directory).args(args).output().unwrap()
}

/// The program, with nothing of our own environment that would change it.
pub(crate) fn transom(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_transom"));
    command.current_dir(directory);
    for (name, _) in std::env::vars() {
        if name.starts_with("TRANSOM_") || name == "GITHUB_ACTIONS" {
            command.env_remove(name);
        }
    }
    command
}
