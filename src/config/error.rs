//! What is wrong with a configuration: where, what, and what would be right.
//!
//! Not here: finding it (`check` for the structure, `policy` for the values).

use std::fmt::{self, Write};

use crate::yaml::{Flaw, Place, Places};

/// As many mistakes are told in full.
const TOLD: usize = 20;

/// Everything that is wrong with a configuration, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines().join("\n"))]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| (a.place, &a.path).cmp(&(b.place, &b.path)));
        Self { problems }
    }

    /// One by one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// As sentences, with the lines of the text that they are about; only so many, as the first ones
    /// are mostly the reason for the rest.
    pub fn report(&self, file: &str, text: &str) -> String {
        let told = self.problems.iter().take(TOLD);
        let mut report: String = told.map(|problem| problem.report(file, text)).collect();
        if let Some(more) = self.more() {
            report.push_str(&more);
            report.push('\n');
        }
        report
    }

    /// The same in one line, for a log.
    pub fn line(&self) -> String {
        let told = self.problems.iter().take(TOLD).map(ToString::to_string);
        told.chain(self.more()).collect::<Vec<_>>().join("; ")
    }

    fn more(&self) -> Option<String> {
        match self.problems.len().saturating_sub(TOLD) {
            0 => None,
            more => Some(format!("and {more} more")),
        }
    }

    /// `line:column: path: problem`, one for each.
    fn lines(&self) -> Vec<String> {
        self.problems.iter().map(ToString::to_string).collect()
    }
}

/// One thing that is wrong, or that is valid and probably not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key, as in `placement.tolerations[0].effect`; empty for the whole file.
    pub path: String,
    /// Where it is written; `None` of what did not come from a text.
    pub place: Option<Place>,
    /// What is wrong, and what would be right.
    pub problem: String,
    /// The key itself is meant, and not its value.
    is_key: bool,
}

impl Problem {
    /// Of the value at this path.
    pub(crate) fn value(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            place: None,
            problem: problem.into(),
            is_key: false,
        }
    }

    /// Of the key at the end of this path.
    pub(crate) fn key(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            is_key: true,
            ..Self::value(path, problem)
        }
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// At the place of its path, or of the nearest one above it.
    pub(crate) fn located(self, places: &Places) -> Self {
        let spot = places.nearest(&self.path);
        let place = spot.map(|spot| if self.is_key { spot.key } else { spot.value });
        Self { place, ..self }
    }

    /// `file:line:column: path: problem`, and the line that it is about.
    pub fn report(&self, file: &str, text: &str) -> String {
        self.lines(file, text, "")
    }

    /// The same for what is valid: `file:line:column: warning: path: problem`.
    pub fn warning(&self, file: &str, text: &str) -> String {
        self.lines(file, text, "warning: ")
    }

    fn lines(&self, file: &str, text: &str, degree: &str) -> String {
        let Some(place) = self.place else {
            return format!("{file}: {degree}{self}\n");
        };
        let this = Self {
            place: None,
            ..self.clone()
        };
        let mut out = format!("{file}:{place}: {degree}{this}\n");
        snippet(text, place, &mut out);
        out
    }
}

impl From<Flaw> for Problem {
    fn from(flaw: Flaw) -> Self {
        Self::value("", flaw.problem).at(flaw.place)
    }
}

/// `line:column: path: problem`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

/// A longer line, such as JSON without line breaks, shows nothing to anybody.
const MAX_LINE: usize = 120;

/// The line, and a caret for each character of the word at the place.
fn snippet(text: &str, place: Place, out: &mut String) {
    let Some(line) = text.lines().nth(place.line - 1) else {
        return;
    };
    if line.trim().is_empty() || line.chars().count() > MAX_LINE {
        return;
    }
    let number = place.line;
    let margin = " ".repeat(number.to_string().len());
    // A tab stays one, so that the carets stand below the word.
    let indent: String = (line.chars().take(place.column - 1))
        .map(|c| if c == '\t' { c } else { ' ' })
        .collect();
    let word = line.chars().skip(place.column - 1);
    let word = word.take_while(|c| !c.is_whitespace() && !":,]}".contains(*c));
    let carets = "^".repeat(word.count().max(1));
    // Writing to memory does not fail.
    let line = line.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
    let _ = writeln!(out, "  {number} | {line}\n  {margin} | {indent}{carets}");
}
