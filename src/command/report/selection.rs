//! `--select` and `--ignore`: which findings are told.
//!
//! They choose among the findings when all is decided, so that what a repair or a refusal depends
//! on does not change with what somebody wants to read.

use std::collections::HashSet;

use anyhow::{Context, Result};

use crate::explain;
use crate::policy::Policy;
use crate::rules::{Action, Rule};

/// The rules whose findings are told.
pub(in crate::command) struct Selection {
    /// By code.
    rules: HashSet<&'static str>,
    /// Those that somebody asked for, and did not take back.
    asked: Vec<&'static Rule>,
}

impl Selection {
    pub(in crate::command) fn new(select: &[String], ignore: &[String]) -> Result<Self> {
        let selected = explain::select(select).context("--select")?;
        let ignored = match ignore {
            [] => Vec::new(),
            ignore => explain::select(ignore).context("--ignore")?,
        };
        let ignored: HashSet<_> = ignored.iter().map(|rule| rule.code).collect();
        let rules = selected.into_iter();
        let rules: Vec<_> = rules.filter(|rule| !ignored.contains(rule.code)).collect();
        Ok(Self {
            rules: rules.iter().map(|rule| rule.code).collect(),
            asked: if select.is_empty() { Vec::new() } else { rules },
        })
    }

    pub(in crate::command) fn has(&self, rule: &Rule) -> bool {
        self.rules.contains(rule.code)
    }

    /// A line for each rule that was asked for in vain.
    pub(in crate::command) fn advice(&self, policy: &Policy) -> String {
        let is_off = |rule: &&&Rule| policy.actions(rule).iter().all(|a| *a == Action::Off);
        let off = self.asked.iter().filter(is_off);
        off.map(|rule| format!("{} is selected, but off in the configuration\n", rule.code))
            .collect()
    }
}
