//! A table a file, for a comment on a pull request or the summary of a job.

use super::{Item, grouped, several, shown, summary, tables, told};
use crate::check::{FileReport, Report, Source};
use crate::explain::markdown::escaped;

/// A comment of GitHub has at most 65,536 characters.
const LONGEST: usize = 65_000;

pub(super) fn render(report: &Report) -> String {
    let command = match report.cluster {
        Some(_) => "scan",
        None => "check",
    };
    let mut out = format!("**transom {command}:** {}\n", escaped(&summary(report)));
    out.push_str(&tables::markdown(report));
    let mut left = Left::default();
    for file in &report.files {
        let groups = grouped(told(file));
        let mut is_headed = false;
        for group in groups {
            let mut text = String::new();
            if !is_headed {
                text.push_str(&heading(file));
            }
            text.push_str(&row(file.source, &group));
            if left.rows > 0 || out.len() + text.len() > LONGEST {
                left.rows += group.len();
                left.files += usize::from(!is_headed);
            } else {
                out.push_str(&text);
            }
            is_headed = true;
        }
    }
    if left.rows > 0 {
        out.push_str(&format!(
            "\n{} more lines, some of them in {} more, are left out: a comment has at most 65,536 characters. \
             `-o json` and `-o sarif` have all.\n",
            left.rows,
            several(left.files, "file"),
        ));
    }
    out
}

/// What does not fit.
#[derive(Default)]
struct Left {
    rows: usize,
    /// Of which nothing is shown.
    files: usize,
}

fn heading(file: &FileReport) -> String {
    let columns = match file.source {
        Source::File => "| place | severity | rule | field | what to do |\n|---|---|---|---|---|\n",
        Source::Cluster => "| severity | rule | field | what to do |\n|---|---|---|---|\n",
    };
    format!("\n### {}\n\n{columns}", code(&file.name))
}

/// A row for the places of one rule in one object, or for something else.
fn row(source: Source, group: &[Item<'_>]) -> String {
    let Some(first) = group.first() else {
        return String::new();
    };
    let places = group.iter().filter_map(Item::place);
    let places: Vec<_> = places.map(|place| place.to_string()).collect();
    let place = match source {
        Source::File => format!("| {} ", places.join(", ")),
        Source::Cluster => String::new(),
    };
    let severity = first.severity();
    let told = match first {
        Item::Finding(finding) => {
            let rule = finding.rule;
            let fields = group.iter().filter_map(|item| match item {
                Item::Finding(finding) => Some(code(&shown::field(finding))),
                _ => None,
            });
            let fields: Vec<_> = fields.collect();
            format!(
                "`{}` {}: {} | {} | {}",
                rule.code,
                rule.name,
                escaped(rule.brief),
                fields.join("<br>"),
                escaped(&shown::remedy(finding)),
            )
        }
        Item::Problem(problem) | Item::Oddity(problem) => {
            format!("| | {}", code(&problem.text))
        }
        Item::Note(.., text) => format!("| | {}", code(text)),
    };
    format!("{place}| {severity} | {told} |\n")
}

/// A text of a manifest: between as many backticks as it takes, in a cell of a table.
pub(super) fn code(text: &str) -> String {
    let text = shown::shown(text).replace('|', "\\|");
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    // A backtick at an end would belong to the fence.
    let space = match text.starts_with('`') || text.ends_with('`') {
        true => " ",
        false => "",
    };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_manifest_does_not_leave_its_cell() {
        for (text, want) in [
            ("a: b", "`a: b`"),
            ("a | b", "`a \\| b`"),
            ("a\n| b", "`a␊\\| b`"),
            ("a `b` ``c", "```a `b` ``c```"),
            ("`", "`` ` ``"),
            ("<img src=x> @all [a](b)", "`<img src=x> @all [a](b)`"),
        ] {
            assert_eq!(code(text), want, "{text}");
        }
    }
}
