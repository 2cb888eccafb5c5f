//! The pipeline on one page: (request, policy, facts) → verdict. The only call that the shell
//! makes; webhook, linter and scan all come through here.

use std::fmt::{self, Display, Formatter};

use crate::decision::{self, Case, Decision, Effect, Endpoint, Exemption, Finding};
use crate::facts::{Facts, NamespaceFacts};
use crate::mode::Mode;
use crate::object::demand::Role;
use crate::object::{At, FieldPath, Tape};
use crate::os::{self, Detection};
use crate::patch::{Change, Patch};
use crate::policy::Policy;
use crate::review::{Operation, Request};
use crate::rules::{self, Action, Context, Hit};
use crate::workload::{Kind, Pod};

/// Judges a request.
pub fn admit<'r, 'a>(
    endpoint: Endpoint,
    request: &'r Request<'a>,
    policy: &'r Policy,
    facts: &'r Facts,
) -> Verdict<'r, 'a> {
    let name = request.namespace();
    let labels = Labels::Known(name.and_then(|name| facts.namespaces.get(name)));
    admit_in(endpoint, request, policy, facts, labels)
}

/// What is known of the labels of a request's namespace.
#[derive(Clone, Copy, Debug)]
pub enum Labels<'r> {
    /// What they say; there may be no namespace, or none with labels.
    Known(Option<&'r NamespaceFacts>),
    /// They may say anything: nothing is denied, and the mode is `warn` at most.
    Unknown,
}

/// Judges a request whose namespace has been looked up already.
pub fn admit_in<'r, 'a>(
    endpoint: Endpoint,
    request: &'r Request<'a>,
    policy: &'r Policy,
    facts: &'r Facts,
    labels: Labels<'r>,
) -> Verdict<'r, 'a> {
    let (namespace, most) = match labels {
        Labels::Known(namespace) => (namespace, Mode::Enforce),
        Labels::Unknown => (None, Mode::Warn),
    };
    let mode = mode(request, namespace, policy).min(most);
    let outcome = judge(endpoint, request, policy, facts, namespace, mode);
    Verdict {
        endpoint,
        request,
        policy,
        facts,
        mode,
        outcome,
    }
}

fn judge<'r, 'a>(
    endpoint: Endpoint,
    request: &'r Request<'a>,
    policy: &'r Policy,
    facts: &'r Facts,
    namespace: Option<&'r NamespaceFacts>,
    mode: Mode,
) -> Outcome<'r, 'a> {
    let Some(kind) = judged_kind(request, policy) else {
        return Outcome::Exempt(Exemption::Unknown);
    };
    if let Some(exemption) = exemption(kind, request, policy, mode) {
        return Outcome::Exempt(exemption);
    }
    let object = match readable_object(request) {
        Ok(object) => object,
        Err(problem) => return Outcome::Unreadable(problem),
    };
    let Some(pod) = Pod::find(request.tape(), object, kind) else {
        return Outcome::Judged(Judgement::default());
    };
    if is_exempt_runtime_class(&pod, policy) {
        return Outcome::Exempt(Exemption::RuntimeClass);
    }

    let detect = |pod: &Pod<'_, '_>| match kind {
        Kind::Service => {
            let name = request.namespace().unwrap_or_default();
            os::detect_service(pod, name, namespace, facts)
        }
        _ => os::detect(pod, namespace, &policy.evidence, facts),
    };
    let detection = detect(&pod);
    let mut case = Case {
        endpoint,
        request,
        kind,
        pod: &pod,
        old: None,
        detection: &detection,
        mode,
        namespace,
        policy,
        nodes: &facts.nodes,
    };
    let decision = if detection.concerns_us() {
        let evaluate =
            |pod, detection: &Detection| evaluate(pod, detection, request, policy, facts);
        let hits = evaluate(&pod, &detection);
        let old = old_pod(request, kind);
        let known = old.as_ref().map_or_else(Vec::new, |old| {
            let detection = detect(old);
            let mut known = evaluate(old, &detection);
            known.extend(detection.conflict.map(decision::conflict_hit));
            known
        });
        case.old = old.as_ref();
        decision::decide(&case, hits, &known)
    } else {
        decision::decide_linux(&case)
    };
    Outcome::Judged(Judgement {
        detection,
        decision,
        pod: Some(pod),
    })
}

/// The kinds, operations and subresources that the webhooks are for.
fn judged_kind(request: &Request<'_>, policy: &Policy) -> Option<Kind> {
    let kind = request.kind()?;
    if kind == Kind::Service && !policy.services {
        return None;
    }
    let judged = match (request.operation(), request.sub_resource()) {
        (Operation::Create | Operation::Update, None) => true,
        (Operation::Update, Some("ephemeralcontainers")) => kind == Kind::Pod,
        _ => false,
    };
    judged.then_some(kind)
}

