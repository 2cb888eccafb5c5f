//! `transom check`: from paths to a report, and the exit code.
//!
//! Not here: what is wrong with a manifest (`crate::check`, which is pure), and how that is
//! written (`crate::check::output`).

mod actions;
mod charts;
mod files;
mod look;
mod walk;
mod work;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::{Result, bail};

use super::report::progress::Progress;
use super::report::selection::Selection;
use super::report::settings::{self, Settings};
use super::report::{UNREAD, taken, write};
use crate::check::output::{self, name, render, shown, summary};
use crate::check::{self, Options, Report, Severity, check};
use crate::cli::{CheckArgs, Cli, FailOn, MinSeverity};
use crate::os::Os;
use crate::terminal::{self, tell};
use files::{Files, Input, Search};
use look::{Looked, Mode, Repairs, look};

/// Looks at all files, whatever is wrong with one of them.
pub(super) fn run(args: CheckArgs) -> Result<ExitCode> {
    let CheckArgs {
        mut paths,
        filename,
        recursive: _,
        judge,
        assume_os,
        namespace_labels,
        namespace,
        include_exempt,
        mixed_cluster,
        exclude,
        stdin_filename,
        helm,
        helm_values,
        fix,
        diff,
        min_severity,
        statistics,
        report: args,
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
    let selection = Selection::new(&judge.select, &judge.ignore)?;
    let Settings {
        mut policy,
        file: config,
        is_found,
        names_tolerations,
        origin,
    } = Settings::read(judge.config, judge.profile)?;
    if mixed_cluster {
        policy.assume_mixed_cluster();
    }
    if args.verbose || is_found && !args.quiet {
        tell(&format!("configuration: {origin}\n"));
    }
    if args.verbose {
        tell(&selection.advice(&policy));
    }
    if !names_tolerations {
        // The default is for one kind of cluster. The webhook adds it to pods, which are short-lived; files are not.
        policy.without_tolerations();
    }
    if include_exempt {
        policy.evaluate_exempt();
    }
    let mut options = Options {
        policy,
        namespace: settings::namespace(&namespace_labels, assume_os),
        namespace_name: namespace,
        include_exempt,
        ..Options::default()
    };

    if args.fail_on == FailOn::Place && min_severity != MinSeverity::Note {
        bail!(
            "--fail-on place counts notes, which --min-severity leaves out; remove one of the flags"
        );
    }
    let search = Search {
        exclude,
        stdin: stdin_filename,
        helm: helm.then_some(helm_values),
    };
    let mut files = Files::find(&paths, &search);
    args.spare(config.as_deref())?;
    if let Some(file) = &args.output_file {
        let is_foreign = |input: &Input| {
            let bytes = input.read();
            bytes.is_ok_and(|bytes| check(input.name(), &bytes, &options).is_foreign())
        };
        let spared = files.spare(file, is_foreign);
        spared.map_err(|input| taken(file, &input))?;
    }
    let progress = Progress::new(files.inputs.len(), "files", args.quiet);
    let mode = match (fix, diff) {
        (_, true) => Mode::Diff {
            styled: terminal::is_styled(),
        },
        (true, false) => Mode::Fix,
        (false, false) => Mode::Check,
    };
    let is_piped_through = mode == Mode::Fix && files.inputs.iter().any(Input::is_stdin);
    let look = |input: &Input, mode, options: &Options| {
        let mut looked = look(input, mode, options, &selection);
        if looked.report.is_silent() {
            // Nobody will be shown a line of it.
            looked.report.text = String::new();
        }
        progress.tick();
        looked
    };
    let first = |input: &Input| look(input, Mode::Check, &options);
    let mut looked = work::in_parallel(&files.inputs, jobs, first);
    // What manifests say of the cluster counts in all files, whatever their order.
    options.facts = check::facts(looked.iter().map(|looked| &looked.report));
    let again: Vec<_> = looked
        .iter()
        .enumerate()
        .filter(|(_, looked)| mode != Mode::Check || looked.report.refers_to(&options.facts))
        .map(|(i, _)| i)
        .collect();
    progress.foresee(again.len());
    let second = |i: &usize| look(&files.inputs[*i], mode, &options);
    let second = work::in_parallel(&again, jobs, second);
    for (i, again) in again.into_iter().zip(second) {
        looked[i] = again;
    }
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
    let left = std::mem::take(&mut files.left);
    let passed_over = std::mem::take(&mut files.passed_over);
    let (mut report, foreign) = files.report(reports);
    for file in &mut report.files {
        file.keep(least(min_severity));
    }
    if args.verbose {
        tell(&passed_over);
        tell(&taken_for(&report));
        for file in foreign {
            let file = name(&file);
            tell(&format!("{file}: passed over: no Kubernetes object\n"));
        }
    }
    let out = std::mem::take(&mut repairs.out);
    terminal::print_bytes(&match mode {
        Mode::Diff { .. } => actions::without_commands(out)?,
        Mode::Check | Mode::Fix => out,
    })?;
    let told = match mode {
        Mode::Diff { .. } => String::new(),
        _ if statistics => output::statistics(&report),
        _ => render(&report, args.output, &args.options()),
    };
    match args.output_file.as_deref() {
        // stdout is for what came from stdin.
        None if is_piped_through => terminal::tell_styled(&told),
        file => write::write(&told, file)?,
    }
    args.tell_unread(&report, !matches!(mode, Mode::Diff { .. }));
    tell(&left);
    tell(&repairs.left);
    if !args.quiet && mode != Mode::Check {
        tell(&format!("{}\n", repairs.summary(mode)));
    }
    if matches!(mode, Mode::Diff { .. }) {
        return Ok(args.exit_code(&report, repairs.any()));
    }
    if !args.quiet {
        tell(&format!("{}\n", summary(&report)));
    }
    Ok(args.exit_code(&report, args.fails(&report)))
}

/// A line for each object that targets Windows or is exempt, with the evidence.
fn taken_for(report: &Report) -> String {
    let mut out = String::new();
    for (file, subject) in report.subjects() {
        let evidence = subject.evidence.as_deref().map(shown);
        let evidence = evidence.map_or_else(String::new, |evidence| format!(" ({evidence})"));
        let what = match (subject.os, &subject.exempt) {
            (Some(Os::Windows), None) => format!("Windows{evidence}"),
            (os, Some(why)) => {
                let os = os.map_or("unmarked", Os::name);
                format!("exempt ({}), {os}{evidence}", shown(why))
            }
            _ => continue,
        };
        let (name, line) = (name(&file.name), subject.place.line);
        let subject = shown(&subject.to_string());
        out += &format!("{name}:{line}: {subject}: {what}\n");
    }
    out
}

/// The least severity that is reported; nothing where notes are.
fn least(min: MinSeverity) -> Option<Severity> {
    match min {
        MinSeverity::Note => None,
        MinSeverity::Repair => Some(Severity::Repair),
        MinSeverity::Warn => Some(Severity::Warn),
        MinSeverity::Deny => Some(Severity::Deny),
    }
}
