//! `transom check`: from paths to a report, and the exit code.
//!
//! Not here: what is wrong with a manifest (`crate::check`, which is pure), and how that is
//! written (`crate::check::output`).

mod files;
mod progress;
mod selection;
mod settings;
mod work;
mod write;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Result;

use crate::check::output::{Format, RenderOptions, render, shown, summary};
use crate::check::{FileReport, Report, Severity};
use crate::cli::{CheckArgs, Cli, FailOn};
use crate::terminal::{self, tell};
use files::{Files, Input};
use progress::Progress;
use selection::Selection;
use settings::Settings;

/// Looks at all files, whatever is wrong with one of them.
pub(super) fn run(args: CheckArgs) -> Result<ExitCode> {
    let CheckArgs {
        mut paths,
        filename,
        recursive: _,
        config,
        profile,
        select,
        ignore,
        assume_os,
        namespace_labels,
        namespace,
        fail_on,
        exit_zero,
        output,
        output_file,
        show_evidence,
        quiet,
        verbose,
        jobs,
    } = args;
    paths.extend(filename);
    if paths.is_empty() {
        if io::stdin().is_terminal() {
            terminal::tell_help(&Cli::help("check"));
            return Ok(ExitCode::from(UNREAD));
        }
        paths.push("-".into());
    }
    let selection = Selection::new(&select, &ignore)?;
    let Settings { policy, origin } = Settings::read(config, profile)?;
    if verbose {
        tell(&format!("configuration: {origin}\n"));
        tell(&selection.advice(&policy));
    }
    let options = crate::check::Options {
        policy,
        namespace: settings::namespace(&namespace_labels, assume_os),
        namespace_name: namespace,
    };

    let files = Files::find(&paths);
    let progress = Progress::new(files.inputs.len(), quiet);
    let look = |input: &Input| {
        let mut report = input.check(&options);
        report.findings.retain(|found| selection.has(found.rule));
        if report.is_silent() {
            // Nobody will be shown a line of it.
            report.text = String::new();
        }
        progress.tick();
        report
    };
    let reports = work::in_parallel(&files.inputs, jobs, look);
    drop(progress);

    let (report, foreign) = files.report(reports);
    if verbose {
        for name in foreign {
            let name = shown(&name);
            tell(&format!("{name}: passed over: no Kubernetes object\n"));
        }
    }
    let options = RenderOptions {
        show_evidence,
        width: terminal::width(),
    };
    write::write(&render(&report, output, &options), output_file.as_deref())?;
    let is_read_by_people = matches!(output, Format::Text | Format::Concise | Format::Github);
    if !is_read_by_people || output_file.is_some() {
        tell(&render(&unread(&report), Format::Concise, &options));
    }
    if !quiet {
        tell(&format!("{}\n", summary(&report)));
    }
    Ok(exit_code(&report, fail_on, exit_zero))
}

/// What could not be read, and nothing else.
fn unread(report: &Report) -> Report {
    let files = report.files.iter().map(|file| FileReport {
        problems: file.problems.clone(),
        ..FileReport::new(&file.name)
    });
    Report {
        files: files.collect(),
    }
}

/// There are findings.
const FOUND: u8 = 1;
/// Something could not be read.
const UNREAD: u8 = 2;

fn exit_code(report: &Report, fail_on: FailOn, exit_zero: bool) -> ExitCode {
    let least = match fail_on {
        FailOn::Deny => Severity::Deny,
        FailOn::Warn => Severity::Repair,
    };
    let found = report.findings().any(|(_, f)| f.severity >= least);
    ExitCode::from(match report.problems() {
        0 if found && !exit_zero => FOUND,
        0 => 0,
        _ => UNREAD,
    })
}
