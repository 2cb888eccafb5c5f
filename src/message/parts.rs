//! What a verdict has to say, in parts: for `check`, which puts its own sentences together.

use super::{Message, is_private};
use crate::FieldPath;
use crate::admit::{Outcome, Verdict};
use crate::decision::{Effect, Finding};

/// What there is to say of one finding, apart from its path.
pub(crate) struct Words {
    /// The case of its rule.
    pub(crate) tier: u8,
    /// The field's value; nothing where it is absent or not to be told.
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

impl Verdict<'_, '_> {
    /// A finding in words, for those who put their own sentences together.
    pub(crate) fn words(&self, finding: &Finding) -> Words {
        let hit = &finding.hit;
        let tape = self.request().tape();
        let told = hit.missing.is_empty() && !is_private(tape, finding);
        let value = told.then(|| {
            let mut value = String::new();
            // Writing to memory does not fail.
            let _ = tape.write_value(hit.at, &mut value);
            value
        });
        let (reason, remedy) = hit.rule().words(hit.tier);
        Words {
            tier: hit.tier,
            value,
            reason: reason.into_owned(),
            remedy: remedy.to_owned(),
        }
    }

    /// The reason that an annotation gives for ignoring this.
    pub(crate) fn annotated_reason(&self, finding: &Finding) -> Option<String> {
        let Outcome::Judged(judgement) = self.outcome() else {
            return None;
        };
        let is_ignored = finding.effect == Effect::Ignore;
        let mut ignores = judgement.decision.ignores.iter().filter(|_| is_ignored);
        let ignore = ignores.find(|i| i.flaw.is_none() && i.rule == Some(finding.hit.rule))?;
        self.request().tape().text(ignore.at).map(str::to_owned)
    }

    /// The annotations that silence nothing, and why.
    pub(crate) fn ineffective(&self) -> Vec<(FieldPath<'_>, String)> {
        let Outcome::Judged(judgement) = self.outcome() else {
            return Vec::new();
        };
        let message = Message::new(self);
        let ignores = judgement.decision.ignores.iter();
        let told = ignores.filter_map(|ignore| {
            let mut text = String::new();
            // Writing to memory does not fail.
            let _ = message.without_effect(ignore, ignore.flaw?, &mut text);
            Some((self.request().tape().path(ignore.at), text))
        });
        told.collect()
    }

    /// The strongest evidence of the operating system, in short. Also of an exempt object.
    pub(crate) fn evidence(&self) -> Option<String> {
        let detection = self.detection();
        let evidence = detection.evidence.or(detection.hint)?;
        let message = Message::new(self);
        let mut text = String::new();
        // Writing to memory does not fail.
        let _ = message.evidence(&evidence, &mut text);
        Some(text)
    }
}
