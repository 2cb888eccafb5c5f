//! The program: crypto provider, arguments, logging, runtime, dispatch, exit code.
//!
//! No decision is made here; everything is in the library.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use transom::cli::{Cli, Command, ServeArgs};
use transom::metrics::Metrics;
use transom::server::{Limits, Options, Server, TlsSource, signals};
use transom::webhook::WebhookState;

fn main() -> ExitCode {
    let done = install_crypto_provider().and_then(|()| {
        let Cli { command } = Cli::parse();
        match command {
            Command::Serve(args) => serve(args),
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "transom: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// First of all: rustls takes no default by itself when a dependency brings a second provider.
fn install_crypto_provider() -> Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow!("a crypto provider is installed already; this is a bug"))
}

fn serve(args: ServeArgs) -> Result<()> {
    let ServeArgs {
        bind,
        admin_bind,
        config,
        tls_cert_file,
        tls_private_key_file,
        log_format,
        log_level,
        drain_seconds,
        max_body_bytes,
    } = args;
    transom::logging::init(log_format, log_level);
    let options = Options {
        bind,
        admin_bind,
        tls: match (tls_cert_file, tls_private_key_file) {
            (Some(cert), Some(key)) => TlsSource::files(cert, key),
            _ => TlsSource::ThrowAway {
                ca_file: PathBuf::from("certs/ca.crt"),
            },
        },
        drain: Duration::from_secs(drain_seconds),
        limits: Limits {
            body_bytes: max_body_bytes,
            ..Limits::default()
        },
    };
    let metrics = Arc::new(Metrics::new());
    let webhook = Arc::new(WebhookState::load(config.as_deref(), Arc::clone(&metrics))?);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads")?;
    let done = runtime.block_on(async {
        let signals = signals::listen().context("cannot listen for signals")?;
        let server = Server::bind(options, webhook, metrics).await?;
        server.run(signals).await
    });
    // A drained server has nothing left to wait for, and an aborted one must not wait.
    runtime.shutdown_background();
    done
}
