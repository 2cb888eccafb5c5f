//! `transom check`: from paths to a report, and the exit code.
//!
//! Not here: what is wrong with a manifest (`crate::check`, which is pure), and how that is
//! written (`crate::check::output`).

mod files;
mod look;
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
use look::{Looked, Mode, Repairs, look};
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
        fix,
        diff,
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
    let mode = match (fix, diff) {
        (_, true) => Mode::Diff {
            styled: terminal::is_styled(),
        },
        (true, false) => Mode::Fix,
        (false, false) => Mode::Check,
    };
    let is_piped_through = mode == Mode::Fix && files.inputs.iter().any(Input::is_stdin);
    let look = |input: &Input| {
        let mut looked = look(input, mode, &options, &selection);
        if looked.report.is_silent() {
            // Nobody will be shown a line of it.
            looked.report.text = String::new();
        }
        progress.tick();
        looked
    };
    let looked = work::in_parallel(&files.inputs, jobs, look);
    drop(progress);

    let mut repairs = Repairs::default();
    let reports = looked.into_iter().map(|looked| {
        let Looked {
            report,
            repairs: more,
        } = looked;
        repairs.add(more);
        report
    });
    let reports = reports.collect();
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
    terminal::print_bytes(&repairs.out)?;
    let told = match mode {
        Mode::Diff { .. } => String::new(),
        _ => render(&report, output, &options),
    };
    match output_file.as_deref() {
        // stdout is for what came from stdin.
        None if is_piped_through => terminal::tell_styled(&told),
        file => write::write(&told, file)?,
    }
    let is_told = matches!(output, Format::Text | Format::Concise | Format::Github);
    if !is_told || output_file.is_some() || matches!(mode, Mode::Diff { .. }) {
        tell(&render(&unread(&report), Format::Concise, &options));
    }
    tell(&repairs.left);
    if !quiet && mode != Mode::Check {
        tell(&format!("{}\n", repairs.summary(mode)));
    }
    if matches!(mode, Mode::Diff { .. }) {
        return Ok(exit_code(&report, repairs.any(), exit_zero));
    }
    if !quiet {
        tell(&format!("{}\n", summary(&report)));
    }
    let least = match fail_on {
        FailOn::Deny => Severity::Deny,
        FailOn::Warn => Severity::Repair,
    };
    let found = report.findings().any(|(_, f)| f.severity >= least);
    Ok(exit_code(&report, found, exit_zero))
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

/// There are findings; of `--diff`, there is something to fix.
const FOUND: u8 = 1;
/// Something could not be read or written.
const UNREAD: u8 = 2;

fn exit_code(report: &Report, found: bool, exit_zero: bool) -> ExitCode {
    ExitCode::from(match report.problems() {
        0 if found && !exit_zero => FOUND,
        0 => 0,
        _ => UNREAD,
    })
}