/// The namespace's label, then its entry in the configuration, then the default.
fn mode(request: &Request<'_>, namespace: Option<&NamespaceFacts>, policy: &Policy) -> Mode {
    let by_label = namespace.and_then(|namespace| namespace.mode);
    let by_name = || policy.namespaces.get(request.namespace()?).copied();
    by_label.or_else(by_name).unwrap_or(policy.mode)
}

fn exemption(kind: Kind, request: &Request<'_>, policy: &Policy, mode: Mode) -> Option<Exemption> {
    let namespace = request.namespace().unwrap_or_default();
    let user = request.username().unwrap_or_default();
    if mode == Mode::Off {
        Some(Exemption::Off)
    } else if policy.exempt_namespaces.contains(namespace) {
        Some(Exemption::Namespace)
    } else if policy.exempt_users.contains(user)
        || !policy.exempt_groups.is_empty()
            && request
                .groups()
                .any(|group| policy.exempt_groups.contains(group))
    {
        Some(Exemption::User)
    } else if kind == Kind::Pod && is_mirror_pod(request) {
        Some(Exemption::MirrorPod)
    } else {
        None
    }
}

fn is_mirror_pod(request: &Request<'_>) -> bool {
    let annotations = request.metadata(Role::Annotations);
    annotations.is_some_and(|at| request.tape().child(at, Role::Mirror).is_some())
}

fn is_exempt_runtime_class(pod: &Pod<'_, '_>, policy: &Policy) -> bool {
    let class = pod.runtime_class.and_then(|at| pod.tape.text(at));
    class.is_some_and(|class| policy.exempt_runtime_classes.contains(class))
}

fn readable_object(request: &Request<'_>) -> Result<At, Unreadable> {
    let tape = request.tape();
    if let Some(problem) = &tape.problem {
        let (path, sentence) = tape.describe(problem);
        return Err(Unreadable { path, sentence });
    }
    request.object_at().ok_or_else(|| Unreadable {
        path: "object".to_owned(),
        sentence: "object: is missing".to_owned(),
    })
}

fn old_pod<'r, 'a>(request: &'r Request<'a>, kind: Kind) -> Option<Pod<'r, 'a>> {
    if request.operation() != Operation::Update {
        return None;
    }
    Pod::find(request.tape(), request.old_object_at()?, kind)
}

/// What the table says; of a pod that is not for Windows it says nothing.
fn evaluate(
    pod: &Pod<'_, '_>,
    detection: &Detection,
    request: &Request<'_>,
    policy: &Policy,
    facts: &Facts,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    if detection.is_windows() {
        let namespace = request.namespace().unwrap_or_default();
        let context = Context {
            pod,
            facts,
            host_process_allowed: policy.host_process_namespaces.contains(namespace),
        };
        let is_off = |rule, tier| policy.action(rule, tier) == Action::Off;
        rules::evaluate(&context, is_off, &mut hits);
    }
    hits
}

/// What is answered to a request, and everything that led to it.
pub struct Verdict<'r, 'a> {
    endpoint: Endpoint,
    request: &'r Request<'a>,
    policy: &'r Policy,
    facts: &'r Facts,
    mode: Mode,
    outcome: Outcome<'r, 'a>,
}

/// How far a request got.
#[expect(clippy::large_enum_variant)] // one a request, on the stack, and mostly the large one
pub(crate) enum Outcome<'r, 'a> {
    /// Let through without a look at its fields.
    Exempt(Exemption),
    /// It could not be understood.
    Unreadable(Unreadable),
    Judged(Judgement<'r, 'a>),
}

/// A field that stops everything else from being understood.
pub(crate) struct Unreadable {
    pub(crate) path: String,
    pub(crate) sentence: String,
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// What was found in an object that was understood.
#[derive(Default)]
pub(crate) struct Judgement<'r, 'a> {
    pub(crate) detection: Detection,
    pub(crate) decision: Decision,
    pub(crate) pod: Option<Pod<'r, 'a>>,
}

impl<'r, 'a> Verdict<'r, 'a> {
    /// Which webhook was asked.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// What was asked.
    pub fn request(&self) -> &'r Request<'a> {
        self.request
    }

    /// How the namespace wants to be told.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the object is admitted.
    pub fn allowed(&self) -> bool {
        if self.mode != Mode::Enforce {
            return true;
        }
        match &self.outcome {
            Outcome::Exempt(_) => true,
            // What /mutate cannot understand, /validate denies, but nothing that is on its way out.
            Outcome::Unreadable(_) => {
                self.endpoint == Endpoint::Mutate || self.request.is_being_deleted()
            }
            Outcome::Judged(judgement) => !judgement.decision.denied,
        }
    }

