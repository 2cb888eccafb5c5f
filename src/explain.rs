//! Transom explains itself: the rule table for people who ask, as text, Markdown and JSON.
//!
//! Pure: from the table to words. `transom rules` and `transom explain` print them, and
//! docs/rules.md and docs/kep-116.md are made of them. Not here: what is said of a finding in an
//! object (`message`).

mod json;
pub mod kep;
pub mod markdown;
pub(crate) mod style;
mod table;
pub mod text;

use textwrap::{Options, WordSplitter};
use thiserror::Error;

pub use json::json;
pub use table::table;

use crate::nearest::nearest;
use crate::rules::{self, Action, Consequence, FAMILIES, Field, Profile, Rule, Tier};

/// A name that no rule has.
#[derive(Debug, Error)]
#[error("there is no rule {name:?}{}; transom rules lists them all", suggestion(.nearest.as_deref()))]
pub struct UnknownRule {
    name: String,
    nearest: Option<String>,
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(", the nearest is {nearest}"))
}

impl UnknownRule {
    fn new<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        Self {
            name: name.to_owned(),
            nearest: nearest(name, known).map(str::to_owned),
        }
    }
}

/// The rule with this code, in upper or lower case, or with this name.
///
/// # Errors
/// No rule has it; the error tells the nearest name.
pub fn find(name: &str) -> Result<&'static Rule, UnknownRule> {
    Rule::find(name)
        .or_else(|| Rule::find(&name.to_uppercase()))
        .ok_or_else(|| UnknownRule::new(name, names()))
}

/// The rules with these codes and names, and those whose codes start with one of them; all, if
/// there are none. In the order of the table.
///
/// # Errors
/// One of them is none of these.
pub fn select<S: AsRef<str>>(filters: &[S]) -> Result<Vec<&'static Rule>, UnknownRule> {
    let mut wanted = Vec::new();
    for filter in filters {
        let filter = filter.as_ref();
        let before = wanted.len();
        wanted.extend(Rule::matching(filter).map(|rule| rule.code));
        if wanted.len() == before {
            let families = FAMILIES.iter().map(|family| family.prefix);
            return Err(UnknownRule::new(filter, names().chain(families)));
        }
    }
    let is_wanted = |rule: &&Rule| filters.is_empty() || wanted.contains(&rule.code);
    Ok(rules::all().filter(is_wanted).collect())
}

fn names() -> impl Iterator<Item = &'static str> {
    rules::all().flat_map(|rule| [rule.name, rule.code])
}

/// One part of an explanation.
struct Section {
    title: &'static str,
    body: Body,
}

/// What a part consists of; the two renderers know how to write each.
enum Body {
    Text(String),
    Actions(Vec<Case>),
    /// What makes values findings, each with the fields that it holds for.
    Fields(Vec<(String, Vec<Field>)>),
    List(Vec<&'static str>),
    /// Parts of a pod, in YAML.
    Example {
        bad: &'static str,
        good: &'static str,
    },
    /// A part of a configuration file, and what it does.
    Setting(String, String),
    Links(&'static [&'static str]),
}

/// A case of a rule.
struct Case {
    when: &'static str,
    /// In each profile.
    actions: [Action; 2],
    /// What happens without Transom.
    consequence: &'static str,
}

/// Everything there is to say of a rule, in the order in which it is read.
fn parts(rule: &'static Rule) -> impl Iterator<Item = Section> {
    let (bad, good) = rule.guide.example();
    let note = match rule.guide.note {
        "" => String::new(),
        note => format!(" {note}"),
    };
    let parts = [
        ("Actions", Body::Actions(actions(rule))),
        ("Fields", Body::Fields(fields(rule))),
        ("Never on", Body::List(rule.never())),
        ("Why", Body::Text(format!("{}{note}", rule.reason))),
        ("Instead", Body::Text(rule.remedy.to_owned())),
        ("Example", Body::Example { bad, good }),
        ("Repair", Body::Text(repair(rule))),
        ("Configuration", setting(rule)),
        ("References", Body::Links(rule.references)),
    ];
    let parts = parts.into_iter();
    parts
        .filter(|(_, body)| !matches!(body, Body::List(list) if list.is_empty()))
        .map(|(title, body)| Section { title, body })
}

