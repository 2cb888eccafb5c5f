//! Workflow commands of GitHub Actions, which become annotations of the changed lines.
//!
//! GitHub shows ten errors and ten warnings of a step at most; SARIF has no such limit.

use super::{Item, Source, end_column, shown, told};
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
    let level = match &item {
        Item::Note(..) => "notice",
        Item::Finding(finding) if finding.severity == Severity::Deny => "error",
        Item::Problem(_) => "error",
        Item::Finding(_) | Item::Oddity(_) => "warning",
    };
    let name = shown::shown(&file.name);
    let mut out = format!("::{level} ");
    // A live object has no file that an annotation could stand in.
    let subject = match file.source {
        Source::File => {
            out.push_str(&format!("file={},", property(&name)));
            String::new()
        }
        Source::Cluster => format!("{name}: "),
    };
    if let Some(place) = item.place() {
        out.push_str(&format!("line={},col={},", place.line, place.column));
    }
    let command = match file.source {
        Source::File => "transom check",
        Source::Cluster => "transom scan",
    };
    let command = command.to_owned();
    let (title, message) = match &item {
        Item::Finding(finding) => {
            if let Some(span) = finding.span {
                let (line, column) = (span.line, end_column(file, span));
                out.push_str(&format!("endLine={line},endColumn={column},"));
            }
            let rule = finding.rule;
            let (field, remedy) = (shown::field(finding), shown::remedy(finding));
            (
                format!("{} {}", rule.code, rule.name),
                format!("{}: {field}. {} {remedy}", rule.brief, finding.reason),
            )
        }
        Item::Problem(problem) | Item::Oddity(problem) => (command, shown::problem(problem)),
        Item::Note(.., text) => (command, shown::shown(text)),
    };
    let message = data(&format!("{subject}{message}"));
    format!("{out}title={}::{message}", property(&title))
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
