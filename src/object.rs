//! The one parse: JSON → a flat tape of the fields that anybody asks for, borrowed from the body.
//!
//! A tape is a tree in pre-order: an entry, then everything below it, up to its `end`. Which
//! fields are kept is compiled once into a trie ([`trie`]); everything else is skipped without a
//! look. Not here: what the fields mean. Used by `review` to read a body, and by every room of
//! the core to look at what was read.

pub(crate) mod demand;
mod index;
mod parse;
mod path;
pub(crate) mod trie;
#[cfg(test)]
pub(crate) mod visits;

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::field::Step;
use demand::{Role, Shape};
use trie::{Edge, FieldId, Trie};

pub use path::FieldPath;

/// More entries than this make an object unreadable: a body of 6 MB could make two million.
/// A pod of 146 containers has about 1,500.
pub(crate) const MAX_ENTRIES: usize = 65_536;
/// As many more for what stands around the object, so that the uid survives.
const ENVELOPE_ENTRIES: usize = 64;

/// The place of an entry on the tape.
pub(crate) type At = u32;

const NOWHERE: At = At::MAX;

/// A value as it stands in the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Bool(bool),
    Int(i64),
    /// Beyond `i64`.
    Uint(u64),
    Float(f64),
    Text(&'a str),
    /// A string that had escapes: its range in [`Tape::unescaped`].
    Unescaped(u32, u32),
    /// A list, with its number of elements (nulls count).
    List(u32),
    Map,
    /// Something is there whose meaning no rule reads: its JSON text.
    Present(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) field: FieldId,
    /// Which element of its list this is.
    pub(crate) index: u32,
    up: At,
    /// The first entry that is not below this one.
    pub(crate) end: At,
}

/// What makes an object unreadable, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    up: At,
    field: FieldId,
    index: u32,
    what: Flaw,
}

#[derive(Clone, Copy, Debug)]
enum Flaw {
    WrongType { wanted: Shape, found: &'static str },
    Repeated,
    TooMany,
}

/// The fields that were kept of one review.
pub(crate) struct Tape<'a> {
    trie: &'a Trie,
    entries: Vec<Entry<'a>>,
    /// Strings with escapes, one after the other.
    unescaped: String,
    /// The first flaw of the objects, and of what stands around them. The walk goes on after it,
    /// so that the uid survives.
    pub(crate) problem: Option<Problem>,
    envelope_problem: Option<Problem>,
}

impl<'a> Tape<'a> {
    pub(crate) fn len(&self) -> At {
        // Little more than MAX_ENTRIES.
        self.entries.len() as At
    }

