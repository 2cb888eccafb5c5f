//! The syntax of field paths: `spec.containers[0].name` for people, `/spec/containers/0/name` for
//! JSON Patch.
//!
//! Not here: how a path is found in an object (`object`). Used by [`crate::FieldPath`].

use std::fmt::{self, Write};

/// Longer keys are cut in messages, in bytes. No key that Kubernetes accepts is longer: a prefix of 253, `/`, a name of 63.
const LONGEST_KEY: usize = 317;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A field of an object.
    Name(&'a str),
    /// A key of a map such as annotations, which may hold any character.
    Key(&'a str),
    /// An element of a list.
    Index(u32),
}

impl Step<'_> {
    /// Writes a step as Kubernetes does, but keys that hold more than letters, digits, `_` and
    /// `-` are quoted, so that a path can be taken apart again:
    /// `metadata.annotations["example.com/a"]`. A key that no object can have is cut; see [`write_key`].
    pub(crate) fn write_dotted(self, first: bool, out: &mut (impl Write + ?Sized)) -> fmt::Result {
        match self {
            Self::Index(index) => {
                out.write_str("[")?;
                write_index(index, out)?;
                out.write_str("]")
            }
            Self::Key(key) if !is_plain(key) || key.len() > LONGEST_KEY => {
                out.write_str("[\"")?;
                write_key(key, out)?;
                out.write_str("\"]")
            }
            Self::Name(name) | Self::Key(name) => {
                if !first {
                    out.write_str(".")?;
                }
                out.write_str(name)
            }
        }
    }

    /// Writes a step of a JSON Pointer (RFC 6901).
    pub(crate) fn write_pointer(self, out: &mut (impl Write + ?Sized)) -> fmt::Result {
        match self {
            Self::Index(index) => {
                out.write_str("/")?;
                write_index(index, out)
            }
            Self::Name(name) | Self::Key(name) => {
                out.write_str("/")?;
                write_token(name, out)
            }
        }
    }
}

fn write_index(index: u32, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    out.write_str(itoa::Buffer::new().format(index))
}

/// Writes a key for people: in one line, without control characters, and of bounded length, since a response repeats a
/// path several times. Objects are evaluated before the API server validates their keys.
pub(crate) fn write_key(key: &str, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    let shown = &key[..key.floor_char_boundary(LONGEST_KEY)];
    for (i, part) in shown.split(char::is_control).enumerate() {
        if i > 0 {
            out.write_char(char::REPLACEMENT_CHARACTER)?;
        }
        out.write_str(part)?;
    }
    if shown.len() < key.len() {
        out.write_str("…")?;
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Writes one reference token of a JSON Pointer, escaped.
pub(crate) fn write_token(token: &str, out: &mut (impl Write + ?Sized)) -> fmt::Result {
    if !token.bytes().any(|b| b == b'~' || b == b'/') {
        return out.write_str(token);
    }
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

    fn written(steps: &[Step<'_>]) -> (String, String) {
        let (mut dotted, mut pointer) = (String::new(), String::new());
        for (i, step) in steps.iter().enumerate() {
            step.write_dotted(i == 0, &mut dotted).unwrap();
            step.write_pointer(&mut pointer).unwrap();
        }
        (dotted, pointer)
    }

    #[test]
    fn writes_dots_indices_and_pointers() {
        let (dotted, pointer) = written(&[
            Step::Name("spec"),
            Step::Name("containers"),
            Step::Index(3),
            Step::Name("name"),
        ]);
        assert_eq!(dotted, "spec.containers[3].name");
        assert_eq!(pointer, "/spec/containers/3/name");
    }

    #[test]
    fn quotes_keys_with_dots_and_escapes_slashes() {
        let (dotted, pointer) = written(&[
            Step::Name("metadata"),
            Step::Name("annotations"),
            Step::Key("a.b/c~d"),
        ]);
        assert_eq!(dotted, "metadata.annotations[\"a.b/c~d\"]");
        let (dotted, _) = written(&[Step::Key("a\n\u{1b}[31m")]);
        assert_eq!(dotted, "[\"a\u{fffd}\u{fffd}[31m\"]");
        assert_eq!(pointer, "/metadata/annotations/a.b~1c~0d");
    }

    #[test]
    fn cuts_keys_that_no_object_can_have_in_dotted_paths_only() {
        let longest = "a".repeat(LONGEST_KEY);
        let (dotted, pointer) = written(&[Step::Name("limits"), Step::Key(&longest)]);
        assert_eq!(dotted, format!("limits.{longest}"));
        assert_eq!(pointer, format!("/limits/{longest}"));
        for more in ["a", "é"] {
            let key = format!("{longest}{more}");
            let (dotted, pointer) = written(&[Step::Name("limits"), Step::Key(&key)]);
            assert_eq!(dotted, format!("limits[\"{longest}…\"]"));
            assert_eq!(pointer, format!("/limits/{key}"));
        }
        let (dotted, _) = written(&[Step::Key(&format!("a{}", "é".repeat(90_000)))]);
        assert_eq!(dotted, format!("[\"a{}…\"]", "é".repeat(158)));
    }
}
