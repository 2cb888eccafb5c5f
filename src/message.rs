//! The words: what `kubectl apply` prints, what the audit log keeps.
//!
//! A message names the rule, the field, its value, the reason and the way out, and tells why the
//! pod is taken for a Windows pod. Written straight into the answer. Not here: what is told to
//! whom (`decision`).

use std::fmt::{Result, Write};

use crate::admit::{Judgement, Outcome, Verdict};
use crate::decision::{Effect, Endpoint, Finding, Mode};
use crate::object::Tape;
use crate::os::{Conflict, Evidence, Source};

/// As many findings are told in full; the rest is counted.
pub(crate) const FULL: usize = 64;

/// A piece of a message, written when its place has come.
type Piece<'m> = &'m dyn Fn(&mut dyn Write) -> Result;

/// The message of a denial.
pub(crate) fn denial(verdict: &Verdict<'_, '_>, out: &mut dyn Write) -> Result {
    match verdict.outcome() {
        Outcome::Exempt(_) => Ok(()),
        Outcome::Unreadable(problem) => write!(
            out,
            "{problem}, so nobody can tell whether this {} runs on Windows; correct the field",
            verdict.kind_name()
        ),
        Outcome::Judged(judgement) => {
            let tape = verdict.request().tape();
            subject(verdict, judgement, out)?;
            let denied = || with_effect(judgement, Effect::Deny);
            for finding in denied().take(FULL) {
                out.write_str("\n- ")?;
                full(tape, finding, out)?;
            }
            more(denied().count(), out)
        }
    }
}

fn subject(
    verdict: &Verdict<'_, '_>,
    judgement: &Judgement<'_, '_>,
    out: &mut dyn Write,
) -> Result {
    let kind = verdict.kind_name();
    let detection = &judgement.detection;
    if detection.conflict.is_some_and(|conflict| conflict.decisive) {
        return write!(out, "no node can run this {kind} as it is written:");
    }
    write!(out, "this {kind} is for Windows")?;
    if let Some(evidence) = &detection.evidence {
        out.write_str(" (")?;
        told(verdict.request().tape(), evidence, verdict.namespace(), out)?;
        out.write_str(")")?;
    }
    out.write_str(", which cannot honour it as it is written:")
}

/// Where evidence stands and what it says.
fn told(tape: &Tape<'_>, evidence: &Evidence, namespace: &str, out: &mut dyn Write) -> Result {
    let Some(at) = evidence.at else {
        return write!(
            out,
            "label transom.dev/os: {} of namespace {namespace}",
            evidence.os.name()
        );
    };
    write!(out, "{}: ", tape.path(at))?;
    tape.write_value(at, out)?;
    match evidence.source {
        Source::NodeName => write!(out, ", a {} node", evidence.os.name()),
        Source::RuntimeClass => write!(out, ", which selects {} nodes", evidence.os.name()),
        Source::Registry => write!(out, ", an image for {} only", evidence.os.name()),
        _ => Ok(()),
    }
}

/// A finding with everything that belongs to it.
fn full(tape: &Tape<'_>, finding: &Finding, out: &mut dyn Write) -> Result {
    field(tape, finding, out)?;
    let rule = finding.rule();
    write!(out, " [{} {}] {}", rule.code, rule.name, rule.reason)?;
    against(tape, finding, out)?;
    write!(out, " {}", rule.remedy)
}

/// Path and value.
fn field(tape: &Tape<'_>, finding: &Finding, out: &mut dyn Write) -> Result {
    write!(out, "{}: ", finding.path(tape))?;
    if finding.hit.missing.is_empty() {
        tape.write_value(finding.hit.at, out)
    } else {
        out.write_str("not set")
    }
}

fn against(tape: &Tape<'_>, finding: &Finding, out: &mut dyn Write) -> Result {
    let Some(at) = finding.against else {
        return Ok(());
    };
    write!(out, " It stands against {}: ", tape.path(at))?;
    tape.write_value(at, out)?;
    out.write_str(".")
}

fn more(count: usize, out: &mut dyn Write) -> Result {
    match count.saturating_sub(FULL) {
        0 => Ok(()),
        rest => write!(out, "\nand {rest} more"),
    }
}

fn with_effect<'j>(
    judgement: &'j Judgement<'_, '_>,
    effect: Effect,
) -> impl Iterator<Item = &'j Finding> {
    let findings = judgement.decision.findings.iter();
    findings.filter(move |finding| finding.effect == effect)
}

