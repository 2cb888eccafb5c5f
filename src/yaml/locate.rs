//! Where a field of an object is written, or what comes nearest to it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::{Key, Node, Place, Value};
use crate::field::Step;

/// A place in a document.
#[derive(Clone, Debug)]
pub struct Located<'n> {
    /// The key, unless it is an element of a list or the document itself.
    pub key: Option<&'n Key>,
    /// The value.
    pub node: &'n Node,
    /// Whether all of the path is written, down to the field itself.
    pub complete: bool,
    /// The lines in which the document, everything on the way, and the value begin.
    pub lines: Vec<usize>,
}

impl Located<'_> {
    /// What to underline, in bytes: the key and its value, if that is short and stands there; of
    /// an element of a list, its first key.
    pub fn span(&self, text: &str) -> (Place, Range<usize>) {
        let Some(key) = self.key else {
            return match &self.node.value {
                Value::Map(map) if let Some((key, _)) = map.first() => {
                    (key.place, key.span.clone())
                }
                _ => (self.node.place, self.node.span.clone()),
            };
        };
        let (key_span, value) = (&key.span, &self.node.span);
        let one_line = |span: &Range<usize>| {
            let between = text.get(span.clone());
            between.is_some_and(|text| !text.contains(['\n', '\r']))
        };
        // An alias stands for a value that is written elsewhere.
        let whole = key_span.start..value.end;
        let short = self.complete && self.node.scalar().is_some();
        match short && value.start >= key_span.end && one_line(&whole) {
            true => (key.place, whole),
            false => (key.place, key_span.clone()),
        }
    }
}

impl Node {
    /// Follows a path as far as it is written. For many paths use an [`Index`].
    pub fn locate<'n, 's>(&'n self, path: impl IntoIterator<Item = Step<'s>>) -> Located<'n> {
        Index::new(self).locate(path)
    }
}

/// Finds many paths in one document, in time that does not depend on the length of its maps.
#[derive(Clone, Debug)]
pub struct Index<'n> {
    root: &'n Node,
    /// The entries of long maps, by key.
    maps: RefCell<HashMap<*const Node, HashMap<&'n str, usize>>>,
}

impl<'n> Index<'n> {
    /// Maps up to this length are searched.
    const SHORT: usize = 32;

    /// Reads nothing yet.
    pub fn new(root: &'n Node) -> Self {
        Self {
            root,
            maps: RefCell::default(),
        }
    }

    /// The entry of a key. Of a duplicate key the last one counts.
    pub(crate) fn entry(&self, node: &'n Node, name: &str) -> Option<&'n (Key, Node)> {
        let Value::Map(map) = &node.value else {
            return None;
        };
        if map.len() <= Self::SHORT {
            return map.iter().rev().find(|(key, _)| key.text == name);
        }
        let mut maps = self.maps.borrow_mut();
        let keys = maps.entry(std::ptr::from_ref(node)).or_insert_with(|| {
            let keys = map.iter().enumerate();
            keys.map(|(i, (key, _))| (key.text.as_str(), i)).collect()
        });
        map.get(*keys.get(name)?)
    }

    /// Follows a path as far as it is written.
    pub fn locate<'s>(&self, path: impl IntoIterator<Item = Step<'s>>) -> Located<'n> {
        let mut here = Located {
            key: None,
            node: self.root,
            complete: true,
            lines: vec![self.root.place.line],
        };
        for step in path {
            let below = match (step, &here.node.value) {
                (Step::Name(name) | Step::Key(name), Value::Map(_)) => {
                    let entry = self.entry(here.node, name);
                    entry.map(|(key, node)| (Some(key), node))
                }
                (Step::Index(i), Value::List(list)) => {
                    list.get(i as usize).map(|node| (None, node))
                }
                _ => None,
            };
            match below {
                Some((key, node)) => {
                    (here.key, here.node) = (key, node);
                    let place = key.map_or(node.place, |key| key.place);
                    here.lines.push(place.line);
                }
                None => {
                    here.complete = false;
                    break;
                }
            }
        }
        here
    }
}
