//! The words: what `kubectl apply` prints, what the audit log keeps.
//!
//! A message names the rule, the field, its value, the reason and the way out, and tells why the
//! pod is taken for a Windows pod. Written straight into the answer. Not here: what is told to
//! whom (`decision`). For those who put their own sentences together there are `parts`.

mod note;
mod parts;

use std::fmt::{Result, Write};
use std::ops::Range;

use crate::admit::{Judgement, Outcome, Verdict};
use crate::decision::{Effect, Endpoint, Finding, Flaw, Ignore};
use crate::field::write_key;
use crate::mode::Mode;
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::os::{Conflict, Detection, Evidence, OS_LABEL, Os, Source};
use crate::patch::{Change, MAX_REMOVED};
use crate::rules;

/// As many findings are told in full; the rest is counted.
pub(crate) const FULL: usize = 64;

/// Commands and arguments may hold secrets, and an object that only looks like Windows is told of
/// to more than its author.
fn is_private(tape: &Tape<'_>, finding: &Finding) -> bool {
    let at = finding.hit.at;
    tape.role(at) == Role::Text && finding.hit.rule == *rules::UNPLACED
}

/// A piece of a message, written when its place has come.
type Piece<'m> = &'m dyn Fn(&mut dyn Write) -> Result;

/// Everything that one answer tells.
pub(crate) struct Message<'v, 'r, 'a> {
    verdict: &'v Verdict<'r, 'a>,
    tape: &'v Tape<'a>,
    /// The findings in short (`CODE effect path; …`): each path is told up to three times.
    summary: String,
    /// Where each finding's path is in the summary; empty for those beyond the full ones.
    paths: Vec<Range<usize>>,
}

impl<'v, 'r, 'a> Message<'v, 'r, 'a> {
    pub(crate) fn new(verdict: &'v Verdict<'r, 'a>) -> Self {
        let tape = verdict.request().tape();
        let findings = verdict.findings();
        let mut message = Self {
            verdict,
            tape,
            summary: String::with_capacity(findings.len().min(2 * FULL) * 80),
            paths: Vec::with_capacity(findings.len()),
        };
        let (mut denied, mut others) = (0, 0);
        for finding in findings {
            let count = match finding.effect {
                Effect::Deny => &mut denied,
                _ => &mut others,
            };
            *count += 1;
            let told = *count <= FULL;
            message.summarize(finding, told);
        }
        message
    }

    fn summarize(&mut self, finding: &Finding, told: bool) {
        let summary = &mut self.summary;
        if told {
            let separator = if summary.is_empty() { "" } else { "; " };
            let (code, effect) = (finding.rule().code, finding.effect.name());
            for text in [separator, code, " ", effect, " "] {
                summary.push_str(text);
            }
        }
        let start = summary.len();
        if told {
            // Writing to memory does not fail.
            let _ = finding.path(self.tape).write_dotted(summary);
        }
        self.paths.push(start..summary.len());
    }

    /// The findings that are told in full, with their paths.
    fn findings(&self) -> impl Iterator<Item = (&Finding, &str)> {
        let paths = self.paths.iter().map(|path| &self.summary[path.clone()]);
        self.verdict.findings().iter().zip(paths)
    }

    fn denied(&self) -> impl Iterator<Item = (&Finding, &str)> {
        self.findings().filter(|(f, _)| f.effect == Effect::Deny)
    }

    /// The message of a denial.
    pub(crate) fn denial(&self, out: &mut dyn Write) -> Result {
        match self.verdict.outcome() {
            Outcome::Exempt(_) => Ok(()),
            Outcome::Unreadable(problem) => write!(out, "{problem}, {}", problem.remedy),
            Outcome::Judged(judgement) => {
                self.subject(judgement, out)?;
                for (finding, path) in self.denied().take(FULL) {
                    out.write_str("\n- ")?;
                    self.full(finding, path, out)?;
                }
                match self.denied().count().saturating_sub(FULL) {
                    0 => Ok(()),
                    rest => write!(out, "\nand {rest} more"),
                }
            }
        }
    }