    pub(crate) fn entry(&self, at: At) -> &Entry<'a> {
        #[cfg(test)]
        visits::count();
        &self.entries[at as usize]
    }

    pub(crate) fn role(&self, at: At) -> Role {
        self.trie.node(self.entry(at).field).role
    }

    /// The checks of the rule table that look at this field.
    pub(crate) fn checks(&self, at: At) -> &'a [u16] {
        &self.trie.node(self.entry(at).field).checks
    }

    /// The entries directly below one.
    pub(crate) fn children(&self, at: At) -> impl Iterator<Item = At> + '_ {
        // One that is still open ends where the tape does.
        let end = self.entry(at).end.min(self.len());
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let here = next;
            (here < end).then(|| {
                next = self.entry(here).end;
                here
            })
        })
    }

    /// An entry and all below it, but for those of the roles that are left out, with what lies below them.
    pub(crate) fn within(
        &self,
        at: At,
        is_left_out: impl Fn(Role) -> bool,
    ) -> impl Iterator<Item = At> {
        let end = self.entry(at).end;
        let mut next = at;
        std::iter::from_fn(move || {
            while next < end {
                let here = next;
                if here != at && is_left_out(self.role(here)) {
                    next = self.entry(here).end;
                    continue;
                }
                next += 1;
                return Some(here);
            }
            None
        })
    }

    /// The entry directly below `at` that has this role.
    pub(crate) fn child(&self, at: At, role: Role) -> Option<At> {
        self.children(at).find(|child| self.role(*child) == role)
    }

    /// The string directly below `at` that has this role.
    pub(crate) fn child_text(&self, at: At, role: Role) -> Option<&str> {
        self.child(at, role).and_then(|child| self.text(child))
    }

    /// The entry directly below `at` whose name in the object is this.
    pub(crate) fn named(&self, at: At, name: &str) -> Option<At> {
        self.children(at)
            .find(|child| self.name(*child) == Some(name))
    }

    /// The name of this field in its object; elements and members have none.
    pub(crate) fn name(&self, at: At) -> Option<&'static str> {
        match self.trie.node(self.entry(at).field).edge {
            Edge::Name(name) | Edge::Key(name) => Some(name),
            _ => None,
        }
    }

    /// The string at this place, if it is one.
    pub(crate) fn text(&self, at: At) -> Option<&str> {
        match self.entry(at).value {
            Value::Text(text) => Some(text),
            Value::Unescaped(start, end) => Some(&self.unescaped[start as usize..end as usize]),
            _ => None,
        }
    }

    pub(crate) fn bool(&self, at: At) -> Option<bool> {
        match self.entry(at).value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The key of a value in a map whose keys were kept by prefix.
    pub(crate) fn key_of(&self, at: At) -> Option<&str> {
        let is_value = self.trie.node(self.entry(at).field).edge == Edge::Value;
        self.up(at)
            .filter(|_| is_value)
            .and_then(|member| self.text(member))
    }

    /// The entries below a map whose keys were kept by prefix: key and place of the value.
    pub(crate) fn members(&self, at: At) -> impl Iterator<Item = (&str, At)> + '_ {
        self.children(at)
            .filter_map(|member| self.text(member).map(|key| (key, member + 1)))
    }

    /// The path from the root of the object (or of the review) to this place.
    pub(crate) fn path(&self, at: At) -> FieldPath<'_> {
        self.path_below(at, &[])
    }

    /// The path to a field that is not there, below one that is.
    pub(crate) fn path_below(&self, at: At, missing: &'static [&'static str]) -> FieldPath<'_> {
        FieldPath {
            tape: self,
            at,
            missing,
        }
    }

    /// Goes from the root of the object down to this place. It recurses no deeper than the trie.
    fn each_step<'t, E>(
        &'t self,
        at: At,
        visit: &mut impl FnMut(Step<'t>) -> Result<(), E>,
    ) -> Result<(), E> {
        if at == NOWHERE {
            return Ok(());
        }
        let entry = self.entry(at);
        let step = match self.trie.node(entry.field).edge {
            Edge::Root => return Ok(()),
            Edge::Name(name) => Step::Name(name),
            Edge::Key(name) => Step::Key(name),
            Edge::Item => Step::Index(entry.index),
            Edge::Member => Step::Key(self.text(at).unwrap_or_default()),
            Edge::Value => return self.each_step(entry.up, visit),
        };
        self.each_step(entry.up, visit)?;
        visit(step)
    }

    /// Whether this place lies in the envelope of the review rather than in an object.
    fn in_envelope(&self, mut at: At) -> bool {
        while at != NOWHERE {
            match self.role(at) {
                Role::Object | Role::OldObject => return false,
                _ => at = self.entry(at).up,
            }
        }
        true
    }

    /// Whether the tape was full within this entry, and everything before it was read.
    pub(crate) fn is_full_within(&self, at: At) -> bool {
        self.problem.is_some_and(|problem| {
            let mut above = std::iter::successors(Some(problem.up), |at| self.up(*at));
            matches!(problem.what, Flaw::TooMany) && above.any(|up| up == at)
        })
    }

    /// What is wrong around the objects, in words.
    pub(crate) fn envelope_problem(&self) -> Option<String> {
        let problem = self.envelope_problem.as_ref()?;
        Some(self.describe(problem).1)
    }

    /// A problem's path, and a sentence that names it.
    pub(crate) fn describe(&self, problem: &Problem) -> (String, String) {
        let mut path = String::new();
        let mut push = |step: Step<'_>| step.write_dotted(path.is_empty(), &mut path);
        let last = match self.trie.node(problem.field).edge {
            Edge::Name(name) => Some(Step::Name(name)),
            Edge::Key(name) => Some(Step::Key(name)),
            Edge::Item => Some(Step::Index(problem.index)),
            Edge::Root if problem.up != NOWHERE => {
                Some(Step::Name(match self.trie.node(problem.field).role {
                    Role::OldObject => "oldObject",
                    _ => "object",
                }))
            }
            Edge::Root | Edge::Member | Edge::Value => None,
        };
        // Writing to memory does not fail.
        let _ = self.each_step(problem.up, &mut push);
        let _ = last.map_or(Ok(()), push);
        let name = if path.is_empty() { "the body" } else { &path };
        let sentence = match problem.what {
            Flaw::WrongType { wanted, found } => {
                format!("{name}: must be {}, not {found}", wanted.noun())
            }
            Flaw::Repeated => format!("{name}: stands there twice"),
            Flaw::TooMany => format!(
                "{name}: the objects hold more than {MAX_ENTRIES} fields to look at, which no real pod does"
            ),
        };
        (path, sentence)
    }

    /// A hash of a value and everything that was kept below it, the same wherever it stands.
    pub(crate) fn hash_value(&self, at: At, hasher: &mut impl Hasher) {
        for here in at..self.entry(at).end {
            let entry = self.entry(here);
            entry.field.hash(hasher);
            match entry.value {
                Value::Bool(value) => value.hash(hasher),
                Value::Int(value) => value.hash(hasher),
                Value::Uint(value) => value.hash(hasher),
                Value::Float(value) => value.to_bits().hash(hasher),
                Value::Text(_) | Value::Unescaped(..) => self.text(here).hash(hasher),
                Value::List(len) => len.hash(hasher),
                Value::Present(json) => json.hash(hasher),
                Value::Map => 0u8.hash(hasher),
            }
        }
    }

    /// The value in the words of a message: scalars as they are, lists and maps by their content
    /// where it was kept. Long strings are cut.
    pub(crate) fn write_value(&self, at: At, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.entry(at).value {
            Value::Bool(value) => write!(out, "{value}"),
            Value::Int(value) => write!(out, "{value}"),
            Value::Uint(value) => write!(out, "{value}"),
            Value::Float(value) => write!(out, "{value}"),
            Value::Text(_) | Value::Unescaped(..) => {
                write_cut(self.text(at).unwrap_or_default(), out)
            }
            Value::Present(_) if self.is_empty(at) => out.write_str("{}"),
            Value::Present(_) => out.write_str("{…}"),
            Value::List(0) => out.write_str("[]"),
            Value::List(_) if !self.has_readable_items(at) => out.write_str("[…]"),
            Value::List(_) => self.write_children(at, out, "[", "]"),
            Value::Map => self.write_children(at, out, "{", "}"),
        }
    }

    /// Whether this is a list or an object without anything in it, as far as it was read.
    pub(crate) fn is_empty(&self, at: At) -> bool {
        match self.entry(at).value {
            Value::List(len) => len == 0,
            Value::Map => self.entry(at).end == at + 1,
            Value::Present(json) => {
                let inner = json
                    .strip_prefix('{')
                    .and_then(|json| json.strip_suffix('}'));
                inner.is_some_and(|inner| inner.trim_ascii().is_empty())
            }
            _ => false,
        }
    }

    /// Whether the elements of a list were read, and not only that they are there.
    fn has_readable_items(&self, at: At) -> bool {
        let first = self.children(at).next();
        first.is_some_and(|first| !matches!(self.entry(first).value, Value::Present(_)))
    }

    fn write_children(
        &self,
        at: At,
        out: &mut dyn fmt::Write,
        open: &str,
        close: &str,
    ) -> fmt::Result {
        /// As many elements of a list as a message wants to show.
        const SHOWN: usize = 4;
        out.write_str(open)?;
        for (i, child) in self.children(at).enumerate() {
            if i > 0 {
                out.write_str(", ")?;
            }
            if i == SHOWN {
                out.write_str("…")?;
                break;
            }
            match self.trie.node(self.entry(child).field).edge {
                Edge::Name(name) | Edge::Key(name) => write!(out, "{name}: ")?,
                Edge::Member => {
                    write_cut(self.text(child).unwrap_or_default(), out)?;
                    out.write_str(": ")?;
                    self.write_scalar(child + 1, out)?;
                    continue;
                }
                _ => {}
            }
            self.write_scalar(child, out)?;
        }
        out.write_str(close)
    }

    /// One level deeper at most: messages are read by people.
    fn write_scalar(&self, at: At, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.entry(at).value {
            Value::Map => out.write_str("{…}"),
            Value::List(len) if len > 0 => {
                out.write_str("[")?;
                for (i, child) in self.children(at).enumerate().take(4) {
                    if i > 0 {
                        out.write_str(", ")?;
                    }
                    if let Some(text) = self.text(child) {
                        write_cut(text, out)?;
                    }
                }
                out.write_str("]")
            }
            _ => self.write_value(at, out),
        }
    }

    /// The entry that this one lies in.
    pub(crate) fn up(&self, at: At) -> Option<At> {
        Some(self.entry(at).up).filter(|up| *up != NOWHERE)
    }
}

/// A string in a message, in one line and at most 100 bytes long.
fn write_cut(text: &str, out: &mut dyn fmt::Write) -> fmt::Result {
    const SHOWN: usize = 100;
    let shown = match text.len() {
        0..=SHOWN => text,
        _ => &text[..text.floor_char_boundary(SHOWN)],
    };
    for (i, line) in shown.split(char::is_control).enumerate() {
        if i > 0 {
            out.write_char(' ')?;
        }
        out.write_str(line)?;
    }
    if shown.len() < text.len() {
        out.write_char('…')?;
    }
    Ok(())
}
