//! The pipeline on one page: (request, policy, facts) → verdict. The only call that the shell
//! makes; webhook, linter and scan all come through here.

#[cfg(test)]
mod linear;
mod notice;
mod verdict;

use crate::decision::{self, Case, Endpoint, Exemption};
use crate::facts::{Facts, NamespaceFacts};
use crate::mode::Mode;
use crate::object::At;
use crate::object::demand::Role;
use crate::os::{self, Detection};
use crate::policy::Policy;
use crate::review::{Operation, Request};
use crate::rules::{self, Action, Context, Hits, MAX_FINDINGS};
use crate::workload::{Kind, Pod};

pub use notice::Notice;
pub use verdict::Verdict;
pub(crate) use verdict::{Judgement, Outcome, Unreadable};

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
        if hits.count > MAX_FINDINGS {
            return Outcome::Unreadable(too_many_findings(&pod, hits.count));
        }
        let old = old_pod(request, kind);
        let known = old.as_ref().map_or_else(Vec::new, |old| {
            let detection = detect(old);
            let mut known = evaluate(old, &detection).list;
            known.extend(detection.conflict.map(decision::conflict_hit));
            known
        });
        case.old = old.as_ref();
        decision::decide(&case, hits.list, &known)
    } else {
        decision::decide_linux(&case)
    };
    Outcome::Judged(Judgement {
        detection,
        decision,
        pod: Some(pod),
    })
}

/// What the evidence says of an object that is exempt. Only `check` reports it.
fn detect_exempt(request: &Request<'_>, policy: &Policy, facts: &Facts) -> Detection {
    exempt_pod(request).map_or_else(Detection::default, |pod| {
        os::detect(&pod, None, &policy.evidence, facts)
    })
}

fn exempt_pod<'r, 'a>(request: &'r Request<'a>) -> Option<Pod<'r, 'a>> {
    let object = readable_object(request).ok()?;
    let kind = request.kind().filter(|kind| *kind != Kind::Service)?;
    Pod::find(request.tape(), object, kind)
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

/// Where and why an object is not understood.
fn unreadable(request: &Request<'_>, path: String, sentence: String) -> Unreadable {
    let kind = request.kind_name().unwrap_or("object");
    let remedy =
        format!("so nobody can tell whether this {kind} runs on Windows; correct the field");
    Unreadable {
        path,
        sentence,
        remedy,
    }
}

/// Findings take memory, and a patch and messages are made of them.
fn too_many_findings(pod: &Pod<'_, '_>, count: usize) -> Unreadable {
    let path = pod.tape.path(pod.spec.unwrap_or(pod.at)).to_string();
    Unreadable {
        sentence: format!(
            "{path}: has {count} findings, more than the {MAX_FINDINGS} that are evaluated"
        ),
        path,
        remedy: "which no real pod has; remove what Windows does not support".to_owned(),
    }
}

fn readable_object(request: &Request<'_>) -> Result<At, Unreadable> {
    let tape = request.tape();
    // API servers write the old object last. Too many fields of it only cost findings that it had before.
    let objects = request.object_at().zip(request.old_object_at());
    let is_read = objects.is_some_and(|(at, old)| at < old && tape.is_full_within(old));
    if let Some(problem) = tape.problem.as_ref().filter(|_| !is_read) {
        let (path, sentence) = tape.describe(problem);
        return Err(unreadable(request, path, sentence));
    }
    request.object_at().ok_or_else(|| {
        let sentence = "object: is missing".to_owned();
        unreadable(request, "object".to_owned(), sentence)
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
) -> Hits {
    if !detection.is_windows() {
        return Hits::default();
    }
    let namespace = request.namespace().unwrap_or_default();
    let context = Context {
        pod,
        facts,
        host_process: pod.has_host_process(),
        host_process_allowed: policy.host_process_namespaces.contains(namespace),
    };
    let is_off = |rule, tier| policy.action(rule, tier) == Action::Off;
    rules::evaluate(&context, is_off)
}

impl Detection {
    /// Whether there is anything to do or to say: Linux pods and those without evidence are none
    /// of our business.
    pub(crate) fn concerns_us(&self) -> bool {
        self.is_windows() || self.conflict.is_some() || self.hint.is_some()
    }
}
