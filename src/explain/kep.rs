//! KEP-116 and its notes, statement by statement: which rule holds it, or why none has to.
//!
//! The statements are in our own words, and shortened. Actions are those of the rule table. Not
//! here: what a rule does (`rules`).

mod api;
mod notes;
mod proposal;

use super::markdown::{WIDTH, link};
use super::table::actions;
use super::wrap;
use crate::rules::{Profile, Rule};

/// A document, or a version of it.
#[derive(Debug)]
pub struct Document {
    /// What it is called here.
    pub title: &'static str,
    /// What it is, in a sentence or two.
    pub about: &'static str,
    /// Its chapters, in its own order.
    pub chapters: &'static [Chapter],
}

/// A chapter of a document.
#[derive(Debug)]
pub struct Chapter {
    /// Its heading.
    pub title: &'static str,
    /// What it says of fields, placement and scheduling.
    pub statements: &'static [Statement],
}

/// Something that a document says.
#[derive(Debug)]
pub struct Statement {
    /// In our own words.
    pub text: &'static str,
    /// What comes of it.
    pub answer: Answer,
}

/// What comes of a statement.
#[derive(Debug)]
pub enum Answer {
    /// The codes of the rules that hold it; `CODE: CASE`, where one case of a rule does.
    Rules(&'static [&'static str]),
    /// Why there is no rule.
    None(&'static str),
}

const fn by(text: &'static str, rules: &'static [&'static str]) -> Statement {
    Statement {
        text,
        answer: Answer::Rules(rules),
    }
}

const fn none(text: &'static str, reason: &'static str) -> Statement {
    Statement {
        text,
        answer: Answer::None(reason),
    }
}

/// True today of every release that is supported.
const WORKS: &str = "works";
/// Nothing in an object says it.
const CLUSTER: &str = "a matter of the cluster and its nodes; no object says it";
/// About how the KEP was tested or written.
const PROJECT: &str = "about the project, not about objects";

/// All documents, the latest version of the KEP first.
pub static DOCUMENTS: [Document; 4] = [
    proposal::KEP,
    api::REFERENCE,
    notes::EARLIER,
    notes::LIMITATIONS,
];

/// docs/kep-116.md.
pub fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    for document in &DOCUMENTS {
        out.push_str(&format!("\n## {}\n\n", document.title));
        wrap(&mut out, document.about, "", "", WIDTH);
        for chapter in document.chapters {
            out.push_str(&format!("\n### {}\n\n{HEADER}", chapter.title));
            for statement in chapter.statements {
                out.push_str(&row(statement));
            }
        }
    }
    out
}

const INTRODUCTION: &str = "\
# KEP-116, statement by statement

<!-- Made from the rule table by `just docs`; not to be edited by hand. -->

[KEP-116](https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/116-windows-node-support) brought
Windows nodes to Kubernetes and lists what works there and what does not. Here is what it and its notes say of fields,
placement and scheduling, shortened and in our words, each with the [rules](rules.md) that hold it and their default
actions in the two profiles, or with the reason why there is none. Several actions are those of a rule's cases.
";

const HEADER: &str = "| statement | rule | `current` | `kep-116` |\n|---|---|---|---|\n";

fn row(statement: &Statement) -> String {
    let text = statement.text;
    match statement.answer {
        Answer::None(reason) => format!("| {text} | none: {reason} | | |\n"),
        Answer::Rules(codes) => {
            let cell = |of: &dyn Fn(&'static str, Option<&str>) -> Option<String>| {
                let cells = codes.iter().map(|code| match code.split_once(": ") {
                    Some((code, case)) => of(code, Some(case)),
                    None => of(code, None),
                });
                let cells: Vec<_> = cells.map(Option::unwrap_or_default).collect();
                cells.join("<br>")
            };
            let rules = cell(&|code, case| {
                let link = Rule::find(code).map(|rule| link(rule, "rules.md"));
                let case = case.map_or_else(String::new, |case| format!(" ({case})"));
                Some(link.unwrap_or_else(|| code.to_owned()) + &case)
            });
            let [current, kep_116] = Profile::ALL
                .map(|profile| cell(&|code, case| done(Rule::find(code)?, case, profile)));
            format!("| {text} | {rules} | {current} | {kep_116} |\n")
        }
    }
}

/// What a rule does by default: in one case, or in all of them.
fn done(rule: &Rule, case: Option<&str>, profile: Profile) -> Option<String> {
    if let Some(case) = case {
        let tier = rule.tiers.iter().find(|tier| tier.when == case)?;
        return Some(tier.action(profile).name().to_owned());
    }
    let actions = actions(rule, profile);
    let names: Vec<_> = actions.iter().map(|action| action.name()).collect();
    Some(names.join("/"))
}
