//! A table a file, for a comment on a pull request or the summary of a job.

use super::{Item, shown, summary, tables, told};
use crate::check::{Report, Source};
use crate::explain::markdown::escaped;

pub(super) fn render(report: &Report) -> String {
    let command = match report.cluster {
        Some(_) => "scan",
        None => "check",
    };
    let mut out = format!("**transom {command}:** {}\n", escaped(&summary(report)));
    out.push_str(&tables::markdown(report));
    for file in &report.files {
        let items = told(file);
        if items.is_empty() {
            continue;
        }
        out.push_str(&format!("\n### {}\n\n", code(&file.name)));
        out.push_str(match file.source {
            Source::File => {
                "| place | severity | rule | field | what to do |\n|---|---|---|---|---|\n"
            }
            Source::Cluster => "| severity | rule | field | what to do |\n|---|---|---|---|\n",
        });
        let rows = items.into_iter().map(|item| row(file.source, item));
        out.extend(rows);
    }
    out
}

fn row(source: Source, item: Item<'_>) -> String {
    let place = item.place().map_or_else(String::new, |at| at.to_string());
    let place = match source {
        Source::File => format!("| {place} "),
        Source::Cluster => String::new(),
    };
    let severity = item.severity();
    let told = match &item {
        Item::Finding(finding) => {
            let rule = finding.rule;
            format!(
                "`{}` {}: {} | {} | {}",
                rule.code,
                rule.name,
                escaped(rule.brief),
                code(&shown::field(finding)),
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
