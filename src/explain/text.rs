//! Explanations for a terminal: wrapped, indented, coloured.

use super::style::{self, FAINT, HEADING};
use super::{Body, Case, Section, WITHOUT_TRANSOM, parts, wrap};
use crate::rules::{Field, Owner, Profile, Rule};

/// These rules in full, in lines of at most this width, unless a single word is longer.
pub fn explanations(rules: &[&'static Rule], width: usize) -> String {
    let all: Vec<_> = rules.iter().map(|rule| explanation(rule, width)).collect();
    all.join("\n\n")
}

fn explanation(rule: &'static Rule, width: usize) -> String {
    let title = format!("{} {}", rule.code, rule.name);
    let family = rule.family().map_or("", |family| family.title);
    let mut out = format!("{HEADING}{title}{HEADING:#}  {FAINT}{family}{FAINT:#}\n");
    wrap(&mut out, rule.brief, "", "", width);
    for Section { title, body } in parts(rule) {
        out.push_str(&format!("\n{HEADING}{title}{HEADING:#}\n"));
        match body {
            Body::Text(text) => indented(&mut out, &text, width),
            Body::Actions(cases) => actions(&mut out, &cases, width),
            Body::Fields(groups) => fields(&mut out, &groups, width),
            Body::List(list) => list.iter().for_each(|line| item(&mut out, line, width)),
            Body::Example { bad, good } => {
                for (caption, yaml) in [("A finding:", bad), ("No finding:", good)] {
                    indented(&mut out, caption, width);
                    code(&mut out, yaml);
                }
            }
            Body::Setting(caption, yaml) => {
                indented(&mut out, &caption, width);
                code(&mut out, &yaml);
            }
            Body::Links(links) => links.iter().for_each(|link| item(&mut out, link, width)),
        }
    }
    out
}

fn indented(out: &mut String, text: &str, width: usize) {
    wrap(out, text, "  ", "  ", width);
}

fn item(out: &mut String, text: &str, width: usize) {
    wrap(out, text, "  ", "    ", width);
}

fn code(out: &mut String, yaml: &str) {
    for line in yaml.lines() {
        out.push_str(&format!("    {line}\n"));
    }
}

/// Each case, its actions in the two profiles and its consequence: in columns if they fit.
fn actions(out: &mut String, cases: &[Case], width: usize) {
    let widest = cases.iter().map(|case| case.when.chars().count()).max();
    let when = widest.unwrap_or_default();
    let names = Profile::ALL.map(Profile::name);
    let [first, second] = names;
    let columns = [when, first.len(), second.len(), WITHOUT_TRANSOM.len()];
    if columns.iter().map(|column| column + 2).sum::<usize>() > width {
        for Case {
            when,
            actions,
            consequence,
        } in cases
        {
            let [current, kep_116] =
                actions.map(|action| format!("{0}{1}{0:#}", style::action(action), action.name()));
            item(out, &format!("{when}:"), width);
            out.push_str(&format!(
                "    {first} {current}, {second} {kep_116}, {WITHOUT_TRANSOM} {consequence}\n"
            ));
        }
        return;
    }
    out.push_str(&format!(
        "  {:when$}  {FAINT}{first}  {second}  {WITHOUT_TRANSOM}{FAINT:#}\n",
        ""
    ));
    for case in cases {
        let mut row = format!("  {:when$}", case.when);
        for (action, heading) in case.actions.into_iter().zip(names) {
            let (style, name) = (style::action(action), action.name());
            let room = heading.len().saturating_sub(name.len());
            row.push_str(&format!("  {style}{name}{style:#}{:room$}", ""));
        }
        out.push_str(&format!("{row}  {}\n", case.consequence));
    }
}

fn fields(out: &mut String, groups: &[(String, Vec<Field>)], width: usize) {
    for (when, fields) in groups {
        if let [field] = fields.as_slice() {
            item(out, &format!("{} {when}", field.path), width);
            continue;
        }
        item(out, &format!("{when}:"), width);
        for field in fields {
            out.push_str(&format!("    {}\n", field.path));
        }
    }
    let mut owners = groups
        .iter()
        .flat_map(|(_, fields)| fields)
        .map(|field| field.of);
    let whose = match owners.clone().any(|of| of == Owner::Service) {
        true => "Of a Service.".to_owned(),
        false => {
            let also = match owners.any(|of| of == Owner::Container) {
                true => "Of containers, also initContainers and ephemeralContainers. ",
                false => "",
            };
            format!("{also}In a workload the paths start at its pod template.")
        }
    };
    indented(out, &format!("({whose})"), width);
}