    fn subject(&self, judgement: &Judgement<'_, '_>, out: &mut dyn Write) -> Result {
        let kind = self.verdict.kind_name();
        let detection = &judgement.detection;
        let is_certain = |conflict: Conflict| conflict.between.is_certain();
        if detection.conflict.is_some_and(is_certain) {
            return write!(out, "no node can run this {kind} as it is written:");
        }
        write!(out, "this {kind} is for Windows")?;
        if let Some(evidence) = &detection.evidence {
            out.write_str(" (")?;
            self.evidence(evidence, out)?;
            out.write_str(")")?;
        }
        match judgement.decision.excess {
            Some(count) => write!(
                out,
                " and has {count} fields to remove, more than the {MAX_REMOVED} that one patch removes; remove \
                 them from the manifest:"
            ),
            None => out.write_str(", which cannot honour it as it is written:"),
        }
    }

    /// Where evidence stands and what it says.
    fn evidence(&self, evidence: &Evidence, out: &mut dyn Write) -> Result {
        let os = evidence.os.name();
        let Some(at) = evidence.at else {
            let namespace = self.verdict.namespace();
            return write!(out, "label transom.dev/os: {os} of namespace {namespace}");
        };
        if evidence.source == Source::WindowsText {
            return self.tape.path(at).write_dotted(out);
        }
        self.place(at, out)?;
        match evidence.source {
            Source::NodeName => write!(out, ", a {os} node"),
            Source::RuntimeClass => write!(out, ", which selects {os} nodes"),
            Source::Registry => write!(out, ", an image for {os} only"),
            Source::SelectedPods => write!(out, ", which selects {os} pods"),
            _ => Ok(()),
        }
    }

    /// Path and value.
    fn place(&self, at: At, out: &mut dyn Write) -> Result {
        self.tape.path(at).write_dotted(out)?;
        out.write_str(": ")?;
        self.tape.write_value(at, out)
    }

    /// Path and value of a finding.
    fn field(&self, finding: &Finding, path: &str, out: &mut dyn Write) -> Result {
        out.write_str(path)?;
        if is_private(self.tape, finding) {
            return Ok(());
        }
        out.write_str(": ")?;
        if finding.hit.missing.is_empty() {
            self.tape.write_value(finding.hit.at, out)
        } else {
            out.write_str("not set")
        }
    }

    /// A finding with everything that belongs to it.
    fn full(&self, finding: &Finding, path: &str, out: &mut dyn Write) -> Result {
        self.field(finding, path, out)?;
        if let Some(at) = finding.hit.against {
            out.write_str(" against ")?;
            self.place(at, out)?;
        }
        out.write_str(finding.hit.told().full(finding.hit.tier))
    }

