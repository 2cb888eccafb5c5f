//! The path from the root of an object to one of its fields, as people read it and as a patch needs it.

use std::fmt::{self, Formatter};

use super::{At, Tape};
use crate::field::Step;

/// The path from the root of an object to one of its fields, present or missing.
#[derive(Clone, Copy)]
pub struct FieldPath<'t> {
    pub(super) tape: &'t Tape<'t>,
    pub(super) at: At,
    pub(super) missing: &'static [&'static str],
}

impl<'t> FieldPath<'t> {
    /// Goes along the path, from the root down.
    ///
    /// # Errors
    /// The first one that `visit` returns.
    pub fn each_step<E>(&self, mut visit: impl FnMut(Step<'t>) -> Result<(), E>) -> Result<(), E> {
        self.tape.each_step(self.at, &mut visit)?;
        let mut missing = self.missing.iter();
        missing.try_for_each(|name| visit(Step::Name(name)))
    }

    /// Writes the path as a JSON Pointer.
    pub(crate) fn write_pointer(&self, out: &mut impl fmt::Write) -> fmt::Result {
        self.each_step(|step| step.write_pointer(out))
    }

    /// Writes the path as people read it.
    pub(crate) fn write_dotted(&self, out: &mut (impl fmt::Write + ?Sized)) -> fmt::Result {
        let mut first = true;
        self.each_step(|step| step.write_dotted(std::mem::take(&mut first), out))
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_dotted(f)
    }
}
