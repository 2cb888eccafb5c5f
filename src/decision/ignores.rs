//! Annotations by which an object silences rules, as far as the configuration lets it.

use std::collections::HashSet;

use super::Finding;
use crate::object::At;
use crate::object::demand::Role;
use crate::policy::Policy;
use crate::rules::{self, RuleId};
use crate::workload::Pod;

const PREFIX: &str = "transom.dev/ignore.";

/// One annotation `transom.dev/ignore.CODE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ignore {
    /// Where its value is: the reason.
    pub(crate) at: At,
    /// `None`: there is no such rule.
    pub(crate) rule: Option<RuleId>,
    /// Why it has no effect, if so.
    pub(crate) flaw: Option<Flaw>,
}

impl Ignore {
    /// The code of its rule; empty if there is no such rule.
    pub(crate) fn code(&self) -> &'static str {
        self.rule.map_or("", |rule| rules::by_id(rule).code)
    }
}

/// Why an annotation silences nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    UnknownRule,
    NotAllowed,
    NoReason,
    /// On the workload, whose pods do not inherit it.
    WrongPlace,
}

/// All of a pod's or template's.
#[derive(Debug, Default)]
pub(super) struct Ignores {
    all: Vec<Ignore>,
    /// The rules that are silenced, each once: an object may have many annotations.
    silenced: Vec<RuleId>,
}

impl Ignores {
    pub(super) fn of(pod: &Pod<'_, '_>, policy: &Policy) -> Self {
        let read = |at: At| {
            let tape = pod.tape;
            let name = tape.key_of(at).and_then(|key| key.strip_prefix(PREFIX));
            let rule = name.and_then(rules::find);
            let reason = tape.text(at).unwrap_or_default();
            let flaw = match rule {
                None => Some(Flaw::UnknownRule),
                Some(rule) if !policy.is_ignorable(rule) => Some(Flaw::NotAllowed),
                Some(_) if reason.trim().is_empty() => Some(Flaw::NoReason),
                Some(_) => None,
            };
            Ignore { at, rule, flaw }
        };
        let all: Vec<_> = pod.ignores.iter().map(|at| read(*at)).collect();
        let in_effect = all.iter().filter(|ignore| ignore.flaw.is_none());
        let mut silenced: Vec<_> = in_effect.filter_map(|ignore| ignore.rule).collect();
        silenced.sort_unstable();
        silenced.dedup();
        let mut ignores = Self { all, silenced };
        ignores.misplaced(pod);
        ignores
    }

    /// Annotations of a workload itself, where its template does not have them, too.
    fn misplaced(&mut self, pod: &Pod<'_, '_>) {
        if pod.at == pod.object {
            return;
        }
        let tape = pod.tape;
        let metadata = tape.child(pod.object, Role::Metadata);
        let annotations = metadata.and_then(|at| tape.child(at, Role::Annotations));
        let members = annotations.into_iter().flat_map(|at| tape.members(at));
        let ours = members.filter_map(|(key, at)| Some((key.strip_prefix(PREFIX)?, at)));
        let rules = ours.filter_map(|(name, at)| Some((rules::find(name)?, at)));
        let misplaced = rules.filter(|(rule, _)| !self.cover(*rule));
        let misplaced: Vec<_> = misplaced
            .map(|(rule, at)| Ignore {
                at,
                rule: Some(rule),
                flaw: Some(Flaw::WrongPlace),
            })
            .collect();
        self.all.extend(misplaced);
    }

    pub(super) fn cover(&self, rule: RuleId) -> bool {
        self.silenced.contains(&rule)
    }

    /// Those that silence what was found, and those that were meant to: of an object without
    /// findings nothing is told.
    pub(super) fn that_matter(mut self, findings: &[Finding]) -> Vec<Ignore> {
        if !self.all.is_empty() {
            let found: HashSet<_> = findings.iter().map(|finding| finding.hit.rule).collect();
            let matters = |rule: RuleId| found.contains(&rule);
            self.all
                .retain(|ignore| ignore.rule.map_or(!found.is_empty(), matters));
            // Those in effect, of which there are few, are looked up for each finding.
            self.all.sort_by_key(|ignore| ignore.flaw.is_some());
        }
        self.all
    }
}
