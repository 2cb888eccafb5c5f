//! What each command does, a file for each: flags in, library calls, exit code out.
//!
//! Not here: the flags themselves (`cli`), and anything that two commands share.

mod config;
mod schema;
mod serve;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{Cli, Command};

/// Does what the command line asks for.
///
/// # Errors
/// The job could not be done; the error says why and what would help.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Serve(args) => serve::run(*args).map(|()| ExitCode::SUCCESS),
        Command::Config(command) => config::run(command),
        Command::Schema => schema::run().map(|()| ExitCode::SUCCESS),
    }
}

/// What was asked for, to stdout. Who closes it, as `head` does, has seen enough.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to stdout"),
    }
}

/// What is wrong, to stderr, where nobody has to listen.
fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
