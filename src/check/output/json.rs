//! The report as JSON, for programs. Keys are added, never renamed or taken away, as long as
//! `version` stays.
//!
//! ```text
//! {
//!   "version": "1",
//!   "findings": [{
//!     "code": "WIN101", "name": "run-as-user",
//!     "severity": "deny" | "warn" | "repair" | "ignored",
//!     "file": "web.yaml", "line": 11, "column": 9, "endLine": 11, "endColumn": 24,
//!     "path": "spec.template.spec.securityContext.runAsUser",
//!     "absent": false,          // true: it is not written, and the place is the nearest one above it
//!     "value": "1000",          // null where the field is absent or not to be told
//!     "brief", "reason", "remedy": sentences,
//!     "evidence": "…",          // why the object is for Windows, or null
//!     "object": {"kind": "Deployment", "namespace": null, "name": "web"},
//!     "patch": [{"op": …}],     // of a repair: what the webhook would do (RFC 6902), or null
//!     "ignored": "…",           // why it is ignored, or null
//!     "against": {"line", "column"}  // of a contradiction: where the other side is, or null
//!   }],
//!   "problems": [{"file", "line", "column", "message"}],  // what could not be read
//!   "oddities": [{"file", "line", "column", "message"}],  // what is probably not meant
//!   "objects": [{             // of the kinds that are evaluated
//!     "file", "line", "column", "kind", "namespace", "name",
//!     "os": "windows" | "linux",  // or null
//!     "evidence": "…",          // the strongest evidence of that, or a hint, or null
//!     "exempt": "…",            // why it was not evaluated, or null
//!     "adds": ["spec.os", "spec.nodeSelector"],  // what the webhook adds to its pods
//!     "placed": false           // nothing but the webhook keeps it off Linux nodes
//!   }],
//!   "summary": {"files", "denied", "warned", "repaired", "ignored", "problems", "oddities",
//!               "judged", "windows", "exempt", "placed", "skipped": {"ConfigMap": 2}}
//! }
//! ```
//!
//! Lines and columns count from 1, columns in characters; the end is behind the last character.
//! Those of a problem are null where it is about the whole file.
//!
//! Of a cluster, `file` and all places are null, `subject` of a problem says what it is about, `pods` of a finding
//! how many live pods have the same flaw, and the summary has more:
//!
//! ```text
//! "owned": {"Pod": 12},         // objects that count for what made them
//! "finished",                   // pods that have ended
//! "misplaced",                  // workloads with pods on nodes of the wrong operating system
//! "byRule": {"WIN101": {"objects", "refused", "denied", "warned", "repaired", "ignored"}},
//! "byNamespace": {"shop": {…}}
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

use super::tables::{self, Count};
use super::{Source, end_column};
use crate::check::{FileReport, Finding, Problem, Report, Severity, Subject};
use crate::os::Os;

#[derive(Serialize)]
struct Output<'r> {
    version: &'static str,
    findings: Vec<Found<'r>>,
    problems: Vec<Told<'r>>,
    oddities: Vec<Told<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<Vec<Taken<'r>>>,
    summary: Summary<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'r> {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    file: Option<&'r str>,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    path: &'r str,
    absent: bool,
    value: Option<&'r str>,
    brief: &'static str,
    reason: &'r str,
    remedy: &'r str,
    evidence: Option<&'r str>,
    object: Object<'r>,
    patch: Option<serde_json::Value>,
    ignored: Option<&'r str>,
    against: Option<Spot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<usize>,
}

#[derive(Serialize)]
struct Spot {
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct Object<'r> {
    kind: &'r str,
    namespace: Option<&'r str>,
    name: Option<&'r str>,
}

/// What an object is taken for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Taken<'r> {
    file: Option<&'r str>,
    line: usize,
    column: usize,
    kind: &'static str,
    namespace: Option<&'r str>,
    name: Option<&'r str>,
    os: Option<&'static str>,
    evidence: Option<&'r str>,
    exempt: Option<&'r str>,
    adds: Vec<&'static str>,
    placed: bool,
}

impl<'r> Taken<'r> {
    fn new((file, subject): (&'r FileReport, &'r Subject)) -> Self {
        let adds = [
            subject.adds.os.then_some("spec.os"),
            subject.adds.selector.then_some("spec.nodeSelector"),
        ];
        Self {
            file: file.file(),
            line: subject.place.line,
            column: subject.place.column,
            kind: subject.kind,
            namespace: subject.namespace.as_deref(),
            name: subject.name.as_deref(),
            os: subject.os.map(Os::name),
            evidence: subject.evidence.as_deref(),
            exempt: subject.exempt.as_deref(),
            adds: adds.into_iter().flatten().collect(),
            placed: subject.is_placed(),
        }
    }
}

