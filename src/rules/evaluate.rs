//! The one linear scan: a pod's part of the tape against the checks that hang on its fields.
//!
//! Not here: what is done about what it finds (`decision`).

use super::Rule;
use super::check::{Skip, is_service_account_volume};
use super::table::{RuleId, TABLE, Told, by_id};
use crate::facts::Facts;
use crate::object::demand::{Anchor, Demand, Role, Shape};
use crate::object::{At, Tape};
use crate::workload::Pod;

/// What the checks know beside the field itself.
pub(crate) struct Context<'p, 't, 'a> {
    pub(crate) pod: &'p Pod<'t, 'a>,
    pub(crate) facts: &'p Facts,
    /// It is a HostProcess pod.
    pub(crate) host_process: bool,
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
    /// OpenShift writes such a field into pods.
    pub(crate) by_scc: bool,
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
            by_scc: false,
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

/// The most findings that are kept. A body of 400 kB could have 200,000.
pub(crate) const MAX_FINDINGS: usize = 2048;

/// What the table says of a pod, and how much it would say.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// The first [`MAX_FINDINGS`].
    pub(crate) list: Vec<Hit>,
    /// All of them.
    pub(crate) count: usize,
}

impl Hits {
    fn push(&mut self, hit: Hit) {
        self.count += 1;
        if self.count <= MAX_FINDINGS {
            self.list.push(hit);
        }
    }
}

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
pub(crate) fn evaluate(context: &Context<'_, '_, '_>, is_off: impl Fn(RuleId, u8) -> bool) -> Hits {
    let mut hits = Hits::default();
    let pod = context.pod;
    let tape: &Tape<'_> = pod.tape;
    for at in pod.entries() {
        for id in tape.checks(at) {
            let (rule, check) = TABLE.checks[usize::from(*id)];
            let skipped = match check.skip {
                Skip::Nothing => false,
                Skip::HostProcess => context.host_process,
                Skip::Ordinary => !context.host_process,
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
                    by_scc: check.by_scc,
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
    hits
}
