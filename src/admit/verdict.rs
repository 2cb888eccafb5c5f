//! What is answered to a request, and what others may ask of it: webhook, metrics, linter and scan.
//!
//! Not here: how it comes about (`admit`), and its words (`message`).

use std::fmt::{self, Display, Formatter};

use crate::decision::{self, Decision, Effect, Endpoint, Exemption, Finding};
use crate::facts::Facts;
use crate::mode::Mode;
use crate::object::{FieldPath, Tape};
use crate::os::{self, Detection};
use crate::patch::{Change, Patch};
use crate::policy::Policy;
use crate::review::Request;
use crate::workload::Pod;

/// What is answered to a request, and everything that led to it.
pub struct Verdict<'r, 'a> {
    pub(super) endpoint: Endpoint,
    pub(super) request: &'r Request<'a>,
    pub(super) policy: &'r Policy,
    pub(super) facts: &'r Facts,
    pub(super) mode: Mode,
    pub(super) outcome: Outcome<'r, 'a>,
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

/// A field that stops everything else from being understood, or from being evaluated.
pub(crate) struct Unreadable {
    pub(crate) path: String,
    pub(crate) sentence: String,
    /// The rest of the sentence in a denial: what follows, and what to do.
    pub(crate) remedy: String,
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

    /// The codes of the rules that it is denied for, each once.
    pub(crate) fn denied_rules(&self) -> Vec<&'static str> {
        let findings = self.findings().iter();
        let denied = findings.filter(|finding| finding.effect() == Effect::Deny);
        let mut codes: Vec<_> = denied.map(|finding| finding.rule().code).collect();
        // Findings are sorted by rule.
        codes.dedup();
        codes
    }

    /// How many fields would have to be removed, if it is denied because they are too many for one patch.
    pub(crate) fn excess(&self) -> Option<usize> {
        match &self.outcome {
            Outcome::Judged(judgement) => judgement.decision.excess,
            _ => None,
        }
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

    /// What the evidence says, also of an exempt object, which admission does not evaluate.
    pub(crate) fn detection(&self) -> Detection {
        match &self.outcome {
            Outcome::Judged(judgement) => judgement.detection,
            Outcome::Exempt(_) => super::detect_exempt(self.request, self.policy, self.facts),
            Outcome::Unreadable(_) => Detection::default(),
        }
    }

    /// Whether `spec.os` and the node selector are missing in a Windows pod, or in a template of such pods, and
    /// /mutate adds them to the pods.
    pub(crate) fn misses_placement(&self) -> (bool, bool) {
        let Outcome::Judged(Judgement {
            detection,
            pod: Some(pod),
            ..
        }) = &self.outcome
        else {
            return (false, false);
        };
        let is_placed = detection.is_windows()
            && detection.conflict.is_none()
            && pod.spec.is_some()
            && self.mode >= Mode::Warn;
        let placement = &self.policy.placement;
        let adds_os = self.mode == Mode::Enforce && placement.set_pod_os && !pod.says_windows();
        (
            is_placed && adds_os,
            is_placed && placement.misses_selector(pod),
        )
    }

    /// The RuntimeClass that the pod names.
    pub(crate) fn runtime_class(&self) -> Option<&str> {
        let class = match &self.outcome {
            Outcome::Judged(judgement) => judgement.pod.as_ref()?.runtime_class?,
            Outcome::Exempt(_) => super::exempt_pod(self.request)?.runtime_class?,
            Outcome::Unreadable(_) => return None,
        };
        self.request.tape().text(class)
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
        let spared = spared.map(|finding| finding.hit.at).collect();
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
