//! The lines of the checks: as text for people, as JSON for programs.
//!
//! ```text
//! {
//!   "version": "1",
//!   "checks": [{
//!     "name": "ca-bundle",
//!     "status": "ok" | "warn" | "fail" | "skip",
//!     "message": "…",
//!     "remedy": "…"           // null of ok and skip
//!   }],
//!   "summary": {"ok", "warn", "fail", "skip"}
//! }
//! ```
//!
//! A check that has several things to say is there several times. Keys are added, never renamed or taken away, as long
//! as `version` stays.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::{Line, Status};
use crate::check::output::{self, shown};
use crate::explain::style::FAINT;

/// What stands before the text.
const MARGIN: usize = "warn  ".len();

/// For people: a line or two each, the remedy below, in a width if there is one. With colours, always; whoever prints
/// takes them out where they do not belong.
#[must_use]
pub fn text(lines: &[Line], width: Option<usize>) -> String {
    let mut out = String::new();
    for line in lines {
        let (style, status) = (style(line.status), line.status.name());
        let said = format!("{}: {}", line.check, shown(&line.text));
        let said = folded(&said, width);
        out.push_str(&format!("{style}{status:4}{style:#}  {said}\n"));
        if let Some(remedy) = &line.remedy {
            let remedy = folded(&format!("-> {}", shown(remedy)), width);
            out.push_str(&format!("{:MARGIN$}{FAINT}{remedy}{FAINT:#}\n", ""));
        }
    }
    out
}

fn folded(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let room = width.saturating_sub(MARGIN).max(20);
    let end = format!("\n{:MARGIN$}", "");
    textwrap::wrap(text, room).join(&end)
}

fn style(status: Status) -> Style {
    match status {
        Status::Ok => AnsiColor::Green.on_default(),
        Status::Skip => FAINT,
        Status::Warn => AnsiColor::Yellow.on_default(),
        Status::Fail => AnsiColor::Red.on_default(),
    }
}

/// For programs; see the head of this file.
#[must_use]
pub fn json(lines: &[Line]) -> String {
    let checks = lines.iter().map(|line| Told {
        name: line.check,
        status: line.status.name(),
        message: &line.text,
        remedy: line.remedy.as_deref(),
    });
    let count = |status| lines.iter().filter(|line| line.status == status).count();
    output::json(&Report {
        version: "1",
        checks: checks.collect(),
        summary: Summary {
            ok: count(Status::Ok),
            warn: count(Status::Warn),
            fail: count(Status::Fail),
            skip: count(Status::Skip),
        },
    })
}

#[derive(Serialize)]
struct Report<'l> {
    version: &'static str,
    checks: Vec<Told<'l>>,
    summary: Summary,
}

#[derive(Serialize)]
struct Told<'l> {
    name: &'static str,
    status: &'static str,
    message: &'l str,
    remedy: Option<&'l str>,
}

#[derive(Serialize)]
struct Summary {
    ok: usize,
    warn: usize,
    fail: usize,
    skip: usize,
}
