//! What the labels of namespaces say, watched: the mode of a namespace changes as fast as its label.
//!
//! Only metadata is asked for, and of that only what `facts` makes of the labels is kept: some bytes for each
//! namespace. A change is one entry that is replaced, however many namespaces there are. A namespace that is
//! not there, because it is newer than the last news of it, is asked for by name.
//!
//! Not here: what follows from a label (`admit`). Used by `webhook`, started by `cluster::join`.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Error;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use tokio::sync::watch;

use super::trouble::trouble;
use crate::facts::NamespaceFacts;
use crate::metrics::{Lookup, Metrics};
use crate::server::{Condition, Health};

/// How long a review waits for the namespace it is in. The API server waits five seconds for us.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watch that has failed and then is silent for so long is up again: the longest pause between two
/// attempts is a minute.
const RECOVERED: Duration = Duration::from_secs(90);

/// All namespaces, by name.
pub struct Namespaces {
    api: Api<PartialObjectMeta<Namespace>>,
    known: RwLock<HashMap<String, NamespaceFacts>>,
    metrics: Arc<Metrics>,
    synced: watch::Sender<bool>,
}

impl Namespaces {
    /// None yet.
    #[must_use]
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        Self {
            api: Api::all(client),
            known: RwLock::default(),
            metrics,
            synced: watch::Sender::new(false),
        }
    }

    /// What is known of a namespace, if it is known.
    pub fn find(&self, name: &str) -> Option<NamespaceFacts> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied()
    }

    /// Asks the API server for a namespace. One that does not exist has no labels; `None` if there is no
    /// answer in time.
    pub async fn ask(&self, name: &str) -> Option<NamespaceFacts> {
        let asked = tokio::time::timeout(PATIENCE, self.api.get_opt(name)).await;
        let (result, facts) = match asked {
            Ok(Ok(Some(namespace))) => {
                let facts = facts(&namespace);
                // The watch may have had newer news by now.
                self.write(|known| *known.entry(name.to_owned()).or_insert(facts));
                (Lookup::Found, Some(facts))
            }
            Ok(Ok(None)) => (Lookup::Missing, Some(NamespaceFacts::default())),
            Ok(Err(error)) => {
                let error = trouble(error, "read", "Namespace", name);
                tracing::warn!("{error:#}: its reviews are answered in mode warn at most");
                (Lookup::Failed, None)
            }
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                tracing::warn!(
                    namespace = name,
                    "no news of a namespace within {seconds} s: its reviews are answered in mode warn at most"
                );
                (Lookup::Failed, None)
            }
        };
        self.metrics.namespace_lookup(result);
        facts
    }

    /// Whether all namespaces have been read once, now and later.
    #[must_use]
    pub fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Watches forever. What was known stays in force while the watch is broken.
    pub async fn watch(self: Arc<Self>, health: Arc<Health>) {
        let unread = Condition::Degraded("the namespaces have not been read yet".to_owned());
        health.set("namespaces", unread);
        let events = watcher(self.api.clone(), watcher::Config::default());
        let mut events = events.default_backoff().boxed();
        let (mut fresh, mut broken) = (HashMap::new(), false);
        loop {
            let event = match broken {
                true => tokio::time::timeout(RECOVERED, events.next()).await.ok(),
                false => Some(events.next().await),
            };
            match event {
                // The stream of a watcher has no end.
                Some(None) => return,
                Some(Some(Err(error))) => {
                    let error = Error::new(error).context("the watch on namespaces has failed");
                    self.metrics.cluster_error("namespaces");
                    self.metrics.namespaces_are_current(false);
                    if !broken {
                        tracing::warn!("{error:#}: what is known of them stays in force");
                    }
                    broken = true;
                    health.set("namespaces", Condition::Degraded(format!("{error:#}")));
                    continue;
                }
                Some(Some(Ok(event))) => self.take(event, &mut fresh),
                None => {}
            }
            if *self.synced.borrow() {
                if broken {
                    tracing::info!("the watch on namespaces is back");
                }
                broken = false;
                self.metrics.namespaces_are_current(true);
                health.set("namespaces", Condition::Good);
            }
        }
    }

    /// One piece of news. A new list replaces the old one when it is complete.
    fn take(
        &self,
        event: Event<PartialObjectMeta<Namespace>>,
        fresh: &mut HashMap<String, NamespaceFacts>,
    ) {
        match event {
            Event::Init => fresh.clear(),
            Event::InitApply(namespace) => {
                fresh.insert(namespace.name_any(), facts(&namespace));
            }
            Event::InitDone => {
                let complete = std::mem::take(fresh);
                tracing::info!(namespaces = complete.len(), "the namespaces are known");
                self.write(|known| *known = complete);
                self.synced.send_replace(true);
            }
            Event::Apply(namespace) => {
                let facts = facts(&namespace);
                self.write(|known| known.insert(namespace.name_any(), facts));
            }
            Event::Delete(namespace) => {
                self.write(|known| known.remove(&namespace.name_any()));
            }
        }
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashMap<String, NamespaceFacts>) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}

fn facts(namespace: &PartialObjectMeta<Namespace>) -> NamespaceFacts {
    let labels = namespace.labels().iter();
    NamespaceFacts::from_labels(labels.map(|(key, value)| (key.as_str(), value.as_str())))
}
