//! From what was found to what is done: allow or deny, what to warn of, what to patch.
//!
//! One evaluation, delivered in three ways (modes), softened where the flaw is not the request's
//! own (ratchet, owned objects). Not here: how flaws are found (`rules`, `os`), the words
//! (`message`), the bytes (`review`).

mod ignores;
mod placing;
mod ratchet;

pub(crate) use ignores::{Flaw, Ignore};
pub(crate) use ratchet::likeness;

use crate::facts::{NamespaceFacts, Nodes};
use crate::mode::Mode;
use crate::os::{self, Between, Conflict, Detection};
use crate::patch::Patch;
use crate::policy::Policy;
use crate::review::Request;
use crate::rules::{self, Action, Hit, Rule};
use crate::workload::{Kind, Pod};
use ignores::Ignores;
use placing::Placing;
use ratchet::{KnownHits, in_new_container};

/// Which of the two webhooks is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `/mutate`: patches, and denies only where the API server would speak before /validate.
    Mutate,
    /// `/validate`: never patches and tells everything.
    Validate,
}

impl Endpoint {
    /// Its name in paths, metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutate => "mutate",
            Self::Validate => "validate",
        }
    }
}

/// Why an object was let through without a look at its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exemption {
    /// Not a kind, subresource or operation that is judged.
    Unknown,
    /// The mode of the namespace is `off`.
    Off,
    /// By `exemptions.namespaces`.
    Namespace,
    /// By `exemptions.users` or `exemptions.groups`.
    User,
    /// By `exemptions.runtimeClasses`.
    RuntimeClass,
    /// A static pod's image in the API; the kubelet runs it whatever we say.
    MirrorPod,
}

impl Exemption {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Off,
        Self::Namespace,
        Self::User,
        Self::RuntimeClass,
        Self::MirrorPod,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Off => "off",
            Self::Namespace => "namespace",
            Self::User => "user",
            Self::RuntimeClass => "runtime-class",
            Self::MirrorPod => "mirror-pod",
        }
    }
}

/// What a finding comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// The object is refused for it (in [`Mode::Enforce`]).
    Deny,
    /// It is told.
    Warn,
    /// The patch takes the field out.
    Repair,
    /// Nothing: an annotation of the object silences the rule.
    Ignore,
}

impl Effect {
    /// Its name in metrics and audit annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Repair => "repair",
            Self::Ignore => "ignore",
        }
    }
}

/// A flaw in one field, and what it comes to.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    pub(crate) hit: Hit,
    pub(crate) effect: Effect,
    /// It would be a denial if the request had brought it in: of an owned object, of one that is on its way out, or
    /// by the ratchet.
    pub(crate) softened: bool,
}

impl Finding {
    /// The rule that was broken.
    pub fn rule(&self) -> &'static Rule {
        self.hit.rule()
    }

    /// The rule's place in the table.
    pub(crate) fn rule_index(&self) -> usize {
        usize::from(self.hit.rule)
    }

    /// The case of the rule, an index into [`Rule::tiers`].
    pub fn tier(&self) -> u8 {
        self.hit.tier
    }

    /// The field is not there, and should be.
    pub(crate) fn is_absent(&self) -> bool {
        !self.hit.missing.is_empty()
    }

    /// What is done about it.
    pub fn effect(&self) -> Effect {
        self.effect
    }
}

/// What `decide` needs to know beside the request.
pub(crate) struct Case<'c, 't, 'a> {
    pub(crate) endpoint: Endpoint,
    pub(crate) request: &'c Request<'a>,
    pub(crate) kind: Kind,
    pub(crate) pod: &'c Pod<'t, 'a>,
    pub(crate) old: Option<&'c Pod<'t, 'a>>,
    pub(crate) detection: &'c Detection,
    pub(crate) mode: Mode,
    pub(crate) namespace: Option<&'c NamespaceFacts>,
    pub(crate) policy: &'c Policy,
    pub(crate) nodes: &'c Nodes,
}

impl Case<'_, '_, '_> {
    /// The action of the rule; `repair` for what OpenShift wrote, since the author of the pod did not.
    fn action(&self, hit: &Hit) -> Action {
        match self.policy.action(hit.rule, hit.tier) {
            Action::Off => Action::Off,
            _ if self.is_of_scc(hit) => Action::Repair,
            action => action,
        }
    }

    /// Whether OpenShift's admission plugin for SecurityContextConstraints wrote this field, as far as the
    /// pod says: it runs before webhooks, ignores pods that say os=windows and never changes templates.
    fn is_of_scc(&self, hit: &Hit) -> bool {
        hit.by_scc && self.kind == Kind::Pod && self.pod.scc.is_some() && !self.pod.says_windows()
    }
}

