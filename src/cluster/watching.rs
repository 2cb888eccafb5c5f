//! A watch that never ends: its news, and what it tells of itself in `/readyz`, metrics and log.
//!
//! What was known stays in force while a watch is broken. Not here: what is made of the news (`namespaces`,
//! `runtime_classes`, `nodes`).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, anyhow};
use futures_util::StreamExt;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::trouble::trouble;
use crate::metrics::Metrics;
use crate::server::{Condition, Health};

/// A watch that has failed and then is silent for so long is up again: the longest pause between two
/// attempts is a minute.
const RECOVERED: Duration = Duration::from_secs(90);

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of the resources
pub enum Kind {
    Namespaces,
    RuntimeClasses,
    Nodes,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::RuntimeClasses, Self::Nodes];

    /// Its name in `/readyz` and metrics: that of the resource in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::RuntimeClasses => "runtimeclasses",
            Self::Nodes => "nodes",
        }
    }
}

/// What has changed.
pub(super) enum News<F> {
    /// All there are, by name: what is not among them is gone.
    All(HashMap<String, F>),
    /// A new one, or what one has become. Mostly nothing of it has changed that is kept.
    One(String, F),
    Gone(String),
}

/// A watch on all objects of a kind.
pub(super) struct Watch {
    kind: Kind,
    metrics: Arc<Metrics>,
    synced: watch::Sender<bool>,
}

impl Watch {
    /// One that has not begun.
    pub(super) fn new(kind: Kind, metrics: Arc<Metrics>) -> Self {
        Self {
            kind,
            metrics,
            synced: watch::Sender::new(false),
        }
    }

    /// Whether all objects have been read once, now and later.
    pub(super) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Watches forever: `read` says what is kept of an object, and `take` keeps it.
    pub(super) async fn run<K, F>(
        &self,
        api: Api<K>,
        health: &Health,
        read: impl Fn(&K) -> F,
        take: impl Fn(News<F>),
    ) where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let name = self.kind.name();
        let unread = format!("the {name} have not been read yet");
        health.set(name, Condition::Degraded(unread));
        let events = watcher(api, watcher::Config::default());
        let mut events = events.default_backoff().boxed();
        let (mut fresh, mut broken, mut current) = (HashMap::new(), false, false);
        loop {
            let event = match broken {
                true => tokio::time::timeout(RECOVERED, events.next()).await.ok(),
                false => Some(events.next().await),
            };
            match event {
                // The stream of a watcher has no end.
                Some(None) => return,
                Some(Some(Err(error))) => {
                    let error = failure(error, name);
                    self.metrics.cluster_error(name);
                    self.metrics.facts_are_current(self.kind, false);
                    if !broken {
                        tracing::warn!("{error:#}: what is known of them stays in force");
                    }
                    (broken, current) = (true, false);
                    health.set(name, Condition::Degraded(format!("{error:#}")));
                    continue;
                }
                Some(Some(Ok(event))) => {
                    if let Some(news) = news(event, &read, &mut fresh) {
                        if let News::All(all) = &news {
                            tracing::info!(count = all.len(), "the {name} are known");
                            take(news);
                            self.synced.send_replace(true);
                        } else {
                            take(news);
                        }
                    }
                }
                None => {}
            }
            if *self.synced.borrow() && !current {
                if broken {
                    tracing::info!("the watch on {name} is back");
                }
                (broken, current) = (false, true);
                self.metrics.facts_are_current(self.kind, true);
                health.set(name, Condition::Good);
            }
        }
    }
}

fn failure(error: watcher::Error, name: &str) -> Error {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => {
            trouble(error, "watch", "the", name)
        }
        WatchError(status) => anyhow!("cannot watch the {name}: {}", status.message),
        error => Error::new(error).context(format!("cannot watch the {name}")),
    }
}

/// A new list replaces the old one when it is complete.
fn news<K: Resource, F>(
    event: Event<K>,
    read: impl Fn(&K) -> F,
    fresh: &mut HashMap<String, F>,
) -> Option<News<F>> {
    match event {
        Event::Init => fresh.clear(),
        Event::InitApply(object) => {
            fresh.insert(object.name_any(), read(&object));
        }
        Event::InitDone => return Some(News::All(std::mem::take(fresh))),
        Event::Apply(object) => return Some(News::One(object.name_any(), read(&object))),
        Event::Delete(object) => return Some(News::Gone(object.name_any())),
    }
    None
}
