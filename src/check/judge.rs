//! What the cluster would do about an object: /mutate, its patch, then /validate on what comes of
//! it, as the API server asks them.

use json_patch::Patch;
use serde_json::Value as Json;

use super::Options;
use super::comment::Comments;
use super::document::{Object, review};
use super::report::{FileReport, Finding, Problem, Severity, Span};
use crate::admit::{self, Verdict};
use crate::decision::{Effect, Endpoint, Finding as Told};
use crate::facts::Facts;
use crate::mode::Mode;
use crate::review as wire;
use crate::yaml::{Located, Node};

pub(super) fn judge(
    object: &Object,
    comments: &Comments,
    options: &Options,
    report: &mut FileReport,
) {
    let namespace = object.metadata("namespace");
    let name = namespace
        .or(options.namespace_name.as_deref())
        .unwrap_or("default");
    let facts = Facts {
        namespaces: [(name.to_owned(), options.namespace.clone())].into(),
        ..Facts::default()
    };
    let mut asked = review(object, name);
    let mut case = Case {
        object,
        comments,
        options,
        facts: &facts,
        report,
    };
    let Some(mutated) = case.ask(Endpoint::Mutate, &asked, &|effect| effect == Effect::Repair)
    else {
        return;
    };
    if let Some(patch) = mutated.patch.filter(|_| !mutated.denied) {
        // It is our own, and made for this object.
        if json_patch::patch(&mut asked["request"]["object"], &patch).is_err() {
            return;
        }
    }
    case.ask(Endpoint::Validate, &asked, &|effect| {
        effect != Effect::Repair
    });
}

/// One object, and everything that it is held against.
struct Case<'c> {
    object: &'c Object,
    comments: &'c Comments,
    options: &'c Options,
    facts: &'c Facts,
    report: &'c mut FileReport,
}

struct Answer {
    denied: bool,
    patch: Option<Patch>,
}

impl Case<'_> {
    /// Asks one of the webhooks, and keeps those of its findings that are wanted.
    fn ask(
        &mut self,
        endpoint: Endpoint,
        asked: &Json,
        wanted: &dyn Fn(Effect) -> bool,
    ) -> Option<Answer> {
        let body = serde_json::to_vec(asked).unwrap_or_default();
        let policy = &self.options.policy;
        let request = match wire::decode(&body, policy) {
            Ok(request) => request,
            Err(malformed) => {
                let problem = Problem::at(self.object.node.place, malformed.to_string());
                self.report.problems.push(problem);
                return None;
            }
        };
        let verdict = admit::admit(endpoint, &request, policy, self.facts);
        if let Some(problem) = verdict.unreadable() {
            if endpoint == Endpoint::Validate {
                let path = problem.split(": ").next().unwrap_or_default();
                let places = self.object.node.places();
                let spot = places.nearest(path);
                let place = spot.map_or(self.object.node.place, |spot| spot.value);
                self.report.problems.push(Problem::at(place, problem));
            }
            return Some(Answer {
                denied: false,
                patch: None,
            });
        }
        for told in verdict.findings() {
            if wanted(told.effect()) {
                let finding = self.finding(&verdict, told);
                self.report.findings.push(finding);
            }
        }
        let patch = verdict.patch();
        Some(Answer {
            denied: !verdict.allowed(),
            patch: patch.and_then(|json| serde_json::from_str(&json).ok()),
        })
    }

    fn finding(&self, verdict: &Verdict<'_, '_>, told: &Told) -> Finding {
        let path = verdict.path(told);
        let mut steps = Vec::new();
        // The visitor has no errors.
        let _ = path.each_step(|step| {
            steps.push(step);
            Ok::<(), std::convert::Infallible>(())
        });
        let located = self.object.node.locate(steps);
        let span = span(&self.report.text, &self.object.node, located);
        let rule = told.rule();
        let comment = self.comments.ignores(span.line, rule);
        let severity = match told.effect() {
            _ if comment.is_some() => Severity::Ignored,
            Effect::Ignore => Severity::Ignored,
            Effect::Repair => Severity::Repair,
            // In the other modes nothing is refused.
            Effect::Deny if verdict.mode() == Mode::Enforce => Severity::Deny,
            Effect::Deny | Effect::Warn => Severity::Warn,
        };
        let words = verdict.words(told);
        Finding {
            rule,
            tier: words.tier,
            severity,
            path: path.to_string(),
            value: words.value,
            reason: words.reason,
            remedy: words.remedy,
            span,
            kind: self.object.kind.name().to_owned(),
            namespace: self.object.metadata("namespace").map(str::to_owned),
            name: self
                .object
                .metadata("name")
                .or_else(|| self.object.metadata("generateName"))
                .map(str::to_owned),
            evidence: verdict.evidence(),
            patch: (severity == Severity::Repair).then(|| remove(&path)),
            ignored: comment.map(str::to_owned),
        }
    }
}

/// The operation that takes a field out.
fn remove(path: &crate::FieldPath<'_>) -> String {
    let mut pointer = String::new();
    // Writing to memory does not fail.
    let _ = path.write_pointer(&mut pointer);
    serde_json::json!([{"op": "remove", "path": pointer}]).to_string()
}

/// What to underline: the key and its value, if that is short; of a field that is absent, the key
/// of the nearest one above it.
fn span(text: &str, document: &Node, located: Located<'_>) -> Span {
    let (place, start) = match located.key {
        Some(key) => (key.place, key.span.start),
        None => (located.node.place, located.node.span.start),
    };
    let end = match (located.complete, located.key, located.node.scalar()) {
        (true, _, Some(_)) => located.node.span.end,
        (_, Some(key), _) => key.span.end,
        (_, None, _) => located.node.span.end,
    };
    // Never more than a line: a block of text is told by its key.
    let written = text.get(start..end).unwrap_or_default();
    let end = start + written.find('\n').unwrap_or(written.len());
    let _ = document;
    Span {
        start,
        end: end.max(start),
        line: place.line,
        column: place.column,
    }
}
