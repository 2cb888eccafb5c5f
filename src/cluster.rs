//! The Kubernetes API as `serve` needs it: certificates of our own, facts for reviews, and events.
//!
//! ```text
//! certs        one CA for all replicas, a leaf for each: asks rotation, does what it says
//!   rotation   when there has to be another CA, as a pure function of the Secret and the time
//!   secret     what is in the Secret
//!   bundle     whom the API server trusts: caBundle of the webhook configurations
//!   changes    when to look again
//! namespaces   what their labels say, watched
//! runtime_classes, nodes   the other facts, watched
//! watching     what those three watches have in common
//! events       what owners are told of the objects that are made for them
//!   series     how often they are told
//! list         all objects of a kind, page by page; one by its name
//! trouble      what goes wrong, in words
//! ```
//!
//! Nothing here is needed to decide a review: without a cluster there are no facts, and all else works.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::{BoxFuture, join_all};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::watch;

use crate::metrics::Metrics;
use crate::server::Server;
use crate::webhook::WebhookState;
use certs::{Keeper, Progress, Settings};
use events::Teller;
use namespaces::Namespaces;
use watching::{Kind, Watch};

pub mod bundle;
pub mod certs;
mod changes;
pub mod events;
pub mod list;
pub mod namespaces;
mod nodes;
pub mod rotation;
mod runtime_classes;
pub mod secret;
pub mod trouble;
pub mod watching;

/// How long a server that has a certificate waits for all else before it says that it is ready.
pub const GRACE: Duration = Duration::from_secs(10);

/// A client as `kubectl` would make it: of KUBECONFIG or ~/.kube/config, or else of the pod's ServiceAccount.
/// Nothing is sent yet.
///
/// # Errors
/// There is neither, or what there is cannot be used.
pub async fn client() -> Result<Client> {
    let config = Config::infer().await.context(
        "no API server to ask: run in a pod with a ServiceAccount token, or set KUBECONFIG",
    )?;
    Client::try_from(config).context("the API server's address or certificates cannot be used")
}

/// A client as `kubectl --kubeconfig --context` would make it, and the namespace of that context.
///
/// # Errors
/// The file or the context is not there, or what they say cannot be used.
pub async fn client_of(
    kubeconfig: Option<&Path>,
    context: Option<String>,
) -> Result<(Client, String)> {
    if kubeconfig.is_none() && context.is_none() {
        let client = client().await?;
        let namespace = client.default_namespace().to_owned();
        return Ok((client, namespace));
    }
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let config = match kubeconfig {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)
                .with_context(|| format!("cannot use the kubeconfig {}", file.display()))?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await
        }
        None => Config::from_kubeconfig(&options).await,
    };
    let config = config.context("cannot use the kubeconfig")?;
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config)
        .context("the API server's address or certificates cannot be used")?;
    Ok((client, namespace))
}

/// What a server wants of its cluster.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// A certificate of a CA of our own; the server waits for it.
    pub certificate: Option<Settings>,
    /// That labels of namespaces are watched.
    pub namespaces: bool,
    /// That RuntimeClasses are watched.
    pub runtime_classes: bool,
    /// That nodes are watched.
    pub nodes: bool,
    /// That owners are told by events.
    pub events: bool,
}

impl Wishes {
    /// Whether anything is wanted.
    #[must_use]
    pub fn any(&self) -> bool {
        let Self {
            certificate,
            namespaces,
            runtime_classes,
            nodes,
            events,
        } = self;
        certificate.is_some() || *namespaces || *runtime_classes || *nodes || *events
    }
}

/// Gives a server what it wants, and keeps that up to date.
pub fn join(
    server: Server,
    wishes: Wishes,
    client: Client,
    webhook: &Arc<WebhookState>,
    metrics: &Arc<Metrics>,
) -> Server {
    let (tls, health) = (server.tls(), server.health());
    let mut server = server;
    let mut waits: Vec<BoxFuture<'static, ()>> = Vec::new();
    let mut leaf = None;
    if let Some(settings) = wishes.certificate {
        let health = Arc::clone(&health);
        let keeper = Keeper::new(settings, client.clone(), tls, Arc::clone(metrics), health);
        leaf = Some(keeper.progress());
        let mut progress = keeper.progress();
        waits.push(Box::pin(async move {
            // It fails when the keeper is gone, and the server with it.
            let _ = progress.wait_for(|at| *at >= Progress::Trusted).await;
        }));
        server = server.with(keeper.run());
    }
    if wishes.namespaces {
        let namespaces = Arc::new(Namespaces::new(client.clone(), Arc::clone(metrics)));
        webhook.look_up_namespaces(Arc::clone(&namespaces));
        waits.push(done(namespaces.synced()));
        server = server.with(namespaces.watch(Arc::clone(&health)));
    }
    if wishes.runtime_classes {
        let watch = Watch::new(Kind::RuntimeClasses, Arc::clone(metrics));
        waits.push(done(watch.synced()));
        let (webhook, health) = (Arc::clone(webhook), Arc::clone(&health));
        server = server.with(runtime_classes::keep(
            watch,
            client.clone(),
            webhook,
            health,
        ));
    }
    if wishes.events {
        let health = Arc::clone(&health);
        let (owners, teller) = Teller::new(client.clone(), Arc::clone(metrics), health);
        webhook.tell_owners(owners);
        server = server.with(teller.run());
    }
    if wishes.nodes {
        let watch = Watch::new(Kind::Nodes, Arc::clone(metrics));
        waits.push(done(watch.synced()));
        server = server.with(nodes::keep(watch, client, Arc::clone(webhook), health));
    }
    server.after(async move {
        if let Some(mut leaf) = leaf {
            let _ = leaf.wait_for(|at| *at >= Progress::Leaf).await;
        }
        // All else can come later.
        let _ = tokio::time::timeout(GRACE, join_all(waits)).await;
    })
}

/// When all objects of a kind have been read once.
fn done(mut synced: watch::Receiver<bool>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let _ = synced.wait_for(|synced| *synced).await;
    })
}

/// How long to wait after so many failures in a row.
fn backoff(failures: u32) -> Duration {
    let seconds = 1u64 << failures.saturating_sub(1).min(5);
    Duration::from_secs(seconds.min(30))
}
