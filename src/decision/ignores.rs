//! Annotations by which an object silences rules, as far as the configuration lets it.

use std::collections::HashSet;

use super::Finding;
use crate::object::At;
use crate::policy::Policy;
use crate::rules::{self, Rule, RuleId};
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

/// Why an annotation silences nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    UnknownRule,
    NotAllowed,
    NoReason,
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
            let rule = name
                .and_then(Rule::find)
                .and_then(|rule| rules::id(rule.code));
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
        Self { all, silenced }
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
        }
        self.all
    }
}