/// The fields of a rule, those together that are findings alike.
fn fields(rule: &Rule) -> Vec<(String, Vec<Field>)> {
    let mut groups: Vec<(String, Vec<Field>)> = Vec::new();
    for field in rule.fields() {
        match groups.iter_mut().find(|(when, _)| *when == field.when) {
            Some((_, fields)) => fields.push(field),
            None => groups.push((field.when.clone(), vec![field])),
        }
    }
    groups
}

/// The cases of a rule, with their actions in `current` and in `kep-116`.
fn actions(rule: &Rule) -> Vec<Case> {
    let cases = rule.tiers.iter().map(|tier| Case {
        when: match tier.when {
            "" => "any finding",
            when => when,
        },
        actions: Profile::ALL.map(|profile| tier.action(profile)),
        consequence: tier.consequence.map_or("-", Consequence::name),
    });
    cases.collect()
}

/// The heading above the consequences.
const WITHOUT_TRANSOM: &str = "without Transom";

/// Whether a rule's fields can be taken out, and what happens where they cannot.
fn repair(rule: &Rule) -> String {
    const ELSEWHERE: &str = "Where nothing is patched (/validate, templates but those of \
        DaemonSets, UPDATEs of pods) the object is refused if it says spec.os.name: windows, as \
        the API server would refuse it, and warned of otherwise.";
    if !rule.is_refused() {
        return "No: only fields that the API server refuses beside spec.os.name: windows are \
            taken out."
            .to_owned();
    }
    if !rule.is_repairable() {
        return "No. The API server refuses the field beside spec.os.name: windows, which is not \
            patched in while the field is there."
            .to_owned();
    }
    let is_ignored = |tier: &Tier| tier.consequence == Some(Consequence::Ignored);
    let switch = match rule.tiers.iter().any(is_ignored) {
        true => ", or ignoredFields: repair",
        false => "",
    };
    let harmless: Vec<_> = rule
        .tiers
        .iter()
        .filter(|tier| tier.is_harmless())
        .map(|tier| tier.when)
        .collect();
    match harmless.as_slice() {
        [] => format!(
            "Not by default, since it asks for something that would not be done. The API server \
             refuses the field beside spec.os.name: windows, which is not patched in while the \
             field is there. With the action repair{switch}, /mutate removes the field and warns. \
             {ELSEWHERE}"
        ),
        cases => format!(
            "Yes, in the case \"{}\": the pod loses nothing without it, but the API server rejects \
             the field when spec.os.name is windows. So /mutate removes it in the patch that adds \
             spec.os, or if spec.os is there already, and warns. In other cases only with the \
             action repair{switch}. {ELSEWHERE}",
            cases.join("\" or \"")
        ),
    }
}

/// How to change a rule's action.
fn setting(rule: &Rule) -> Body {
    let file = "In the file of transom serve --config";
    let all = match rule.is_repairable() {
        true => "deny, repair, warn or \"off\"",
        false => "deny, warn or \"off\"",
    };
    let caption = match rule.tiers {
        [_] => format!("{file}:"),
        _ => format!("{file}. It sets the first case; the others do no more than that:"),
    };
    let action = match rule.tiers.first().map(|tier| tier.current) {
        Some(Action::Warn) => "\"off\"",
        _ => "warn",
    };
    Body::Setting(
        caption,
        format!("rules:\n  {}: {action} # {all}\n", rule.code),
    )
}

/// Breaks a paragraph into lines. Only spaces are places to break at: a path stays whole.
fn wrap(out: &mut String, text: &str, first: &str, rest: &str, width: usize) {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    for line in textwrap::wrap(text, options) {
        out.push_str(&line);
        out.push('\n');
    }
}
