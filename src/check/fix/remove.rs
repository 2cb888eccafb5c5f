//! Keys that are taken out of a map, with what stands behind them in their lines.
//!
//! Comments in lines of their own stay, but for those within a value that goes.

use std::ops::Range;

use super::braces;
use super::edit::{
    Reason, SHARED, Spot, TWICE, UNUSUAL, block_end, colon, inner, is_flow, own_key,
};
use super::text::{Edit, is_one_line, line_break, line_end, line_start};
use crate::yaml::{Key, Node, Value};

/// The edits that take these keys out of a map.
pub(super) fn edits(
    text: &str,
    spot: &Spot<'_>,
    keys: &[&str],
    edits: &mut Vec<Edit>,
) -> Result<(), Reason> {
    let map = spot.node;
    let Value::Map(all) = &map.value else {
        return Err(UNUSUAL);
    };
    let goes = |key: &Key| keys.contains(&key.text.as_str());
    let going: Vec<_> = all.iter().filter(|(key, _)| goes(key)).collect();
    if going.len() != keys.len() {
        return Err(TWICE);
    }
    for (key, value) in &going {
        own_key(text, map, key)?;
        if has_anchor(value) {
            return Err(SHARED);
        }
    }
    if is_flow(text, map) {
        return in_braces(text, map, all, goes, edits);
    }
    if going.len() == all.len() {
        return all_of(text, spot, &going, edits);
    }
    for (key, value) in going {
        let end = end(text, key, value);
        let start = line_start(text, key.span.start);
        if text[start..key.span.start].trim().is_empty() {
            edits.push(Edit::delete(lines(text, start, end)));
            continue;
        }
        // It is the first one, behind the dash of an element: the next one takes its place.
        let next = all.iter().map(|(key, _)| key.span.start);
        let next = next.filter(|start| *start > key.span.start).min();
        let next = next.ok_or(UNUSUAL)?;
        let between = text.get(end..next).ok_or(UNUSUAL)?;
        edits.push(Edit::delete(match between.trim().is_empty() {
            true => key.span.start..next,
            // But for comments before it, which keep their lines.
            false => text[..key.span.start].trim_end().len()..end,
        }));
    }
    Ok(())
}

/// Takes out all that a map has: `{}` is left, since that, too, says that the map is there.
fn all_of(
    text: &str,
    spot: &Spot<'_>,
    going: &[&(Key, Node)],
    edits: &mut Vec<Edit>,
) -> Result<(), Reason> {
    let Some(key) = spot.key else {
        let [(key, value)] = going else {
            return Err(UNUSUAL);
        };
        edits.push(Edit {
            range: key.span.start..value_end(text, key, value),
            text: "{}".to_owned(),
        });
        return Ok(());
    };
    edits.push(Edit::insert(colon(text, key)?, " {}"));
    for (key, value) in going {
        let start = line_start(text, key.span.start);
        if !text[start..key.span.start].trim().is_empty() {
            return Err(UNUSUAL);
        }
        edits.push(Edit::delete(lines(text, start, end(text, key, value))));
    }
    Ok(())
}

fn in_braces(
    text: &str,
    map: &Node,
    all: &[(Key, Node)],
    goes: impl Fn(&Key) -> bool,
    edits: &mut Vec<Edit>,
) -> Result<(), Reason> {
    if all.iter().all(|(key, _)| goes(key)) {
        edits.push(Edit::delete(inner(text, map)?));
        return Ok(());
    }
    if !is_one_line(text, &map.span) {
        return braces::remove(text, all, goes, edits);
    }
    let mut before: Option<usize> = None;
    for (i, (key, value)) in all.iter().enumerate() {
        let end = value_end(text, key, value);
        if goes(key) {
            let mut behind = all[i..].iter();
            let next = all.get(i + 1).filter(|_| !behind.all(|(key, _)| goes(key)));
            // With the comma behind it, or, of the last ones, the one before it.
            edits.push(Edit::delete(match (next, before) {
                (Some((next, _)), _) => key.span.start..next.span.start,
                (None, Some(before)) => before..end,
                (None, None) => return Err(UNUSUAL),
            }));
        }
        before = Some(end);
    }
    Ok(())
}

/// Whole lines, with the break before the first of them.
fn lines(text: &str, start: usize, end: usize) -> Range<usize> {
    start - line_break(text, start).len()..end
}

/// Where the last line of an entry ends.
fn end(text: &str, key: &Key, value: &Node) -> usize {
    match is_behind(key, value) {
        true => block_end(text, value),
        false => line_end(text, key.span.end),
    }
}

/// Where an entry ends, without what stands behind it in its line.
fn value_end(text: &str, key: &Key, value: &Node) -> usize {
    match is_behind(key, value) {
        true => value.span.end,
        false => colon(text, key).unwrap_or(key.span.end),
    }
}

/// A value that is not written has the place of its key.
fn is_behind(key: &Key, value: &Node) -> bool {
    value.place != key.place
}

/// What goes may be what aliases further down stand for.
fn has_anchor(node: &Node) -> bool {
    node.anchored
        || match &node.value {
            Value::Scalar(_) => false,
            Value::List(list) => list.iter().any(has_anchor),
            Value::Map(map) => map.iter().any(|(_, node)| has_anchor(node)),
        }
}
