//! The keeper of the certificate: one CA for all replicas, in a Secret, and a leaf of this replica's own.
//!
//! It looks at the Secret and the webhook configurations when they change and every now and then, asks
//! `rotation` what is to be done, and does that. Each look starts from what the API server says then, so that
//! it does not matter which event was missed. What it holds in memory is for the time when the API server or
//! the Secret is not there: with it, it serves on, and a Secret that comes back empty is filled again.
//!
//! The webhook configurations are read before the Secret and written with the resourceVersion that was
//! read. So a replica whose CA is not the newest cannot take the newest out of them: it has either read
//! them too early, and the API server refuses to write, or it has read the Secret late enough.
//!
//! Not here: TLS (`server::tls`), certificates (`authority`). Started by `cluster::start`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use tokio::sync::watch;

use super::bundle::{self, FIELD_MANAGER, Kind};
use super::rotation::{self, Contents, Known, Leaf, Lifetimes};
use super::trouble::{code, trouble};
use super::{backoff, changes, secret};
use crate::authority::{self, Authority};
use crate::metrics::Metrics;
use crate::server::tls::Tls;
use crate::server::{Condition, Health};

/// How the CA is called, for people who look at certificates.
const CA_NAME: &str = "Transom CA";

/// How often to start over when somebody else has written in between.
const ATTEMPTS: usize = 5;

/// A look that takes longer has lost its API server.
const PATIENCE: Duration = Duration::from_secs(30);

/// One change seldom comes alone.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// What the certificate is for, and where its CA is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the Secret.
    pub secret: String,
    /// The namespace of the Secret and of the Service.
    pub namespace: String,
    /// The Service by which API servers call.
    pub service: String,
    /// The name of both webhook configurations.
    pub configuration: String,
    /// How long CA and leaf live.
    pub lifetimes: Lifetimes,
}

/// How far the keeper has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// There is nothing to serve with.
    #[default]
    Nothing,
    /// A leaf is shown.
    Leaf,
    /// The webhook configurations, if there are any, trust it.
    Trusted,
}

/// See the head of this file.
pub struct Keeper {
    settings: Settings,
    client: Client,
    tls: Arc<Tls>,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    progress: watch::Sender<Progress>,
    /// What the Secret held last, or was given.
    memory: Option<Contents>,
    /// How the Secret looked besides, for the day when it has to be made again.
    frame: Secret,
    leaf: Option<Leaf>,
    /// The bundle that every webhook configuration has been seen with, and since when.
    trusted: Option<(String, i64)>,
    /// What is wrong without keeping us from serving; told when it changes.
    flaw: Option<String>,
}

/// A webhook configuration as it was read; `None` if there is none.
type Configurations = [(Kind, Option<DynamicObject>); 2];

