//! The formats: one renderer each, all over the same [`Report`].
//!
//! Pure: from a report to text. Not here: which format is asked for, where it is written, and the
//! exit code (`command`).

mod concise;
mod diff;
mod github;
mod json;
mod markdown;
mod sarif;
mod shown;
mod snippet;
mod summary;
mod tables;
mod text;

use std::collections::HashMap;

use serde::Serialize;

use super::{FileReport, Finding, Note, Problem, Report, Severity, Source, Span};
use crate::yaml::Place;

pub use diff::diff;
use shown::without_commands;
pub(crate) use shown::{name, shown, shown_in, shown_lines};
pub(crate) use summary::several;
pub use summary::{statistics, summary};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people: snippets of the text, reason and remedy.
    #[default]
    Text,
    /// A line a finding, for editors and grep.
    Concise,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
    /// A table for a comment or a job summary.
    Markdown,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Concise,
        Self::Json,
        Self::Sarif,
        Self::Github,
        Self::Markdown,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Concise => "concise",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Markdown => "markdown",
        }
    }
}

/// What the text can be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderOptions {
    /// Tell with each finding why the object is taken for one that is for Windows; else it is told
    /// once for each object.
    pub show_evidence: bool,
    /// How many columns a terminal has; nothing, if there is none.
    pub width: Option<usize>,
}

/// The report in a format. The text has colours, always; whoever prints it takes them out where
/// they do not belong.
pub fn render(report: &Report, format: Format, options: &RenderOptions) -> String {
    match format {
        Format::Text => without_commands(text::render(report, options)),
        Format::Concise => without_commands(concise::render(report)),
        Format::Json => json::render(report),
        Format::Sarif => sarif::render(report),
        Format::Github => github::render(report),
        Format::Markdown => without_commands(markdown::render(report)),
    }
}

/// JSON for programs, in which no string has what a terminal would obey, or what is taken for it:
/// JSON itself allows some control characters.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Strings, numbers, lists and structs: nothing of them can fail.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '\x7f'..='\u{9f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            // Terminals would turn the direction of the text.
            c if c > '\x7f' && shown::visible(c) != c => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            // In a string, as nothing else has it: no command of GitHub Actions.
            '[' if shown::opens_command(&out) => out.push_str("\\u005b"),
            _ => out.push(c),
        }
    }
    out.push('\n');
    out
}

/// A line about a file, with its end: `file:line:column: note: sentence`.
pub(crate) fn note(file: &str, note: &Problem) -> String {
    let (place, text) = (shown::place(file, note.place), shown::problem(note));
    format!("{place}: note: {text}\n")
}

/// One thing that people are told of a file.
enum Item<'r> {
    Finding(&'r Finding),
    Problem(&'r Problem),
    Oddity(&'r Problem),
    /// About an object, at the place where it starts.
    Note(Place, Note, String),
}

impl Item<'_> {
    /// Nothing where it is about the whole file.
    fn place(&self) -> Option<Place> {
        match self {
            Self::Finding(finding) => finding.span.map(Span::place),
            Self::Problem(problem) | Self::Oddity(problem) => problem.place,
            Self::Note(place, ..) => Some(*place),
        }
    }

    fn severity(&self) -> &'static str {
        match self {
            Self::Finding(finding) => finding.severity.name(),
            Self::Problem(_) => "error",
            Self::Oddity(_) => "warning",
            Self::Note(..) => "note",
        }
    }
}

/// Everything that people are told of a file, in the order of its lines; what is ignored is not
/// told.
fn told(file: &FileReport) -> Vec<Item<'_>> {
    let findings = file.findings.iter();
    let findings = findings.filter(|finding| finding.severity != Severity::Ignored);
    let mut items: Vec<_> = findings
        .map(Item::Finding)
        .chain(file.problems.iter().map(Item::Problem))
        .chain(file.oddities.iter().map(Item::Oddity))
        .chain(notes(file))
        .collect();
    // Findings of one place keep their order, by rule.
    items.sort_by_key(Item::place);
    items
}

/// What tells one object from the next.
fn object(finding: &Finding) -> [Option<&str>; 4] {
    let Finding {
        kind,
        namespace,
        name,
        evidence,
        ..
    } = finding;
    let [namespace, name, evidence] = [namespace, name, evidence].map(Option::as_deref);
    [Some(kind.as_str()), namespace, name, evidence]
}

/// The same, but with the places of one rule in one object together, if they have the same reason and remedy. They
/// are at the place of the first.
fn grouped<'r>(items: Vec<Item<'r>>) -> Vec<Vec<Item<'r>>> {
    let mut groups: Vec<Vec<Item<'r>>> = Vec::new();
    let mut known = HashMap::new();
    for item in items {
        let group = match &item {
            Item::Finding(f) => {
                let words = (
                    f.rule.code,
                    f.severity,
                    f.reason.as_str(),
                    f.remedy.as_str(),
                );
                *known.entry((object(f), words)).or_insert(groups.len())
            }
            _ => groups.len(),
        };
        match groups.get_mut(group) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Exempt objects and those that the webhook places.
fn notes(file: &FileReport) -> impl Iterator<Item = Item<'_>> {
    file.notes()
        .map(|(place, note, text)| Item::Note(place, note, text))
}

/// The column behind the last character of a place, which is in one line.
fn end_column(file: &FileReport, span: Span) -> usize {
    let text = file.text.get(span.start..span.end).unwrap_or_default();
    span.column + text.chars().count()
}
