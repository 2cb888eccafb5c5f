//! `--fix`: repairs and placement in the text itself, with its comments and its looks.
//!
//! The text is edited and never written anew. What comes of it is read again: it is what the
//! webhook's patch would have made of each object, or the text stays as it was. Pure: from a
//! file's bytes to bytes. Not here: what is repaired (`decision`), files (`command`).

mod ask;
mod braces;
mod edit;
mod print;
mod remove;
mod text;

use serde_json::Value as Json;

use super::Options;
use super::comment::Comments;
use super::document::{self, Document, Object};
use super::report::Problem;
use crate::rules::Rule;
use crate::yaml::{Node, Value};
use ask::{Answer, Wanted};
use edit::Reason;

/// Whether the findings of a rule are told, and so repaired.
pub type Selected<'s> = &'s dyn Fn(&Rule) -> bool;

const JSON: Reason = "it is JSON";
const TAIL: Reason = "the file cannot be read to its end";
const OTHERWISE: Reason = "the file would not have read as it should";

/// What became of a file.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// What it should hold; nothing where it may stay as it is.
    pub bytes: Option<Vec<u8>>,
    /// The text in it, before and after.
    pub texts: [String; 2],
    /// How many objects are changed.
    pub objects: usize,
    /// Objects in which something should be changed and nothing is, and why.
    pub left: Vec<Problem>,
}

/// Repairs and places what is for Windows in a file, but for findings that are silenced or whose
/// rules are not selected.
pub fn fix(bytes: &[u8], options: &Options, is_selected: Selected<'_>) -> Fixed {
    let mut fixed = Fixed::default();
    // Why it cannot be read is told by the check.
    let Ok(text) = document::text(bytes) else {
        return fixed;
    };
    let (documents, comments) = document::documents(&text);
    let comments = Comments::read(&comments, &text);
    let all_read = !documents.iter().any(|d| matches!(d, Document::Broken(_)));
    let mut made = Made::default();
    for (i, document) in documents.iter().enumerate() {
        let Document::Object(object) = document else {
            continue;
        };
        match ask::ask(object, &comments, options, is_selected) {
            None => {}
            Some(Answer::Refused(why)) => fixed.left.push(left(object, &why)),
            Some(Answer::Wanted(wanted)) => match edits(&text, object, &wanted, all_read) {
                Ok(edits) => {
                    made.edits.extend(edits);
                    made.wanted.push((i, wanted));
                }
                Err(reason) => fixed.left.push(left(object, reason)),
            },
        }
    }
    if made.wanted.is_empty() {
        return fixed;
    }
    let after = text::apply(&text, made.edits);
    match after.filter(|after| reads_as(&documents, &made.wanted, after)) {
        Some(after) => {
            fixed.objects = made.wanted.len();
            fixed.bytes = Some(document::bytes(&after, bytes));
            fixed.texts = [text.into_owned(), after];
        }
        None => {
            let objects = made
                .wanted
                .iter()
                .filter_map(|(i, _)| match &documents[*i] {
                    Document::Object(object) => Some(object),
                    _ => None,
                });
            fixed
                .left
                .extend(objects.map(|object| left(object, OTHERWISE)));
        }
    }
    fixed
}

/// What is done to a text.
#[derive(Default)]
struct Made {
    edits: Vec<text::Edit>,
    /// By the place of the object among the documents.
    wanted: Vec<(usize, Wanted)>,
}

fn edits(
    text: &str,
    object: &Object,
    wanted: &Wanted,
    all_read: bool,
) -> Result<Vec<text::Edit>, Reason> {
    match object {
        _ if !all_read => Err(TAIL),
        object if is_json(text, &object.node) => Err(JSON),
        object => edit::edits(text, &object.node, &wanted.changes),
    }
}

/// In braces, with quotes around the keys; without, it is KYAML or the like.
fn is_json(text: &str, node: &Node) -> bool {
    let is_quoted = match &node.value {
        Value::Map(map) => map.first().is_some_and(|(key, _)| !key.plain),
        _ => true,
    };
    is_quoted && edit::is_flow(text, node)
}

fn left(object: &Object, why: &str) -> Problem {
    let namespace = object.metadata("namespace");
    let namespace = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    let name = object.metadata("name");
    let name = name.or_else(|| object.metadata("generateName"));
    let name = name.map_or_else(String::new, |name| format!(" {namespace}{name}"));
    let kind = object.kind.name();
    Problem::at(
        object.node.place,
        format!("{kind}{name} is left alone: {why}"),
    )
}

/// Whether the edited text says of each object what it should, and nothing else of anything.
fn reads_as(before: &[Document], wanted: &[(usize, Wanted)], after: &str) -> bool {
    let (after, _) = document::documents(after);
    let mut meant: Vec<_> = before.iter().map(said).collect();
    for (i, wanted) in wanted {
        let object = meant[*i].as_mut().ok();
        if object.and_then(|object| wanted.apply(object)).is_none() {
            return false;
        }
    }
    meant == after.iter().map(said).collect::<Vec<_>>()
}

/// What a document says, or what is wrong with it.
fn said(document: &Document) -> Result<Json, String> {
    match document {
        Document::Object(Object { node, .. }) | Document::Other { node, .. } => {
            let mut json = Vec::new();
            node.write_json(&mut json).map_err(|flaw| flaw.problem)?;
            serde_json::from_slice(&json).map_err(|error| error.to_string())
        }
        // Its objects stand for it.
        Document::List(_) => Ok(Json::Null),
        Document::Foreign(problem) | Document::Broken(problem) => Err(problem.text.clone()),
    }
}
