//! The walk: one serde visitor that follows the trie and appends to the tape what it asks for.
//!
//! Recursion is bounded by the trie; what nobody asks for is skipped by serde_json, which does
//! not recurse.

use std::fmt::{self, Formatter};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::demand::{Role, Shape};
use super::trie::{FieldId, Node, Trie};
use super::{At, ENVELOPE_ENTRIES, Entry, Flaw, MAX_ENTRIES, NOWHERE, Problem, Tape, Value};

impl<'a> Tape<'a> {
    /// Walks a JSON text once.
    ///
    /// # Errors
    /// Where the text is not JSON or ends early. A field of the wrong type is not an error here
    /// but a [`Tape::problem`].
    pub(crate) fn parse(json: &'a str, trie: &'a Trie) -> Result<Self, serde_json::Error> {
        let mut tape = Self {
            trie,
            // A power of two, so that a full tape has room for no more than it needs.
            entries: Vec::with_capacity((json.len() / 48).clamp(64, 1024).next_power_of_two()),
            unescaped: String::new(),
            problem: None,
            envelope_problem: None,
        };
        let mut json = serde_json::Deserializer::from_str(json);
        Seed::new(&mut tape, trie.review, 0, NOWHERE).deserialize(&mut json)?;
        json.end()?;
        Ok(tape)
    }

    /// Appends an entry; `None` where the tape is full.
    #[inline]
    fn push(&mut self, position: Position, value: Value<'a>) -> Option<At> {
        if self.entries.len() >= MAX_ENTRIES && self.is_full(position) {
            return None;
        }
        let Position { field, index, up } = position;
        let at = self.len();
        self.entries.push(Entry {
            value,
            field,
            index,
            up,
            end: at + 1,
        });
        Some(at)
    }

    /// Whether there is no room for an entry here; the envelope has some of its own, so that the
    /// uid survives.
    #[cold]
    fn is_full(&mut self, position: Position) -> bool {
        let room = MAX_ENTRIES + ENVELOPE_ENTRIES;
        if self.entries.len() < room && self.in_envelope(position.up) {
            self.entries.reserve_exact(room - self.entries.len());
            return false;
        }
        self.flaw(position, Flaw::TooMany);
        true
    }

    /// Starts a list or map; what follows lies in it until it is closed.
    fn open(&mut self, position: Position, value: Value<'a>) -> Option<At> {
        let at = self.push(position, value)?;
        self.entries[at as usize].end = NOWHERE;
        Some(at)
    }

    /// Whether nothing was kept below the last entry and no problem lies there, so that it can
    /// go. The review itself stays.
    fn is_bare(&self, at: At) -> bool {
        let problems = [self.problem, self.envelope_problem];
        let has_problem = problems.iter().flatten().any(|problem| problem.up == at);
        at > 0 && self.len() == at + 1 && !has_problem
    }

    /// Ends a list or map. One that nobody asks for by itself and that holds nothing that was
    /// kept is not worth an entry.
    fn close(&mut self, at: At, node: &Node) {
        let end = self.len();
        if self.is_bare(at) && node.role == Role::None && node.checks.is_empty() {
            self.entries.pop();
        } else {
            self.entries[at as usize].end = end;
        }
    }

    #[cold]
    fn keep_text(&mut self, text: &str) -> Value<'a> {
        let start = self.unescaped.len() as u32;
        self.unescaped.push_str(text);
        Value::Unescaped(start, self.unescaped.len() as u32)
    }

    #[cold]
    fn flaw(&mut self, position: Position, what: Flaw) {
        let Position { field, index, up } = position;
        let problem = Problem {
            up,
            field,
            index,
            what,
        };
        // An object that is none is its own problem; one that stands there twice the envelope's.
        let role = self.trie.node(field).role;
        let is_object = matches!(role, Role::Object | Role::OldObject)
            && matches!(what, Flaw::WrongType { .. } | Flaw::TooMany);
        if is_object || !self.in_envelope(up) {
            self.problem.get_or_insert(problem);
        } else {
            self.envelope_problem.get_or_insert(problem);
        }
    }
}

#[derive(Clone, Copy)]
struct Position {
    field: FieldId,
    index: u32,
    up: At,
}

/// Reads one value of the body into the tape, or skips it.
struct Seed<'p, 'a> {
    tape: &'p mut Tape<'a>,
    node: &'a Node,
    position: Position,
}

impl<'p, 'a> Seed<'p, 'a> {
    #[inline]
    fn new(tape: &'p mut Tape<'a>, field: FieldId, index: u32, up: At) -> Self {
        Self {
            node: tape.trie.node(field),
            position: Position { field, index, up },
            tape,
        }
    }

    #[inline]
    fn scalar(self, found: Shape, value: Value<'a>) {
        let wanted = self.node.shape;
        if wanted == found || wanted == Shape::Any {
            self.tape.push(self.position, value);
        } else {
            self.wrong(found.noun());
        }
    }

    #[cold]
    fn wrong(self, found: &'static str) {
        let wanted = self.node.shape;
        let what = Flaw::WrongType { wanted, found };
        self.tape.flaw(self.position, what);
    }

    #[inline]
    fn wants_text(&self, text: &str) -> bool {
        self.node.filter.is_none_or(|filter| filter(text))
    }
}

