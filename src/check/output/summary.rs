//! What a report comes to, in one line.

use std::collections::{BTreeMap, BTreeSet};

use super::shown::shown;
use crate::check::{Report, Seen, Severity};

/// As many kinds of skipped objects are named.
const KINDS: usize = 8;

/// What the report comes to, in one line without its end:
/// `3 denied, 1 warned in 2 of 14 files; 3 Windows objects, 11 Linux or unmarked, 3 skipped (1 Secret, …)`.
pub fn summary(report: &Report) -> String {
    let counts = [
        (Severity::Deny, "denied"),
        (Severity::Warn, "warned"),
        (Severity::Repair, "to be repaired"),
    ];
    let some = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let counts = counts.map(|(severity, done)| some(report.count(severity), done));
    let mut parts: Vec<_> = counts.into_iter().flatten().collect();
    let oddities: usize = report.files.iter().map(|file| file.oddities.len()).sum();
    let misplaced = report.cluster.as_ref().map_or(0, |seen| seen.misplaced);
    parts.extend(some(misplaced, "misplaced"));
    let oddities = oddities - misplaced;
    let others = [(report.problems(), "problem"), (oddities, "oddity")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, what)| several(count, what)));
    parts.extend(some(report.placed(), "to be placed"));
    if parts.is_empty() {
        parts.push("nothing found".to_owned());
    }
    parts.extend(some(report.count(Severity::Ignored), "ignored"));

    if let Some(seen) = &report.cluster {
        let judged = match report.judged() {
            0 => "no object".to_owned(),
            judged => several(judged, "object"),
        };
        let (parts, rest) = (parts.join(", "), live(seen));
        return format!("{parts}; {judged} evaluated{rest}");
    }
    let concerned = report.files.iter().filter(|file| !file.is_silent());
    let files = several(report.files.len(), "file");
    let files = match concerned.count() {
        0 => files,
        concerned => format!("{concerned} of {files}"),
    };
    format!("{} in {files}; {}", parts.join(", "), objects(report))
}

/// `2 Windows objects, 12 Linux or unmarked, 3 exempt (namespace kube-system), 2 skipped (2 Secret)`
fn objects(report: &Report) -> String {
    let windows = report.windows();
    let mut parts = Vec::new();
    if report.judged() + report.exempt() == 0 {
        parts.push("no object evaluated".to_owned());
    } else {
        parts.push(several(windows, "Windows object"));
        parts.push(format!(
            "{} Linux or unmarked",
            report.judged().saturating_sub(windows)
        ));
    }
    if report.exempt() > 0 {
        parts.push(format!("{} exempt ({})", report.exempt(), reasons(report)));
    }
    let skipped = skipped(report);
    format!("{}{skipped}", parts.join(", "))
}

/// Why objects are exempt.
fn reasons(report: &Report) -> String {
    /// As many reasons are named.
    const REASONS: usize = 3;
    let reasons = report.subjects().filter_map(|(_, s)| s.exempt.as_deref());
    let reasons: BTreeSet<_> = reasons.collect();
    let mut named: Vec<_> = reasons
        .iter()
        .take(REASONS)
        .map(|reason| plain(reason))
        .collect();
    if reasons.len() > REASONS {
        named.push("…".to_owned());
    }
    named.join("; ")
}

/// A reason in a line that may be Markdown: names of namespaces have letters, digits, `-` and `.`.
fn plain(reason: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '.');
    match reason.chars().all(is_plain) && reason.len() <= 100 {
        true => reason.to_owned(),
        false => "an invalid name".to_owned(),
    }
}

/// `, 12 for Windows; 40 counted for what made them (10 ReplicaSet, 30 Pod), 2 finished pods skipped`
fn live(seen: &Seen) -> String {
    let some = |count: usize, what: String| (count > 0).then_some(what);
    let owned: usize = seen.owned.values().sum();
    let kinds = seen.owned.iter();
    let kinds: Vec<_> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
    let parts = [
        some(seen.windows, format!(", {} for Windows", seen.windows)),
        some(seen.exempt, format!(", {} exempt", seen.exempt)),
        some(
            owned,
            format!(
                "; {owned} counted for what made them ({})",
                kinds.join(", ")
            ),
        ),
        some(
            seen.finished,
            format!("; {} skipped", several(seen.finished, "finished pod")),
        ),
    ];
    parts.into_iter().flatten().collect()
}

