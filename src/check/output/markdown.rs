//! A table a file, for a comment on a pull request or the summary of a job.

use super::{Item, shown, summary, told};
use crate::check::Report;
use crate::explain::markdown::escaped;

pub(super) fn render(report: &Report) -> String {
    let mut out = format!("**transom check:** {}\n", escaped(&summary(report)));
    for file in &report.files {
        let items = told(file);
        if items.is_empty() {
            continue;
        }
        out.push_str(&format!("\n### {}\n\n", code(&file.name)));
        out.push_str("| place | severity | rule | field | what to do |\n|---|---|---|---|---|\n");
        items.into_iter().for_each(|item| row(&mut out, item));
    }
    out
}

fn row(out: &mut String, item: Item<'_>) {
    let place = item.place().map_or_else(String::new, |at| at.to_string());
    let severity = item.severity();
    let told = match item {
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
    };
    out.push_str(&format!("| {place} | {severity} | {told} |\n"));
}

/// A text of a manifest: between as many backticks as it takes, in a cell of a table.
fn code(text: &str) -> String {
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
