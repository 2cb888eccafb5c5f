//! From what was found to what is done: allow or deny, what to warn of, what to patch.
//!
//! One evaluation, delivered in three ways (modes), softened where the flaw is not the request's
//! own (ratchet, owned objects). Not here: how flaws are found (`rules`, `os`), the words
//! (`message`), the bytes (`review`).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::config::Policy;
use crate::facts::NamespaceFacts;
use crate::object::At;
use crate::object::trie::Role;
use crate::os::{Conflict, Detection};
use crate::patch::{Operation, Patch};
use crate::review::{Operation as Verb, Request};
use crate::rules::{self, Action, Hit, Rule};
use crate::workload::{Container, Kind, Pod};

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

/// How findings of a namespace are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Not at all.
    Off,
    /// In metrics and audit annotations; nothing is patched.
    Audit,
    /// As warnings; the patch places pods and does no more.
    Warn,
    /// As denials and warnings, with the full patch.
    #[default]
    Enforce,
}

impl Mode {
    /// All of them, in rising order.
    pub const ALL: [Self; 4] = [Self::Off, Self::Audit, Self::Warn, Self::Enforce];

    /// The mode of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in the configuration and in the label `transom.dev/mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Audit => "audit",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
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
}

impl Effect {
    /// Its name in metrics and audit annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Repair => "repair",
        }
    }
}

/// A part of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `spec.os` is added.
    Os,
    /// The node selector is added.
    NodeSelector,
    /// Tolerations are added.
    Toleration,
    /// Fields are taken out.
    Repair,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Os, Self::NodeSelector, Self::Toleration, Self::Repair];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Os => "os",
            Self::NodeSelector => "node-selector",
            Self::Toleration => "toleration",
            Self::Repair => "repair",
        }
    }
}

/// A flaw in one field, and what it comes to.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    pub(crate) hit: Hit,
    pub(crate) effect: Effect,
    /// What the field stands against, for contradictions.
    pub(crate) against: Option<At>,
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
}

/// What is done about everything that was found.
#[derive(Default)]
pub(crate) struct Decision {
    pub(crate) denied: bool,
    /// What the answer tells, sorted by rule and then by place.
    pub(crate) findings: Vec<Finding>,
    pub(crate) patch: Patch,
}

/// Decides. `hits` are all that the table found in the pod, `known` those of the old object.
pub(crate) fn decide(case: &Case<'_, '_, '_>, mut hits: Vec<Hit>, known: &[Hit]) -> Decision {
    if case.request.is_ephemeral() {
        let is_new = in_new_container(case);
        hits.retain(|hit| is_new(hit.at));
    }
    let place = Placing::of(case, &hits);
    let known = KnownHits::new(case.old, known);
    let lenient = is_owned(case) && !case.policy.enforce_owned || case.request.is_being_deleted();

    let mut findings = Vec::with_capacity(hits.len());
    for hit in &hits {
        let action = case.policy.action(hit.rule, hit.tier);
        let mut effect = match action {
            Action::Off => continue,
            Action::Warn => Effect::Warn,
            _ if place.repairs(action, hit) => Effect::Repair,
            Action::Deny => Effect::Deny,
            // The API server refuses it as soon as os=windows is there.
            Action::Repair if case.pod.says_windows() => Effect::Deny,
            Action::Repair => Effect::Warn,
        };
        if effect == Effect::Deny && (lenient || known.contains(case.pod, hit)) {
            effect = Effect::Warn;
        }
        let against = None;
        findings.push(Finding {
            hit: *hit,
            effect,
            against,
        });
    }
    findings.extend(conflict(case, &known));
    findings.extend(unplaced(case));
    findings.sort_by_key(|finding| (finding.hit.rule, finding.hit.at));

    match case.endpoint {
        Endpoint::Validate => Decision {
            denied: findings.iter().any(|f| f.effect == Effect::Deny),
            findings,
            patch: Patch::default(),
        },
        Endpoint::Mutate => {
            findings.retain(|finding| !finding.hit.validate_only);
            let api_server_refuses = case.pod.says_windows()
                && findings
                    .iter()
                    .any(|f| f.effect == Effect::Deny && f.hit.refused);
            if api_server_refuses {
                // A denial patches nothing, so nothing is removed either.
                for finding in &mut findings {
                    if finding.effect == Effect::Repair {
                        finding.effect = Effect::Warn;
                    }
                }
                return Decision {
                    denied: true,
                    findings,
                    patch: Patch::default(),
                };
            }
            findings.retain(|finding| finding.effect == Effect::Repair);
            Decision {
                denied: false,
                patch: place.patch(case, &findings),
                findings,
            }
        }
    }
}

/// WIN601: the evidence contradicts itself.
fn conflict(case: &Case<'_, '_, '_>, known: &KnownHits) -> Option<Finding> {
    let Conflict {
        at,
        decisive,
        against,
    } = case.detection.conflict?;
    let hit = Hit::new(*rules::OS_CONFLICT, u8::from(!decisive), at);
    let mut effect = effect_of(case, &hit)?;
    // A denial stays one even for owned objects: no node will ever run such a pod.
    if effect == Effect::Deny && (case.request.is_being_deleted() || known.contains(case.pod, &hit))
    {
        effect = Effect::Warn;
    }
    Some(Finding {
        hit,
        effect,
        against,
    })
}

/// WIN604: nothing but hints.
fn unplaced(case: &Case<'_, '_, '_>) -> Option<Finding> {
    let hit = Hit::new(*rules::UNPLACED, 0, case.detection.hint?.at?);
    Some(Finding {
        hit,
        // Hints never deny.
        effect: effect_of(case, &hit).map(|_| Effect::Warn)?,
        against: None,
    })
}