/// `, 3 skipped (2 ConfigMap, 1 Secret)`
fn skipped(report: &Report) -> String {
    let mut kinds = BTreeMap::<_, usize>::new();
    for (kind, count) in report.files.iter().flat_map(|file| &file.skipped) {
        *kinds.entry(kind).or_default() += count;
    }
    if kinds.is_empty() {
        return String::new();
    }
    let named = kinds.iter().take(KINDS);
    let mut named: Vec<_> = named
        .map(|(kind, count)| format!("{count} {}", kind_name(kind)))
        .collect();
    if kinds.len() > KINDS {
        named.push("…".to_owned());
    }
    format!(", {} skipped ({})", report.skipped(), named.join(", "))
}

/// A kind in a line that may be Markdown, where other names could be links or mention users.
fn kind_name(kind: &str) -> String {
    match kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => shown(kind),
        false => "of an invalid kind".to_owned(),
    }
}

/// A line for each rule and severity, those with the most findings first: `  3 deny WIN101 run-as-user: brief`.
pub fn statistics(report: &Report) -> String {
    let mut counts = BTreeMap::<_, usize>::new();
    for (_, finding) in report.findings() {
        if finding.severity != Severity::Ignored {
            let rule = finding.rule;
            let words = (rule.code, rule.name, rule.brief);
            *counts.entry((words, finding.severity)).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let width = counts
        .first()
        .map_or(0, |(_, count)| count.to_string().len());
    let lines = counts
        .into_iter()
        .map(|(((code, name, brief), severity), count)| {
            format!(
                "{count:width$} {} {code} {name}: {brief}\n",
                severity.name()
            )
        });
    lines.collect()
}

/// `1 file`, `2 files`, `2 oddities`
pub(crate) fn several(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{FileReport, Options, check};

    fn of(files: Vec<FileReport>) -> String {
        summary(&Report {
            files,
            cluster: None,
        })
    }

    fn checked(text: &str) -> FileReport {
        check("a.yaml", text.as_bytes(), &Options::default())
    }

    #[test]
    fn says_what_was_found_in_words() {
        assert_eq!(of(vec![]), "nothing found in 0 files; no object evaluated");
        let pod = "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n";
        assert_eq!(
            of(vec![checked(pod)]),
            "nothing found in 1 file; 0 Windows objects, 1 Linux or unmarked"
        );
        let other = "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Secret\n";
        assert_eq!(
            of(vec![checked(other), checked(other)]),
            "nothing found in 2 files; no object evaluated, 4 skipped (2 ConfigMap, 2 Secret)"
        );
        assert_eq!(
            of(vec![
                checked(other),
                FileReport::unread("b.yaml", "permission denied"),
                FileReport::unread("c.yaml", "permission denied"),
            ]),
            "2 problems in 2 of 3 files; no object evaluated, 2 skipped (1 ConfigMap, 1 Secret)"
        );
        assert_eq!(several(2, "oddity"), "2 oddities");
    }

    #[test]
    fn keeps_text_that_is_not_a_kind_out_of_the_summary() {
        for kind in ["\\e[31mA", "@team", "https://example.com", "a.b"] {
            let text = format!("apiVersion: v1\nkind: \"{kind}\"\n");
            let told = of(vec![checked(&text)]);
            assert!(
                told.ends_with(", 1 skipped (1 of an invalid kind)"),
                "{told}"
            );
        }
        let kinds = (0..10).map(|i| format!("apiVersion: v1\nkind: A{i}\n"));
        let told = of(vec![checked(&kinds.collect::<Vec<_>>().join("---\n"))]);
        assert!(
            told.contains("10 skipped (1 A0, ") && told.ends_with(", …)"),
            "{told}"
        );
    }
}
