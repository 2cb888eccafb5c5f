//! From the parser's events to the tree: aliases in place, merge keys merged.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{
    ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag,
};

use super::{Comment, Flaw, Key, Node, Place, Scalar, Value};

/// As many nodes as anchors and aliases may make of a text: a few lines could ask for billions.
const MAX_REPEATED: usize = 1 << 20;
/// As many bytes of a string count as one more node.
const LONG: usize = 64;
/// As deep as aliases may nest what the parser allows to be nested by hand.
const MAX_DEPTH: usize = 512;

/// What stands in a text.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Its documents, without those that are empty.
    pub documents: Vec<Node>,
    /// Its comments, where they were asked for.
    pub comments: Vec<Comment>,
    /// Why nothing was read behind the last of these.
    pub flaw: Option<Flaw>,
}

/// The documents of a text, without those that are empty.
///
/// # Errors
/// The first place where the text is not YAML, or where it says what kubectl would not read.
pub fn documents(text: &str) -> Result<Vec<Node>, Flaw> {
    let Contents {
        documents, flaw, ..
    } = read(text, false);
    match flaw {
        Some(flaw) => Err(flaw),
        None => Ok(documents),
    }
}

/// All that can be read of a text: kubectl, too, takes what stands before a flaw.
pub fn read(text: &str, comments: bool) -> Contents {
    let mut options = Options::default();
    options.emit_comments = comments;
    // However long a licence at the head of a file may be.
    options.max_buffered_comment_events = usize::MAX;
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        repeated: 0,
        end: 0,
        comments: Vec::new(),
    };
    let mut documents = Vec::new();
    let flaw = reader.documents(&mut documents).err();
    Contents {
        documents,
        comments: reader.comments,
        flaw,
    }
}

/// What the scalars of a text take of it, in bytes and in order, as far as it can be read.
pub fn scalars(text: &str) -> Vec<Range<usize>> {
    let mut parser = Parser::new_from_str_with_options(text, Options::default());
    let events = std::iter::from_fn(|| parser.next_event()?.ok());
    let scalars = events.filter(|(event, _)| matches!(event, Event::Scalar(..)));
    scalars.map(|(_, span)| bytes(&span)).collect()
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    /// How many nodes anchors and aliases have made so far.
    repeated: usize,
    /// Behind what was written last, in bytes.
    end: usize,
    comments: Vec<Comment>,
}

impl<'t> Reader<'t> {
    fn documents(&mut self, documents: &mut Vec<Node>) -> Result<(), Flaw> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(..), span) => {
                    let node = self.node(place(&span.start), 0)?;
                    if !node.is_null() {
                        documents.push(node);
                    }
                }
                _ => {}
            }
        }
    }

    /// The next event that is not a comment.
    fn next(&mut self) -> Result<(Event<'t>, Span), Flaw> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(text, _), span))) => self.comments.push(Comment {
                    place: place(&span.start),
                    text: text.into_owned(),
                }),
                Some(event) => return event.map_err(|error| flaw(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    /// The next node. One that is not written is where its key is.
    fn node(&mut self, key: Place, depth: usize) -> Result<Node, Flaw> {
        match self.node_or_end(key, depth)? {
            Some(node) => Ok(node),
            None => wrong(key, "a value is missing"),
        }
    }

    /// The next node, unless the list or map ends.
    fn node_or_end(&mut self, key: Place, depth: usize) -> Result<Option<Node>, Flaw> {
        let (event, span) = self.next()?;
        let at = place(&span.start);
        limit(at, 0, depth)?;
        let mut key_or_start = at;
        let mut written = bytes(&span);
        if !written.is_empty() {
            self.end = written.end;
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = match tag.as_deref() {
                    None => style == ScalarStyle::Plain,
                    Some(tag) => is_resolved(tag),
                };
                // The parser reads ~ where nothing is written.
                let text = match style == ScalarStyle::Plain && span.is_empty() {
                    true => {
                        key_or_start = key;
                        String::new()
                    }
                    false => text.into_owned(),
                };
                (anchor, Value::Scalar(Scalar { text, plain }))
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut list = Vec::new();
                while let Some(node) = self.node_or_end(at, depth + 1)? {
                    list.push(node);
                }
                written.end = self.end;
                (anchor, Value::List(list))
            }
            Event::MappingStart(_, anchor, _) => {
                let map = self.map(at, depth)?;
                written.end = self.end;
                (anchor, Value::Map(map))
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return wrong(at, "an alias cannot stand within what it stands for");
                };
                let (nodes, deep) = measure(&node);
                self.repeated += nodes;
                limit(at, self.repeated, depth + deep)?;
                return Ok(Some(node));
            }
            _ => return Ok(None),
        };
        let node = Node {
            place: key_or_start,
            span: written,
            anchored: anchor != 0,
            value,
        };
        if anchor != 0 {
            // Each of several anchors around a value has one of its own.
            self.repeated += measure(&node).0;
            limit(at, self.repeated, depth)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(Some(node))
    }

    fn map(&mut self, at: Place, depth: usize) -> Result<Vec<(Key, Node)>, Flaw> {
        let mut map: Vec<(Key, Node)> = Vec::new();
        // Which of them are from merge keys, as far as there are any.
        let mut merged: Vec<bool> = Vec::new();
        while let Some(key) = self.node_or_end(at, depth + 1)? {
            let scalar = match key.value {
                Value::Scalar(scalar) => scalar,
                Value::List(_) => return wrong(key.place, "a key cannot be a list"),
                Value::Map(_) => {
                    let problem = "a key cannot be a map; a template ({{ }}) is rendered first";
                    return wrong(key.place, problem);
                }
            };
            // kubectl takes the line for the start of a document, or refuses it.
            if scalar.plain && key.place.column == 1 && scalar.text.starts_with("---") {
                let problem = "--- has a line to itself, but for a comment after a space";
                return wrong(key.place, problem);
            }
            let node = self.node(key.place, depth + 1)?;
            if scalar.plain && scalar.text == "<<" {
                merged.resize(map.len(), false);
                merge(node, &mut map)?;
                merged.resize(map.len(), true);
            } else {
                let Scalar { text, plain } = scalar;
                let (place, span) = (key.place, key.span);
                let key = Key {
                    place,
                    span,
                    text,
                    plain,
                };
                map.push((key, node));
            }
        }
        Ok(match merged.is_empty() {
            true => map,
            false => in_turn(map, merged),
        })
    }
}