impl<'a> DeserializeSeed<'a> for Seed<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.node.shape {
            Shape::Presence => deserializer.deserialize_option(Presence(self)),
            _ if self
                .node
                .spare
                .is_some_and(|spare| spare(self.tape, self.position.up)) =>
            {
                deserializer.deserialize_ignored_any(IgnoredAny).map(drop)
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'a> Visitor<'a> for Seed<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    /// A null is as good as an absent field, as it is for the API server.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Shape::Bool, Value::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(Shape::Number, Value::Int(value));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let value = i64::try_from(value).map_or(Value::Uint(value), Value::Int);
        self.scalar(Shape::Number, value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(Shape::Number, Value::Float(value));
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<(), E> {
        if self.wants_text(text) {
            self.scalar(Shape::Text, Value::Text(text));
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if self.wants_text(text) {
            let value = self.tape.keep_text(text);
            self.scalar(Shape::Text, value);
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut list: S) -> Result<(), S::Error> {
        let node = self.node;
        if !matches!(node.shape, Shape::List | Shape::Any) {
            self.wrong("a list");
            return skip_list(list);
        }
        let tape = self.tape;
        let Some(at) = tape.open(self.position, Value::List(0)) else {
            return skip_list(list);
        };
        let mut len = 0u32;
        loop {
            let field = node.first.filter(|_| len == 0).or(node.item);
            let more = match field {
                Some(field) => list.next_element_seed(Seed::new(tape, field, len, at))?,
                None => list.next_element::<IgnoredAny>()?.map(drop),
            };
            if more.is_none() {
                break;
            }
            len += 1;
        }
        tape.entries[at as usize].value = Value::List(len);
        tape.close(at, node);
        Ok(())
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let node = self.node;
        if !matches!(node.shape, Shape::Map | Shape::Any) {
            self.wrong("an object");
            return skip_map(map);
        }
        let tape = self.tape;
        let Some(at) = tape.open(self.position, Value::Map) else {
            return skip_map(map);
        };
        let mut seen = 0u64;
        while let Some(key) = map.next_key_seed(KeySeed { tape, node, at })? {
            match key {
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
                Key::Name(i) => {
                    let field = node.names[i].1;
                    if seen & (1 << i) != 0 {
                        let index = 0;
                        let up = at;
                        tape.flaw(Position { field, index, up }, Flaw::Repeated);
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    seen |= 1 << i;
                    map.next_value_seed(Seed::new(tape, field, 0, at))?;
                }
                Key::Member(member) => {
                    let field = tape.trie.node(tape.entry(member).field).item;
                    match field {
                        Some(field) => map.next_value_seed(Seed::new(tape, field, 0, member))?,
                        None => map.next_value::<IgnoredAny>().map(drop)?,
                    }
                    // Two entries or, where the value is null, none.
                    if tape.is_bare(member) {
                        tape.entries.pop();
                    } else {
                        tape.entries[member as usize].end = tape.len();
                    }
                }
            }
        }
        tape.close(at, node);
        Ok(())
    }
}

/// Keeps the text of a value without reading it: as fast as [`IgnoredAny`].
struct Presence<'p, 'a>(Seed<'p, 'a>);

impl<'a> Visitor<'a> for Presence<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?;
        let Seed { tape, position, .. } = self.0;
        tape.push(position, Value::Present(json.get()));
        Ok(())
    }
}

fn skip_list<'a, S: SeqAccess<'a>>(list: S) -> Result<(), S::Error> {
    IgnoredAny.visit_seq(list).map(drop)
}

fn skip_map<'a, M: MapAccess<'a>>(map: M) -> Result<(), M::Error> {
    IgnoredAny.visit_map(map).map(drop)
}

/// What a key is to its node.
enum Key {
    /// The name at this place.
    Name(usize),
    /// A key that is kept by its prefix: its entry.
    Member(At),
    Other,
}

/// Finds a key among the names and prefixes of a node.
struct KeySeed<'p, 'a> {
    tape: &'p mut Tape<'a>,
    node: &'a Node,
    at: At,
}

impl<'a> KeySeed<'_, 'a> {
    #[inline]
    fn find(self, key: &str, value: impl FnOnce(&mut Tape<'a>) -> Value<'a>) -> Key {
        match self.node.find(key) {
            Some(i) => Key::Name(i),
            None if self.node.members.is_empty() => Key::Other,
            None => self.member(key, value).map_or(Key::Other, Key::Member),
        }
    }

    fn member(self, key: &str, value: impl FnOnce(&mut Tape<'a>) -> Value<'a>) -> Option<At> {
        let mut members = self.node.members.iter();
        let (_, field) = *members.find(|(prefix, _)| key.starts_with(prefix))?;
        let (index, up) = (0, self.at);
        let value = value(self.tape);
        self.tape.push(Position { field, index, up }, value)
    }
}

impl<'a> DeserializeSeed<'a> for KeySeed<'_, 'a> {
    type Value = Key;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for KeySeed<'_, 'a> {
    type Value = Key;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'a str) -> Result<Key, E> {
        Ok(self.find(key, |_| Value::Text(key)))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        Ok(self.find(key, |tape| tape.keep_text(key)))
    }
}
