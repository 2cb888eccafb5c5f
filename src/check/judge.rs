//! What the cluster would say of a manifest, and where in it.

use std::collections::{HashMap, HashSet};

use super::Options;
use super::comment::Comments;
use super::creation::{self, Creation};
use super::document::Object;
use super::report::{FileReport, Finding, Problem, Severity, Span};
use super::subject::Subject;
use super::types;
use crate::FieldPath;
use crate::admit::Verdict;
use crate::decision::{Endpoint, Finding as Told};
use crate::facts::NamespaceFacts;
use crate::mode::Mode;
use crate::yaml::{Index, Located, Place, Value};

/// As many findings of one rule are reported for one place of a text. Aliases and merge keys repeat a place,
/// and a short text could repeat it a million times.
const MOST: usize = 10;

/// How often something was reported.
#[derive(Default)]
pub(super) struct Reported {
    findings: HashMap<Repeated, usize>,
    subjects: HashMap<Place, usize>,
}

/// What a finding and its repetitions have in common: place, rule, severity, whether it is about a key, and
/// the rest of the path where the field is absent.
type Repeated = (usize, &'static str, Severity, bool, String);

pub(super) fn judge(
    object: &Object,
    comments: &Comments,
    options: &Options,
    reported: &mut Reported,
    report: &mut FileReport,
) {
    let before = report.problems.len();
    let mut json = Vec::new();
    if let Err(flaw) = object.node.write_json(&mut json) {
        report.judged += 1;
        return report.problems.push(Problem::at(flaw.place, flaw.problem));
    }
    let namespace = namespace(object, options);
    let labels = labels(namespace, options);
    let creation = Creation {
        kind: object.kind,
        namespace,
        object: &json,
    };
    let mut case = Case {
        object,
        index: Index::new(&object.node),
        namespace: object.metadata("namespace"),
        comments,
        evidence: None,
        told: HashSet::new(),
        subject: None,
        reported,
        report,
    };
    let asked = creation.ask_in(&options.policy, &options.facts, &labels, |verdict| {
        case.hear(verdict);
    });
    let subject = case.subject.take();
    let times = reported.subjects.entry(object.node.place).or_default();
    *times += 1;
    let is_listed = *times <= MOST;
    match subject {
        Some(subject) => report.count(subject, is_listed),
        None => report.judged += 1,
    }
    if let Err(malformed) = asked {
        let problem = Problem::at(object.node.place, malformed.to_string());
        report.problems.push(problem);
    }
    let own = report.problems.len() - before;
    if is_listed {
        for problem in types::problems(object) {
            // The evaluation may have reported it.
            let known = &report.problems[before..before + own];
            if known.iter().all(|known| known.place != problem.place) {
                report.problems.push(problem);
            }
        }
    }
}

/// The namespace that the object will be in.
pub(super) fn namespace<'o>(object: &'o Object, options: &'o Options) -> &'o str {
    let said = object.metadata("namespace");
    let said = said.or(options.namespace_name.as_deref());
    said.unwrap_or("default")
}

/// What the labels of a namespace say: those of the command line win over those of its manifest.
pub(super) fn labels(namespace: &str, options: &Options) -> NamespaceFacts {
    let said = options.facts.namespaces.get(namespace);
    let mut labels = options.namespace.or(said.copied().unwrap_or_default());
    labels.mode = labels
        .mode
        .filter(|mode| !(options.include_exempt && *mode == Mode::Off));
    labels
}

/// One object, and everything that is told of it.
struct Case<'c> {
    object: &'c Object,
    index: Index<'c>,
    namespace: Option<&'c str>,
    comments: &'c Comments,
    evidence: Option<String>,
    /// By code and path. A denial of /mutate tells of what /validate would find again.
    told: HashSet<(&'static str, String)>,
    subject: Option<Subject>,
    reported: &'c mut Reported,
    report: &'c mut FileReport,
}

impl Case<'_> {
    fn hear(&mut self, verdict: &Verdict<'_, '_>) {
        if verdict.endpoint() == Endpoint::Mutate {
            // What the patch adds is no evidence of anything.
            let name = self.object.metadata("name");
            let name = name.or_else(|| self.object.metadata("generateName"));
            let kind = self.object.kind.name();
            let place = self.object.node.place;
            let subject = Subject::of(verdict, kind, [self.namespace, name], place);
            self.evidence.clone_from(&subject.evidence);
            self.subject = Some(subject);
        }
        for told in verdict.findings() {
            let path = verdict.path(told);
            if self.told.insert((told.rule().code, path.to_string())) {
                let located = self.locate(&path);
                let finding = self.finding(verdict, told, &path, &located);
                let repeated = repeated(&finding, &path, &located);
                let times = self.reported.findings.entry(repeated).or_default();
                *times += 1;
                if *times <= MOST {
                    self.report.findings.push(finding);
                }
            }
        }
        if verdict.endpoint() == Endpoint::Validate {
            self.tell_unreadable(verdict);
            self.tell_ineffective(verdict);
        }
    }

    fn finding(
        &self,
        verdict: &Verdict<'_, '_>,
        told: &Told,
        path: &FieldPath<'_>,
        located: &Located<'_>,
    ) -> Finding {
        let ignored = self.comments.reason(&located.lines, told.rule());
        let against = verdict.against(told).map(|path| self.locate(&path));
        let finding = creation::finding(verdict, told, path, ignored.map(creation::short));
        // As it is written: the tape does not tell empty maps from others.
        let empty = match &located.node.value {
            _ if !located.complete => None,
            Value::Map(map) if map.is_empty() => Some("{}"),
            Value::List(list) if list.is_empty() => Some("[]"),
            _ => None,
        };
        let value = finding.value.map(|value| match empty {
            Some(empty) => empty.to_owned(),
            None => value,
        });
        Finding {
            value,
            span: Some(self.span(located)),
            absent: !located.complete,
            against: against.map(|located| self.span(&located)),
            namespace: self.namespace.map(creation::short),
            evidence: self.evidence.clone(),
            ..finding
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
        self.index.locate(path.steps())
    }
}

fn repeated(finding: &Finding, path: &FieldPath<'_>, located: &Located<'_>) -> Repeated {
    let written = located.lines.len() - 1;
    let absent: Vec<_> = path.steps().into_iter().skip(written).collect();
    let start = finding.span.map_or(0, |span| span.start);
    let (code, severity) = (finding.rule.code, finding.severity);
    (
        start,
        code,
        severity,
        located.key.is_some(),
        format!("{absent:?}"),
    )
}
