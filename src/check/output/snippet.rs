//! The part of a line that is shown, and what is underlined in it.
//!
//! A file may be one line of megabytes with a finding in each object: no more of it is read than
//! what is shown. Not here: how it is drawn (`text`).

use std::ops::Range;

use super::shown::push;
use crate::check::Span;
use crate::yaml::Place;

/// What ends a line of YAML, alone or both together.
const BREAKS: [char; 2] = ['\r', '\n'];
/// As many bytes are looked at on either side: more than a terminal has columns.
const AROUND: usize = 500;
/// As many bytes are underlined.
const UNDERLINED: usize = 100;
/// Columns beyond this one are not counted for a snippet.
const FARTHEST: usize = 100_000;

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snippet {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) underlined: Range<usize>,
}

impl Snippet {
    /// Where the underlined part starts, in characters from 1.
    pub(super) fn column(&self) -> usize {
        self.text[..self.underlined.start].chars().count() + 1
    }
}

/// Where the lines of a text start.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.match_indices(BREAKS).map(|(i, _)| i + 1);
        let ends = breaks.filter(|end| !text[end - 1..].starts_with("\r\n"));
        Self {
            text,
            starts: [0].into_iter().chain(ends).collect(),
        }
    }

    /// The word at a place, unless that is not in the text.
    pub(super) fn word(&self, place: Place) -> Option<Snippet> {
        let start = *self.starts.get(place.line.checked_sub(1)?)?;
        let rest = &self.text[start..];
        let column = place.column.checked_sub(1).filter(|c| *c <= FARTHEST)?;
        let mut offsets = rest.char_indices().map(|(i, _)| i).chain([rest.len()]);
        let (before, word) = rest.split_at(offsets.nth(column)?);
        if before.contains(BREAKS) {
            return None;
        }
        let word = &word[..word.floor_char_boundary(UNDERLINED)];
        let length = word.find(|c: char| c.is_whitespace() || c == ':');
        let start = start + before.len();
        let end = start + length.unwrap_or(word.len());
        Some(snippet(self.text, start..end, place.line))
    }
}

/// The place of a finding, unless it is not in the text.
pub(super) fn of(text: &str, span: Span) -> Option<Snippet> {
    let range = span.start..span.end;
    text.get(range.clone())?;
    (!text.is_empty()).then(|| snippet(text, range, span.line))
}

fn snippet(text: &str, range: Range<usize>, line: usize) -> Snippet {
    let Range { start, end } = range;
    let from = text.floor_char_boundary(start.saturating_sub(AROUND));
    let before = &text[from..start];
    let (before, cut) = match before.rfind(BREAKS) {
        Some(i) => (&before[i + 1..], false),
        None => (before, from > 0),
    };
    let to = text.floor_char_boundary(start.saturating_add(UNDERLINED + AROUND));
    let (behind, more) = match text[start..to].find(BREAKS) {
        Some(i) => (&text[start..start + i], false),
        None => (&text[start..to], to < text.len()),
    };
    let length = (end - start).min(UNDERLINED).min(behind.len());
    let (underlined, behind) = behind.split_at(behind.floor_char_boundary(length));

    let mut shown = String::new();
    let mut add = |text: &str| {
        text.chars().for_each(|c| push(&mut shown, c));
        shown.len()
    };
    add(if cut { "…" } else { "" });
    let start = add(before);
    let end = add(underlined);
    add(behind);
    add(if more { "…" } else { "" });
    Snippet {
        line,
        text: shown,
        underlined: start..end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(snippet: &Snippet) -> [&str; 3] {
        let Range { start, end } = snippet.underlined;
        let text = snippet.text.as_str();
        [&text[..start], &text[start..end], &text[end..]]
    }

    fn at(text: &str, wanted: &str) -> Snippet {
        let start = text.find(wanted).unwrap();
        let span = Span {
            start,
            end: start + wanted.len(),
            line: 1,
            column: 1,
        };
        of(text, span).unwrap()
    }

    #[test]
    fn a_line_is_shown_without_its_end() {
        let text = "a: 1\r\nb: 2 # x\r\nc: 3";
        assert_eq!(parts(&at(text, "b: 2")), ["", "b: 2", " # x"]);
        assert_eq!(parts(&at(text, "2")), ["b: ", "2", " # x"]);
        assert_eq!(parts(&at(text, "3")), ["c: ", "3", ""]);
    }

    #[test]
    fn of_a_long_line_only_the_part_around_is_shown() {
        let text = format!("{}needle{}", "ä大".repeat(1 << 20), "ü".repeat(1 << 20));
        let snippet = at(&text, "needle");
        let [before, underlined, behind] = parts(&snippet);
        assert!(before.starts_with("…") && before.len() < 600, "{before}");
        assert_eq!(underlined, "needle");
        assert!(behind.ends_with("ü…") && behind.len() < 700, "{behind}");
    }

    #[test]
    fn a_long_value_is_underlined_in_part() {
        let value = "大".repeat(1000);
        let snippet = at(&value, &value);
        let [before, underlined, _] = parts(&snippet);
        assert_eq!((before, underlined.chars().count()), ("", 33));
    }

    #[test]
    fn control_characters_are_shown_and_still_underlined() {
        let text = "a\u{9b}\x1b: \u{202e}b\x07 c";
        let snippet = at(text, "\u{202e}b\x07");
        assert_eq!(parts(&snippet), ["a\u{fffd}␛: ", "\u{fffd}b␇", " c"]);
    }

    #[test]
    fn the_end_of_a_text_and_nothing_can_be_underlined() {
        let nothing = |text: &str, start| {
            let span = Span {
                start,
                end: start,
                line: 1,
                column: 1,
            };
            of(text, span)
        };
        assert_eq!(parts(&nothing("ab", 2).unwrap()), ["ab", "", ""]);
        assert_eq!(parts(&nothing("ab\n", 3).unwrap()), ["", "", ""]);
        assert_eq!(nothing("", 0), None);
        assert_eq!(nothing("ab", 3), None);
        assert_eq!(nothing("ä", 1), None);
    }

    #[test]
    fn a_place_is_a_word() {
        let text = "ä: 1\n  größe: 2\n";
        for ending in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', ending);
            let word = Lines::new(&text).word(Place { line: 2, column: 3 });
            assert_eq!(parts(&word.unwrap()), ["  ", "größe", ": 2"]);
        }
        let lines = Lines::new(text);
        let word = |line, column| lines.word(Place { line, column });
        assert_eq!(word(2, 3).unwrap().line, 2);
        assert_eq!(parts(&word(2, 11).unwrap()), ["  größe: 2", "", ""]);
        assert_eq!(parts(&word(3, 1).unwrap()), ["", "", ""]);
        for (line, column) in [(2, 12), (4, 1), (0, 1), (1, 0), (usize::MAX, usize::MAX)] {
            assert_eq!(word(line, column), None, "{line}:{column}");
        }
    }
}
