//! What the owner of an object should hear of its review, since the controller that made the object reads no warning
//! and its user sees no answer. Not here: how it is told (`cluster::events`), and its words (`message`).

use super::Verdict;
use crate::decision::{self, Effect, Finding};
use crate::mode::Mode;
use crate::review::{Operation, Owner};

/// Something to be told to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Who.
    pub owner: Owner,
    /// Where.
    pub namespace: String,
    /// What was made for the owner was refused. Otherwise it was admitted, with flaws for which the owner itself
    /// would be refused today.
    pub denied: bool,
    /// What is wrong, with the remedy: at most 1024 bytes.
    pub note: String,
}

impl Verdict<'_, '_> {
    /// What there is to tell, if a controller of the control plane has made this object and nobody was told anything
    /// as bad when the owner was applied. Nothing of a dry run, and nothing in a mode that does not warn.
    pub fn notice(&self) -> Option<Notice> {
        let request = self.request();
        let is_told = |finding: &Finding| finding.effect == Effect::Deny || finding.softened;
        let is_due = self.mode() >= Mode::Warn
            && request.operation() == Operation::Create
            && !request.is_dry_run()
            && self.findings().iter().any(is_told)
            && decision::is_made_for_an_owner(request, request.kind()?);
        if !is_due {
            return None;
        }
        Some(Notice {
            owner: request.owner()?,
            namespace: self.namespace().to_owned(),
            denied: !self.allowed(),
            note: self.note(is_told),
        })
    }
}
