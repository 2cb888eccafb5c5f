//! `transom rules`: the table on stdout.

use anyhow::{Result, bail};

use crate::cli::{OutputFormat, RulesArgs};
use crate::explain::{self, markdown};
use crate::terminal;

/// Prints the rules that are asked for.
pub(super) fn run(args: RulesArgs) -> Result<()> {
    let RulesArgs {
        rules,
        output,
        profile,
    } = args;
    if profile.is_some() && output != OutputFormat::Text {
        bail!("--profile is for -o text: the other formats have the actions of both profiles");
    }
    let selected = explain::select(&rules)?;
    terminal::print(&match output {
        OutputFormat::Text => {
            explain::table(&selected, profile.unwrap_or_default(), terminal::width())
        }
        OutputFormat::Json => explain::json(&selected),
        OutputFormat::Markdown if rules.is_empty() => markdown::rules_page(),
        OutputFormat::Markdown => markdown::by_family(&selected),
    })
}
