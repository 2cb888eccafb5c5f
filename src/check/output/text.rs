//! For people: each finding with its line, the field underlined, reason and remedy. The places of one rule in one
//! object are listed under one reason.
//!
//! Drawn by annotate-snippets, with colours. What it is given of a manifest is `shown` first: it
//! prints messages as they are.

use std::collections::HashMap;

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet, Title,
};
use anstyle::{AnsiColor, Style};
use textwrap::WordSplitter;

use super::shown::{self, shown};
use super::snippet::{self, Lines};
use super::{Item, RenderOptions, grouped, object, several, tables, told};
use crate::check::{FileReport, Finding, Report, Severity, Span};
use crate::yaml::Place;

/// Where there is no terminal.
const WIDTH: usize = 120;
/// What stands in front of a reason: line number and name.
const BEFORE: usize = 16;

/// Objects with more findings than these are written in short.
const MANY: usize = 8;

pub(super) fn render(report: &Report, options: &RenderOptions) -> String {
    let width = options.width.unwrap_or(WIDTH);
    let renderer = Renderer::styled().term_width(width);
    let mut all = Vec::new();
    for file in &report.files {
        let has_lines = !(file.problems.is_empty() && file.oddities.is_empty());
        let lines = Lines::new(if has_lines { &file.text } else { "" });
        let mut counts = HashMap::<_, usize>::new();
        for finding in &file.findings {
            *counts.entry(object(finding)).or_default() += 1;
        }
        // The finding before, whose object may be the same.
        let mut last: Option<&Finding> = None;
        for group in grouped(told(file)) {
            let mut with_evidence = options.show_evidence;
            let findings: Vec<_> = group
                .iter()
                .filter_map(|item| match item {
                    Item::Finding(finding) => Some(*finding),
                    _ => None,
                })
                .collect();
            if let Some(finding) = findings.first() {
                with_evidence |= last.is_none_or(|last| object(last) != object(finding));
                last = Some(finding);
                if findings.len() > 1 || counts.get(&object(finding)).is_some_and(|n| *n > MANY) {
                    all.push(short(&renderer, file, &findings, width, with_evidence));
                    continue;
                }
            }
            for item in &group {
                all.push(whole(&renderer, file, &lines, item, width, with_evidence));
            }
        }
    }
    all.extend(tables::text(report));
    all.join("\n")
}

/// The places of one rule in one object: a line each, and what they have in common.
fn short(
    renderer: &Renderer,
    file: &FileReport,
    findings: &[&Finding],
    width: usize,
    with_evidence: bool,
) -> String {
    const MARK: Style = AnsiColor::BrightBlue.on_default().bold();
    let Some(first) = findings.first() else {
        return String::new();
    };
    let mut out = renderer.render(&[Group::with_title(title(first))]) + "\n";
    for finding in findings {
        let place = shown::place(&file.name, finding.span.map(Span::place));
        let mut field = shown::field(finding);
        if finding.absent {
            field.push_str(" is absent");
        }
        if let Some(against) = finding.against {
            field.push_str(&format!(" (contradicts {})", against.place()));
        }
        if let Some(pods @ 1..) = finding.pods {
            field.push_str(&format!(" (in {})", several(pods, "live pod")));
        }
        out.push_str(&format!("  {MARK}-->{MARK:#} {place}: {field}\n"));
    }
    let evidence = first.evidence.as_deref().filter(|_| with_evidence);
    let evidence = evidence.map(|text| format!("{}: {}", shown::object(first), shown(text)));
    let messages = [
        Some(("reason", wrapped(&first.reason, width))),
        Some(("remedy", wrapped(&first.remedy, width))),
        evidence.map(|text| ("evidence", text)),
    ];
    for (name, text) in messages.into_iter().flatten() {
        let indented = text.replace('\n', "\n            ");
        out.push_str(&format!("   {MARK}={MARK:#} {name}: {indented}\n"));
    }
    out
}

/// One thing with its line.
fn whole(
    renderer: &Renderer,
    file: &FileReport,
    lines: &Lines<'_>,
    item: &Item<'_>,
    width: usize,
    with_evidence: bool,
) -> String {
    let (title, snippet, messages) = match item {
        Item::Finding(finding) => (
            title(finding),
            finding.span.and_then(|span| snippet::of(&file.text, span)),
            messages(finding, width, with_evidence),
        ),
        Item::Problem(problem) | Item::Oddity(problem) => {
            let level = match item {
                Item::Oddity(_) => Level::WARNING,
                _ => Level::ERROR,
            };
            (
                level.primary_title(shown::problem(problem)),
                problem.place.and_then(|at| lines.word(at)),
                Vec::new(),
            )
        }
        Item::Note(.., text) => (Level::NOTE.primary_title(shown(text)), None, Vec::new()),
    };
    let other = match item {
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
    let group = located(title, file, item, snippet)
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
    drawn
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
