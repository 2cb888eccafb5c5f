//! The rules in columns, a line each.

use super::style::{FAINT, HEADING, action};
use crate::rules::{Action, FAMILIES, Profile, Rule};

/// The rules, a line each, grouped by family, with their default actions in a profile. In a
/// width that is too narrow for a line, what is wrong gets a line of its own.
pub fn table(rules: &[&Rule], profile: Profile, width: Option<usize>) -> String {
    let columns = Columns::of(rules, profile, width);
    let mut out = columns.header();
    for family in &FAMILIES {
        let of_family = |rule: &&&Rule| rule.code.starts_with(family.prefix);
        let mut rules = rules.iter().filter(of_family).peekable();
        if rules.peek().is_some() {
            let heading = family.heading();
            out.push_str(&format!("\n{HEADING}{heading}{HEADING:#}\n"));
        }
        for rule in rules {
            out.push_str(&columns.row(rule));
        }
    }
    out.push_str(&format!(
        "\n{FAINT}Default actions of the profile {}; several are those of a rule's cases, which \
         transom explain tells apart.{FAINT:#}\n",
        profile.name()
    ));
    out
}

/// How wide the columns are.
struct Columns {
    profile: Profile,
    name: usize,
    actions: usize,
    /// What is wrong has a line of its own.
    folded: bool,
}

impl Columns {
    fn of(rules: &[&Rule], profile: Profile, width: Option<usize>) -> Self {
        let widest = |heading: &str, of: &dyn Fn(&Rule) -> usize| {
            let widths = rules.iter().map(|rule| of(rule));
            widths.chain([heading.len()]).max().unwrap_or_default()
        };
        let actions = |rule: &Rule| {
            let names = actions(rule, profile);
            let names = names.iter().map(|action| action.name().len() + 1);
            names.sum::<usize>().saturating_sub(1)
        };
        let mut columns = Self {
            profile,
            name: widest("NAME", &|rule| rule.name.len()),
            actions: widest("ACTION", &actions),
            folded: false,
        };
        let brief = widest("WHAT IS WRONG", &|rule| rule.brief.chars().count());
        let all = "WIN101".len() + columns.name + columns.actions + "REPAIR".len() + 4 * 2 + brief;
        columns.folded = width.is_some_and(|width| width < all);
        columns
    }

    fn header(&self) -> String {
        let Self { name, actions, .. } = *self;
        let last = if self.folded { "" } else { "  WHAT IS WRONG" };
        format!(
            "{FAINT}{:6}  {:name$}  {:actions$}  REPAIR{last}{FAINT:#}\n",
            "CODE", "NAME", "ACTION"
        )
    }

    fn row(&self, rule: &Rule) -> String {
        let names = actions(rule, self.profile);
        let mut coloured = String::new();
        let mut room = self.actions;
        for (i, done) in names.iter().enumerate() {
            let (style, name) = (action(*done), done.name());
            let slash = if i > 0 { "/" } else { "" };
            coloured.push_str(&format!("{slash}{style}{name}{style:#}"));
            room = room.saturating_sub(slash.len() + name.len());
        }
        let repair = if rule.is_repairable() { "yes" } else { "no" };
        let (name, brief) = (self.name, rule.brief);
        let start = format!("{}  {:name$}  {coloured}{:room$}", rule.code, rule.name, "");
        match self.folded {
            true => format!("{start}  {repair}\n        {FAINT}{brief}{FAINT:#}\n"),
            false => format!("{start}  {repair:6}  {brief}\n"),
        }
    }
}

/// The actions of all cases; one, if they are the same.
pub(super) fn actions(rule: &Rule, profile: Profile) -> Vec<Action> {
    let tiers = rule.tiers.iter();
    let mut actions: Vec<_> = tiers.map(|tier| tier.action(profile)).collect();
    actions.dedup();
    actions
}
