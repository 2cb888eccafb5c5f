//! Comments that silence rules: `# transom: ignore[WIN301] reason`, behind a field or above it.

use std::collections::HashMap;

use crate::rules::Rule;

/// The comments of a text, by line.
#[derive(Default)]
pub(super) struct Comments(HashMap<usize, Vec<(String, String)>>);

impl Comments {
    pub(super) fn read(text: &str) -> Self {
        let mut comments = Self::default();
        let mut above: Vec<(String, String)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let ignored = ignored(line);
            if line.trim_start().starts_with('#') {
                above.extend(ignored);
                continue;
            }
            let mut here = std::mem::take(&mut above);
            here.extend(ignored);
            if !here.is_empty() {
                comments.0.insert(i + 1, here);
            }
        }
        comments
    }

    /// Why this rule is ignored in this line, if a comment says so.
    pub(super) fn ignores(&self, line: usize, rule: &Rule) -> Option<&str> {
        let mut here = self.0.get(&line)?.iter();
        let names = |name: &str| name == rule.code || name == rule.name;
        let (_, reason) = here.find(|(name, _)| names(name))?;
        Some(reason)
    }
}

/// The rules that a line's comment names, each with the reason.
fn ignored(line: &str) -> Vec<(String, String)> {
    let Some((_, comment)) = line.split_once("# transom: ignore[") else {
        return Vec::new();
    };
    let Some((rules, reason)) = comment.split_once(']') else {
        return Vec::new();
    };
    let rules = rules.split(',').map(str::trim);
    rules
        .filter(|rule| !rule.is_empty())
        .map(|rule| (rule.to_owned(), reason.trim().to_owned()))
        .collect()
}
