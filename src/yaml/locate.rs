//! Where a field of an object is written, or what comes nearest to it.

use super::{Key, Node, Value};
use crate::field::Step;

/// A place in a document.
#[derive(Clone, Copy, Debug)]
pub struct Located<'n> {
    /// The key, unless it is an element of a list or the document itself.
    pub key: Option<&'n Key>,
    /// The value.
    pub node: &'n Node,
    /// Whether all of the path is written, down to the field itself.
    pub complete: bool,
}

impl Node {
    /// Follows a path as far as it is written.
    pub fn locate<'n, 's>(&'n self, path: impl IntoIterator<Item = Step<'s>>) -> Located<'n> {
        let mut here = Located {
            key: None,
            node: self,
            complete: true,
        };
        for step in path {
            let below = match (step, &here.node.value) {
                (Step::Name(name) | Step::Key(name), Value::Map(map)) => {
                    // Of a key that stands there twice the last one counts.
                    let entry = map.iter().rev().find(|(key, _)| key.text == name);
                    entry.map(|(key, node)| (Some(key), node))
                }
                (Step::Index(i), Value::List(list)) => {
                    list.get(i as usize).map(|node| (None, node))
                }
                _ => None,
            };
            match below {
                Some((key, node)) => (here.key, here.node) = (key, node),
                None => {
                    here.complete = false;
                    break;
                }
            }
        }
        here
    }
}