impl Keeper {
    /// One that has not looked yet.
    pub fn new(
        settings: Settings,
        client: Client,
        tls: Arc<Tls>,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
    ) -> Self {
        let frame = Secret {
            metadata: ObjectMeta {
                name: Some(settings.secret.clone()),
                namespace: Some(settings.namespace.clone()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        Self {
            settings,
            client,
            tls,
            metrics,
            health,
            progress: watch::Sender::default(),
            memory: None,
            frame,
            leaf: None,
            trusted: None,
            flaw: None,
        }
    }

    /// How far it has come, now and later.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Looks forever.
    pub async fn run(mut self) {
        let Settings {
            secret,
            namespace,
            configuration,
            ..
        } = &self.settings;
        let mut changes = changes::of(&self.client, namespace, secret, configuration);
        let mut failures = 0;
        loop {
            let look = tokio::time::timeout(PATIENCE, self.look(authority::now())).await;
            let done = look.unwrap_or_else(|_| {
                let seconds = PATIENCE.as_secs();
                // The leaf must not wait for an API server.
                let leaf = self.keep_leaf(authority::now());
                leaf.and(Err(anyhow!("the API server takes longer than {seconds} s")))
            });
            failures = if done.is_ok() { 0 } else { failures + 1 };
            self.tell(done);
            let pause = match failures {
                0 => Duration::from_secs(self.settings.lifetimes.poll()),
                _ => backoff(failures),
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = changes.next() => tokio::time::sleep(DEBOUNCE).await,
            }
        }
    }

    /// One look at everything. What can be done is done, whatever else fails.
    async fn look(&mut self, now: i64) -> Result<Option<String>> {
        let configurations = self.configurations().await;
        let secret = self.keep_secret(now).await;
        let bundle = match (&secret, configurations) {
            (Ok(_), Ok(read)) => self.keep_bundle(read, now).await,
            (_, Err(error)) => Err(error),
            (Err(_), _) => Ok(None),
        };
        if bundle.is_err() {
            self.trusted = None;
        }
        let leaf = self.keep_leaf(now);
        if self.trusted.is_some() && self.leaf.is_some() {
            self.progress.send_replace(Progress::Trusted);
        }
        leaf?;
        let (lost, missing) = (secret?, bundle?);
        Ok(lost.or(missing))
    }

    async fn configurations(&mut self) -> Result<Configurations> {
        let name = &self.settings.configuration;
        let mut read = Kind::ALL.map(|kind| (kind, None));
        for (kind, object) in &mut read {
            let found = kind.api(self.client.clone()).get_opt(name).await;
            *object = found.map_err(|error| trouble(error, "read", kind.name(), name))?;
            if let (Some(object), Some((bundle, _))) = (&object, &self.trusted)
                && !bundle::is_in(bundle, object)
            {
                self.trusted = None;
            }
        }
        Ok(read)
    }

    /// Brings the Secret and the memory to where they should be. What comes back is what is wrong all the same.
    async fn keep_secret(&mut self, now: i64) -> Result<Option<String>> {
        let lifetimes = self.settings.lifetimes;
        let name = self.settings.secret.clone();
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &self.settings.namespace);
        for _ in 0..ATTEMPTS {
            let found = secrets.get_opt(&name).await;
            let found = found.map_err(|error| trouble(error, "read", "Secret", &name))?;
            let reading = found.as_ref().map(secret::read).unwrap_or_default();
            let bundle = reading.contents.as_ref().map(Contents::bundle);
            let step = rotation::step(
                Known {
                    found: reading.contents.as_ref(),
                    flawed: reading.flaw.is_some(),
                    memory: self.memory.as_ref(),
                    settled: bundle.is_some_and(|bundle| self.has_settled(&bundle, now)),
                    now,
                },
                lifetimes,
                || Authority::new(CA_NAME, now, lifetimes.ca),
            )?;
            if let Some(found) = &found {
                keep_frame(&mut self.frame, found);
            }
            let Some((contents, cause)) = step else {
                self.memory = reading.contents;
                self.metrics.ca_is_in_secret(true);
                return Ok(None);
            };
            let gone = found.is_none();
            let mut wanted = found.unwrap_or_else(|| self.frame.clone());
            secret::write(&contents, &mut wanted);
            let written = match gone {
                true => {
                    // An apply names what it makes, so that RBAC can say which Secret that may be.
                    let by = PatchParams::apply(FIELD_MANAGER);
                    secrets.patch(&name, &by, &Patch::Apply(&wanted)).await
                }
                false => {
                    let by = PostParams {
                        field_manager: Some(FIELD_MANAGER.to_owned()),
                        ..PostParams::default()
                    };
                    secrets.replace(&name, &by, &wanted).await
                }
            };
            match written {
                Ok(_) => {
                    let expiry = authority::date(contents.ca.certificate().not_after());
                    let (did, flaw) = (cause.name(), reading.flaw.as_deref());
                    tracing::info!(secret = name, %expiry, flaw, gone, "the CA is {did}");
                    self.metrics.ca_written(cause);
                    self.memory = Some(contents);
                }
                // Somebody was faster, or has taken it away.
                Err(error) if matches!(code(&error), Some(404 | 409)) => {}
                Err(error) => {
                    self.metrics.ca_is_in_secret(false);
                    let verb = if gone { "create" } else { "update" };
                    let error = trouble(error, verb, "Secret", &name);
                    if self.memory.is_some() {
                        self.metrics.cluster_error("certificate");
                        return Ok(Some(format!("the CA is in memory only: {error:#}")));
                    }
                    return Err(error);
                }
            }
        }
        bail!("the Secret {name} is written by somebody else again and again")
    }

    /// Has the API servers trust what is in memory. What comes back is what they wait for.
    async fn keep_bundle(&mut self, read: Configurations, now: i64) -> Result<Option<String>> {
        let Some(contents) = &self.memory else {
            return Ok(None);
        };
        let bundle = contents.bundle();
        let name = &self.settings.configuration;
        let mut trusted = true;
        // One is enough: the chart may be told to install only that.
        let missing = read
            .iter()
            .all(|(_, object)| object.is_none())
            .then(|| format!("there is no webhook configuration {name} yet"));
        for (kind, object) in read {
            let Some(object) = object else {
                continue;
            };
            if bundle::is_in(&bundle, &object) {
                continue;
            }
            match bundle::put(kind, self.client.clone(), &object, &bundle).await {
                Ok(()) => {
                    tracing::info!(configuration = name, kind = kind.name(), "caBundle written");
                    self.metrics.ca_bundle_written(kind);
                }
                // It has changed since: the next look is on its way.
                Err(error) if matches!(code(&error), Some(404 | 409)) => trusted = false,
                Err(error) => return Err(trouble(error, "patch", kind.name(), name)),
            }
        }
        let since = match &self.trusted {
            Some((had, since)) if *had == bundle => *since,
            _ => now,
        };
        self.trusted = trusted.then_some((bundle, since));
        Ok(missing)
    }

    /// Shows another leaf if it is time.
    fn keep_leaf(&mut self, now: i64) -> Result<()> {
        let Some(contents) = &self.memory else {
            return Ok(());
        };
        let (ca, lifetimes) = (contents.ca.certificate(), self.settings.lifetimes);
        let settled = self.has_settled(&contents.bundle(), now);
        if !rotation::leaf_is_due(self.leaf.as_ref(), ca, settled, now, lifetimes) {
            return Ok(());
        }
        let identity = contents.ca.leaf(&self.names(), now, lifetimes.leaf);
        let identity = identity.context("no certificate can be made")?;
        let (not_before, not_after) = (identity.not_before(), identity.not_after());
        let issuer = ca.clone();
        self.tls.show(identity);
        self.metrics.certificate_expiry(not_after);
        self.metrics.ca_expiry(issuer.not_after());
        let expiry = authority::date(not_after);
        tracing::info!(%expiry, "a new certificate is shown");
        self.leaf = Some(Leaf {
            issuer,
            not_before,
            not_after,
        });
        self.progress
            .send_modify(|progress| *progress = Progress::Leaf.max(*progress));
        Ok(())
    }

    /// Whether the API servers have had this bundle for long enough.
    fn has_settled(&self, bundle: &str, now: i64) -> bool {
        let settling = self.settings.lifetimes.settling();
        let trusted = self.trusted.as_ref();
        // More than: both times have lost their fractions.
        trusted.is_some_and(|(had, since)| had == bundle && now - since > settling)
    }

    /// What a client may call the Service.
    fn names(&self) -> [String; 4] {
        let Settings {
            service, namespace, ..
        } = &self.settings;
        [
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            format!("{service}.{namespace}"),
            service.clone(),
        ]
    }

    /// Tells log and readiness how it stands; the log only when that is new.
    fn tell(&mut self, done: Result<Option<String>, Error>) {
        if done.is_err() {
            self.metrics.cluster_error("certificate");
        }
        let flaw = done.unwrap_or_else(|error| Some(format!("{error:#}")));
        let serving = self.leaf.is_some();
        let condition = match (&flaw, serving) {
            (None, true) => Condition::Good,
            (Some(flaw), true) => Condition::Degraded(flaw.clone()),
            (Some(flaw), false) => Condition::Failing(format!("no certificate yet: {flaw}")),
            (None, false) => Condition::Failing("no certificate yet".to_owned()),
        };
        self.health.set("certificate", condition);
        if flaw == self.flaw {
            return;
        }
        match (&flaw, serving) {
            (None, _) => tracing::info!("CA, Secret and webhook configurations are in order"),
            (Some(flaw), true) => {
                tracing::warn!("serving on with the certificate there is: {flaw}")
            }
            (Some(flaw), false) => {
                tracing::warn!("nothing to serve with yet, trying again: {flaw}")
            }
        }
        self.flaw = flaw;
    }
}

/// Remembers by what Helm knows its own, for a Secret that has to be made again. Nothing that another version of the chart
/// changes: what we apply is ours, and Helm would find it taken.
fn keep_frame(frame: &mut Secret, found: &Secret) {
    let kept = |map: &Option<BTreeMap<String, String>>, keep: fn(&str) -> bool| {
        let mut map = map.clone();
        map.iter_mut()
            .for_each(|map| map.retain(|key, _| keep(key)));
        map
    };
    frame.metadata.labels = kept(&found.metadata.labels, |key| {
        key.starts_with("app.kubernetes.io/") && key != "app.kubernetes.io/version"
    });
    frame.metadata.annotations = kept(&found.metadata.annotations, |key| {
        key.starts_with("meta.helm.sh/")
    });
}