/// The causes of a denial, for clients of the API: path and message of each.
pub(crate) fn causes(verdict: &Verdict<'_, '_>, mut cause: impl FnMut(Piece<'_>, Piece<'_>)) {
    let tape = verdict.request().tape();
    match verdict.outcome() {
        Outcome::Exempt(_) => {}
        Outcome::Unreadable(problem) => cause(&|out| out.write_str(&problem.path), &|out| {
            out.write_str(&problem.sentence)
        }),
        Outcome::Judged(judgement) => {
            for finding in with_effect(judgement, Effect::Deny).take(FULL) {
                let rule = finding.rule();
                cause(&|out| write!(out, "{}", finding.path(tape)), &|out| {
                    write!(out, "{} {}: {}", rule.code, rule.name, rule.brief)
                });
            }
        }
    }
}

/// The warnings, each in one short line; the evidence last.
pub(crate) fn warnings(verdict: &Verdict<'_, '_>, mut warning: impl FnMut(Piece<'_>)) {
    let tape = verdict.request().tape();
    let judgement = match verdict.outcome() {
        Outcome::Exempt(_) => return,
        Outcome::Unreadable(problem) => {
            let tells = verdict.mode() == Mode::Warn && verdict.endpoint() == Endpoint::Validate;
            if tells {
                warning(&|out| write!(out, "transom: {problem}"));
            }
            return;
        }
        Outcome::Judged(judgement) => judgement,
    };
    if verdict.mode() < Mode::Warn {
        return;
    }
    let told_already = |finding: &Finding| !verdict.allowed() && finding.effect == Effect::Deny;
    let findings = || {
        let findings = judgement.decision.findings.iter();
        findings.filter(|finding| !told_already(finding))
    };
    for finding in findings().take(FULL) {
        warning(&|out| {
            let rule = finding.rule();
            let brief = rule.brief;
            write!(out, "{} {}: ", rule.code, rule.name)?;
            match finding.effect {
                Effect::Repair => write!(out, "{} removed: {brief}", finding.path(tape)),
                _ => {
                    field(tape, finding, out)?;
                    write!(out, ": {brief}")
                }
            }
        });
    }
    let count = findings().count();
    if count > FULL {
        warning(&|out| write!(out, "transom: and {} more findings", count - FULL));
    }
    if count == 0 || !verdict.allowed() {
        return;
    }
    let detection = &judgement.detection;
    if let Some(Conflict { at, against, .. }) = detection.conflict {
        warning(&|out| {
            write!(out, "transom: {}: ", tape.path(at))?;
            tape.write_value(at, out)?;
            let Some(against) = against else {
                return Ok(());
            };
            write!(out, " against {}: ", tape.path(against))?;
            tape.write_value(against, out)
        });
    } else if let Some(evidence) = &detection.evidence.or(detection.hint) {
        warning(&|out| {
            let certainty = match detection.evidence {
                Some(_) => "for Windows",
                None => "maybe for Windows",
            };
            write!(out, "transom: {certainty} by ")?;
            told(tape, evidence, verdict.namespace(), out)
        });
    }
}

/// What the audit log keeps, under the webhook's name: only where there is evidence of Windows.
pub(crate) fn annotations(verdict: &Verdict<'_, '_>, mut annotation: impl FnMut(&str, Piece<'_>)) {
    let tape = verdict.request().tape();
    let judgement = match verdict.outcome() {
        Outcome::Exempt(_) => return,
        Outcome::Unreadable(problem) => {
            return annotation("unreadable", &|out| out.write_str(&problem.sentence));
        }
        Outcome::Judged(judgement) => judgement,
    };
    let detection = &judgement.detection;
    if !detection.concerns_us() {
        return;
    }
    let os = detection.os.map_or("unknown", crate::os::Os::name);
    annotation("os", &|out| out.write_str(os));
    annotation("mode", &|out| out.write_str(verdict.mode().name()));
    if let Some(evidence) = &detection.evidence.or(detection.hint) {
        annotation("evidence", &|out| {
            write!(out, "{} ", evidence.source.name())?;
            told(tape, evidence, verdict.namespace(), out)
        });
    }
    let findings = &judgement.decision.findings;
    if !findings.is_empty() {
        annotation("findings", &|out| {
            for (i, finding) in findings.iter().take(FULL).enumerate() {
                let separator = if i > 0 { "; " } else { "" };
                let (code, effect) = (finding.rule().code, finding.effect.name());
                write!(out, "{separator}{code} {effect} {}", finding.path(tape))?;
            }
            match findings.len().saturating_sub(FULL) {
                0 => Ok(()),
                rest => write!(out, "; and {rest} more"),
            }
        });
    }
}
