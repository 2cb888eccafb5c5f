//! One file: read, repaired where that is asked for, and looked at.

use super::files::Input;
use crate::check::output::{diff, note, several};
use crate::check::{FileReport, Fixed, Options, check, fix};
use crate::command::report::selection::Selection;

/// What is done beside looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Check,
    /// `--fix`: files are repaired, then looked at.
    Fix,
    /// `--diff`: it is told what would be repaired.
    Diff { styled: bool },
}

/// What came of one file.
pub(super) struct Looked {
    pub(super) report: FileReport,
    pub(super) repairs: Repairs,
}

/// What was repaired, or would be.
#[derive(Default)]
pub(super) struct Repairs {
    /// What goes to stdout: the diffs, or what came from stdin.
    pub(super) out: Vec<u8>,
    /// What was left alone: a line each.
    pub(super) left: String,
    left_alone: usize,
    files: usize,
    objects: usize,
}

impl Repairs {
    pub(super) fn add(&mut self, other: Self) {
        self.out.extend(other.out);
        self.left.push_str(&other.left);
        self.left_alone += other.left_alone;
        self.files += other.files;
        self.objects += other.objects;
    }

    pub(super) fn any(&self) -> bool {
        self.files > 0
    }

    /// In one line without its end: `fixed 3 objects in 2 files, 1 object left alone`.
    pub(super) fn summary(&self, mode: Mode) -> String {
        let done = match mode {
            Mode::Diff { .. } => "would fix",
            _ => "fixed",
        };
        let mut text = match self.objects {
            0 => format!("{done} nothing"),
            objects => {
                let (objects, files) = (several(objects, "object"), several(self.files, "file"));
                format!("{done} {objects} in {files}")
            }
        };
        if self.left_alone > 0 {
            text += &format!(", {} left alone", several(self.left_alone, "object"));
        }
        text
    }
}

/// Looks at a file as it is when all is done.
pub(super) fn look(input: &Input, mode: Mode, options: &Options, selection: &Selection) -> Looked {
    let mut repairs = Repairs::default();
    let bytes = match input.read() {
        Ok(bytes) => bytes,
        Err(why) => {
            let report = FileReport::unread(input.name(), why);
            return Looked { report, repairs };
        }
    };
    if input.is_foreign(&bytes) {
        let report = FileReport::foreign(input.name());
        return Looked { report, repairs };
    }
    let report = |bytes: &[u8]| {
        let mut report = check(input.name(), bytes, options);
        report.findings.retain(|found| selection.has(found.rule));
        report
    };
    if mode == Mode::Check {
        let report = report(&bytes);
        return Looked { report, repairs };
    }
    let fixed = fix(&bytes, options, &|rule| selection.has(rule));
    repairs.left_alone = fixed.left.len();
    let notes = fixed.left.iter().map(|left| note(input.name(), left));
    repairs.left = notes.collect();
    let report = match (mode, &fixed.bytes) {
        (Mode::Diff { styled }, _) => {
            repairs.note(&fixed);
            if fixed.bytes.is_some() {
                let [before, after] = &fixed.texts;
                repairs.out = diff(input.name(), [before, after], styled).into_bytes();
            }
            report(&bytes)
        }
        (_, Some(new)) => match input.write(&bytes, new) {
            Ok(()) => {
                repairs.note(&fixed);
                report(new)
            }
            Err(why) => {
                let mut report = report(&bytes);
                let unwritten = FileReport::unread(input.name(), why);
                report.problems.splice(..0, unwritten.problems);
                report
            }
        },
        (_, None) => report(&bytes),
    };
    if mode == Mode::Fix && input.is_stdin() {
        repairs.out = fixed.bytes.unwrap_or_else(|| bytes.into_owned());
    }
    Looked { report, repairs }
}

impl Repairs {
    fn note(&mut self, fixed: &Fixed) {
        self.files = usize::from(fixed.bytes.is_some());
        self.objects = fixed.objects;
    }
}
