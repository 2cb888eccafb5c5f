//! The field rules: what a row of the table is.
//!
//! A rule is data: which fields it looks at, when a value is a finding, what to do by default and
//! what to tell. Only what cannot be said so is a function beside its row. The rows are in one
//! file for each area; `table` puts them together, `evaluate` holds a pod against them. Not here: what happens with a finding (`decision`), and whether the pod is
//! for Windows at all (`os`).

mod check;
mod evaluate;
mod family;
mod fields;
mod guide;
mod image;
mod lifecycle;
#[cfg(feature = "mutants")]
pub mod mutants;
mod network;
mod placement;
mod resources;
mod security;
mod services;
mod table;
mod volumes;

use std::borrow::Cow;

use check::Check;
use evaluate::{ByPod, Found};
use guide::Guide;

pub(crate) use evaluate::{Context, Hit, Hits, MAX_FINDINGS, demands, evaluate};
pub use family::{FAMILIES, Family};
pub use fields::{Field, Owner};
pub use table::all;
pub(crate) use table::{
    MISSING_OS_SELECTOR, MIXED_OS, OS_CONFLICT, RuleId, UNPLACED, by_id, find, id, of_services,
};

/// KEP-116, "Windows node support".
pub(crate) const KEP: &str = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/116-windows-node-support";

/// What is done about a finding, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing: the rule is silent.
    Off,
    /// A warning; the object is admitted.
    Warn,
    /// The mutating webhook takes the field out and says so, where the API server would refuse
    /// it beside `spec.os.name: windows`.
    Repair,
    /// The object is refused.
    Deny,
}

impl Action {
    /// All of them, in rising order.
    pub const ALL: [Self; 4] = [Self::Off, Self::Warn, Self::Repair, Self::Deny];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Repair => "repair",
            Self::Deny => "deny",
        }
    }
}

/// Which default actions are in force. Profiles change actions and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// What is true of supported Kubernetes and Windows Server releases.
    #[default]
    Current,
    /// KEP-116 to the letter: Kubernetes 1.14, Windows Server 2019, Docker.
    Kep116,
}

impl Profile {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Current, Self::Kep116];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Kep116 => "kep-116",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable and unique, `WIN101`.
    pub code: &'static str,
    /// The flaw, in kebab case.
    pub name: &'static str,
    /// The flaw in a few words, for warnings.
    pub brief: &'static str,
    /// Why it fails on Windows.
    pub reason: &'static str,
    /// What to do instead.
    pub remedy: &'static str,
    /// Where that is written down.
    pub references: &'static [&'static str],
    /// The cases that the rule tells apart, strongest first, with their default actions.
    pub tiers: &'static [Tier],
    pub(crate) checks: &'static [Check],
    /// Finds what no single field shows, such as one that is absent.
    pub(crate) by_pod: Option<ByPod>,
    /// What `explain` tells beside the rest.
    pub(crate) guide: Guide,
}

impl Rule {
    /// The rule with this code or name.
    pub fn find(name: &str) -> Option<&'static Self> {
        all().find(|rule| rule.code == name || rule.name == name)
    }

    /// The rules that a filter means: that with this name, or those whose codes start with it, in
    /// upper or lower case.
    pub fn matching(filter: &str) -> impl Iterator<Item = &'static Self> {
        let start = filter.to_uppercase();
        let starts = move |rule: &Self| !start.is_empty() && rule.code.starts_with(&start);
        all().filter(move |rule| rule.name == filter || starts(rule))
    }

    /// The reason for a finding, with its consequence, and what to write instead.
    pub fn words(&self, tier: u8) -> (Cow<'static, str>, &'static str) {
        let tier = self.tiers.get(usize::from(tier));
        if tier.is_some_and(Tier::is_harmless) {
            return (Cow::Borrowed(HARMLESS), "Remove it.");
        }
        let reason = match tier.and_then(|tier| tier.consequence) {
            Some(consequence) => format!("{} {}", self.reason, consequence.sentence()).into(),
            None => self.reason.into(),
        };
        (reason, self.remedy)
    }

    /// Whether it is about fields that OpenShift's SecurityContextConstraints write into pods.
    pub(crate) fn is_of_scc(&self) -> bool {
        self.checks.iter().any(|check| check.by_scc)
    }

    /// Whether /mutate can remove the fields of a case.
    pub fn is_tier_repairable(&self, tier: u8) -> bool {
        let mut checks = self.checks.iter().filter(|check| check.is_repairable());
        checks.any(|check| check.cases.iter().any(|case| case.tier == tier))
    }

    /// Whether the fields may be taken out: only what the API server refuses beside os=windows.
    pub fn is_repairable(&self) -> bool {
        self.checks.iter().any(Check::is_repairable)
    }
}

const HARMLESS: &str = "The pod loses nothing without it, but the API server rejects the field \
    when spec.os.name is windows.";

/// What happens to a pod on a Windows node when no webhook acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consequence {
    /// The pod cannot be scheduled, cannot start or does not work.
    Fails,
    /// The pod runs without what the field asks for.
    Ignored,
    /// The pod runs with less protection than the field asks for.
    Unprotected,
}

impl Consequence {
    /// All consequences.
    pub const ALL: [Self; 3] = [Self::Fails, Self::Ignored, Self::Unprotected];

    /// Its name in documentation and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Ignored => "ignored",
            Self::Unprotected => "unprotected",
        }
    }

    /// The sentence in messages.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Fails => "The pod cannot start, or does not work.",
            Self::Ignored => "Windows ignores it.",
            Self::Unprotected => "The pod runs with less protection than it asks for.",
        }
    }
}

/// One case of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    /// Which values it is about; empty where a rule has but one.
    pub when: &'static str,
    /// What happens without Transom. `None`: the pod runs as written, or the outcome depends on
    /// what the object does not show.
    pub consequence: Option<Consequence>,
    /// Its action in [`Profile::Current`].
    pub current: Action,
    /// Its action in [`Profile::Kep116`].
    pub kep_116: Action,
}

impl Tier {
    /// The value asks for nothing that Windows lacks: `privileged: false`. Exactly these cases are
    /// repaired by default; `ignoredFields` and `rules` change actions of a policy, not this.
    pub fn is_harmless(&self) -> bool {
        self.current == Action::Repair
    }

    /// The default action in a profile.
    pub fn action(&self, profile: Profile) -> Action {
        match profile {
            Profile::Current => self.current,
            Profile::Kep116 => self.kep_116,
        }
    }
}

/// A case in which the pod runs as written, or in which the outcome is not known.
const fn runs(when: &'static str, current: Action, kep_116: Action) -> Tier {
    tier(when, None, current, kep_116)
}

/// A case of [`Consequence::Fails`].
const fn fails(when: &'static str, current: Action, kep_116: Action) -> Tier {
    tier(when, Some(Consequence::Fails), current, kep_116)
}

/// A case of [`Consequence::Ignored`].
const fn ignored(when: &'static str, current: Action, kep_116: Action) -> Tier {
    tier(when, Some(Consequence::Ignored), current, kep_116)
}

/// A case of [`Consequence::Unprotected`].
const fn unprotected(when: &'static str, current: Action, kep_116: Action) -> Tier {
    tier(when, Some(Consequence::Unprotected), current, kep_116)
}

const fn tier(
    when: &'static str,
    consequence: Option<Consequence>,
    current: Action,
    kep_116: Action,
) -> Tier {
    Tier {
        when,
        consequence,
        current,
        kep_116,
    }
}
