//! The program: crypto provider, arguments, dispatch, exit code.
//!
//! No decision is made here; everything is in the library.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use transom::cli::{self, Cli};
use transom::command;

fn main() -> ExitCode {
    let done = install_crypto_provider().and_then(|()| command::run(Cli::read()));
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{}: {error:#}", cli::program());
        ExitCode::from(2)
    })
}

/// First of all: rustls takes no default by itself when a dependency brings a second provider.
fn install_crypto_provider() -> Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow!("a crypto provider is installed already; this is a bug"))
}
