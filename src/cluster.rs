//! The Kubernetes API as `serve` needs it: certificates of our own, and what the labels of namespaces say.
//!
//! ```text
//! certs        one CA for all replicas, a leaf for each: asks rotation, does what it says
//!   rotation   when there has to be another CA, as a pure function of the Secret and the time
//!   secret     what is in the Secret
//!   bundle     whom the API server trusts: caBundle of the webhook configurations
//! trouble      what goes wrong, in words
//! ```
//!
//! Nothing here is needed to decide a review: without a cluster there are no facts, and all else works.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::{Client, Config};

use crate::metrics::Metrics;
use crate::server::Server;
use certs::{Keeper, Progress, Settings};

pub mod bundle;
pub mod certs;
pub mod rotation;
pub mod secret;
pub mod trouble;

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

/// Gives a server the certificate that it waits for, and keeps it up to date.
///
/// # Errors
/// There is no API server to ask.
pub async fn join(server: Server, settings: Settings, metrics: &Arc<Metrics>) -> Result<Server> {
    let client = client().await?;
    let keeper = Keeper::new(
        settings,
        client,
        server.tls(),
        Arc::clone(metrics),
        server.health(),
    );
    let mut progress = keeper.progress();
    let prepared = async move {
        // It fails when the keeper is gone, and the server with it.
        let _ = progress.wait_for(|at| *at >= Progress::Leaf).await;
        let trusted = progress.wait_for(|at| *at >= Progress::Trusted);
        let _ = tokio::time::timeout(GRACE, trusted).await;
    };
    Ok(server.with(keeper.run()).after(prepared))
}

/// How long to wait after so many failures in a row.
fn backoff(failures: u32) -> Duration {
    let seconds = 1u64 << failures.saturating_sub(1).min(5);
    Duration::from_secs(seconds.min(30))
}
