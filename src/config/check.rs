//! The structure of a configuration against its JSON Schema: every unknown or missing key and
//! every value that is none of those that may stand there, with its place.
//!
//! Patterns and lengths are not looked at: `policy` says the same with better words.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{Problem, schema};
use crate::nearest::nearest;
use crate::rules::Rule;
use crate::yaml::{Key, Node, Path, Value};

/// More mistakes than that are not looked for: each is held against all names that are known.
const ENOUGH: usize = 100;

/// Everything that is wrong with the structure, or enough of it.
pub(super) fn check(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    value(schema(), root, Path::Root, &mut problems);
    problems
}

fn value(schema: &Json, node: &Node, path: Path<'_>, problems: &mut Vec<Problem>) {
    let mut wrong = |problem: String| {
        problems.push(Problem::value(path.to_string(), problem).at(node.place));
    };
    let words = words(schema);
    let wanted = match schema["type"].as_str() {
        _ if !words.is_empty() => Wanted::Word(words),
        Some("object") => Wanted::Map,
        Some("array") => Wanted::List,
        Some("boolean") => Wanted::Bool,
        _ => Wanted::Text,
    };
    if node.is_null() {
        let out = if matches!(path, Path::Key(..)) {
            "the key"
        } else {
            "it"
        };
        let instead = wanted.instead_of_nothing();
        return wrong(format!(
            "nothing is written here; write {instead}, or leave {out} out"
        ));
    }
    match (wanted, &node.value) {
        (Wanted::Map, Value::Map(entries)) => map(schema, node, entries, path, problems),
        (Wanted::List, Value::List(list)) => {
            for (i, node) in list.iter().enumerate() {
                value(&schema["items"], node, Path::Item(&path, i), problems);
            }
        }
        (Wanted::Text, Value::Scalar(_)) => {}
        (Wanted::Bool, Value::Scalar(scalar)) => {
            if scalar.bool().is_none() {
                wrong(format!("{:?} is neither true nor false", scalar.text));
            }
        }
        (Wanted::Word(words), Value::Scalar(scalar)) => {
            if !words.contains(&scalar.text.as_str()) {
                wrong(no_such_word(&scalar.text, &words, path));
            }
        }
        (wanted, _) => wrong(format!("must be {}, not {}", wanted.name(), what(node))),
    }
}

fn map(
    schema: &Json,
    node: &Node,
    entries: &[(Key, Node)],
    path: Path<'_>,
    problems: &mut Vec<Problem>,
) {
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let others = Some(&schema["additionalProperties"]).filter(|schema| schema.is_object());
    let mut seen = BTreeMap::new();
    for (key, node) in entries {
        if problems.len() >= ENOUGH {
            return;
        }
        let path = Path::Key(&path, &key.text);
        let mut wrong = |problem: String| {
            problems.push(Problem::key(path.to_string(), problem).at(key.place));
        };
        if let Some(first) = seen.insert(&key.text, key.place.line) {
            wrong(format!(
                "stands there twice, first in line {first}; keep one"
            ));
        } else if let Some(schema) = known.get(&key.text).or(others) {
            value(schema, node, path, problems);
        } else {
            wrong(unknown(&key.text, known, path));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for key in required.filter_map(Json::as_str) {
        if !seen.keys().any(|seen| *seen == key) {
            let problem = match words(&known[key]).as_slice() {
                [only] => format!("is missing; write {key}: {only}"),
                _ => "is missing".to_owned(),
            };
            let path = Path::Key(&path, key).to_string();
            problems.push(Problem::key(path, problem).at(node.place));
        }
    }
}

/// What a schema asks for.
enum Wanted<'s> {
    Map,
    List,
    Text,
    Bool,
    Word(Vec<&'s str>),
}

impl Wanted<'_> {
    fn name(&self) -> String {
        match self {
            Self::Map => "keys with values".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Word(words) => match words.as_slice() {
                [only] => (*only).to_owned(),
                words => format!("one of {}", listed(words)),
            },
        }
    }

    /// `key:` with nothing behind it would silently empty a default.
    fn instead_of_nothing(&self) -> String {
        match self {
            Self::Map => "{} for none".to_owned(),
            Self::List => "[] for none".to_owned(),
            wanted => wanted.name(),
        }
    }
}

/// The values that a schema lists; empty where any will do.
fn words(schema: &Json) -> Vec<&str> {
    let list = |name: &str| schema[name].as_array().into_iter().flatten();
    let listed = list("enum").filter_map(Json::as_str);
    let described = list("oneOf").flat_map(words);
    let only = schema["const"].as_str();
    listed.chain(described).chain(only).collect()
}

fn what(node: &Node) -> String {
    match &node.value {
        Value::Map(_) => "keys with values".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Scalar(scalar) => format!("{:?}", scalar.text),
    }
}

/// The empty text is not to be seen without quotes.
fn listed(words: &[&str]) -> String {
    let words: Vec<_> = words
        .iter()
        .map(|word| if word.is_empty() { "\"\"" } else { word })
        .collect();
    words.join(", ")
}

fn no_such_word(text: &str, words: &[&str], path: Path<'_>) -> String {
    if let [only] = words {
        return format!("must be {only}, not {text:?}");
    }
    if let (Path::Key(Path::Key(Path::Root, "rules"), _), "repair") = (path, text) {
        return "cannot be repair: only fields that the API server refuses beside spec.os.name: \
                windows are taken out; use deny, warn or off"
            .to_owned();
    }
    let near = nearest(text, words.iter().copied());
    if let Path::Item(Path::Key(Path::Root, "ignorable"), _) = path {
        return no_such_rule(near);
    }
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("{text:?} is none of {}{near}", listed(words))
}

fn unknown(key: &str, known: &Map<String, Json>, path: Path<'_>) -> String {
    let near = nearest(key, known.keys().map(String::as_str));
    if let Path::Key(Path::Key(Path::Root, "rules"), _) = path {
        return no_such_rule(near);
    }
    match near {
        Some(near) => format!("unknown key; did you mean {near}?"),
        None => {
            let known: Vec<_> = known.keys().map(String::as_str).collect();
            format!("unknown key; known here: {}", known.join(", "))
        }
    }
}

fn no_such_rule(near: Option<&str>) -> String {
    match near.and_then(|near| Some((near, Rule::find(near)?))) {
        Some((near, rule)) => {
            let other = if near == rule.code {
                rule.name
            } else {
                rule.code
            };
            format!("there is no such rule; did you mean {near} ({other})?")
        }
        None => {
            "there is no such rule; use a code such as WIN301 or a name such as sub-path".to_owned()
        }
    }
}
