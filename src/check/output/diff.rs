//! What `--fix` would change, as a unified diff.

use anstyle::{AnsiColor, Style};
use similar::TextDiff;

use super::shown::{push, shown};

/// The diff of a file. Styled, it is for people: with colours, and without what a terminal would
/// obey.
pub fn diff(name: &str, [before, after]: [&str; 2], styled: bool) -> String {
    let mut name = shown(name);
    if !styled && name.contains(' ') {
        // Without it, patch takes the first word for the name.
        name.push('\t');
    }
    let diff = TextDiff::from_lines(before, after);
    let text = diff.unified_diff().header(&name, &name).to_string();
    if !styled {
        return text;
    }
    let lines = text.lines().enumerate().map(|(i, line)| {
        let style = match line.as_bytes().first() {
            _ if i < 2 => Style::new().bold(),
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        let mut shown = String::new();
        line.chars().for_each(|c| push(&mut shown, c));
        format!("{style}{shown}{style:#}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_one_that_patch_takes() {
        let texts = ["a: 1\nb: 2\nc: 3", "a: 1\nc: 3\nd: 4"];
        let want = "--- web.yaml\n+++ web.yaml\n@@ -1,3 +1,3 @@\n a: 1\n-b: 2\n-c: 3\n\\ No newline at \
                    end of file\n+c: 3\n+d: 4\n\\ No newline at end of file\n";
        assert_eq!(diff("web.yaml", texts, false), want);
        let windows = texts.map(|text| text.replace('\n', "\r\n"));
        let [before, after] = &windows;
        assert!(diff("a", [before, after], false).contains("\n a: 1\r\n-b: 2\r\n"));
        let spaced = diff("a b.yaml", texts, false);
        assert!(
            spaced.starts_with("--- a b.yaml\t\n+++ a b.yaml\t\n@@"),
            "{spaced}"
        );
    }

    #[test]
    fn on_a_terminal_nothing_is_obeyed() {
        let text = diff("a\x1b.yaml", ["a: \u{9b}31m\n", "b: \x1b]0;x\n"], true);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            text,
            "--- a␛.yaml\n+++ a␛.yaml\n@@ -1 +1 @@\n-a: \u{fffd}31m\n+b: ␛]0;x\n"
        );
    }
}
