//! YAML as kubectl reads it, with the place of each value: text → a tree.
//!
//! The tree keeps what was written; what a value means is up to whoever asks for it, so `off` is a
//! word where a word is wanted. Keys that stand there twice are all kept, for the checks to see.
//! Not here: what the keys are about (`config`), and files.

mod json;
mod locate;
mod read;
mod stream;
mod typed;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;

use crate::field::Step;

pub use locate::{Index, Located};
pub use read::{Contents, documents, read, scalars};
pub use stream::json_objects;

/// A line and a column of a text, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// `line:column`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What keeps a text from being YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: String,
}

/// A comment of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Where its `#` is.
    pub place: Place,
    /// What stands behind that.
    pub text: String,
}

/// A value, and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Of a value that is not written, the place of its key.
    pub place: Place,
    /// What it takes of the text, in bytes: up to its last value, or to the bracket that closes it.
    pub span: Range<usize>,
    /// It has an anchor, and so may stand in other places, too; or it is what an alias stands for.
    pub anchored: bool,
    /// What stands there.
    pub value: Value,
}

/// What stands somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A word, a number, a text, nothing.
    Scalar(Scalar),
    /// `[a, b]`.
    List(Vec<Node>),
    /// `{a: b}`, in the order of the text.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where it starts.
    pub place: Place,
    /// What it takes of the text, in bytes.
    pub span: Range<usize>,
    /// The key.
    pub text: String,
    /// Written without quotes.
    pub plain: bool,
}

/// A single value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Without quotes and escapes.
    pub text: String,
    /// Written without quotes: what it means depends on what it looks like.
    pub plain: bool,
}

impl Scalar {
    /// Nothing is written, or `null`.
    pub fn is_null(&self) -> bool {
        self.plain && is_null(&self.text)
    }

    /// As YAML 1.1 has it, and kubectl with it: `yes`, `y` and `off` are booleans, too.
    pub fn bool(&self) -> Option<bool> {
        bool(&self.text).filter(|_| self.plain)
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => {
            Some(true)
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off" | "OFF" => {
            Some(false)
        }
        _ => None,
    }
}

impl Node {
    /// The scalar, unless this is a list or a map.
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Nothing is written here.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_null)
    }

    /// The places of this node and of everything below it.
    pub fn places(&self) -> Places {
        let mut places = BTreeMap::new();
        self.visit(Path::Root, self.place, &mut |path, key, node| {
            let spot = Spot {
                key,
                value: node.place,
            };
            places.entry(path.to_string()).or_insert(spot);
        });
        Places(places)
    }

    fn visit(&self, path: Path<'_>, key: Place, each: &mut impl FnMut(Path<'_>, Place, &Self)) {
        each(path, key, self);
        match &self.value {
            Value::Scalar(_) => {}
            Value::List(list) => {
                for (i, node) in list.iter().enumerate() {
                    node.visit(Path::Item(&path, i), node.place, each);
                }
            }
            Value::Map(map) => {
                for (key, node) in map {
                    node.visit(Path::Key(&path, &key.text), key.place, each);
                }
            }
        }
    }
}

/// The keys that stand in one map twice: an earlier place among its entries, and the next.
pub fn repeated(map: &[(Key, Node)]) -> Vec<(usize, usize)> {
    // Maps of manifests are small; those of somebody who means harm need not be.
    if map.len() <= 16 {
        let again = |i: usize| (i + 1..map.len()).find(|j| map[*j].0.text == map[i].0.text);
        return (0..map.len())
            .filter_map(|i| Some((i, again(i)?)))
            .collect();
    }
    let mut seen = HashMap::with_capacity(map.len());
    let keys = map.iter().enumerate();
    let before = keys.map(|(i, (key, _))| (seen.insert(key.text.as_str(), i), i));
    before.filter_map(|(first, i)| Some((first?, i))).collect()
}

/// The way to a node from the root.
#[derive(Clone, Copy, Debug)]
pub enum Path<'p> {
    /// The whole document.
    Root,
    /// The value of this key.
    Key(&'p Self, &'p str),
    /// This element of a list.
    Item(&'p Self, usize),
}

/// `placement.tolerations[0].effect`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parent, step) = match self {
            Self::Root => return Ok(()),
            Self::Key(parent, key) => (parent, Step::Key(key)),
            Self::Item(parent, i) => (parent, Step::Index(u32::try_from(*i).unwrap_or(u32::MAX))),
        };
        parent.fmt(f)?;
        step.write_dotted(matches!(parent, Self::Root), f)
    }
}

/// Where the nodes of a document are, by path.
#[derive(Clone, Debug)]
pub struct Places(BTreeMap<String, Spot>);

/// Where a key and its value are; an element of a list has no key but itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The key.
    pub key: Place,
    /// The value.
    pub value: Place,
}

impl Places {
    /// The place of this path, if it is written.
    pub fn get(&self, path: &str) -> Option<Spot> {
        self.0.get(path).copied()
    }

    /// The place of this path or of the nearest one above it that is written.
    pub fn nearest(&self, path: &str) -> Option<Spot> {
        let mut path = path;
        loop {
            match self.get(path) {
                None if path.is_empty() => return None,
                None => path = &path[..path.rfind(['.', '[']).unwrap_or_default()],
                spot => return spot,
            }
        }
    }
}

#[cfg(test)]
mod tests;
