//! What a row of the table tells to people who ask, beside what its checks say by themselves.
//!
//! Nothing here is looked at when a review is answered. Read by `fields` and `explain`.

/// A row's example, and what no check says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guide {
    /// Two documents of YAML, parts of a pod: a flaw, and what to write instead.
    example: &'static str,
    /// Fields that no check names, with what makes them part of a finding.
    pub(super) fields: &'static [(&'static str, &'static str)],
    /// What it never fires on, beside what the checks skip.
    pub(super) never: &'static [&'static str],
    /// What else there is to know, in sentences.
    pub(crate) note: &'static str,
}

pub(super) const fn guide(example: &'static str) -> Guide {
    Guide {
        example,
        fields: &[],
        never: &[],
        note: "",
    }
}

impl Guide {
    pub(super) const fn fields(mut self, fields: &'static [(&'static str, &'static str)]) -> Self {
        self.fields = fields;
        self
    }

    pub(super) const fn never(mut self, never: &'static [&'static str]) -> Self {
        self.never = never;
        self
    }

    pub(super) const fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    /// What Windows cannot honour, and what to write instead.
    pub(crate) fn example(&self) -> (&'static str, &'static str) {
        self.example
            .split_once("---\n")
            .unwrap_or((self.example, ""))
    }
}