/// What is done about everything that was found.
#[derive(Default)]
pub(crate) struct Decision {
    pub(crate) denied: bool,
    /// What the answer tells, sorted by rule and then by place.
    pub(crate) findings: Vec<Finding>,
    /// Annotations that silence findings, or were meant to.
    pub(crate) ignores: Vec<Ignore>,
    pub(crate) patch: Patch,
    /// How many fields would have to be removed, if it is denied because they are too many for one patch.
    pub(crate) excess: Option<usize>,
}

/// What is done about a pod that is not for Windows.
pub(crate) fn decide_linux(case: &Case<'_, '_, '_>) -> Decision {
    match case.endpoint {
        Endpoint::Mutate => Decision {
            patch: placing::guard(case),
            ..Decision::default()
        },
        Endpoint::Validate => missing_os_selector(case)
            .map(|(finding, ignores)| Decision {
                ignores: ignores.that_matter(&[finding]),
                findings: vec![finding],
                ..Decision::default()
            })
            .unwrap_or_default(),
    }
}

/// Decides. `hits` are all that the table found in the pod, `known` those of the old object.
pub(crate) fn decide(case: &Case<'_, '_, '_>, mut hits: Vec<Hit>, known: &[Hit]) -> Decision {
    if case.request.is_ephemeral() {
        let is_new = in_new_container(case);
        hits.retain(|hit| is_new(hit.at));
    }
    let ignores = Ignores::of(case.pod, case.policy);
    let place = Placing::of(case, &hits, &ignores);
    let known = KnownHits::new(case.old, known);
    let is_owned = is_made_for_an_owner(case.request, case.kind);
    let lenient = is_owned && !case.policy.enforce_owned || case.request.is_being_deleted();

    // The os=windows that this UPDATE adds makes the API server refuse what it let pass before.
    let os_is_new = case.pod.says_windows() && case.old.is_some_and(|old| !old.says_windows());

    let mut findings = Vec::with_capacity(hits.len());
    for hit in &hits {
        let action = case.action(hit);
        let is_lowered = case.policy.is_lowered(hit.rule, hit.tier);
        let mut effect = match action {
            Action::Off => continue,
            _ if ignores.cover(hit.rule) => Effect::Ignore,
            _ if place.repairs(case, hit) => match place.excess() {
                None => Effect::Repair,
                Some(_) => Effect::Deny,
            },
            Action::Warn if !is_lowered => Effect::Warn,
            Action::Deny => Effect::Deny,
            // The API server rejects the field as soon as os=windows is there.
            _ if case.pod.says_windows() && hit.refused => Effect::Deny,
            Action::Repair | Action::Warn => Effect::Warn,
        };
        let is_known = known.contains(case.pod, hit) && !(os_is_new && hit.refused);
        let softened = effect == Effect::Deny && (lenient || is_known);
        if softened {
            effect = Effect::Warn;
        }
        findings.push(Finding {
            hit: *hit,
            effect,
            softened,
        });
    }
    findings.extend(conflict(case, &known, &ignores));
    findings.extend(unplaced(case, &ignores));
    findings.sort_by_key(|finding| (finding.hit.rule, finding.hit.at));

    match case.endpoint {
        Endpoint::Validate => Decision {
            denied: findings.iter().any(|f| f.effect == Effect::Deny),
            ignores: ignores.that_matter(&findings),
            findings,
            ..Decision::default()
        },
        Endpoint::Mutate => {
            findings.retain(|finding| !finding.hit.validate_only);
            let api_server_refuses = case.pod.says_windows()
                && findings
                    .iter()
                    .any(|f| f.effect == Effect::Deny && f.hit.refused);
            // Those of an owned object, or of what is on its way out, are softened.
            let is_excess = |f: &Finding| f.effect == Effect::Deny && f.hit.is_repairable();
            let excess = place.excess().filter(|_| findings.iter().any(is_excess));
            if api_server_refuses || excess.is_some() {
                // A denial patches nothing, so nothing is removed either.
                for finding in &mut findings {
                    if finding.effect == Effect::Repair {
                        finding.effect = Effect::Warn;
                    }
                }
                return Decision {
                    denied: true,
                    ignores: ignores.that_matter(&findings),
                    findings,
                    patch: Patch::default(),
                    excess,
                };
            }
            findings.retain(|finding| finding.effect == Effect::Repair);
            Decision {
                denied: false,
                ignores: Vec::new(),
                patch: place.patch(case, &findings),
                findings,
                excess: None,
            }
        }
    }
}

