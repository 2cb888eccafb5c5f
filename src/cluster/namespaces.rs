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

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;

use super::trouble::trouble;
use super::watching::{Kind, News, Watch};
use crate::facts::NamespaceFacts;
use crate::metrics::{Lookup, Metrics};
use crate::server::Health;

/// How long a review waits at most for the namespace it is in.
const PATIENCE: Duration = Duration::from_secs(1);

/// All namespaces, by name.
pub struct Namespaces {
    api: Api<PartialObjectMeta<Namespace>>,
    known: RwLock<HashMap<String, NamespaceFacts>>,
    metrics: Arc<Metrics>,
    watch: Watch,
}

impl Namespaces {
    /// None yet.
    #[must_use]
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        Self {
            api: Api::all(client),
            known: RwLock::default(),
            watch: Watch::new(Kind::Namespaces, Arc::clone(&metrics)),
            metrics,
        }
    }

    /// What is known of a namespace, if it is known.
    pub fn find(&self, name: &str) -> Option<NamespaceFacts> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied()
    }

    /// Asks the API server for a namespace. One that does not exist has no labels; `None` if there is no
    /// answer within a second, or half of the time until the deadline: the review is still to be answered then.
    ///
    /// Anybody who reaches the port can write a name, which becomes a part of a path: what cannot be the name of a
    /// namespace is not asked for.
    pub async fn ask(&self, name: &str, deadline: Instant) -> Option<NamespaceFacts> {
        if !is_name(name) {
            self.metrics.namespace_lookup(Lookup::Missing);
            return Some(NamespaceFacts::default());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let patience = PATIENCE.min(left / 2);
        let asked = tokio::time::timeout(patience, self.api.get_opt(name)).await;
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
                let seconds = patience.as_secs_f32();
                tracing::warn!(
                    namespace = name,
                    "no news of a namespace within {seconds:.1} s: its reviews are answered in mode warn at most"
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
        self.watch.synced()
    }

    /// Watches forever. What was known stays in force while the watch is broken.
    pub async fn watch(self: Arc<Self>, health: Arc<Health>) {
        let take = |news| match news {
            News::All(all) => self.write(|known| *known = all),
            News::One(name, facts) => self.write(|known| {
                known.insert(name, facts);
            }),
            News::Gone(name) => self.write(|known| {
                known.remove(&name);
            }),
        };
        let watched = self.watch.run(self.api.clone(), &health, facts, take);
        watched.await;
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashMap<String, NamespaceFacts>) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a namespace can have this name: a label of RFC 1123.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|byte| is_plain(byte) || *byte == b'-')
        && bytes.first().is_some_and(is_plain)
        && bytes.last().is_some_and(is_plain)
}

fn facts(namespace: &PartialObjectMeta<Namespace>) -> NamespaceFacts {
    let labels = namespace.labels().iter();
    NamespaceFacts::from_labels(labels.map(|(key, value)| (key.as_str(), value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        for name in ["a", "7", "kube-system", &"x".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a/secrets/b",
            "../nodes/a",
            "a?b=c",
            "a%2fb",
            "é",
            &"x".repeat(64),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
