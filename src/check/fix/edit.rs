//! From the changes of an object to edits of the text that it stands in.
//!
//! Only what is written plainly is edited. Not here: which changes (`ask`), how a new value looks
//! (`print`), and how keys are taken out (`remove`).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::ask::Change;
use super::braces;
use super::print::{self, Style};
use super::remove;
use super::text::{BREAKS, Edit, is_one_line, line_break, line_end, line_start};
use crate::field::Step;
use crate::yaml::{Index, Key, Node, Value};

/// Why a text is left alone.
pub(super) type Reason = &'static str;

pub(super) const SHARED: Reason =
    "an anchor (&) or an alias (*) is in the way, so that other places would change with it";
pub(super) const MERGED: Reason = "what would change comes from a merge key (<<)";
pub(super) const TWICE: Reason = "a key that would be taken out stands there twice";
pub(super) const BRACES: Reason =
    "what would change stands in braces or brackets over several lines";
pub(super) const UNUSUAL: Reason = "it is written in a way that is not edited";

/// The edits that make these changes.
pub(super) fn edits(text: &str, object: &Node, changes: &[Change]) -> Result<Vec<Edit>, Reason> {
    let page = Page {
        text,
        root: object,
        object: &Index::new(object),
    };
    let mut edits = Vec::new();
    let mut removed: Vec<(Spot<'_>, Vec<&str>)> = Vec::new();
    let mut places: HashMap<*const Node, usize> = HashMap::new();
    // Where two of them end, what is put into the inner one comes first.
    let mut changes: Vec<_> = changes.iter().collect();
    changes.sort_by_key(|change| Reverse(page.depth(change)));
    for change in changes {
        match change {
            Change::Set(path, value) => page.set(path, value, &mut edits)?,
            Change::Append(path, values) => page.append(path, values, &mut edits)?,
            Change::Remove(path) => {
                let (last, parent) = path.split_last().ok_or(UNUSUAL)?;
                let spot = page.walk(parent)?;
                let place = *places
                    .entry(std::ptr::from_ref(spot.node))
                    .or_insert_with(|| {
                        removed.push((spot, Vec::new()));
                        removed.len() - 1
                    });
                removed[place].1.push(last);
            }
        }
    }
    for (spot, keys) in removed {
        remove::edits(text, &spot, &keys, &mut edits)?;
    }
    Ok(edits)
}

/// What is edited.
#[derive(Clone, Copy)]
struct Page<'p, 'n> {
    text: &'p str,
    root: &'n Node,
    object: &'p Index<'n>,
}

/// A value on the way down from the object, written where it stands.
#[derive(Clone, Copy)]
pub(super) struct Spot<'n> {
    /// The map that its key is in, if it has one.
    map: Option<&'n Node>,
    pub(super) key: Option<&'n Key>,
    pub(super) node: &'n Node,
}

