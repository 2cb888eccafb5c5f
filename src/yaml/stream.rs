//! JSON objects one behind the other, as `jq` writes them and kubectl reads them.

use serde::de::IgnoredAny;

use super::{Contents, Node, Place, Value, read};

/// The objects, if that is what the text is: more than one, and all of them JSON.
pub fn json_objects(text: &str) -> Option<Contents> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut ends = Vec::new();
    while let Some(object) = objects.next() {
        object.ok()?;
        ends.push(objects.byte_offset());
    }
    if ends.len() < 2 {
        return None;
    }
    let mut all = Contents::default();
    let mut shift = Shift::default();
    for end in ends {
        let piece = &text[shift.bytes..end];
        let contents = read(piece, false);
        for mut node in contents.documents {
            shift.node(&mut node);
            all.documents.push(node);
        }
        if let Some(mut flaw) = contents.flaw {
            shift.place(&mut flaw.place);
            all.flaw = Some(flaw);
            break;
        }
        shift.pass(piece);
    }
    Some(all)
}

/// How far a piece of a text is behind its start.
#[derive(Default)]
struct Shift {
    bytes: usize,
    lines: usize,
    /// In the first line of the piece.
    columns: usize,
}

impl Shift {
    fn pass(&mut self, piece: &str) {
        self.bytes += piece.len();
        let lines = piece.matches('\n').count();
        let last = piece.rsplit('\n').next().unwrap_or_default();
        self.columns = last.chars().count() + if lines == 0 { self.columns } else { 0 };
        self.lines += lines;
    }

    fn place(&self, place: &mut Place) {
        if place.line == 1 {
            place.column += self.columns;
        }
        place.line += self.lines;
    }

    fn node(&self, node: &mut Node) {
        self.place(&mut node.place);
        node.span = node.span.start + self.bytes..node.span.end + self.bytes;
        match &mut node.value {
            Value::Scalar(_) => {}
            Value::List(list) => list.iter_mut().for_each(|node| self.node(node)),
            Value::Map(map) => {
                for (key, node) in map {
                    self.place(&mut key.place);
                    key.span = key.span.start + self.bytes..key.span.end + self.bytes;
                    self.node(node);
                }
            }
        }
    }
}
