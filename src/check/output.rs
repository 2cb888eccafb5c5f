//! The formats: one renderer each, all over the same [`Report`].
//!
//! Pure: from a report to text. Not here: which format is asked for, where it is written, and the
//! exit code (`command`).

use super::Report;

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

/// What the formats for people can be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderOptions {
    /// Tell with each finding why the object is taken for one that is for Windows; else it is told
    /// once for each object.
    pub show_evidence: bool,
    /// How many columns a terminal has; nothing, if there is none.
    pub width: Option<usize>,
}

/// The report in a format. Colours are always written where people read them (text); whoever
/// prints takes them out where they do not belong.
pub fn render(report: &Report, format: Format, options: &RenderOptions) -> String {
    let _ = (format, options);
    let mut out = String::new();
    for file in &report.files {
        let name = &file.name;
        for problem in &file.problems {
            let place = problem.place.map(|place| format!(":{place}"));
            let (place, text) = (place.unwrap_or_default(), &problem.text);
            out.push_str(&format!("{name}{place}: error: {text}\n"));
        }
        let told = file.findings.iter();
        for found in told.filter(|found| found.severity != super::Severity::Ignored) {
            let (line, column) = (found.span.line, found.span.column);
            let (severity, rule) = (found.severity.name(), found.rule);
            out.push_str(&format!(
                "{name}:{line}:{column}: {severity} {} {}: {} ({})\n",
                rule.code, rule.name, rule.brief, found.path
            ));
        }
    }
    out
}

/// What the report comes to, in one line without its end.
pub fn summary(report: &Report) -> String {
    let (findings, judged) = (report.findings().count(), report.judged());
    format!("{findings} findings in {judged} objects")
}
