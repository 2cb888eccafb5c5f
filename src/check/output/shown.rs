//! What manifests say, as it may be shown to people: in one line, short, and nothing that a
//! terminal or GitHub Actions would obey.
//!
//! GitHub Actions reads the output of a step line by line: `::NAME …::` is a command at the start of
//! a line, behind any white space, and `##[NAME …]` anywhere in it. Azure Pipelines reads `##vso[NAME …]`, and
//! TeamCity `##teamcity[NAME …]`.
//!
//! Not here: what a format has to escape for itself.

use anstream::adapter::strip_str;

use crate::check::{Finding, Problem, Severity};
use crate::yaml::Place;

/// As many characters of one thing are shown.
const LONGEST: usize = 400;
/// Stands for `[` behind `##` and a word.
const BRACKET: char = '⁅';

/// A text in one line, cut where it is too long.
pub(crate) fn shown(text: &str) -> String {
    shown_in(text, LONGEST)
}

/// The same with another limit, in characters.
pub(crate) fn shown_in(text: &str, longest: usize) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    for c in characters.by_ref().take(longest) {
        push(&mut out, c);
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// Adds a character, or one that stands for it.
pub(super) fn push(out: &mut String, c: char) {
    out.push(match visible(c) {
        '[' if opens_command(out) => BRACKET,
        c => c,
    });
}

/// Whether a `[` behind this text starts a command.
pub(super) fn opens_command(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    before.ends_with("##")
}

/// Several lines without what a terminal or GitHub Actions would obey: messages that quote a file or
/// an answer in places that are not known here.
pub(crate) fn shown_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
            None => (line, ""),
        };
        line.chars().for_each(|c| push(&mut out, c));
        out.push_str(end);
    }
    without_commands(out)
}

/// The text without commands of GitHub Actions. Colors in it stay.
pub(crate) fn without_commands(text: String) -> String {
    let text = match text.contains("##") {
        true => {
            let mut out = String::with_capacity(text.len());
            for piece in text.split_inclusive('[') {
                let opens = piece
                    .strip_suffix('[')
                    .filter(|before| opens_command(before));
                match opens {
                    Some(before) => {
                        out.push_str(before);
                        out.push(BRACKET);
                    }
                    None => out.push_str(piece),
                }
            }
            out
        }
        false => text,
    };
    if !text.contains("::") {
        return text;
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let plain = strip_str(line).to_string();
        let start = plain.trim_start();
        // `:::`, which snippets have, is none.
        match start.starts_with("::") && !start.starts_with(":::") {
            true => line.replacen("::", "∷", 1),
            false => line.to_owned(),
        }
    });
    lines.collect()
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

/// A file's name at the start of a line. What does not start like a plain name gets a `./`, so that it
/// is neither a command of GitHub Actions nor, copied to a command line, a flag.
pub(crate) fn name(file: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '<');
    let prefix = if file.starts_with(is_plain) { "" } else { "./" };
    format!("{prefix}{}", shown(file))
}

/// `file:line:column`, or the file alone.
pub(super) fn place(file: &str, place: Option<Place>) -> String {
    let file = name(file);
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
    fn keeps_nothing_that_github_obeys() {
        assert_eq!(shown("a ###[add-mask]b"), "a ###⁅add-mask]b");
        assert_eq!(shown("##vso[a] ##vso [b"), "##vso⁅a] ##vso [b");
        assert_eq!(shown_lines("##[x ##vso[a]"), "##⁅x ##vso⁅a]");
        assert_eq!(without_commands("a ##[b##[".into()), "a ##⁅b##⁅");
        assert_eq!(name("::stop-commands::x"), "./::stop-commands::x");
        assert_eq!(name("\u{3000}::error::x"), "./\u{3000}::error::x");
        assert_eq!(name("-rf"), "./-rf");
        for plain in [
            "a.yaml", "./a", "../a", "/a", "_a", "<stdin>", "größe", "大",
        ] {
            assert_eq!(name(plain), plain);
        }
        assert_eq!(
            shown_lines("a: ::b\n \t\u{a0}::c::d\r\n::e##[f]\x1b[1m"),
            "a: ::b\n \t\u{a0}∷c::d\n∷e##⁅f]␛[1m"
        );
        let styled = "\x1b[1m::a\x1b[0m::b\n".to_owned();
        assert_eq!(without_commands(styled), "\x1b[1m∷a\x1b[0m::b\n");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let long = "ü".repeat(LONGEST);
        assert_eq!(shown(&long), long);
        assert_eq!(shown(&format!("{long}ü")), format!("{long}…"));
    }
}
