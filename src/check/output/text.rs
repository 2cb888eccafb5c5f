//! For people: each finding with its line, the field underlined, reason and remedy.
//!
//! Drawn by annotate-snippets, with colours. What it is given of a manifest is `shown` first: it
//! prints messages as they are.

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet, Title,
};
use textwrap::WordSplitter;

use super::shown::{self, shown};
use super::snippet::{self, Lines};
use super::{Item, RenderOptions, several, tables, told};
use crate::check::{FileReport, Finding, Report, Severity};
use crate::yaml::Place;

/// Where there is no terminal.
const WIDTH: usize = 120;
/// What stands in front of a reason: line number and name.
const BEFORE: usize = 16;

pub(super) fn render(report: &Report, options: &RenderOptions) -> String {
    let width = options.width.unwrap_or(WIDTH);
    let renderer = Renderer::styled().term_width(width);
    let mut all = Vec::new();
    for file in &report.files {
        let has_lines = !(file.problems.is_empty() && file.oddities.is_empty());
        let lines = Lines::new(if has_lines { &file.text } else { "" });
        // The finding before, whose object may be the same.
        let mut last: Option<&Finding> = None;
        for item in told(file) {
            let (title, snippet, messages) = match &item {
                Item::Finding(finding) => {
                    let is_new = last.is_none_or(|last| object(last) != object(finding));
                    last = Some(finding);
                    let with_evidence = is_new || options.show_evidence;
                    let messages = messages(finding, width, with_evidence);
                    (
                        title(finding),
                        finding.span.and_then(|span| snippet::of(&file.text, span)),
                        messages,
                    )
                }
                Item::Problem(problem) | Item::Oddity(problem) => {
                    let level = match item {
                        Item::Oddity(_) => Level::WARNING,
                        _ => Level::ERROR,
                    };
                    let title = level.primary_title(shown::problem(problem));
                    (
                        title,
                        problem.place.and_then(|at| lines.word(at)),
                        Vec::new(),
                    )
                }
                Item::Note(.., text) => (Level::NOTE.primary_title(shown(text)), None, Vec::new()),
            };
            let other = match &item {
                Item::Finding(Finding {
                    against: Some(span),
                    ..
                }) => snippet::of(&file.text, *span).map(|snippet| (*span, snippet)),
                _ => None,
            };
            // Columns are counted from snippets, which is wrong where a line is cut.
            let mut counted = Vec::new();
            if let (Some(place), Some(snippet)) = (item.place(), &snippet) {
                counted.push((place, snippet.column()));
            }
            if let Some((span, snippet)) = &other {
                counted.push((span.place(), snippet.column()));
            }
            let group = located(title, file, &item, snippet)
                .elements(other.map(|(_, snippet)| against(file, snippet)))
                .elements(messages);
            let mut drawn = renderer.render(&[group]) + "\n";
            for (place, column) in counted {
                if place.column != column {
                    let [counted, right] = [Place { column, ..place }, place]
                        .map(|place| format!("{}\n", shown::place(&file.name, Some(place))));
                    drawn = drawn.replacen(&counted, &right, 1);
                }
            }
            all.push(drawn);
        }
    }
    all.extend(tables::text(report));
    all.join("\n")
}

fn title(finding: &Finding) -> Title<'_> {
    let level = match finding.severity {
        Severity::Deny => Level::ERROR,
        Severity::Warn => Level::WARNING,
        Severity::Repair | Severity::Ignored => Level::HELP,
    };
    let rule = finding.rule;
    let level = level.with_name(finding.severity.name());
    let title = level.primary_title(rule.brief);
    title.id(format!("{} {}", rule.code, rule.name))
}

/// Below a title, the place and what stands there.
fn located<'t>(
    title: Title<'t>,
    file: &FileReport,
    item: &Item<'_>,
    snippet: Option<snippet::Snippet>,
) -> Group<'t> {
    let name = shown(&file.name);
    let Some(snippet) = snippet else {
        let origin = Origin::path(name);
        return title.element(match item.place() {
            Some(at) => origin.line(at.line).char_column(at.column),
            None => origin,
        });
    };
    let underlined = AnnotationKind::Primary.span(snippet.underlined);
    let underlined = match item {
        Item::Finding(finding) if finding.absent => underlined.label("it is absent below this"),
        _ => underlined,
    };
    let source = Snippet::source(snippet.text).line_start(snippet.line);
    title.element(source.path(name).annotation(underlined))
}

/// The other side of a contradiction.
fn against<'t>(file: &FileReport, snippet: snippet::Snippet) -> Snippet<'t, Annotation<'t>> {
    let underlined = AnnotationKind::Context.span(snippet.underlined);
    let source = Snippet::source(snippet.text).line_start(snippet.line);
    let source = source.path(shown(&file.name));
    source.annotation(underlined.label("it contradicts this"))
}

/// What is said below a finding's snippet.
fn messages<'f>(finding: &'f Finding, width: usize, with_evidence: bool) -> Vec<Message<'f>> {
    let named = |name, text: String| Level::NOTE.with_name(name).message(text);
    let patch = finding.patch.as_deref();
    let evidence = finding.evidence.as_deref().filter(|_| with_evidence);
    let evidence = evidence.map(|text| format!("{}: {}", shown::object(finding), shown(text)));
    let messages = [
        Some(named("field", shown::field(finding))),
        Some(named("reason", wrapped(&finding.reason, width))),
        Some(named("remedy", wrapped(&finding.remedy, width))),
        patch.map(|patch| named("patch", shown(patch))),
        finding
            .pods
            .filter(|pods| *pods > 0)
            .map(|pods| named("pods", format!("it is in {}", several(pods, "live pod")))),
        evidence.map(|text| named("evidence", text)),
    ];
    messages.into_iter().flatten().collect()
}

/// In lines that fit.
fn wrapped(text: &str, width: usize) -> String {
    let options = textwrap::Options::new(width.saturating_sub(BEFORE).max(BEFORE))
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

/// What tells one object from the next.
fn object(finding: &Finding) -> [Option<&String>; 4] {
    let Finding {
        kind,
        namespace,
        name,
        evidence,
        ..
    } = finding;
    let [namespace, name, evidence] = [namespace, name, evidence].map(Option::as_ref);
    [Some(kind), namespace, name, evidence]
}
