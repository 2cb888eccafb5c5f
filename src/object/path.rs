//! The path from the root of an object to one of its fields, as people read it and as a patch needs it.

use std::convert::Infallible;
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
    /// The steps from the root down.
    pub(crate) fn steps(&self) -> Vec<Step<'t>> {
        let mut steps = Vec::new();
        // The visitor has no errors.
        let _ = self.each_step(|step| {
            steps.push(step);
            Ok::<(), Infallible>(())
        });
        steps
    }

    /// The path as a JSON Pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        // Writing to memory does not fail.
        let _ = self.write_pointer(&mut pointer);
        pointer
    }

    fn each_step<E>(&self, mut visit: impl FnMut(Step<'t>) -> Result<(), E>) -> Result<(), E> {
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
