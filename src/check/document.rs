//! From bytes to objects: encodings, documents, lists of objects, kinds that carry no pod.

use std::borrow::Cow;
use std::ops::Range;

use super::known::Known;
use super::report::{FOREIGN, Problem};
use crate::field::Step;
use crate::policy::Policy;
use crate::workload::Kind;
use crate::yaml::{self, Contents, Key, Node, Place, Value};

/// One document of a file, or one element of a list of objects.
pub(super) enum Document {
    /// An object that is judged.
    Object(Object),
    /// Another kind.
    Other {
        kind: String,
        /// Facts are made of it.
        known: Option<Known>,
        /// Its API is gone from Kubernetes.
        removed: bool,
        node: Node,
    },
    /// The frame of a list of objects: its keys that stand in one map twice, with the place of the first.
    List(Vec<(Key, Place)>),
    /// It is YAML and no Kubernetes object.
    Foreign(Problem),
    /// It is an object that cannot be read.
    Broken(Problem),
}

/// An object of a kind that is judged.
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) node: Node,
}

impl Object {
    /// Services are judged where a rule for them is on.
    pub(super) fn is_judged(&self, policy: &Policy) -> bool {
        self.kind != Kind::Service || policy.services
    }

    /// A text of its metadata.
    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        let path = [Step::Name("metadata"), Step::Name(key)];
        let located = self.node.locate(path);
        let scalar = located.node.scalar().filter(|_| located.complete)?;
        (!scalar.is_null()).then_some(&scalar.text)
    }
}

/// The text in a file, without a byte order mark. kubectl, too, reads UTF-16, which older
/// PowerShells write.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Problem> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_le_bytes)?),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_be_bytes)?),
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(utf_8(rest)?),
        _ => Cow::Borrowed(utf_8(bytes)?),
    };
    match text.find('\0') {
        Some(at) => {
            let problem = "there is a NUL in it, so this is no text; save it as UTF-8";
            Err(Problem::at(place(&text[..at]), problem))
        }
        None => Ok(text),
    }
}

/// A text as it is saved in a file with these bytes: in its encoding, with its mark.
pub(super) fn bytes(text: &str, like: &[u8]) -> Vec<u8> {
    let utf_16 = |unit: fn(u16) -> [u8; 2]| {
        let marked = std::iter::once(0xfeff).chain(text.encode_utf16());
        marked.flat_map(unit).collect()
    };
    match like {
        [0xff, 0xfe, ..] => utf_16(u16::to_le_bytes),
        [0xfe, 0xff, ..] => utf_16(u16::to_be_bytes),
        [0xef, 0xbb, 0xbf, ..] => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        _ => text.as_bytes().to_vec(),
    }
}

fn utf_8(bytes: &[u8]) -> Result<&str, Problem> {
    str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Problem::at(place(&before), "this is not UTF-8; save the file as UTF-8")
    })
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Problem> {
    let (pairs, rest) = bytes.as_chunks();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    let text = text.ok().filter(|_| rest.is_empty());
    text.ok_or_else(|| {
        Problem::whole("this begins as UTF-16 does, and is not; save the file as UTF-8")
    })
}

/// Every end of a line as one character: YAML knows three.
pub(super) fn line_feeds(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// The place behind a text.
fn place(before: &str) -> Place {
    let before = line_feeds(before);
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}

/// All objects of a text, those of lists one by one, and its comments.
pub(super) fn documents(text: &str) -> (Vec<Document>, Vec<yaml::Comment>) {
    let Contents {
        documents: nodes,
        comments,
        flaw,
    } = read(text);
    let mut documents = Vec::new();
    for node in nodes {
        push(node, None, &mut documents);
    }
    if let Some(flaw) = flaw {
        documents.push(Document::Broken(unreadable(text, flaw)));
    }
    (documents, comments)
}

/// kubectl takes what starts with a brace for JSON, of which one may follow the other.
fn read(text: &str) -> Contents {
    if text.trim_start().starts_with('{')
        && let Some(contents) = yaml::json_objects(text)
    {
        return contents;
    }
    yaml::read(text, text.contains("transom:"))
}

/// A template that nobody has rendered is the usual reason.
fn unreadable(text: &str, flaw: yaml::Flaw) -> Problem {
    let text = line_feeds(text);
    let mut scalars = None;
    let mut start = 0;
    for (i, line) in text.split_inclusive('\n').take(flaw.place.line).enumerate() {
        // Text may have braces in it and be read all the same.
        let is_flawed = i + 1 == flaw.place.line;
        let mut is_read = |at| {
            let scalars = scalars.get_or_insert_with(|| yaml::scalars(&text));
            let behind = scalars.partition_point(|span: &Range<usize>| span.end <= at);
            scalars.get(behind).is_some_and(|span| span.contains(&at))
        };
        if let Some(at) = opening(line)
            && (is_flawed || !is_read(start + at))
        {
            let place = Place {
                line: i + 1,
                column: line[..at].chars().count() + 1,
            };
            let problem = "this is a template and not YAML; render it first (helm template … | transom check -)";
            return Problem::at(place, problem);
        }
        start += line.len();
    }
    Problem::at(flaw.place, flaw.problem)
}

/// Where the braces of a template stand: at the start of a line or of a value, without quotes.
fn opening(line: &str) -> Option<usize> {
    let mut found = ["{{", "{%"].iter().filter_map(|braces| line.find(braces));
    let at = found.next()?;
    let before = line[..at].trim_end();
    let starts = before.is_empty() || before.ends_with([':', '-']);
    (starts || !before.contains(['"', '\'', '#'])).then_some(at)
}

/// What the elements of a `PodList` need not say of themselves.
#[derive(Clone, Copy)]
struct Typed<'t> {
    api_version: &'t str,
    kind: &'t str,
}