impl<'n> Page<'_, 'n> {
    /// Follows a path, all of which is there.
    fn walk(&self, path: &[String]) -> Result<Spot<'n>, Reason> {
        let start = Spot {
            map: None,
            key: None,
            node: self.root,
        };
        own(start.node)?;
        path.iter().try_fold(start, |here, step| {
            let next = match &here.node.value {
                Value::Map(_) => self.entry(here.node, step)?,
                Value::List(list) => step.parse().ok().and_then(|i: usize| {
                    let node = list.get(i)?;
                    Some(Spot {
                        map: None,
                        key: None,
                        node,
                    })
                }),
                Value::Scalar(_) => None,
            };
            let next = next.ok_or(UNUSUAL)?;
            own(next.node)?;
            Ok(next)
        })
    }

    /// The entry of a map that counts. It may stand in another map and be merged into this one.
    fn entry(&self, map: &'n Node, name: &str) -> Result<Option<Spot<'n>>, Reason> {
        if !matches!(map.value, Value::Map(_)) {
            return Err(UNUSUAL);
        }
        let Some((key, node)) = self.object.entry(map, name) else {
            return Ok(None);
        };
        own_key(self.text, map, key)?;
        Ok(Some(Spot {
            map: Some(map),
            key: Some(key),
            node,
        }))
    }

    /// How deep the value is that gets something.
    fn depth(&self, change: &Change) -> usize {
        match change {
            Change::Set(path, _) => {
                let steps = path.iter().map(|step| Step::Name(step));
                let is_there = self.object.locate(steps).complete;
                path.len() - usize::from(!is_there)
            }
            Change::Append(path, _) | Change::Remove(path) => path.len(),
        }
    }

    /// Gives a key a value, which it has not or which is nothing.
    fn set(&self, path: &[String], value: &Node, edits: &mut Vec<Edit>) -> Result<(), Reason> {
        let (key, parent) = path.split_last().ok_or(UNUSUAL)?;
        let parent = self.walk(parent)?;
        let map = parent.node;
        if let Some(there) = self.entry(map, key)? {
            let (indent, style) = (there.indent(), self.style(&there));
            let below = print::below(&value.value, indent, style);
            return self.replace(there, &below, &print::flow(value), edits);
        }
        let style = self.style(&parent);
        if !is_flow(self.text, map) {
            let indent = map.place.column - 1;
            let lines = print::entry(key, value, indent, style);
            edits.push(self.lines(self.behind(map, indent), &lines));
            return Ok(());
        }
        match parent.map {
            Some(outer) if is_empty(map) && !is_flow(self.text, outer) => {
                let below = print::entry(key, value, parent.indent() + style.step, style);
                self.replace(parent, &below, "", edits)
            }
            _ => {
                let what = |indent: Option<usize>| match indent {
                    Some(indent) => print::kyaml_entry(key, value, indent),
                    None => print::flow_entry(key, value),
                };
                braces::insert(self.text, map, what, edits)
            }
        }
    }

    /// Puts a value where there is none that counts, and in one line with its key.
    fn replace(
        &self,
        there: Spot<'_>,
        below: &[String],
        flow: &str,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Reason> {
        own(there.node)?;
        let (Some(key), Some(map)) = (there.key, there.map) else {
            return Err(UNUSUAL);
        };
        let colon = colon(self.text, key)?;
        // Of a value that is not written, the place is its key's.
        let written = match there.node.place == key.place {
            true => colon..colon,
            false => colon..there.node.span.end,
        };
        if !is_one_line(self.text, &written) {
            return Err(UNUSUAL);
        }
        if is_flow(self.text, map) {
            let text = format!(" {flow}");
            edits.push(Edit {
                range: written,
                text,
            });
            return Ok(());
        }
        let at = line_end(self.text, written.end);
        edits.push(Edit::delete(written));
        edits.push(self.lines(at, below));
        Ok(())
    }

    /// Puts elements behind those of a list.
    fn append(
        &self,
        path: &[String],
        values: &[Node],
        edits: &mut Vec<Edit>,
    ) -> Result<(), Reason> {
        let spot = self.walk(path)?;
        let node = spot.node;
        let Value::List(items) = &node.value else {
            return Err(UNUSUAL);
        };
        let Some(last) = items.last() else {
            let list = Value::List(values.to_vec());
            let below = print::below(&list, spot.indent(), self.style(&spot));
            return self.replace(spot, &below, &print::flow_value(&list), edits);
        };
        if is_flow(self.text, node) {
            let what = |indent: Option<usize>| {
                let items = values.iter().map(|value| match indent {
                    Some(indent) => print::kyaml(&value.value, indent),
                    None => print::flow(value),
                });
                items.collect::<Vec<_>>().join(", ")
            };
            return braces::insert(self.text, node, what, edits);
        }
        let (dash, gap) = dash(self.text, last).ok_or(UNUSUAL)?;
        let style = Style {
            gap,
            ..self.style(&spot)
        };
        let in_braces = is_flow(self.text, last);
        let lines = values.iter().flat_map(|value| match in_braces {
            true => vec![print::flow_item(value, dash, style)],
            false => print::item(value, dash, style),
        });
        let at = self.behind(node, dash);
        edits.push(self.lines(at, &lines.collect::<Vec<_>>()));
        Ok(())
    }

    /// The end of the last line of a map or list that is indented as far as this, with the comments
    /// behind it that are indented further: they are about what stands before them.
    fn behind(&self, node: &Node, indent: usize) -> usize {
        let end = block_end(self.text, node);
        let (mut here, mut behind) = (end, end);
        for line in self.text[end..].split_inclusive(BREAKS) {
            let said = line.trim_start_matches(' ');
            let is_deeper = line.len() - said.len() > indent;
            if said.starts_with('#') && is_deeper {
                behind = here + line.trim_end_matches(BREAKS).len();
            } else if !said.trim().is_empty() {
                break;
            }
            here += line.len();
        }
        behind
    }

    /// Lines behind that which ends here.
    fn lines(&self, at: usize, lines: &[String]) -> Edit {
        let line_break = line_break(self.text, at);
        let lines = lines.iter().flat_map(|line| [line_break, line]);
        Edit::insert(at, lines.collect::<String>())
    }

    /// As the lines around this value are indented, or else those of the object.
    fn style(&self, spot: &Spot<'_>) -> Style {
        let step = |key: &Key, node: &Node| step(self.text, key, node);
        let list = |key: &Key, node: &Node| list(self.text, key, node);
        let own = spot.key.and_then(|key| step(key, spot.node));
        let near = [Some(spot.node), spot.map, Some(self.root)];
        let (dash, gap) = near
            .into_iter()
            .flatten()
            .find_map(|node| find(node, &list))
            .unwrap_or((0, 2));
        Style {
            step: own.or_else(|| find(self.root, &step)).unwrap_or(2),
            dash,
            gap,
        }
    }
}

impl Spot<'_> {
    /// How far its key is indented.
    fn indent(&self) -> usize {
        self.key.map_or(0, |key| key.place.column - 1)
    }
}