    /// The causes of a denial, for clients of the API: path and message of each.
    pub(crate) fn causes(&self, mut cause: impl FnMut(&str, Piece<'_>)) {
        match self.verdict.outcome() {
            Outcome::Exempt(_) => {}
            Outcome::Unreadable(problem) => {
                cause(&problem.path, &|out| out.write_str(&problem.sentence));
            }
            Outcome::Judged(_) => {
                for (finding, path) in self.denied().take(FULL) {
                    let told = finding.hit.told();
                    cause(path, &|out| out.write_str(&told.brief));
                }
            }
        }
    }

    /// The warnings, each in one short line; the evidence last.
    pub(crate) fn warnings(&self, mut warning: impl FnMut(Piece<'_>)) {
        let verdict = self.verdict;
        let judgement = match verdict.outcome() {
            Outcome::Exempt(_) => return,
            Outcome::Unreadable(problem) => {
                // A denial's message says it already.
                let told = verdict.mode() >= Mode::Warn && verdict.allowed();
                if told && verdict.endpoint() == Endpoint::Validate {
                    warning(&|out| write!(out, "transom: {problem}"));
                }
                return;
            }
            Outcome::Judged(judgement) => judgement,
        };
        if verdict.mode() < Mode::Warn {
            return;
        }
        // What the denial's message says is not said twice.
        let told = || {
            let allowed = verdict.allowed();
            self.findings()
                .filter(move |(finding, _)| match finding.effect {
                    Effect::Deny => allowed,
                    Effect::Ignore => false,
                    Effect::Warn | Effect::Repair => true,
                })
        };
        for (finding, path) in told().take(FULL) {
            warning(&|out| {
                let rule = finding.rule();
                out.write_str(rule.code)?;
                out.write_str(" ")?;
                match finding.effect {
                    Effect::Repair => {
                        out.write_str(path)?;
                        out.write_str(" removed")?;
                    }
                    _ => self.field(finding, path, out)?,
                }
                out.write_str(": ")?;
                out.write_str(rule.brief)
            });
        }
        let count = told().count();
        if count > FULL {
            warning(&|out| write!(out, "transom: and {} more findings", count - FULL));
        }
        for ignore in judgement.decision.ignores.iter().take(FULL) {
            if let Some(flaw) = ignore.flaw {
                warning(&|out| {
                    out.write_str("transom: ")?;
                    self.without_effect(ignore, flaw, out)
                });
            }
        }
        if count > 0 && verdict.allowed() {
            self.reasons(&judgement.detection, warning);
        }
    }

    /// Why an annotation silences nothing.
    fn without_effect(&self, ignore: &Ignore, flaw: Flaw, out: &mut dyn Write) -> Result {
        let key = self.tape.key_of(ignore.at).unwrap_or_default();
        write_key(key, out)?;
        out.write_str(" has no effect: ")?;
        match flaw {
            Flaw::UnknownRule => out.write_str("there is no such rule"),
            Flaw::NoReason => out.write_str("write the reason as its value"),
            Flaw::WrongPlace => out.write_str("it belongs to the metadata of the pod template"),
            Flaw::NotAllowed => {
                let code = ignore.code();
                write!(out, "the configuration does not let {code} be ignored")
            }
        }
    }

    /// Why the pod is taken for a Windows pod, or for a contradiction.
    fn reasons(&self, detection: &Detection, mut warning: impl FnMut(Piece<'_>)) {
        if let Some(conflict) = detection.conflict {
            warning(&|out| {
                out.write_str("transom: ")?;
                self.place(conflict.at, out)?;
                let Some(against) = conflict.against else {
                    return Ok(());
                };
                out.write_str(" against ")?;
                self.place(against, out)
            });
        } else if let Some(evidence) = &detection.evidence.or(detection.hint) {
            warning(&|out| {
                out.write_str(match detection.evidence {
                    Some(_) => "transom: for Windows by ",
                    None => "transom: maybe for Windows by ",
                })?;
                self.evidence(evidence, out)
            });
        }
    }

    /// What the audit log keeps, under the webhook's name: only where there is evidence of
    /// Windows.
    pub(crate) fn annotations(&self, mut annotation: impl FnMut(&str, Piece<'_>)) {
        let judgement = match self.verdict.outcome() {
            Outcome::Exempt(_) => return,
            Outcome::Unreadable(problem) => {
                return annotation("unreadable", &|out| out.write_str(&problem.sentence));
            }
            Outcome::Judged(judgement) => judgement,
        };
        let detection = &judgement.detection;
        if self
            .verdict
            .changes()
            .any(|change| change == Change::LinuxGuard)
        {
            annotation("linux-guard", &|out| {
                write!(out, "{OS_LABEL}: {}", Os::Linux.name())
            });
        }
        if !detection.concerns_us() && self.verdict.findings().is_empty() {
            return;
        }
        let os = detection.os.map_or("unknown", Os::name);
        annotation("os", &|out| out.write_str(os));
        if let Some(evidence) = &detection.evidence.or(detection.hint) {
            annotation("evidence", &|out| {
                out.write_str(evidence.source.name())?;
                out.write_str(" ")?;
                self.evidence(evidence, out)
            });
        }
        let count = self.verdict.findings().len();
        let ignored = judgement.decision.ignores.iter();
        let ignored: Vec<_> = ignored.filter(|i| i.flaw.is_none()).take(FULL).collect();
        if !ignored.is_empty() {
            annotation("ignored", &|out| {
                for (i, ignore) in ignored.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    let code = ignore.code();
                    write!(out, "{separator}{code}: ")?;
                    self.tape.write_value(ignore.at, out)?;
                }
                Ok(())
            });
        }
        if count > 0 {
            annotation("mode", &|out| out.write_str(self.verdict.mode().name()));
            annotation("findings", &|out| {
                out.write_str(&self.summary)?;
                let told = self.paths.iter().filter(|path| !path.is_empty()).count();
                match count - told {
                    0 => Ok(()),
                    rest => write!(out, "; and {rest} more"),
                }
            });
        }
    }
}