/// A contradiction in the terms of the rule table.
pub(crate) fn conflict_hit(conflict: Conflict) -> Hit {
    let Conflict {
        at,
        between,
        against,
    } = conflict;
    let (rule, tier) = match between {
        Between::Decisive => (*rules::OS_CONFLICT, 0),
        Between::Acting => (*rules::OS_CONFLICT, 1),
        Between::Images => (*rules::MIXED_OS, 0),
    };
    Hit {
        against,
        ..Hit::new(rule, tier, at)
    }
}

/// WIN601, WIN602: the evidence contradicts itself.
fn conflict(case: &Case<'_, '_, '_>, known: &KnownHits, ignores: &Ignores) -> Option<Finding> {
    let conflict = case.detection.conflict?;
    let hit = conflict_hit(conflict);
    // Where nobody asks for images that do not go together, they are evidence like other.
    let acting = || Conflict {
        between: Between::Acting,
        ..conflict
    };
    let (hit, mut effect) = match effect_of(case, &hit, ignores) {
        Some(effect) => (hit, effect),
        None if conflict.between == Between::Images => {
            let hit = conflict_hit(acting());
            (hit, effect_of(case, &hit, ignores)?)
        }
        None => return None,
    };
    // A denial stays one even for owned objects: no node will ever run such a pod.
    let softened = effect == Effect::Deny
        && (case.request.is_being_deleted() || known.contains(case.pod, &hit));
    if softened {
        effect = Effect::Warn;
    }
    Some(Finding {
        hit,
        effect,
        softened,
    })
}

/// WIN604: nothing but hints.
fn unplaced(case: &Case<'_, '_, '_>, ignores: &Ignores) -> Option<Finding> {
    let hit = Hit::new(*rules::UNPLACED, 0, case.detection.hint?.at?);
    warning(case, hit, ignores)
}

/// WIN608: the pod may be scheduled to Windows nodes, and nothing in it is for Windows.
fn missing_os_selector(case: &Case<'_, '_, '_>) -> Option<(Finding, Ignores)> {
    let rule = *rules::MISSING_OS_SELECTOR;
    if case.policy.action(rule, 0) == Action::Off || case.request.is_ephemeral() {
        return None;
    }
    let at = os::tolerates_windows(case.pod, &case.policy.evidence)?;
    let ignores = Ignores::of(case.pod, case.policy);
    let finding = warning(case, Hit::new(rule, 0, at), &ignores)?;
    Some((finding, ignores))
}

/// A finding that never denies, whatever the action.
fn warning(case: &Case<'_, '_, '_>, hit: Hit, ignores: &Ignores) -> Option<Finding> {
    let effect = match effect_of(case, &hit, ignores)? {
        Effect::Ignore => Effect::Ignore,
        _ => Effect::Warn,
    };
    Some(Finding {
        hit,
        effect,
        softened: false,
    })
}

fn effect_of(case: &Case<'_, '_, '_>, hit: &Hit, ignores: &Ignores) -> Option<Effect> {
    match case.policy.action(hit.rule, hit.tier) {
        Action::Off => None,
        _ if ignores.cover(hit.rule) => Some(Effect::Ignore),
        Action::Deny => Some(Effect::Deny),
        Action::Warn | Action::Repair => Some(Effect::Warn),
    }
}

/// The service accounts in `kube-system` by which kube-controller-manager creates pods, ReplicaSets and
/// Jobs (with `--use-service-account-credentials`). A suffix such as `-controller` would trust add-ons, too.
/// Source: the roles `system:controller:*` that may create these, in
/// <https://github.com/kubernetes/kubernetes/blob/v1.36.0/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go>.
const CONTROLLERS: [&str; 7] = [
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "job-controller",
    "replicaset-controller",
    "replication-controller",
    "statefulset-controller",
];

/// Whether a controller of the control plane made this object for an owner that was evaluated itself.
/// An ownerReference that another client wrote has no effect.
pub(crate) fn is_made_for_an_owner(request: &Request<'_>, kind: Kind) -> bool {
    let user = request.username().unwrap_or_default();
    let by_controller = user == "system:kube-controller-manager"
        || user
            .strip_prefix("system:serviceaccount:kube-system:")
            .is_some_and(|name| CONTROLLERS.contains(&name));
    by_controller
        && Kind::ALL
            .into_iter()
            .any(|owner| kind.is_made_by(owner) && request.is_owned_by(owner))
}
