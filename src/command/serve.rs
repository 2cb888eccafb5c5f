//! `transom serve`: from flags to a running server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::ServeArgs;
use crate::metrics::Metrics;
use crate::server::tls::reload::PairFiles;
use crate::server::{Limits, Options, Server, TlsSource, signals, watch};
use crate::webhook::WebhookState;

/// Serves until a signal comes.
pub(super) fn run(args: ServeArgs) -> Result<()> {
    let ServeArgs {
        bind,
        admin_bind,
        config,
        tls_cert_file,
        tls_private_key_file,
        tls_client_ca_file,
        log_format,
        log_level,
        drain_seconds,
        max_body_bytes,
        max_inflight_bytes,
        max_connections,
    } = args;
    crate::logging::init(log_format, log_level);
    let options = Options {
        bind,
        admin_bind,
        tls: match (tls_cert_file, tls_private_key_file) {
            (Some(cert), Some(key)) => TlsSource::Files(PairFiles { cert, key }),
            _ => TlsSource::ThrowAway {
                ca_file: PathBuf::from("certs/ca.crt"),
            },
        },
        client_ca: tls_client_ca_file,
        poll: watch::POLL,
        drain: Duration::from_secs(drain_seconds),
        limits: Limits {
            body_bytes: max_body_bytes,
            inflight_bytes: max_inflight_bytes,
            connections: max_connections,
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