#[derive(Serialize)]
struct Told<'r> {
    file: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'r str>,
    line: Option<usize>,
    column: Option<usize>,
    message: &'r str,
}

#[derive(Serialize)]
struct Summary<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    denied: usize,
    warned: usize,
    repaired: usize,
    ignored: usize,
    problems: usize,
    oddities: usize,
    judged: usize,
    windows: usize,
    exempt: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    placed: Option<usize>,
    skipped: BTreeMap<&'r str, usize>,
    #[serde(flatten)]
    cluster: Option<Cluster<'r>>,
}

/// What only a cluster has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster<'r> {
    owned: &'r BTreeMap<String, usize>,
    finished: usize,
    misplaced: usize,
    by_rule: BTreeMap<&'r str, Count>,
    by_namespace: BTreeMap<&'r str, Count>,
}

impl<'r> Found<'r> {
    fn new(file: &'r FileReport, finding: &'r Finding) -> Self {
        let patch = finding.patch.as_deref();
        Self {
            code: finding.rule.code,
            name: finding.rule.name,
            severity: finding.severity.name(),
            file: file.file(),
            line: finding.span.map(|span| span.line),
            column: finding.span.map(|span| span.column),
            end_line: finding.span.map(|span| span.line),
            end_column: finding.span.map(|span| end_column(file, span)),
            path: &finding.path,
            absent: finding.absent,
            value: finding.value.as_deref(),
            brief: finding.rule.brief,
            reason: &finding.reason,
            remedy: &finding.remedy,
            evidence: finding.evidence.as_deref(),
            object: Object {
                kind: &finding.kind,
                namespace: finding.namespace.as_deref(),
                name: finding.name.as_deref(),
            },
            patch: patch.and_then(|patch| serde_json::from_str(patch).ok()),
            ignored: finding.ignored.as_deref(),
            against: finding.against.map(|span| Spot {
                line: span.line,
                column: span.column,
            }),
            pods: finding.pods,
        }
    }
}

impl<'r> Told<'r> {
    fn new(file: &'r FileReport, problem: &'r Problem) -> Self {
        Self {
            file: file.file(),
            subject: match file.source {
                Source::File => None,
                Source::Cluster => Some(&file.name),
            },
            line: problem.place.map(|place| place.line),
            column: problem.place.map(|place| place.column),
            message: &problem.text,
        }
    }
}

pub(super) fn render(report: &Report) -> String {
    let told = |of: fn(&FileReport) -> &[Problem]| -> Vec<_> {
        let files = report.files.iter();
        files
            .flat_map(|file| of(file).iter().map(|problem| Told::new(file, problem)))
            .collect()
    };
    let problems = told(|file| &file.problems);
    let oddities = told(|file| &file.oddities);
    let mut skipped = BTreeMap::new();
    for (kind, count) in report.files.iter().flat_map(|file| &file.skipped) {
        *skipped.entry(kind.as_str()).or_default() += count;
    }
    let findings = report.findings();
    let output = Output {
        version: "1",
        findings: findings.map(|(file, f)| Found::new(file, f)).collect(),
        summary: Summary {
            files: report.cluster.is_none().then_some(report.files.len()),
            denied: report.count(Severity::Deny),
            warned: report.count(Severity::Warn),
            repaired: report.count(Severity::Repair),
            ignored: report.count(Severity::Ignored),
            problems: problems.len(),
            oddities: oddities.len(),
            judged: report.judged(),
            windows: report.windows(),
            exempt: report.exempt(),
            placed: report.cluster.is_none().then(|| report.placed()),
            skipped,
            cluster: report.cluster.as_ref().map(|seen| Cluster {
                owned: &seen.owned,
                finished: seen.finished,
                misplaced: seen.misplaced,
                by_rule: tables::count(report, |finding| finding.rule.code),
                by_namespace: tables::count(report, tables::namespace),
            }),
        },
        problems,
        oddities,
        objects: report
            .cluster
            .is_none()
            .then(|| report.subjects().map(Taken::new).collect()),
    };
    super::json(&output)
}
