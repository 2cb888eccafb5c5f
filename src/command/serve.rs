//! `transom serve`: from flags to a running server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cli::{ClusterArgs, ServeArgs};
use crate::cluster::certs::Settings;
use crate::cluster::rotation::Lifetimes;
use crate::cluster::watching::Kind;
use crate::cluster::{self, Wishes};
use crate::metrics::Metrics;
use crate::server::tls::reload::PairFiles;
use crate::server::watch::{self, Look, Watched};
use crate::server::{Condition, Health, Limits, Options, Server, TlsSource, descriptors, signals};
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
        tls_client_ca_file,
        log_format,
        log_level,
        drain_seconds,
        max_body_bytes,
        max_inflight_bytes,
        max_connections,
        cluster,
    } = args;
    let _log = crate::logging::init(log_format, log_level);
    let wishes = Wishes {
        namespaces: cluster.watch_namespaces,
        runtime_classes: cluster.watch_runtime_classes,
        nodes: cluster.watch_nodes,
        events: cluster.events,
        certificate: certificate(cluster)?,
    };
    let options = Options {
        bind,
        admin_bind,
        tls: match (tls_cert_file, tls_private_key_file) {
            (Some(cert), Some(key)) => TlsSource::Files(PairFiles { cert, key }),
            _ if wishes.certificate.is_some() => TlsSource::Later,
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
            connections: descriptors::connections(max_connections),
            ..Limits::default()
        },
    };
    let metrics = Arc::new(Metrics::new());
    let name = config.as_ref().map(|path| path.display().to_string());
    let config = config.map(|path| Watched::read("configuration", [path]));
    let config = config.transpose().context("no configuration")?;
    let file = name.as_deref().zip(config.as_ref());
    let file = file.map(|(name, file)| (name, file.contents()[0].as_slice()));
    let webhook = WebhookState::configured(file, profile.name, Arc::clone(&metrics))?;
    let webhook = Arc::new(webhook);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads")?;
    let done = runtime.block_on(async {
        let signals = signals::listen().context("cannot listen for signals")?;
        let mut server = Server::bind(options, Arc::clone(&webhook), Arc::clone(&metrics)).await?;
        let health = (!wishes.nodes).then(|| server.health());
        if let Some(health) = &health {
            tell_of_unwatched_nodes(&webhook, health);
        }
        if wishes.any() {
            let client = cluster::client().await?;
            server = cluster::join(server, wishes, client, &webhook, &metrics);
        }
        if let Some(file) = config {
            server = server.with(keep_configuration(file, webhook, metrics, health));
        }
        server.run(signals).await
    });
    // A drained server has nothing left to wait for, and an aborted one must not wait.
    runtime.shutdown_background();
    done
}

/// What the flags say of a CA of our own, if there is to be one.
fn certificate(args: ClusterArgs) -> Result<Option<Settings>> {
    let ClusterArgs {
        ca_secret,
        namespace,
        service,
        webhook_configuration,
        ca_lifetime,
        leaf_lifetime,
        watch_namespaces: _,
        watch_runtime_classes: _,
        watch_nodes: _,
        events: _,
    } = args;
    let all = ca_secret.zip(namespace);
    let all = all.zip(service.zip(webhook_configuration));
    let Some(((secret, namespace), (service, configuration))) = all else {
        return Ok(None);
    };
    ensure!(
        ca_lifetime >= leaf_lifetime.saturating_mul(3),
        "--ca-lifetime must be at least three times --leaf-lifetime: a CA stays trusted for the last third of its \
         life, and by then the certificates that it has signed must have ended"
    );
    Ok(Some(Settings {
        secret,
        namespace,
        service,
        configuration,
        lifetimes: Lifetimes {
            ca: ca_lifetime,
            leaf: leaf_lifetime,
        },
    }))
}

/// Taints are to be learnt of nodes that nobody watches.
fn tell_of_unwatched_nodes(webhook: &WebhookState, health: &Health) {
    let part = Kind::Nodes.name();
    if !webhook.learns_taints() {
        return health.forget(part);
    }
    let flaw = "placement.learnTaints has nothing to learn from: nodes are not watched; give --watch-nodes";
    tracing::warn!("{flaw}");
    health.set(part, Condition::Degraded(flaw.to_owned()));
}

/// Puts the configuration file into force whenever it changes, forever. `health` is told if it wants nodes that
/// are not watched.
async fn keep_configuration(
    file: Watched<1>,
    webhook: Arc<WebhookState>,
    metrics: Arc<Metrics>,
    health: Option<Arc<Health>>,
) {
    let take = |[bytes]: &[Vec<u8>; 1]| {
        webhook.reload(bytes)?;
        if let Some(health) = &health {
            tell_of_unwatched_nodes(&webhook, health);
        }
        Ok(())
    };
    let count = |look: Look| {
        metrics.config_is_current(look != Look::Refused);
        if let Some(taken) = look.taken() {
            metrics.config_reload(taken);
        }
    };
    file.run(watch::POLL, take, count).await;
}
