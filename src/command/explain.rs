//! `transom explain`: single rules in full on stdout.

use anyhow::Result;

use crate::cli::{ExplainArgs, OutputFormat};
use crate::explain::{self, markdown, text};
use crate::terminal;

/// Lines of text are not longer, however wide the terminal is.
const READABLE: usize = 100;
/// And in a pipe.
const PIPE: usize = 80;

/// Prints all there is to say of the rules that are asked for, in that order.
pub(super) fn run(args: ExplainArgs) -> Result<()> {
    let ExplainArgs { rules, output } = args;
    let mut found: Vec<&'static crate::rules::Rule> = Vec::new();
    for name in &rules {
        let rule = explain::find(name)?;
        if found.iter().all(|other| other.code != rule.code) {
            found.push(rule);
        }
    }
    terminal::print(&match output {
        OutputFormat::Text => {
            let width = terminal::width().unwrap_or(PIPE).min(READABLE);
            text::explanations(&found, width)
        }
        OutputFormat::Json => explain::json(&found),
        OutputFormat::Markdown => markdown::explanations(&found),
    })
}
