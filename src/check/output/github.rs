//! Workflow commands of GitHub Actions, which become annotations of the changed lines.
//!
//! GitHub shows ten errors and ten warnings of a step at most; SARIF has no such limit.

use super::{Item, end_column, shown, told};
use crate::check::{FileReport, Report, Severity};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for file in &report.files {
        for item in told(file) {
            out.push_str(&command(file, item));
            out.push('\n');
        }
    }
    out
}

fn command(file: &FileReport, item: Item<'_>) -> String {
    let level = match item {
        Item::Finding(finding) if finding.severity == Severity::Deny => "error",
        Item::Problem(_) => "error",
        Item::Finding(_) | Item::Oddity(_) => "warning",
    };
    let mut out = format!("::{level} file={}", property(&shown::shown(&file.name)));
    if let Some(place) = item.place() {
        out.push_str(&format!(",line={},col={}", place.line, place.column));
    }
    let (title, message) = match item {
        Item::Finding(finding) => {
            let (line, column) = (finding.span.line, end_column(file, finding.span));
            out.push_str(&format!(",endLine={line},endColumn={column}"));
            let rule = finding.rule;
            let (field, remedy) = (shown::field(finding), shown::remedy(finding));
            (
                format!("{} {}", rule.code, rule.name),
                format!("{}: {field}. {} {remedy}", rule.brief, finding.reason),
            )
        }
        Item::Problem(problem) | Item::Oddity(problem) => {
            ("transom check".to_owned(), shown::problem(problem))
        }
    };
    format!("{out},title={}::{}", property(&title), data(&message))
}

/// What stands behind `::`.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// What stands behind `=`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_is_made_of_is_escaped() {
        assert_eq!(data("50% a,b:c\r\n::d"), "50%25 a,b:c%0D%0A::d");
        assert_eq!(property("C:\\a,b%0A.yaml"), "C%3A\\a%2Cb%250A.yaml");
    }
}
