//! What an UPDATE is not to blame for: findings that the old object had already, and containers
//! that it does not add.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Case;
use crate::object::At;
use crate::rules::Hit;
use crate::workload::{Container, Pod};

/// Whether a place lies in an ephemeral container that the old object does not have.
pub(super) fn in_new_container<'t>(case: &Case<'_, 't, '_>) -> impl Fn(At) -> bool {
    let name =
        |pod: &Pod<'t, '_>, container: &Container| container.name.and_then(|at| pod.tape.text(at));
    let old: HashSet<&str> = case.old.map_or_else(HashSet::new, |old| {
        let ephemeral = old.containers.iter().filter(|c| c.ephemeral);
        ephemeral.filter_map(|c| name(old, c)).collect()
    });
    let pod = case.pod;
    move |at| {
        let container = pod.container_of(at).filter(|c| c.ephemeral);
        container.is_some_and(|c| !name(pod, c).is_some_and(|name| old.contains(name)))
    }
}

/// The findings of the old object, by [`likeness`].
pub(super) struct KnownHits(HashSet<u64>);

impl KnownHits {
    pub(super) fn new(old: Option<&Pod<'_, '_>>, hits: &[Hit]) -> Self {
        let Some(old) = old else {
            return Self(HashSet::new());
        };
        Self(hits.iter().map(|hit| likeness(old, hit)).collect())
    }

    pub(super) fn contains(&self, pod: &Pod<'_, '_>, hit: &Hit) -> bool {
        !self.0.is_empty() && self.0.contains(&likeness(pod, hit))
    }
}

/// Equal for findings that are the same violation: rule and case, container or volume, and value
/// with all of its content; never the index.
pub(crate) fn likeness(pod: &Pod<'_, '_>, hit: &Hit) -> u64 {
    let mut hasher = DefaultHasher::new();
    (hit.rule, hit.tier).hash(&mut hasher);
    pod.owner_name(hit.at).hash(&mut hasher);
    if let Some(against) = hit.against {
        pod.tape.key_of(against).hash(&mut hasher);
        pod.tape.hash_value(against, &mut hasher);
    }
    if hit.missing.is_empty() {
        pod.tape.key_of(hit.at).hash(&mut hasher);
        pod.tape.hash_value(hit.at, &mut hasher);
    } else {
        hit.missing.hash(&mut hasher);
    }
    hasher.finish()
}
