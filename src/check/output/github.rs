//! Workflow commands of GitHub Actions, which become annotations of the changed lines.
//!
//! GitHub shows ten annotations of a level for each step. What is beyond is written as plain lines, which the log
//! shows; SARIF has no such limit.

use super::{Item, Source, concise, end_column, shown, told, without_commands};
use crate::check::{FileReport, Report, Severity};

/// As many annotations of one level are shown of a step.
const MOST: usize = 10;
const LEVELS: [&str; 3] = ["error", "warning", "notice"];

pub(super) fn render(report: &Report) -> String {
    let files = report.files.iter();
    let items: Vec<_> = files
        .flat_map(|file| told(file).into_iter().map(move |item| (file, item)))
        .collect();
    let count = |level| {
        items
            .iter()
            .filter(|(_, i)| self::level(i) == level)
            .count()
    };
    let counts = LEVELS.map(count);
    let mut written = [0; LEVELS.len()];
    let (mut out, mut rest) = (String::new(), String::new());
    for (file, item) in &items {
        let which = LEVELS.iter().position(|level| *level == self::level(item));
        let which = which.unwrap_or_default();
        // The last one of a level says how many more there are.
        let room = MOST - usize::from(counts[which] > MOST);
        if written[which] < room {
            written[which] += 1;
            out.push_str(&command(file, item));
            out.push('\n');
        } else {
            rest.push_str(&concise::line(file, item));
        }
    }
    for ((level, count), written) in LEVELS.iter().zip(counts).zip(written) {
        let more = count - written;
        if more > 0 {
            out.push_str(&format!(
                "::{level} title=transom::{more} more {level}s are in the log of this step only: GitHub shows {MOST} \
                 annotations of a level\n"
            ));
        }
    }
    out + &without_commands(rest)
}

fn level(item: &Item<'_>) -> &'static str {
    match item {
        Item::Note(..) => "notice",
        Item::Finding(finding) if finding.severity == Severity::Deny => "error",
        Item::Problem(_) => "error",
        Item::Finding(_) | Item::Oddity(_) => "warning",
    }
}

fn command(file: &FileReport, item: &Item<'_>) -> String {
    let level = level(item);
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
    let (title, message) = match item {
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
