//! Entries of maps and lists in braces and brackets: new ones behind the last, and ones that go.
//!
//! In one line, or in several, as KYAML is written. Not here: what is in no braces (`edit`, `remove`).

use super::edit::{BRACES, Reason, UNUSUAL, inner};
use super::text::{BREAKS, Edit, is_one_line, line_end, line_start};
use crate::yaml::{Key, Node, Value};

/// Puts something behind the last entry. `what` gives the text: of KYAML at this indentation, else in one line.
pub(super) fn insert(
    text: &str,
    node: &Node,
    what: impl Fn(Option<usize>) -> String,
    edits: &mut Vec<Edit>,
) -> Result<(), Reason> {
    let inner = inner(text, node)?;
    let Some((start, end)) = last(node) else {
        if !text[inner.clone()].trim().is_empty() {
            return Err(UNUSUAL);
        }
        edits.push(Edit::insert(inner.start, what(None)));
        return Ok(());
    };
    let comma = comma(text, end);
    let own_line = indentation(text, start).filter(|_| !is_one_line(text, &node.span));
    let (at, separator, behind) = match (comma, own_line) {
        (Some(comma), None) => (comma, " ", ","),
        (None, None) => (end, ", ", ""),
        (Some(comma), Some(_)) => (comma, "", ","),
        (None, Some(_)) => (end, ",", ""),
    };
    let Some(indent) = own_line else {
        let has_comment = text[at..line_end(text, at)].contains('#');
        if has_comment && !is_one_line(text, &node.span) {
            return Err(BRACES);
        }
        let what = what(None);
        edits.push(Edit::insert(at, format!("{separator}{what}{behind}")));
        return Ok(());
    };
    // A comment stays behind what it is about.
    let rest = &text[at..line_end(text, at)];
    let line = if rest.trim_start().starts_with('#') && comma.is_some() {
        line_end(text, at)
    } else if rest.trim().is_empty() || rest.trim_start().starts_with(['}', ']']) {
        at
    } else {
        return Err(BRACES);
    };
    let break_ = super::text::line_break(text, start);
    let what = what(comma.map(|_| indent));
    edits.push(Edit::insert(
        line,
        format!("{separator}{break_}{:indent$}{what}{behind}", ""),
    ));
    Ok(())
}

/// Takes entries out of a map that is written in several lines, with their commas.
pub(super) fn remove(
    text: &str,
    all: &[(Key, Node)],
    goes: impl Fn(&Key) -> bool,
    edits: &mut Vec<Edit>,
) -> Result<(), Reason> {
    for (i, (key, value)) in all.iter().enumerate().filter(|(_, (key, _))| goes(key)) {
        let start = key.span.start;
        let end = value.span.end.max(key.span.end);
        let end = comma(text, end).unwrap_or(end);
        let rest = text[end..line_end(text, end)].trim();
        let next = all.get(i + 1).map(|(next, _)| next.span.start);
        let range = match (indentation(text, start), next) {
            (Some(_), _) if rest.is_empty() || rest.starts_with('#') => {
                let line = line_start(text, start);
                line - super::text::line_break(text, line).len()..line_end(text, end)
            }
            (_, Some(next)) if text[end..next].trim().is_empty() => start..next,
            _ => return Err(BRACES),
        };
        edits.push(Edit::delete(range));
    }
    Ok(())
}

/// Where the last entry starts and ends.
fn last(node: &Node) -> Option<(usize, usize)> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::List(list) => list.last().map(|node| (node.span.start, node.span.end)),
        Value::Map(map) => {
            let (key, value) = map.last()?;
            Some((key.span.start, value.span.end.max(key.span.end)))
        }
    }
}

/// Behind the comma that follows.
fn comma(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let space = rest.len() - rest.trim_start_matches(' ').len();
    rest[space..].starts_with(',').then_some(at + space + 1)
}

/// How far something is indented that starts its line.
fn indentation(text: &str, at: usize) -> Option<usize> {
    let before = &text[line_start(text, at)..at];
    let is_first = text[..at].contains(BREAKS) && before.chars().all(|c| c == ' ');
    is_first.then_some(before.len())
}