fn effect_of(case: &Case<'_, '_, '_>, hit: &Hit) -> Option<Effect> {
    match case.policy.action(hit.rule, hit.tier) {
        Action::Off => None,
        Action::Deny => Some(Effect::Deny),
        Action::Warn | Action::Repair => Some(Effect::Warn),
    }
}

/// What this request's position allows the patch to do.
struct Placing {
    /// Node selector and tolerations.
    place: bool,
    selector: bool,
    add_os: bool,
    /// Fields may be taken out: os=windows holds after the patch.
    repair: Repairs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repairs {
    Nothing,
    /// What the table says.
    Harmless,
    /// All that validateWindows refuses: `kubectl debug` adds such fields by itself.
    Refused,
}

impl Placing {
    fn of(case: &Case<'_, '_, '_>, hits: &[Hit]) -> Self {
        let nothing = Self {
            place: false,
            selector: false,
            add_os: false,
            repair: Repairs::Nothing,
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
            };
        }
        let patchable = match (case.kind, case.request.operation()) {
            (Kind::Pod, Verb::Create) => true,
            (Kind::DaemonSet, Verb::Create) => true,
            (Kind::DaemonSet, Verb::Update) => case.request.template_changed(),
            _ => false,
        };
        if !patchable || case.mode < Mode::Warn {
            return nothing;
        }

        let stays_refused = |hit: &Hit| {
            let repaired = placement.repair
                && hit.is_repairable()
                && case.policy.action(hit.rule, hit.tier) == Action::Repair;
            hit.refused && !repaired
        };
        let add_os = full
            && !case.pod.says_windows()
            && sets_pod_os(case)
            && !hits.iter().any(stays_refused);
        let holds = add_os || case.pod.says_windows();
        Self {
            place: true,
            // The DaemonSet's controller places its pods itself; another selector than its
            // template's would make it loop (kubernetes/kubernetes#51788).
            selector: !(case.kind == Kind::Pod && case.request.is_owned_by(Kind::DaemonSet)),
            add_os,
            repair: if full && placement.repair && holds {
                Repairs::Harmless
            } else {
                Repairs::Nothing
            },
        }
    }

    fn repairs(&self, action: Action, hit: &Hit) -> bool {
        match self.repair {
            Repairs::Nothing => false,
            Repairs::Harmless => hit.is_repairable() && action == Action::Repair,
            Repairs::Refused => hit.is_repairable() && action >= Action::Repair,
        }
    }

    fn patch(&self, case: &Case<'_, '_, '_>, repairs: &[Finding]) -> Patch {
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
        }
        operations.extend(
            repairs
                .iter()
                .map(|repair| Operation::Remove(repair.hit.at)),
        );
        Patch { operations }
    }
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

/// An object that a controller of the control plane made for an owner that was judged itself. An
/// ownerReference that somebody else wrote buys nothing.
fn is_owned(case: &Case<'_, '_, '_>) -> bool {
    let user = case.request.username().unwrap_or_default();
    let by_controller = user == "system:kube-controller-manager"
        || user
            .strip_prefix("system:serviceaccount:kube-system:")
            .is_some_and(|name| name.ends_with("-controller"));
    by_controller
        && Kind::ALL
            .into_iter()
            .any(|owner| case.kind.is_made_by(owner) && case.request.is_owned_by(owner))
}

/// Whether a place lies in an ephemeral container that the old object does not have.
fn in_new_container<'t>(case: &Case<'_, 't, '_>) -> impl Fn(At) -> bool {
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

/// The findings of the old object, by rule, container or volume, and value; never by index.
struct KnownHits(HashSet<u64>);

impl KnownHits {
    fn new(old: Option<&Pod<'_, '_>>, hits: &[Hit]) -> Self {
        let Some(old) = old else {
            return Self(HashSet::new());
        };
        Self(hits.iter().map(|hit| Self::key(old, hit)).collect())
    }

    fn contains(&self, pod: &Pod<'_, '_>, hit: &Hit) -> bool {
        !self.0.is_empty() && self.0.contains(&Self::key(pod, hit))
    }

    fn key(pod: &Pod<'_, '_>, hit: &Hit) -> u64 {
        let mut hasher = DefaultHasher::new();
        hit.rule.hash(&mut hasher);
        pod.owner_name(hit.at).hash(&mut hasher);
        if hit.missing.is_empty() {
            pod.tape.key_of(hit.at).hash(&mut hasher);
            pod.tape.hash_value(hit.at, &mut hasher);
        } else {
            hit.missing.hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Request<'_> {
    /// The controller that made this object is of this kind.
    pub(crate) fn is_owned_by(&self, owner: Kind) -> bool {
        let tape = self.tape();
        let references = self
            .object_at()
            .and_then(|object| tape.child(object, Role::Metadata))
            .and_then(|metadata| tape.child(metadata, Role::OwnerReferences));
        references.is_some_and(|references| {
            tape.children(references).any(|reference| {
                let group = tape
                    .child_text(reference, Role::ApiVersion)
                    .and_then(|version| version.split_once('/'))
                    .map_or("", |(group, _)| group);
                let controller = tape.child(reference, Role::Controller);
                controller.and_then(|at| tape.bool(at)) == Some(true)
                    && tape.child_text(reference, Role::Kind) == Some(owner.name())
                    && group == owner.group()
            })
        })
    }
}
