//! What `check` and `scan` share: the configuration that is held against, which findings are told, how far it
//! has come, where the report goes, and the exit code.
//!
//! Not here: how findings are made (`crate::check`, `crate::scan`), and how they look (`crate::check::output`).

pub(super) mod links;
pub(super) mod progress;
pub(super) mod selection;
pub(super) mod settings;
pub(super) mod write;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Error, Result, anyhow};

use crate::check::output::{Format, RenderOptions, render};
use crate::check::{FileReport, Report, Severity};
use crate::cli::{FailOn, ReportArgs};
use crate::terminal::{self, tell};

/// There are findings; of `--diff`, there is something to fix.
const FOUND: u8 = 1;
/// Something could not be read or written.
pub(super) const UNREAD: u8 = 2;

impl ReportArgs {
    /// The report does not replace what was read.
    ///
    /// # Errors
    /// It would, and this is the file.
    pub(super) fn spare(&self, config: Option<&Path>) -> Result<()> {
        match (&self.output_file, config) {
            (Some(file), Some(config)) if write::is_same(file, config) => {
                Err(taken(file, &config.display().to_string()))
            }
            _ => Ok(()),
        }
    }

    /// What the text can be asked for.
    pub(super) fn options(&self) -> RenderOptions {
        RenderOptions {
            show_evidence: self.show_evidence,
            width: terminal::width(),
        }
    }

    /// Reports on stderr what could not be read, unless the same terminal shows it already.
    pub(super) fn tell_unread(&self, report: &Report, is_told: bool) {
        let by_format = matches!(self.output, Format::Text | Format::Concise | Format::Github);
        let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        if !(is_told && by_format && is_seen && self.output_file.is_none()) {
            let unread = unread(report);
            tell(&render(&unread, Format::Concise, &self.options()));
        }
    }

    /// Whether there are findings that matter to `--fail-on`.
    pub(super) fn fails(&self, report: &Report) -> bool {
        let least = match self.fail_on {
            FailOn::Deny => Severity::Deny,
            FailOn::Warn | FailOn::Place => Severity::Repair,
        };
        let misplaced = report.cluster.as_ref().map_or(0, |seen| seen.misplaced);
        let is_misplaced = self.fail_on != FailOn::Deny && misplaced > 0;
        let is_placed = self.fail_on == FailOn::Place && report.placed() > 0;
        is_placed || is_misplaced || report.findings().any(|(_, f)| f.severity >= least)
    }

    /// 2 if something could not be read, whatever else there is.
    pub(super) fn exit_code(&self, report: &Report, found: bool) -> ExitCode {
        ExitCode::from(match report.problems() {
            0 if found && !self.exit_zero => FOUND,
            0 => 0,
            _ => UNREAD,
        })
    }
}

/// The error of a report that would replace an input.
pub(super) fn taken(report: &Path, input: &str) -> Error {
    let report = report.display();
    anyhow!("--output-file {report} would replace the input {input}; choose another file")
}

/// What could not be read, and nothing else.
fn unread(report: &Report) -> Report {
    let files = report.files.iter().map(|file| FileReport {
        source: file.source,
        problems: file.problems.clone(),
        ..FileReport::new(&file.name)
    });
    Report {
        files: files.collect(),
        ..Report::default()
    }
}