    /// What the answer tells, sorted by rule and then by place.
    pub fn findings(&self) -> &[Finding] {
        match &self.outcome {
            Outcome::Judged(judgement) => &judgement.decision.findings,
            _ => &[],
        }
    }

    /// The path of a finding's field, from the root of the object.
    pub fn path<'f>(&'f self, finding: &'f Finding) -> FieldPath<'f> {
        finding.path(self.request.tape())
    }

    /// The path of what a finding stands against, if it is a contradiction within the object.
    pub(crate) fn against<'f>(&'f self, finding: &'f Finding) -> Option<FieldPath<'f>> {
        Some(self.request.tape().path(finding.hit.against?))
    }

    /// The same for the same flaw in a template and in each pod that is made of it.
    pub(crate) fn likeness(&self, finding: &Finding) -> Option<u64> {
        let (_, pod) = self.patch_of_pod()?;
        Some(decision::likeness(pod, &finding.hit))
    }

    /// Why the object was let through unseen.
    pub fn exemption(&self) -> Option<Exemption> {
        match &self.outcome {
            Outcome::Exempt(exemption) => Some(*exemption),
            _ => None,
        }
    }

    /// What kept the object from being understood, in one sentence.
    pub fn unreadable(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Unreadable(problem) => Some(&problem.sentence),
            _ => None,
        }
    }

    /// The operating system that the pod is for and the strongest evidence of it.
    pub fn detected(&self) -> (Option<os::Os>, Option<os::Source>) {
        match &self.outcome {
            Outcome::Judged(judgement) => {
                let detection = &judgement.detection;
                let evidence = detection.evidence.or(detection.hint);
                (detection.os, evidence.map(|evidence| evidence.source))
            }
            _ => (None, None),
        }
    }

    /// What the patch changes, each kind of change once.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let judgement = match &self.outcome {
            Outcome::Judged(judgement) => Some(judgement),
            _ => None,
        };
        let patch = judgement.map(|judgement| &judgement.decision.patch);
        patch.into_iter().flat_map(Patch::changes)
    }

    /// Whether the answer warns of anything.
    pub fn warns(&self) -> bool {
        let is_told = |finding: &Finding| finding.effect != Effect::Ignore;
        self.mode >= Mode::Warn && self.findings().iter().any(is_told)
    }

    /// The patch as JSON; `None` where nothing changes.
    pub fn patch(&self) -> Option<String> {
        let (patch, pod) = self.patch_of_pod()?;
        self.written(patch, pod)
    }

    /// The patch that leaves these findings as they are.
    pub(crate) fn patch_sparing(&self, is_spared: impl Fn(&Finding) -> bool) -> Option<String> {
        let (patch, pod) = self.patch_of_pod()?;
        let spared = self.findings().iter().filter(|finding| is_spared(finding));
        let spared: Vec<_> = spared.map(|finding| finding.hit.at).collect();
        self.written(&patch.sparing(&spared), pod)
    }

    fn patch_of_pod(&self) -> Option<(&Patch, &Pod<'r, 'a>)> {
        match &self.outcome {
            Outcome::Judged(Judgement {
                decision,
                pod: Some(pod),
                ..
            }) => Some((&decision.patch, pod)),
            _ => None,
        }
    }

    fn written(&self, patch: &Patch, pod: &Pod<'r, 'a>) -> Option<String> {
        if !self.allowed() || patch.is_empty() {
            return None;
        }
        let mut json = String::with_capacity(320);
        patch.write(pod, &self.policy.placement, &self.facts.nodes, &mut json);
        Some(json)
    }

    /// The path of the pod or of its template, from the root of the object.
    pub(crate) fn pod_path(&self) -> Option<FieldPath<'_>> {
        let (_, pod) = self.patch_of_pod()?;
        Some(pod.tape.path(pod.at))
    }

    pub(crate) fn outcome(&self) -> &Outcome<'r, 'a> {
        &self.outcome
    }

    pub(crate) fn kind_name(&self) -> &str {
        self.request.kind_name().unwrap_or("object")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.request.namespace().unwrap_or_default()
    }
}

impl Finding {
    pub(crate) fn path<'t>(&self, tape: &'t Tape<'_>) -> FieldPath<'t> {
        tape.path_below(self.hit.at, self.hit.missing)
    }
}

impl Detection {
    /// Whether there is anything to do or to say: Linux pods and those without evidence are none
    /// of our business.
    pub(crate) fn concerns_us(&self) -> bool {
        self.is_windows() || self.conflict.is_some() || self.hint.is_some()
    }
}
