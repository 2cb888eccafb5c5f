//! Which object counts for which, and which of their flaws are known.
//!
//! Some bytes for each object that makes others, and for each flaw. Not here: what a flaw is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Stands for a uid. That two of a million are the same has odds of one in 30 million.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn of(uid: &str) -> Self {
        Self(hash(uid))
    }
}

pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The objects that make others.
#[derive(Default)]
pub(super) struct Owners {
    /// The topmost object that each counts for: a ReplicaSet for its Deployment, a Deployment for itself.
    top: HashMap<Key, Key>,
    /// The number of the finding by topmost object and what the flaw has in common with others.
    known: HashMap<(Key, u64), usize>,
}

impl Owners {
    /// What the object with this uid counts for, if it is there.
    pub(super) fn find(&self, uid: &str) -> Option<Key> {
        self.top.get(&Key::of(uid)).copied()
    }

    pub(super) fn insert(&mut self, uid: &str, top: Key) {
        self.top.insert(Key::of(uid), top);
    }

    /// The finding that tells of this flaw already.
    pub(super) fn known(&self, key: Key, likeness: u64) -> Option<usize> {
        self.known.get(&(key, likeness)).copied()
    }

    /// Notes the finding that tells of a flaw; `false` if there was one already.
    pub(super) fn know(&mut self, key: Key, likeness: u64, finding: usize) -> bool {
        match self.known.entry((key, likeness)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(finding);
                true
            }
        }
    }
}