/// What one of the entries of a map, and of those below it, tells first.
fn find<T>(node: &Node, tell: &impl Fn(&Key, &Node) -> Option<T>) -> Option<T> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::List(list) => list.iter().find_map(|node| find(node, tell)),
        Value::Map(map) => map
            .iter()
            .find_map(|(key, node)| tell(key, node).or_else(|| find(node, tell))),
    }
}

/// How much further than its key the entries of a map are indented.
fn step(text: &str, key: &Key, node: &Node) -> Option<usize> {
    let is_below = node.place.line > key.place.line && matches!(node.value, Value::Map(_));
    let step = node.place.column.checked_sub(key.place.column)?;
    (is_below && step > 0 && !is_flow(text, node)).then_some(step)
}

/// How much further than their key the dashes of a list are indented, and how much further than
/// these what they stand before.
fn list(text: &str, key: &Key, node: &Node) -> Option<(usize, usize)> {
    let Value::List(items) = &node.value else {
        return None;
    };
    let is_below = node.place.line > key.place.line && !is_flow(text, node);
    let (dash, gap) = dash(text, items.first().filter(|_| is_below)?)?;
    Some(((dash + 1).checked_sub(key.place.column)?, gap))
}

/// How far the dash of an element is indented, and how much further the element is, if there is
/// nothing else in front of it.
fn dash(text: &str, item: &Node) -> Option<(usize, usize)> {
    let before = text.get(line_start(text, item.span.start)..item.span.start)?;
    let dash = before
        .strip_suffix(' ')?
        .trim_end_matches(' ')
        .len()
        .checked_sub(1)?;
    (before.trim() == "-").then_some((dash, before.len() - dash))
}

/// Whether a key stands in the map itself: all of those stand below each other.
pub(super) fn own_key(text: &str, map: &Node, key: &Key) -> Result<(), Reason> {
    let within = map.span.start <= key.span.start && key.span.end <= map.span.end;
    let before = text.get(..key.span.start).unwrap_or_default();
    if before.trim_end_matches(' ').ends_with('?') {
        return Err(UNUSUAL);
    }
    match within && (is_flow(text, map) || key.place.column == map.place.column) {
        true => Ok(()),
        false => Err(MERGED),
    }
}

fn own(node: &Node) -> Result<(), Reason> {
    match node.anchored {
        true => Err(SHARED),
        false => Ok(()),
    }
}

/// In braces or brackets.
pub(super) fn is_flow(text: &str, node: &Node) -> bool {
    let open = text.as_bytes().get(node.span.start);
    match &node.value {
        Value::Scalar(_) => false,
        Value::Map(_) => open == Some(&b'{'),
        // Without brackets, a list starts where its first element does.
        Value::List(list) => {
            let first = list.first().map(|node| node.span.start);
            open == Some(&b'[') && first != Some(node.span.start)
        }
    }
}

fn is_empty(map: &Node) -> bool {
    matches!(&map.value, Value::Map(map) if map.is_empty())
}

/// The end of the last line of what is not in braces.
pub(super) fn block_end(text: &str, node: &Node) -> usize {
    line_end(text, text[..node.span.end].trim_end().len())
}

/// What stands in the braces or brackets.
pub(super) fn inner(text: &str, node: &Node) -> Result<Range<usize>, Reason> {
    let inner = node.span.start + 1..node.span.end - 1;
    let closed = text
        .get(inner.end..)
        .is_some_and(|end| end.starts_with(['}', ']']));
    if closed { Ok(inner) } else { Err(UNUSUAL) }
}

/// Behind the colon of a key.
pub(super) fn colon(text: &str, key: &Key) -> Result<usize, Reason> {
    let behind = &text[key.span.end..];
    let spaces = behind.len() - behind.trim_start_matches(' ').len();
    match behind[spaces..].starts_with(':') {
        true => Ok(key.span.end + spaces + 1),
        false => Err(UNUSUAL),
    }
}
