//! What commands print: stdout, as far as it may be a terminal, with its width, its colours and a
//! reader that has gone; and stderr.

use std::io::{self, ErrorKind, Write};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use clap::builder::StyledStr;
use terminal_size::terminal_size_of;

use crate::check::output::shown_lines;

/// Prints to stdout. Colours stay only where they are wanted: not in a pipe, not with NO_COLOR.
///
/// # Errors
/// It cannot be written to. A reader that wanted no more, such as `head`, is none.
pub(crate) fn print(text: &str) -> Result<()> {
    write(anstream::stdout().lock(), text.as_bytes())
}

/// Prints to stdout as it is: a file, or what a program is to read.
///
/// # Errors
/// As of [`print`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    write(io::stdout().lock(), bytes)
}

fn write(mut stdout: impl Write, bytes: &[u8]) -> Result<()> {
    let done = stdout.write_all(bytes).and_then(|()| stdout.flush());
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to stdout"),
    }
}

/// Whether colours are wanted on stdout.
pub(crate) fn is_styled() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// What is wrong, to stderr, where nobody has to listen. Nothing in it is obeyed by a terminal.
pub(crate) fn tell(text: &str) {
    let text = shown_lines(text);
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The same, with colours where they are wanted.
pub(crate) fn tell_styled(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// The help of a command, to stderr.
pub(crate) fn tell_help(help: &StyledStr) {
    tell_styled(&help.ansi().to_string());
}

/// How many columns the terminal has that stdout is; nothing, if it is none.
pub(crate) fn width() -> Option<usize> {
    let (width, _) = terminal_size_of(io::stdout())?;
    Some(width.0.into())
}
