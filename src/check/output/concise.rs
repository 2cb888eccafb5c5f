//! A line a finding: `file:line:column: deny WIN101 run-as-user: brief (path: value)`.

use super::{Item, shown, told};
use crate::check::Report;

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for file in &report.files {
        for item in told(file) {
            let place = shown::place(&file.name, item.place());
            let severity = item.severity();
            let told = match &item {
                Item::Finding(finding) => {
                    let (rule, field) = (finding.rule, shown::field(finding));
                    format!(" {} {}: {} ({field})", rule.code, rule.name, rule.brief)
                }
                Item::Problem(problem) | Item::Oddity(problem) => {
                    format!(": {}", shown::problem(problem))
                }
                Item::Note(.., text) => format!(": {}", shown::shown(text)),
            };
            out.push_str(&format!("{place}: {severity}{told}\n"));
        }
    }
    out
}
