//! What manifests say, as it may be shown to people: in one line, short, and nothing that a
//! terminal would obey.
//!
//! Not here: what a format has to escape for itself.

use crate::check::{Finding, Problem, Severity};
use crate::yaml::Place;

/// As many characters of one thing are shown.
const LONGEST: usize = 400;

/// A text in one line, cut where it is too long.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String = characters.by_ref().take(LONGEST).map(visible).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// The character, or one that stands for it: terminals obey control characters, and some others
/// turn the direction of a text.
pub(super) fn visible(c: char) -> char {
    match c {
        '\t' => c,
        // The pictures have the order of the characters.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(' '),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// `path: value`, or the path alone where there is no value to be told.
pub(super) fn field(finding: &Finding) -> String {
    let path = shown(&finding.path);
    match &finding.value {
        Some(value) => format!("{path}: {}", shown(value)),
        None => path,
    }
}

/// What to do, and what is done as long as nobody does.
pub(super) fn remedy(finding: &Finding) -> String {
    let remedy = &finding.remedy;
    match finding.severity {
        Severity::Repair => format!("{remedy} Until then the webhook takes it out."),
        _ => remedy.clone(),
    }
}

/// The object in words: `Deployment shop/web`.
pub(super) fn object(finding: &Finding) -> String {
    let mut out = shown(&finding.kind);
    if let Some(name) = &finding.name {
        out.push(' ');
        if let Some(namespace) = &finding.namespace {
            out.push_str(&shown(namespace));
            out.push('/');
        }
        out.push_str(&shown(name));
    }
    out
}

/// The sentence of a problem.
pub(super) fn problem(problem: &Problem) -> String {
    shown(&problem.text)
}

/// `file:line:column`, or the file alone.
pub(super) fn place(file: &str, place: Option<Place>) -> String {
    let file = shown(file);
    match place {
        Some(place) => format!("{file}:{place}"),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown() {
        assert_eq!(shown("a\x1b[31mb\r\nc\0\x7f"), "a␛[31mb␍␊c␀␡");
        assert_eq!(shown("\u{9b}31m \u{85}"), "\u{fffd}31m \u{fffd}");
        assert_eq!(shown("\u{202e}\u{2066}\u{2028}"), "\u{fffd}".repeat(3));
        assert_eq!(shown("größe 大 \u{1f980}\tend"), "größe 大 \u{1f980}\tend");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let long = "ü".repeat(LONGEST);
        assert_eq!(shown(&long), long);
        assert_eq!(shown(&format!("{long}ü")), format!("{long}…"));
    }
}
