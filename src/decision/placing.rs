//! What the patch may do at this request's position: place the pod, set `spec.os`, take fields
//! out. `spec.os` and repairs go together.
//!
//! Not here: what the pod lacks (`placement`), and how a patch is written (`patch`).

use super::ignores::Ignores;
use super::{Case, Endpoint, Finding};
use crate::mode::Mode;
use crate::os;
use crate::patch::{MAX_REMOVED, Operation, Patch};
use crate::review::Operation as Verb;
use crate::rules::{Action, Hit};
use crate::workload::Kind;

/// What this request's position allows the patch to do.
pub(super) struct Placing {
    /// Node selector and tolerations.
    place: bool,
    selector: bool,
    add_os: bool,
    /// Fields may be taken out: os=windows holds after the patch.
    repair: Repairs,
    /// How many fields would have to be removed, if they are too many for one patch. Then none is.
    excess: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repairs {
    Nothing,
    /// What the table says.
    Harmless,
    /// All that validateWindows rejects: `kubectl debug` adds such fields by itself.
    Refused,
}

impl Repairs {
    fn cover(self, case: &Case<'_, '_, '_>, hit: &Hit) -> bool {
        let action = case.action(hit);
        let is_meant = match self {
            Self::Nothing => false,
            Self::Harmless => action == Action::Repair,
            // SCC's validation requires what it wrote, as long as the pod does not say os=windows.
            Self::Refused if case.is_of_scc(hit) => false,
            Self::Refused => action >= Action::Repair || case.policy.is_lowered(hit.rule, hit.tier),
        };
        is_meant && hit.is_repairable()
    }
}

impl Placing {
    pub(super) fn of(case: &Case<'_, '_, '_>, hits: &[Hit], ignores: &Ignores) -> Self {
        let nothing = Self {
            place: false,
            selector: false,
            add_os: false,
            repair: Repairs::Nothing,
            excess: None,
        };
        if case.endpoint != Endpoint::Mutate
            || !case.detection.is_windows()
            || case.detection.conflict.is_some()
            || case.pod.spec.is_none()
            || case.request.is_being_deleted()
        {
            return nothing;
        }
        let placement = &case.policy.placement;
        let full = case.mode == Mode::Enforce;
        if case.request.is_ephemeral() {
            let repair = full && placement.repair;
            return Self {
                repair: if repair {
                    Repairs::Refused
                } else {
                    Repairs::Nothing
                },
                ..nothing
            }
            .limited(case, hits, ignores);
        }
        if !is_placeable(case) {
            return nothing;
        }

        let stays_refused = |hit: &Hit| {
            let is_repaired = placement.repair && Repairs::Harmless.cover(case, hit);
            hit.refused && (!is_repaired || ignores.cover(hit.rule))
        };
        let add_os = full
            && !case.pod.says_windows()
            && sets_pod_os(case)
            && !hits.iter().any(stays_refused);
        let holds = add_os || case.pod.says_windows();
        Self {
            place: true,
            selector: takes_selector(case),
            add_os,
            repair: if full && placement.repair && holds {
                Repairs::Harmless
            } else {
                Repairs::Nothing
            },
            excess: None,
        }
        .limited(case, hits, ignores)
    }

    /// A patch that removes too much is not made at all: half of one would leave an object that nobody wrote.
    fn limited(self, case: &Case<'_, '_, '_>, hits: &[Hit], ignores: &Ignores) -> Self {
        let is_removed = |hit: &&Hit| self.repairs(case, hit) && !ignores.cover(hit.rule);
        let count = hits.iter().filter(is_removed).count();
        match count <= MAX_REMOVED {
            true => self,
            false => Self {
                add_os: false,
                excess: Some(count),
                ..self
            },
        }
    }

    /// How many fields would have to be removed, if they are too many for one patch.
    pub(super) fn excess(&self) -> Option<usize> {
        self.excess
    }

    /// Whether a field is to be removed.
    pub(super) fn repairs(&self, case: &Case<'_, '_, '_>, hit: &Hit) -> bool {
        self.repair.cover(case, hit)
    }

    pub(super) fn patch(&self, case: &Case<'_, '_, '_>, repairs: &[Finding]) -> Patch {
        let mut operations = Vec::with_capacity(if self.place { 4 } else { 0 } + repairs.len());
        if self.add_os {
            operations.push(Operation::AddOs);
        }
        if self.place {
            let placement = &case.policy.placement;
            if self.selector && placement.misses_selector(case.pod) {
                operations.push(Operation::AddSelector);
            }
            let missing = placement.missing_tolerations(case.pod);
            operations.extend(missing.map(Operation::AddToleration));
            let learnt = placement.missing_learnt(case.pod, case.nodes.shared());
            operations.extend(learnt.map(Operation::AddLearnt));
        }
        operations.extend(
            repairs
                .iter()
                .map(|repair| Operation::Remove(repair.hit.at)),
        );
        Patch { operations }
    }
}

/// Keeps a pod on Linux nodes that nothing places and nothing hints at Windows, where that is
/// asked for.
pub(super) fn guard(case: &Case<'_, '_, '_>) -> Patch {
    let by_label = case.namespace.and_then(|namespace| namespace.linux_guard);
    let guards = by_label.unwrap_or(case.policy.linux_guard)
        && case.endpoint == Endpoint::Mutate
        && case.pod.spec.is_some()
        && !case.request.is_being_deleted()
        && !case.request.is_ephemeral()
        && (case.policy.linux_guard_selected_pods || !case.pod.selects_nodes())
        && os::is_adrift(case.pod, &case.policy.evidence)
        && takes_selector(case)
        && is_placeable(case);
    Patch {
        operations: if guards {
            vec![Operation::GuardLinux]
        } else {
            Vec::new()
        },
    }
}

/// Pods are placed when they are made, and DaemonSets whenever their template changes.
fn is_placeable(case: &Case<'_, '_, '_>) -> bool {
    let placeable = match (case.kind, case.request.operation()) {
        (Kind::Pod | Kind::DaemonSet, Verb::Create) => true,
        (Kind::DaemonSet, Verb::Update) => case.request.template_changed(),
        _ => false,
    };
    placeable && case.mode >= Mode::Warn
}

/// The DaemonSet's controller places its pods itself; another selector than its template's would
/// make it loop (kubernetes/kubernetes#51788).
fn takes_selector(case: &Case<'_, '_, '_>) -> bool {
    !(case.kind == Kind::Pod && case.request.is_owned_by(Kind::DaemonSet))
}

/// Whether `spec.os` may be patched in here.
fn sets_pod_os(case: &Case<'_, '_, '_>) -> bool {
    let namespace = case.namespace;
    namespace
        .and_then(|namespace| namespace.set_pod_os)
        .unwrap_or_else(|| {
            case.policy.placement.set_pod_os && !namespace.is_some_and(|n| n.old_pod_security)
        })
}
