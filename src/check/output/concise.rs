//! A line a finding: `file:line:column: deny WIN101 run-as-user: brief (path: value)`.

use super::{Item, shown, told};
use crate::check::{FileReport, Report};

pub(super) fn render(report: &Report) -> String {
    let files = report.files.iter();
    let lines = files.flat_map(|file| told(file).into_iter().map(|item| line(file, &item)));
    lines.collect()
}

/// One of the lines, with its end.
pub(super) fn line(file: &FileReport, item: &Item<'_>) -> String {
    let place = shown::place(&file.name, item.place());
    let severity = item.severity();
    let told = match item {
        Item::Finding(finding) => {
            let (rule, field) = (finding.rule, shown::field(finding));
            format!(" {} {}: {} ({field})", rule.code, rule.name, rule.brief)
        }
        Item::Problem(problem) | Item::Oddity(problem) => {
            format!(": {}", shown::problem(problem))
        }
        Item::Note(.., text) => format!(": {}", shown::shown(text)),
    };
    format!("{place}: {severity}{told}\n")
}
