//! What commands print: stdout, as far as it may be a terminal, with its width, its colours and a
//! reader that has gone; and stderr.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use clap::builder::StyledStr;
use terminal_size::terminal_size_of;

/// Prints to stdout. Colours stay only where they are wanted: not in a pipe, not with NO_COLOR.
///
/// # Errors
/// It cannot be written to. A reader that wanted no more, such as `head`, is none.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    let done = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to stdout"),
    }
}

/// What is wrong, to stderr, where nobody has to listen.
pub(crate) fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The help of a command, to stderr.
pub(crate) fn tell_help(help: &StyledStr) {
    let _ = write!(anstream::stderr(), "{}", help.ansi());
}

/// How many columns the terminal has that stdout is; nothing, if it is none.
pub(crate) fn width() -> Option<usize> {
    let (width, _) = terminal_size_of(io::stdout())?;
    Some(width.0.into())
}
