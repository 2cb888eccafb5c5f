//! The table of field rules, and the one linear scan that evaluates it.
//!
//! A rule is data: which fields it looks at, when a value is a finding, what to do by default and
//! what to tell. Only what cannot be said so is a function beside its row. The rows are in one
//! file for each area. Not here: what happens with a finding (`decision`), and whether the pod is
//! for Windows at all (`os`).

mod check;
mod family;
mod fields;
mod guide;
mod lifecycle;
#[cfg(feature = "mutants")]
pub mod mutants;
mod network;
mod placement;
mod resources;
mod security;
mod services;
mod volumes;

use std::sync::LazyLock;

use check::{Check, Skip, is_service_account_volume};
use guide::Guide;

use crate::facts::Facts;
use crate::object::demand::{Anchor, Demand, Role, Shape};
use crate::object::{At, Tape};
use crate::workload::{Kind, Pod};

pub use family::{FAMILIES, Family};
pub use fields::{Field, Owner};

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

    /// Whether the fields may be taken out: only what the API server refuses beside os=windows.
    pub fn is_repairable(&self) -> bool {
        self.checks.iter().any(Check::is_repairable)
    }
}

/// One case of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    /// Which values it is about; empty where a rule has but one.
    pub when: &'static str,
    /// Its action in [`Profile::Current`].
    pub current: Action,
    /// Its action in [`Profile::Kep116`].
    pub kep_116: Action,
}

impl Tier {
    /// The value asks for nothing that Windows lacks: `privileged: false`.
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

const fn tier(when: &'static str, current: Action, kep_116: Action) -> Tier {
    Tier {
        when,
        current,
        kep_116,
    }
}

/// What the checks know beside the field itself.
pub(crate) struct Context<'p, 't, 'a> {
    pub(crate) pod: &'p Pod<'t, 'a>,
    pub(crate) facts: &'p Facts,
    /// HostProcess containers are allowed in this namespace.
    pub(crate) host_process_allowed: bool,
}

/// Looks at a pod as a whole and reports what it finds.
pub(crate) type ByPod = fn(&Context<'_, '_, '_>, &mut dyn FnMut(Found));

/// What a rule found in the pod as a whole.
pub(crate) struct Found {
    pub(crate) at: At,
    /// The rest of the path, where the field itself is absent.
    pub(crate) missing: &'static [&'static str],
    pub(crate) tier: u8,
}

/// A field that a rule speaks of, before anybody decided what to do about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) rule: RuleId,
    pub(crate) tier: u8,
    pub(crate) at: At,
    /// The rest of the path, where the field itself is absent.
    pub(crate) missing: &'static [&'static str],
    /// What the field stands against, for contradictions.
    pub(crate) against: Option<At>,
    /// validateWindows refuses it beside os=windows.
    pub(crate) refused: bool,
    pub(crate) validate_only: bool,
}

impl Hit {
    pub(crate) fn new(rule: RuleId, tier: u8, at: At) -> Self {
        Self {
            rule,
            tier,
            at,
            missing: &[],
            against: None,
            refused: false,
            validate_only: false,
        }
    }

    pub(crate) fn is_repairable(&self) -> bool {
        self.refused && !self.validate_only
    }

    pub(crate) fn rule(&self) -> &'static Rule {
        by_id(self.rule)
    }

    pub(crate) fn told(&self) -> &'static Told {
        &TABLE.told[usize::from(self.rule)]
    }
}

/// A rule's place in the table.
pub(crate) type RuleId = u16;

struct Table {
    rules: Vec<&'static Rule>,
    checks: Vec<(RuleId, &'static Check)>,
    /// With the number of the rule's tiers.
    by_pod: Vec<(RuleId, u8, ByPod)>,
    told: Vec<Told>,
}

/// What messages say of a rule, put together once.
pub(crate) struct Told {
    /// Behind field and value, in a denial: for each tier.
    full: Vec<String>,
    /// In one line.
    pub(crate) brief: String,
}

impl Told {
    fn new(rule: &Rule) -> Self {
        let Rule {
            code,
            name,
            brief,
            reason,
            remedy,
            tiers,
            ..
        } = rule;
        let full = |tier: &Tier| match tier.is_harmless() {
            true => format!(
                " [{code} {name}] It asks for nothing, but the API server refuses the field \
                 beside spec.os.name: windows. Remove it."
            ),
            false => format!(" [{code} {name}] {reason} {remedy}"),
        };
        Self {
            full: tiers.iter().map(full).collect(),
            brief: format!("{code} {name}: {brief}"),
        }
    }

    /// Reason and remedy for a tier.
    pub(crate) fn full(&self, tier: u8) -> &str {
        self.full.get(usize::from(tier)).map_or("", String::as_str)
    }
}

/// All rows, sorted by code.
fn unchanged() -> Vec<&'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules).collect()
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rules = unchanged();
    #[cfg(feature = "mutants")]
    let rules = mutants::change(rules);
    let checks = rules
        .iter()
        .enumerate()
        // Fewer rules than 65,536.
        .flat_map(|(id, rule)| rule.checks.iter().map(move |check| (id as RuleId, check)))
        .collect();
    let by_pod = rules.iter().zip(0..);
    let by_pod = by_pod
        // Fewer tiers than 256.
        .filter_map(|(rule, id)| Some((id, rule.tiers.len() as u8, rule.by_pod?)))
        .collect();
    let told = rules.iter().map(|rule| Told::new(rule)).collect();
    Table {
        rules,
        checks,
        by_pod,
        told,
    }
});

