//! What a cluster comes to, by rule and by namespace: what enforcing would break.
//!
//! Not here: the one line of `summary`, and single findings.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::markdown::code;
use super::shown::shown;
use crate::check::{Finding, Report, Severity};
use crate::explain::style::{FAINT, HEADING};

/// How much there is of something.
#[derive(Default, Serialize)]
pub(super) struct Count {
    /// Objects with a finding that is told.
    objects: usize,
    /// Objects that would be refused.
    refused: usize,
    denied: usize,
    warned: usize,
    repaired: usize,
    ignored: usize,
}

const HEADINGS: [&str; 5] = ["OBJECTS", "REFUSED", "DENY", "WARN", "REPAIR"];

impl Count {
    fn columns(&self) -> [usize; 5] {
        [
            self.objects,
            self.refused,
            self.denied,
            self.warned,
            self.repaired,
        ]
    }
}

/// The namespace of a finding's object.
pub(super) fn namespace(finding: &Finding) -> &str {
    finding.namespace.as_deref().unwrap_or_default()
}

/// Counts findings by what they have in common.
pub(super) fn count<'r, K: Ord + std::hash::Hash + Copy>(
    report: &'r Report,
    key: impl Fn(&'r Finding) -> K,
) -> BTreeMap<K, Count> {
    let mut counts = BTreeMap::<K, Count>::new();
    let mut objects = HashSet::new();
    for (file, finding) in report.findings() {
        let key = key(finding);
        let count = counts.entry(key).or_default();
        match finding.severity {
            Severity::Deny => count.denied += 1,
            Severity::Warn => count.warned += 1,
            Severity::Repair => count.repaired += 1,
            Severity::Ignored => {
                count.ignored += 1;
                continue;
            }
        }
        let is_refused = finding.severity == Severity::Deny;
        count.objects += usize::from(objects.insert((key, &file.name, false)));
        if is_refused {
            count.refused += usize::from(objects.insert((key, &file.name, true)));
        }
    }
    counts
}

/// The two tables: what stands in the first column, with its heading, and the counts.
fn tables(report: &Report) -> [(&'static str, Vec<(String, Count)>); 2] {
    let rules = count(report, |finding| (finding.rule.code, finding.rule.name));
    let rules = rules.into_iter();
    let rules = rules.map(|((code, name), count)| (format!("{code} {name}"), count));
    let namespaces = count(report, namespace).into_iter();
    let namespaces = namespaces.map(|(name, count)| (shown(name), count));
    [
        ("RULE", rules.collect()),
        ("NAMESPACE", namespaces.collect()),
    ]
}

/// Both tables of a cluster in columns, if there is anything in them.
pub(super) fn text(report: &Report) -> Option<String> {
    report.cluster.as_ref()?;
    let tables = tables(report).into_iter();
    let tables = tables.filter(|(_, rows)| !rows.is_empty());
    let tables: Vec<_> = tables
        .map(|(heading, rows)| columns(heading, &rows))
        .collect();
    (!tables.is_empty()).then(|| tables.join("\n"))
}

fn columns(heading: &str, rows: &[(String, Count)]) -> String {
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let first = names.chain([heading.len()]).max().unwrap_or_default();
    let headings: String = HEADINGS.iter().map(|name| format!("  {name}")).collect();
    let mut out = format!("{HEADING}{heading:first$}{HEADING:#}{FAINT}{headings}{FAINT:#}\n");
    for (name, count) in rows {
        let counts = HEADINGS.iter().zip(count.columns());
        let counts = counts.map(|(heading, n)| format!("  {n:>0$}", heading.len()));
        out.push_str(&format!("{name:first$}{}\n", counts.collect::<String>()));
    }
    out
}

/// The same as Markdown; nothing where it is no cluster.
pub(super) fn markdown(report: &Report) -> String {
    if report.cluster.is_none() {
        return String::new();
    }
    let mut out = String::new();
    for (heading, rows) in tables(report) {
        if rows.is_empty() {
            continue;
        }
        let headings = HEADINGS.join(" | ").to_lowercase();
        let heading = heading.to_lowercase();
        out.push_str(&format!("\n| {heading} | {headings} |\n|---|"));
        out.push_str(&"--:|".repeat(HEADINGS.len()));
        out.push('\n');
        for (name, count) in rows {
            let counts = count.columns().map(|n| n.to_string()).join(" | ");
            out.push_str(&format!("| {} | {counts} |\n", code(&name)));
        }
    }
    out
}