fn push(node: Node, typed: Option<Typed<'_>>, documents: &mut Vec<Document>) {
    let Value::Map(map) = &node.value else {
        let what = match &node.value {
            Value::List(_) => {
                "a list; each object is a document of its own, or an element of kind: List"
            }
            _ => "it has no keys",
        };
        let problem = format!("{FOREIGN}: {what}");
        return documents.push(Document::Foreign(Problem::at(node.place, problem)));
    };
    let text = |key: &str| {
        let entry = map.iter().rev().find(|(k, _)| k.text == key);
        let scalar = entry.and_then(|(_, node)| node.scalar());
        scalar.filter(|s| !s.is_null()).map(|s| s.text.clone())
    };
    let api_version = text("apiVersion").or_else(|| Some(typed?.api_version.to_owned()));
    let kind = text("kind").or_else(|| Some(typed?.kind.to_owned()));
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        let problem = format!("{FOREIGN}: apiVersion or kind is missing");
        return documents.push(Document::Foreign(Problem::at(node.place, problem)));
    };
    let is_list = kind.ends_with("List") && map.iter().any(|(key, _)| key.text == "items");
    if is_list {
        let element = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
        let typed = element.map(|kind| Typed {
            api_version: &api_version,
            kind,
        });
        return items(node, typed, documents);
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    documents.push(match Kind::find(group, &kind) {
        Some(kind) => Document::Object(Object { kind, node }),
        None => Document::Other {
            known: Known::find(group, &kind),
            removed: group == "extensions" && Kind::find("apps", &kind).is_some(),
            kind,
            node,
        },
    });
}

fn items(node: Node, typed: Option<Typed<'_>>, documents: &mut Vec<Document>) {
    let mut repeated = Vec::new();
    own_duplicates(&node, &mut repeated);
    if !repeated.is_empty() {
        documents.push(Document::List(repeated));
    }
    let Value::Map(map) = node.value else { return };
    let items = map.into_iter().rev().find(|(key, _)| key.text == "items");
    let Some((key, items)) = items else { return };
    match items.value {
        Value::List(list) => {
            for item in list {
                push(item, typed, documents);
            }
        }
        _ if items.is_null() => {}
        _ => documents.push(Document::Broken(Problem::at(
            key.place,
            "items is not a list of objects",
        ))),
    }
}

impl Document {
    /// Keys that stand in one map twice, with the place of the first.
    pub(super) fn duplicates(&self) -> Vec<(Key, Place)> {
        let mut all = Vec::new();
        match self {
            Self::Object(Object { node, .. }) | Self::Other { node, .. } => {
                duplicates(node, &mut all);
            }
            Self::List(repeated) => all.clone_from(repeated),
            Self::Foreign(_) | Self::Broken(_) => {}
        }
        all
    }
}

fn duplicates(node: &Node, all: &mut Vec<(Key, Place)>) {
    own_duplicates(node, all);
    match &node.value {
        Value::Scalar(_) => {}
        Value::List(list) => list.iter().for_each(|node| duplicates(node, all)),
        Value::Map(map) => map.iter().for_each(|(_, node)| duplicates(node, all)),
    }
}

/// Those of a map, without what is below it.
fn own_duplicates(node: &Node, all: &mut Vec<(Key, Place)>) {
    if let Value::Map(map) = &node.value {
        let repeated = yaml::repeated(map).into_iter();
        all.extend(repeated.map(|(first, again)| (map[again].0.clone(), map[first].0.place)));
    }
}
