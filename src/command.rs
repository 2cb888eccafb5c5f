//! What each command does, a file for each: flags in, library calls, exit code out.
//!
//! Not here: the flags themselves (`cli`). What `check` and `scan` share is in `report`.

mod check;
mod completions;
mod config;
mod doctor;
mod explain;
mod init;
mod man;
mod probe;
mod report;
mod rules;
mod scan;
mod schema;
mod serve;

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use crate::check::output::shown_lines;
use crate::cli::{Cli, Command};

/// Does what the command line asks for.
///
/// # Errors
/// The job could not be done; the error says why and what would help.
pub fn run(cli: Cli) -> Result<ExitCode> {
    /// Bytes of an error that are printed.
    const LONGEST: usize = 16 << 10;
    // It may quote a file or an answer.
    dispatch(cli).map_err(|error| {
        let mut text = format!("{error:#}");
        if text.len() > LONGEST {
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push('…');
        }
        anyhow!(shown_lines(&text))
    })
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let done = match cli.command {
        Command::Check(args) => return check::run(*args),
        Command::Completions { shell } => completions::run(shell),
        Command::Config(command) => return config::run(command),
        Command::Doctor(args) => return doctor::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Init => init::run(),
        Command::Man(args) => man::run(args),
        Command::Probe(args) => return probe::run(args),
        Command::Rules(args) => rules::run(args),
        Command::Scan(args) => return scan::run(*args),
        Command::Schema => schema::run(),
        Command::Serve(args) => serve::run(*args),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Waits for a job that asks others, on this thread.
fn block_on<T>(job: impl Future<Output = Result<T>>) -> Result<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(job)
}