/// In the order of the text, as kubectl has it: a merge key wins over what stands above it, and
/// what stands below it wins over the merge key.
fn in_turn(map: Vec<(Key, Node)>, mut merged: Vec<bool>) -> Vec<(Key, Node)> {
    merged.resize(map.len(), false);
    // Whether a merge key has any of those that stand further down.
    let mut below: HashMap<String, bool> = HashMap::new();
    let mut kept = Vec::with_capacity(map.len());
    for (entry, is_merged) in map.into_iter().zip(merged).rev() {
        match below.get_mut(&entry.0.text) {
            Some(any_merged) if *any_merged || is_merged => *any_merged = true,
            // Written twice, which is for the checks to see.
            Some(_) => kept.push(entry),
            None => {
                below.insert(entry.0.text.clone(), is_merged);
                kept.push(entry);
            }
        }
    }
    kept.reverse();
    kept
}

/// Against texts that ask for more than there is.
fn limit(at: Place, repeated: usize, depth: usize) -> Result<(), Flaw> {
    if repeated > MAX_REPEATED {
        return wrong(
            at,
            "this is too much: anchors and aliases repeat too many values",
        );
    }
    if depth > MAX_DEPTH {
        return wrong(at, "lists and maps are nested too deeply");
    }
    Ok(())
}

/// The entries of the map behind `<<`, or of a list of maps, of which the first wins.
fn merge(node: Node, out: &mut Vec<(Key, Node)>) -> Result<(), Flaw> {
    let maps = match node.value {
        Value::List(list) => list,
        _ => vec![node],
    };
    let mut seen = HashSet::new();
    for node in maps {
        let Value::Map(map) = node.value else {
            return wrong(node.place, "<< takes a map, or a list of maps");
        };
        let names: Vec<_> = map.iter().map(|(key, _)| key.text.clone()).collect();
        let entries = map.into_iter();
        out.extend(entries.filter(|(key, _)| !seen.contains(&key.text)));
        seen.extend(names);
    }
    Ok(())
}

/// How many nodes these are, and how deep. Long strings count as several.
fn measure(node: &Node) -> (usize, usize) {
    let with = |(nodes, depth): (usize, usize), (key, node): (usize, &Node)| {
        let (more, deeper) = measure(node);
        (nodes + more + key / LONG, depth.max(deeper + 1))
    };
    match &node.value {
        Value::Scalar(scalar) => (1 + scalar.text.len() / LONG, 0),
        Value::List(list) => list.iter().map(|node| (0, node)).fold((1, 1), with),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, node)| (key.text.len(), node));
            entries.fold((1, 1), with)
        }
    }
}

/// Whether a scalar with this tag is read as if it were plain; with any other it is a text.
fn is_resolved(tag: &Tag) -> bool {
    matches!(tag.core_suffix(), Some("bool" | "float" | "int" | "null"))
}

fn bytes(span: &Span) -> Range<usize> {
    // Known for texts that are read from memory, as they all are.
    span.byte_range().unwrap_or_default()
}

fn place(marker: &Marker) -> Place {
    Place {
        line: marker.line().max(1),
        column: marker.col() + 1,
    }
}

fn flaw(error: &ScanError) -> Flaw {
    let said = error.info();
    let problem = match error.kind() {
        ErrorKind::InvalidQuotedScalarIndent => "a quote is opened before and not closed",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "a quote is opened here and not closed"
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            "\\ starts an escape in double quotes; write \\\\, or use single quotes"
        }
        ErrorKind::UnexpectedCharacter { .. } => "a value cannot start like this; quote it",
        ErrorKind::UnknownAnchor => {
            "nothing above has this anchor; quote a value that starts with *"
        }
        ErrorKind::MappingValueNotAllowed => {
            "a second \": \" in one line, or a line that is indented too far; quote a value with \": \" in it"
        }
        ErrorKind::SimpleKeyExpected => "a key without \":\" behind it",
        ErrorKind::ExpectedBlockMappingKey => {
            "a key was expected here; is the line indented as those above it?"
        }
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => "lines are indented with spaces, not with tabs",
        // "while parsing a block mapping, did not find expected key" and its kin.
        _ => match said.split_once(", ") {
            Some((start, what)) if start.starts_with("while ") => what,
            _ => &said,
        },
    };
    Flaw {
        place: place(error.marker()),
        problem: format!("this is not YAML: {problem}"),
    }
}

fn wrong<T>(place: Place, problem: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw {
        place,
        problem: problem.into(),
    })
}
