//! What the cluster would do about an object: /mutate, its patch, then /validate on what comes of
//! it, as the API server asks them.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::Options;
use super::comment::Comments;
use super::document::Object;
use super::report::{FileReport, Finding, Problem, Severity, Span};
use crate::FieldPath;
use crate::admit::{self, Verdict};
use crate::decision::{Effect, Endpoint, Finding as Told};
use crate::facts::Facts;
use crate::mode::Mode;
use crate::review;
use crate::workload::Kind;
use crate::yaml::Located;

pub(super) fn judge(
    object: &Object,
    comments: &Comments,
    options: &Options,
    report: &mut FileReport,
) {
    let mut json = Vec::new();
    if let Err(flaw) = object.node.write_json(&mut json) {
        return report.problems.push(Problem::at(flaw.place, flaw.problem));
    }
    let namespace = namespace(object, options);
    let facts = facts(namespace, options);
    let body = creation(object.kind, namespace, &json);
    let request = match review::decode(&body, &options.policy) {
        Ok(request) => request,
        Err(malformed) => {
            let problem = Problem::at(object.node.place, malformed.to_string());
            return report.problems.push(problem);
        }
    };
    let mutated = admit::admit(Endpoint::Mutate, &request, &options.policy, &facts);
    let mut case = Case {
        object,
        comments,
        // What the patch adds is no evidence of anything.
        evidence: mutated.evidence(),
        told: HashSet::new(),
        report,
    };
    case.tell(&mutated);
    let patched = patched(&json, &mutated).map(|json| creation(object.kind, namespace, &json));
    let again = patched
        .as_deref()
        .and_then(|body| review::decode(body, &options.policy).ok());
    let request = again.as_ref().unwrap_or(&request);
    let validated = admit::admit(Endpoint::Validate, request, &options.policy, &facts);
    case.tell(&validated);
    case.tell_unreadable(&validated);
    case.tell_ineffective(&validated);
}

/// The namespace that the object will be in.
pub(super) fn namespace<'o>(object: &'o Object, options: &'o Options) -> &'o str {
    let said = object.metadata("namespace");
    let said = said.or(options.namespace_name.as_deref());
    said.unwrap_or("default")
}

/// What is known of the cluster.
pub(super) fn facts(namespace: &str, options: &Options) -> Facts {
    Facts {
        namespaces: [(namespace.to_owned(), options.namespace)].into(),
        ..Facts::default()
    }
}

/// The review that the API server would send for the creation of this object.
pub(super) fn creation(kind: Kind, namespace: &str, object: &[u8]) -> Vec<u8> {
    let (group, kind, namespace) = (kind.group(), kind.name(), Json::from(namespace));
    let envelope = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"{}","request":{{"uid":"check","kind":{{"group":"{group}","kind":"{kind}"}},"namespace":{namespace},"operation":"CREATE","object":"#,
        review::API_VERSION,
    );
    [envelope.as_bytes(), object, b"}}"].concat()
}

/// The object as /mutate would hand it on, if it would change it.
fn patched(json: &[u8], mutated: &Verdict<'_, '_>) -> Option<Vec<u8>> {
    let patch: json_patch::Patch = serde_json::from_str(&mutated.patch()?).ok()?;
    let mut object: Json = serde_json::from_slice(json).ok()?;
    // It is our own, and made for this object.
    json_patch::patch(&mut object, &patch).ok()?;
    serde_json::to_vec(&object).ok()
}

/// One object, and everything that is told of it.
struct Case<'c> {
    object: &'c Object,
    comments: &'c Comments,
    evidence: Option<String>,
    /// By code and path. A denial of /mutate tells of what /validate would find again.
    told: HashSet<(&'static str, String)>,
    report: &'c mut FileReport,
}

impl Case<'_> {
    fn tell(&mut self, verdict: &Verdict<'_, '_>) {
        for told in verdict.findings() {
            let path = verdict.path(told);
            if self.told.insert((told.rule().code, path.to_string())) {
                let finding = self.finding(verdict, told, &path);
                self.report.findings.push(finding);
            }
        }
    }

    fn finding(&self, verdict: &Verdict<'_, '_>, told: &Told, path: &FieldPath<'_>) -> Finding {
        let located = self.locate(path);
        let rule = told.rule();
        let ignored = match self.comments.reason(&located.lines, rule) {
            Some(reason) => Some(reason.to_owned()),
            None => verdict.annotated_reason(told),
        };
        let severity = match told.effect() {
            _ if ignored.is_some() => Severity::Ignored,
            Effect::Ignore => Severity::Ignored,
            Effect::Repair => Severity::Repair,
            // In the other modes nothing is refused.
            Effect::Deny if verdict.mode() == Mode::Enforce => Severity::Deny,
            Effect::Deny | Effect::Warn => Severity::Warn,
        };
        let words = verdict.words(told);
        let against = verdict.against(told).map(|path| self.locate(&path));
        let name = self.object.metadata("name");
        let name = name.or_else(|| self.object.metadata("generateName"));
        Finding {
            rule,
            tier: words.tier,
            severity,
            path: path.to_string(),
            value: words.value,
            reason: words.reason,
            remedy: words.remedy,
            span: self.span(&located),
            absent: !located.complete,
            against: against.map(|located| self.span(&located)),
            kind: self.object.kind.name().to_owned(),
            namespace: self.object.metadata("namespace").map(str::to_owned),
            name: name.map(str::to_owned),
            evidence: self.evidence.clone(),
            patch: (severity == Severity::Repair).then(|| remove(path)),
            ignored,
        }
    }

    fn span(&self, located: &Located<'_>) -> Span {
        let (place, span) = located.span(&self.report.text);
        Span {
            start: span.start,
            end: span.end,
            line: place.line,
            column: place.column,
        }
    }

    /// A field of a wrong type keeps the cluster from looking any further.
    fn tell_unreadable(&mut self, verdict: &Verdict<'_, '_>) {
        if let Some(problem) = verdict.unreadable() {
            let path = problem.split(": ").next().unwrap_or_default();
            let spot = self.object.node.places().nearest(path);
            let place = spot.map_or(self.object.node.place, |spot| spot.value);
            self.report.problems.push(Problem::at(place, problem));
        }
    }

    /// Annotations that were meant to silence something.
    fn tell_ineffective(&mut self, verdict: &Verdict<'_, '_>) {
        for (path, why) in verdict.ineffective() {
            let (place, _) = self.locate(&path).span(&self.report.text);
            self.report.oddities.push(Problem::at(place, why));
        }
    }

    fn locate(&self, path: &FieldPath<'_>) -> Located<'_> {
        let mut steps = Vec::new();
        // The visitor has no errors.
        let _ = path.each_step(|step| {
            steps.push(step);
            Ok::<(), std::convert::Infallible>(())
        });
        self.object.node.locate(steps)
    }
}

/// The operation that takes a field out.
fn remove(path: &FieldPath<'_>) -> String {
    let mut pointer = String::new();
    // Writing to memory does not fail.
    let _ = path.write_pointer(&mut pointer);
    serde_json::json!([{"op": "remove", "path": pointer}]).to_string()
}
