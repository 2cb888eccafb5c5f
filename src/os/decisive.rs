//! Decisive evidence: `spec.os.name` and the node selector.

use super::system::{BETA_OS_LABEL, OS_LABEL, Os};
use super::{Between, Conflict, Evidence, EvidencePolicy, Source, evidence};
use crate::object::At;
use crate::workload::Pod;

/// `spec.os.name` and the node selector.
#[derive(Default)]
pub(super) struct Decisive {
    pub(super) first: Option<Evidence>,
    pub(super) conflict: Option<Conflict>,
    /// A node selector for an OS that is neither.
    pub(super) foreign: Option<At>,
}

impl Decisive {
    pub(super) fn read(&mut self, pod: &Pod<'_, '_>, policy: &EvidencePolicy) {
        let mut said: Option<(At, &str)> = None;
        if let Some(at) = pod.os_name {
            let name = pod.tape.text(at).unwrap_or_default();
            if Os::parse(name).is_none() {
                self.conflict = Some(Conflict {
                    at,
                    between: Between::Decisive,
                    against: None,
                });
                return;
            }
            said = Some((at, name));
            self.first = evidence(Os::parse(name), Source::OsField, at);
        }
        let custom = Some(policy.os_label_key.as_str())
            .filter(|key| *key != OS_LABEL && *key != BETA_OS_LABEL);
        for key in custom.into_iter().chain([OS_LABEL, BETA_OS_LABEL]) {
            let Some((at, name)) = pod.selector(key) else {
                continue;
            };
            let os = Os::parse(name);
            self.first = self
                .first
                .or_else(|| evidence(os, Source::NodeSelector, at));
            if os.is_none() {
                self.foreign.get_or_insert(at);
            }
            match said {
                // A third OS is none of our business, unless Windows is the other one.
                Some((against, other)) if other != name && [other, name].contains(&"windows") => {
                    self.conflict.get_or_insert(Conflict {
                        at,
                        between: Between::Decisive,
                        against: Some(against),
                    });
                }
                Some(_) => {}
                None => said = Some((at, name)),
            }
        }
    }
}
