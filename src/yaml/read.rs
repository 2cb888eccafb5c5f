//! From the parser's events to the tree: aliases in place, merge keys merged.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{
    ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag,
};

use super::{Flaw, Key, Node, Place, Scalar, Value};

/// As many nodes as aliases may make of a text: a few lines could ask for billions.
const MAX_NODES: usize = 1 << 20;
/// As deep as aliases may nest what the parser allows to be nested by hand.
const MAX_DEPTH: usize = 512;

/// The documents of a text, without those that are empty.
///
/// # Errors
/// The first place where the text is not YAML, or where it says what kubectl would not read.
pub fn documents(text: &str) -> Result<Vec<Node>, Flaw> {
    let mut options = Options::default();
    options.emit_comments = false;
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
    };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentStart(..), span) => {
                let node = reader.node(place(&span.start), 0)?;
                if !node.is_null() {
                    documents.push(node);
                }
            }
            _ => {}
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    /// How many there are so far.
    nodes: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Flaw> {
        match self.parser.next_event() {
            Some(event) => event.map_err(|error| flaw(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
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
        self.count(at, 1, depth)?;
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = is_text(tag.as_deref(), at)?;
                let plain = style == ScalarStyle::Plain && !is_text;
                // The parser reads ~ where nothing is written.
                let (place, text) = match plain && span.is_empty() {
                    true => (key, String::new()),
                    false => (at, text.into_owned()),
                };
                let value = Value::Scalar(Scalar { text, plain });
                let span = bytes(&span);
                (anchor, Node { place, span, value })
            }
            Event::SequenceStart(_, anchor, tag) => {
                is_text(tag.as_deref(), at)?;
                let mut list = Vec::new();
                while let Some(node) = self.node_or_end(at, depth + 1)? {
                    list.push(node);
                }
                let (span, value) = (bytes(&span), Value::List(list));
                (
                    anchor,
                    Node {
                        place: at,
                        span,
                        value,
                    },
                )
            }
            Event::MappingStart(_, anchor, tag) => {
                is_text(tag.as_deref(), at)?;
                let (span, value) = (bytes(&span), Value::Map(self.map(at, depth)?));
                (
                    anchor,
                    Node {
                        place: at,
                        span,
                        value,
                    },
                )
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return wrong(at, "an alias cannot stand within what it stands for");
                };
                let (nodes, deep) = measure(&node);
                self.count(at, nodes, depth + deep)?;
                (0, node)
            }
            _ => return Ok(None),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(Some(node))
    }

    fn map(&mut self, at: Place, depth: usize) -> Result<Vec<(Key, Node)>, Flaw> {
        let mut map: Vec<(Key, Node)> = Vec::new();
        let mut merged = Vec::new();
        while let Some(key) = self.node_or_end(at, depth + 1)? {
            let (text, plain) = match key.value {
                Value::Scalar(Scalar { text, plain }) => (text, plain),
                Value::List(_) => return wrong(key.place, "a key cannot be a list"),
                Value::Map(_) => {
                    let problem = "a key cannot be a map; a template ({{ }}) is rendered first";
                    return wrong(key.place, problem);
                }
            };
            let node = self.node(key.place, depth + 1)?;
            if plain && text == "<<" {
                merge(node, &mut merged)?;
            } else {
                let (place, span) = (key.place, key.span);
                map.push((Key { place, span, text }, node));
            }
        }
        // What is written wins over what is merged, and the first of what is merged over the rest.
        if !merged.is_empty() {
            let mut seen: HashSet<_> = map.iter().map(|(key, _)| key.text.clone()).collect();
            merged.retain(|(key, _): &(Key, Node)| seen.insert(key.text.clone()));
            map.append(&mut merged);
        }
        Ok(map)
    }

    fn count(&mut self, at: Place, nodes: usize, depth: usize) -> Result<(), Flaw> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return wrong(at, "this is too much: the aliases repeat too many values");
        }
        if depth > MAX_DEPTH {
            return wrong(at, "lists and maps are nested too deeply");
        }
        Ok(())
    }
}

/// The entries of the map, or of the list of maps, behind `<<`.
fn merge(node: Node, out: &mut Vec<(Key, Node)>) -> Result<(), Flaw> {
    match node.value {
        Value::Map(map) => out.extend(map),
        Value::List(list) => {
            for node in list {
                match node.value {
                    Value::Map(map) => out.extend(map),
                    _ => return wrong(node.place, "<< takes maps only"),
                }
            }
        }
        Value::Scalar(_) => return wrong(node.place, "<< takes a map, or a list of maps"),
    }
    Ok(())
}

/// How many nodes these are, and how deep.
fn measure(node: &Node) -> (usize, usize) {
    let with = |(nodes, depth): (usize, usize), node: &Node| {
        let (more, deeper) = measure(node);
        (nodes + more, depth.max(deeper + 1))
    };
    match &node.value {
        Value::Scalar(_) => (1, 0),
        Value::List(list) => list.iter().fold((1, 1), with),
        Value::Map(map) => map.iter().map(|(_, node)| node).fold((1, 1), with),
    }
}

/// Whether the tag says `!!str`: then nothing else is read into the scalar.
fn is_text(tag: Option<&Tag>, at: Place) -> Result<bool, Flaw> {
    let Some(tag) = tag else { return Ok(false) };
    match tag.core_suffix() {
        Some("str") => Ok(true),
        Some("bool" | "float" | "int" | "map" | "null" | "seq") => Ok(false),
        _ => wrong(at, format!("the tag {} is not known", tag.original())),
    }
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
