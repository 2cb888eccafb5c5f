//! A field path: `spec.containers[0].name` for people, `/spec/containers/0/name` for JSON Patch.
//!
//! Not here: how a path is found in an object (`object`). Used by findings, messages and patches.

use std::fmt::{self, Display, Formatter, Write};

/// The deepest path that the trie of fields can produce; a test in `object` keeps it true.
pub(crate) const MAX_DEPTH: usize = 24;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A field of an object, or a key of a map such as annotations.
    Name(&'a str),
    /// An element of a list.
    Index(u32),
}

/// A path from the root of an object to one of its fields. It lives on the stack.
#[derive(Clone, Copy)]
pub struct FieldPath<'a> {
    steps: [Step<'a>; MAX_DEPTH],
    len: usize,
}

impl<'a> FieldPath<'a> {
    pub(crate) fn new() -> Self {
        Self {
            steps: [Step::Index(0); MAX_DEPTH],
            len: 0,
        }
    }

    /// Appends a step; one beyond [`MAX_DEPTH`] is left out.
    pub(crate) fn push(&mut self, step: Step<'a>) {
        if let Some(free) = self.steps.get_mut(self.len) {
            *free = step;
            self.len += 1;
        }
    }

    pub(crate) fn reverse(&mut self) {
        self.steps[..self.len].reverse();
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step<'a>] {
        &self.steps[..self.len]
    }

    /// The path as a JSON Pointer (RFC 6901): `~` and `/` in names are escaped.
    pub fn pointer(&self) -> Pointer<'_, 'a> {
        Pointer(self)
    }
}

/// As Kubernetes writes paths, but names that hold more than letters, digits, `_` and `-` are
/// quoted, so that a path can be taken apart again: `metadata.annotations["example.com/a"]`.
impl Display for FieldPath<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps().iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Name(name) if !is_plain(name) => write!(f, "[\"{name}\"]")?,
                Step::Name(name) => {
                    if i > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// A [`FieldPath`] that writes itself as a JSON Pointer.
pub struct Pointer<'p, 'a>(&'p FieldPath<'a>);

impl Display for Pointer<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for step in self.0.steps() {
            match step {
                Step::Index(index) => write!(f, "/{index}")?,
                Step::Name(name) => {
                    f.write_char('/')?;
                    write_pointer_token(f, name)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes one reference token of a JSON Pointer, escaped.
pub(crate) fn write_pointer_token(out: &mut impl Write, token: &str) -> fmt::Result {
    for c in token.chars() {
        match c {
            '~' => out.write_str("~0")?,
            '/' => out.write_str("~1")?,
            c => out.write_char(c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path<'a>(steps: &[Step<'a>]) -> FieldPath<'a> {
        let mut path = FieldPath::new();
        steps.iter().for_each(|step| path.push(*step));
        path
    }

    #[test]
    fn writes_dots_indices_and_pointers() {
        let path = path(&[
            Step::Name("spec"),
            Step::Name("containers"),
            Step::Index(3),
            Step::Name("name"),
        ]);
        assert_eq!(path.to_string(), "spec.containers[3].name");
        assert_eq!(path.pointer().to_string(), "/spec/containers/3/name");
    }

    #[test]
    fn quotes_keys_with_dots_and_escapes_slashes() {
        let path = path(&[
            Step::Name("metadata"),
            Step::Name("annotations"),
            Step::Name("a.b/c~d"),
        ]);
        assert_eq!(path.to_string(), "metadata.annotations[\"a.b/c~d\"]");
        assert_eq!(
            path.pointer().to_string(),
            "/metadata/annotations/a.b~1c~0d"
        );
    }
}
