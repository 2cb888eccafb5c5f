//! `transom serve`: from flags to a running server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::ServeArgs;
use crate::metrics::Metrics;
use crate::server::{Limits, Options, Server, TlsSource, signals};
use crate::webhook::WebhookState;

/// Serves until a signal comes.
pub(super) fn run(args: ServeArgs) -> Result<()> {
    let ServeArgs {
        bind,
        admin_bind,
        config,
        profile,
        tls_cert_file,
        tls_private_key_file,
        log_format,
        log_level,
        drain_seconds,
        max_body_bytes,
    } = args;
    crate::logging::init(log_format, log_level);
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
    let webhook = WebhookState::load(config.as_deref(), profile.name, Arc::clone(&metrics))?;
    let webhook = Arc::new(webhook);
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