/// The whole table, sorted by code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    TABLE.rules.iter().copied()
}

/// The rule's place in the table.
pub(crate) fn id(code: &str) -> Option<RuleId> {
    let at = TABLE.rules.iter().position(|rule| rule.code == code)?;
    RuleId::try_from(at).ok()
}

/// The rules that are about Services.
pub(crate) fn of_services() -> impl Iterator<Item = RuleId> {
    let checks = TABLE.checks.iter();
    let checks = checks.filter(|(_, check)| check.is_for(Kind::Service));
    checks.map(|(rule, _)| *rule)
}

/// The rule at a place of the table.
pub(crate) fn by_id(id: RuleId) -> &'static Rule {
    TABLE.rules[usize::from(id)]
}

/// The place of the rule with this code or name.
pub(crate) fn find(name: &str) -> Option<RuleId> {
    id(Rule::find(name)?.code)
}

/// The places of the rules that the evidence itself makes findings of.
pub(crate) static OS_CONFLICT: LazyLock<RuleId> =
    LazyLock::new(|| id("WIN601").unwrap_or_default());
pub(crate) static MIXED_OS: LazyLock<RuleId> = LazyLock::new(|| id("WIN602").unwrap_or_default());
pub(crate) static UNPLACED: LazyLock<RuleId> = LazyLock::new(|| id("WIN604").unwrap_or_default());

/// The fields that the table asks for.
///
/// Silent rules cost nothing, unless the API server refuses the field beside os=windows: that
/// has to be known before os is patched in.
pub(crate) fn demands(is_silent: impl Fn(RuleId) -> bool) -> impl Iterator<Item = Demand> {
    // Every pod has this volume, and it has more fields than many a container.
    let projected = Demand {
        spare: Some(is_service_account_volume),
        ..Demand::new(Anchor::Spec, "volumes[*].projected", Role::None, Shape::Any)
    };
    const CAPABILITIES_ADD: &str = "securityContext.capabilities.add";
    const SURVEYED: &[Demand] = &[
        Demand::list(Anchor::Container, CAPABILITIES_ADD, Role::CapabilitiesAdd),
        Demand::new(
            Anchor::Container,
            "resources.limits{hugepages-*}",
            Role::HugePages,
            Shape::Any,
        ),
    ];
    // Told in messages, beside what is checked.
    const TOLD: [(Anchor, &str); 6] = [
        (Anchor::Container, "securityContext.capabilities.add[*]"),
        (Anchor::Container, "securityContext.capabilities.drop[*]"),
        (
            Anchor::Container,
            "securityContext.seccompProfile.localhostProfile",
        ),
        (
            Anchor::Spec,
            "securityContext.seccompProfile.localhostProfile",
        ),
        (
            Anchor::Container,
            "securityContext.appArmorProfile.localhostProfile",
        ),
        (
            Anchor::Spec,
            "securityContext.appArmorProfile.localhostProfile",
        ),
    ];
    let told = TOLD
        .into_iter()
        .map(|(anchor, path)| Demand::text(anchor, path, Role::None));
    let checks = TABLE.checks.iter().zip(0..);
    checks
        .filter(move |((rule, check), _)| check.refused || !is_silent(*rule))
        .flat_map(|((_, check), id)| check.demands(id))
        .chain(SURVEYED.iter().copied())
        .chain(told)
        .chain([projected])
}

/// Everything that the table has to say of a pod, in the order of the document. Of tiers that are
/// off it tells only what the API server refuses: that keeps os from being patched in.
pub(crate) fn evaluate(
    context: &Context<'_, '_, '_>,
    is_off: impl Fn(RuleId, u8) -> bool,
    hits: &mut Vec<Hit>,
) {
    let pod = context.pod;
    let tape: &Tape<'_> = pod.tape;
    let host_process = pod.has_host_process();
    for at in pod.at..tape.entry(pod.at).end {
        for id in tape.checks(at) {
            let (rule, check) = TABLE.checks[usize::from(*id)];
            let skipped = match check.skip {
                Skip::Nothing => false,
                Skip::HostProcess => host_process,
                Skip::Ordinary => !host_process,
                Skip::ServiceAccountVolume => pod
                    .volume_of(at)
                    .is_some_and(|volume| is_service_account_volume(tape, volume)),
            };
            if skipped || !check.is_for(pod.kind) {
                continue;
            }
            let case = check.cases.iter().find(|case| case.test.holds(context, at));
            if let Some(case) = case.filter(|case| check.refused || !is_off(rule, case.tier)) {
                hits.push(Hit {
                    refused: check.refused,
                    validate_only: check.validate_only,
                    ..Hit::new(rule, case.tier, at)
                });
            }
        }
    }
    for (id, tiers, by_pod) in &TABLE.by_pod {
        if (0..*tiers).all(|tier| is_off(*id, tier)) {
            continue;
        }
        by_pod(context, &mut |found| {
            if !is_off(*id, found.tier) {
                hits.push(Hit {
                    missing: found.missing,
                    ..Hit::new(*id, found.tier, found.at)
                });
            }
        });
    }
}
