//! Manifests → findings with their places: the webhook's own verdict over files, and its patch.
//!
//! Pure: from a file's bytes to a [`FileReport`], or to better bytes. `transom check` reads the files and prints the
//! reports. Not here: what a finding is (`rules`), what is done about it (`decision`), and the
//! formats (`output`).

mod comment;
pub(crate) mod creation;
mod document;
mod fix;
mod judge;
mod known;
pub mod output;
pub mod report;
mod subject;
mod types;

use std::collections::BTreeMap;

use crate::facts::{Facts, NamespaceFacts};
use crate::policy::Policy;
use comment::Comments;
use document::Document;
use judge::Reported;

pub use fix::{Fixed, Selected, fix};
pub use known::{Said, facts};
pub use report::{FileReport, Finding, Problem, Report, Seen, Severity, Source, Span};
pub(crate) use subject::Note;
pub use subject::{Added, Subject};

/// What files are held against.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The cluster's configuration, with what the command line says on top.
    pub policy: Policy,
    /// The labels of the namespace that the manifests are for.
    pub namespace: NamespaceFacts,
    /// The namespace of manifests that name none.
    pub namespace_name: Option<String>,
    /// What the manifests of the input say of the cluster.
    pub facts: Facts,
    /// Evaluate objects in namespaces whose label says `transom.dev/mode: off`.
    pub include_exempt: bool,
}

/// Looks at one file. `name` is what reports call it.
pub fn check(name: &str, bytes: &[u8], options: &Options) -> FileReport {
    let mut report = FileReport::new(name);
    let text = match document::text(bytes) {
        Ok(text) => text,
        Err(problem) => {
            report.problems.push(problem);
            return report;
        }
    };
    let (documents, comments) = document::documents(&text);
    let comments = Comments::read(&comments, &text);
    report.text = text.into_owned();
    let mut reported = Reported::default();
    for document in &documents {
        report.duplicates(document);
        match document {
            Document::Object(object) if object.is_judged(&options.policy) => {
                judge::judge(object, &comments, options, &mut reported, &mut report);
            }
            Document::Object(object) => report.skip(object.kind.name()),
            Document::Other {
                kind,
                known,
                removed,
                node,
            } => {
                report.skip(kind);
                if *removed {
                    let text = format!(
                        "{kind} of extensions/v1beta1 is skipped: Kubernetes 1.16 removed this API; use apps/v1"
                    );
                    report.oddities.push(Problem::at(node.place, text));
                }
                if let Some(known) = known {
                    report.said.add(*known, node);
                }
            }
            Document::List(_) => {}
            Document::Foreign(problem) => {
                report.foreign += 1;
                report.problems.push(problem.clone());
            }
            Document::Broken(problem) => report.problems.push(problem.clone()),
        }
    }
    let all_read = report.problems.is_empty();
    let oddities = comments.oddities(&options.policy, all_read);
    report.oddities.extend(oddities);
    report.problems.sort_by_key(|problem| problem.place);
    report.oddities.sort_by_key(|oddity| oddity.place);
    // What stands in an anchor is found wherever it is meant.
    report.oddities.dedup();
    report
        .findings
        .sort_by_key(|finding| (finding.span.map(|span| span.start), finding.rule.code));
    report
}

/// How many objects of each kind were skipped.
pub type Skipped = BTreeMap<String, usize>;
