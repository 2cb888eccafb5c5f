//! The text of a file while it is edited: its lines, and the edits.

use std::ops::Range;

/// What ends a line of YAML, alone or both together.
pub(super) const BREAKS: [char; 2] = ['\r', '\n'];

/// A piece of a text, and what comes in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Edit {
    pub(super) fn delete(range: Range<usize>) -> Self {
        Self {
            range,
            text: String::new(),
        }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self {
            range: at..at,
            text: text.into(),
        }
    }
}

/// The text with all edits made; nothing if one is in the way of another.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    // What is put where a deletion starts comes before it. Those of one place keep their order.
    edits.sort_by_key(|edit| (edit.range.start, !edit.range.is_empty()));
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.range.start)?);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Where the line starts that this is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(BREAKS).map_or(0, |i| i + 1)
}

/// Where the line ends that this is in, before its break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(BREAKS).map_or(text.len(), |i| at + i)
}

/// The break before the line that this is in; nothing in the first line.
pub(super) fn line_break(text: &str, at: usize) -> &str {
    let before = &text[..line_start(text, at)];
    match before {
        _ if before.ends_with("\r\n") => "\r\n",
        _ if before.ends_with('\r') => "\r",
        _ if before.ends_with('\n') => "\n",
        _ => "",
    }
}

/// Whether a piece is all in one line.
pub(super) fn is_one_line(text: &str, range: &Range<usize>) -> bool {
    let piece = text.get(range.clone());
    piece.is_some_and(|piece| !piece.contains(BREAKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_where_they_were_meant() {
        let edits = vec![
            Edit::insert(6, "!"),
            Edit::delete(3..6),
            Edit::insert(3, "x"),
            Edit::insert(3, "y"),
        ];
        assert_eq!(apply("abcdefg", edits).unwrap(), "abcxy!g");
        let crossing = vec![Edit::delete(1..4), Edit::delete(3..5)];
        assert_eq!(apply("abcdefg", crossing), None);
        let within = vec![Edit::delete(1..4), Edit::insert(2, "x")];
        assert_eq!(apply("abcdefg", within), None);
    }

    #[test]
    fn lines_end_in_three_ways() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("ab{end}cd{end}");
            let at = 2 + end.len();
            assert_eq!(line_start(&text, at + 1), at);
            assert_eq!(line_end(&text, at), at + 2);
            assert_eq!(line_break(&text, at + 1), end);
            assert_eq!(line_break(&text, 1), "");
            assert!(is_one_line(&text, &(at..at + 2)) && !is_one_line(&text, &(1..at + 1)));
        }
        assert_eq!(line_end("ab", 1), 2);
    }
}
