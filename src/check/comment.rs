//! Comments that silence rules: `# transom: ignore[WIN301] reason`, with codes, names and
//! beginnings of codes, as --select has them.
//!
//! One holds for what begins in its line, or, where it has a line to itself, in the next line that
//! says anything: a field or an element of a list, with everything below it. Before a document's
//! first line it holds for the whole document. The cluster does not see comments: what it refuses
//! it still refuses. Annotations, which it does see, are `decision`'s.

use std::cell::Cell;
use std::collections::HashMap;

use super::document::line_feeds;
use super::report::Problem;
use crate::nearest::nearest;
use crate::policy::Policy;
use crate::rules::{self, Action, Rule};
use crate::yaml::{Comment, Place};

/// As many names are read in the comments of a file. Each may be the beginning of all codes.
const MOST: usize = 1000;

/// The comments of a text that are meant for us.
#[derive(Default)]
pub(super) struct Comments {
    ignores: Vec<Ignore>,
    /// By the line that they hold for and the code of a rule, in the order of the text.
    by_line: HashMap<(usize, &'static str), ByLine>,
    /// What is wrong with them.
    flaws: Vec<Problem>,
    /// How many names were read.
    names: usize,
}

/// The comments that silence one rule in one line.
#[derive(Default)]
struct ByLine {
    ignores: Vec<usize>,
    used: Cell<bool>,
}

/// One rule that a comment names, or several by the beginning of their codes.
struct Ignore {
    rules: Vec<&'static Rule>,
    /// As it is told of.
    named: String,
    reason: String,
    /// The comment's own.
    place: Place,
    used: Cell<bool>,
}

impl Comments {
    pub(super) fn read(comments: &[Comment], text: &str) -> Self {
        let mut all = Self::default();
        let ours = comments.iter().filter_map(|c| Some((c, asked(&c.text)?)));
        let mut ours = ours.peekable();
        if ours.peek().is_none() {
            return all;
        }
        let text = line_feeds(text);
        let lines: Vec<&str> = text.lines().collect();
        let next = next_saying(&lines);
        for (comment, asked) in ours {
            if all.names > MOST {
                break;
            }
            let line = line(&lines, &next, comment.place);
            all.add(comment.place, line, asked);
        }
        all
    }

    fn add(&mut self, place: Place, line: usize, asked: &str) {
        let listed = asked.strip_prefix('[').and_then(|s| s.split_once(']'));
        let Some((names, reason)) = listed else {
            if self.is_too_much(place) {
                return;
            }
            let problem =
                "this comment silences nothing; write # transom: ignore[CODE] and the reason";
            return self.flaws.push(Problem::at(place, problem));
        };
        let reason = reason.trim();
        for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            if self.is_too_much(place) {
                return;
            }
            let rules: Vec<_> = Rule::matching(name).collect();
            if rules.is_empty() {
                self.flaws.push(Problem::at(place, unknown(name)));
            } else if reason.is_empty() {
                let named = named(&rules, name);
                let problem = format!("{named} is not ignored: write the reason behind the ]");
                self.flaws.push(Problem::at(place, problem));
            } else {
                for rule in &rules {
                    let comments = self.by_line.entry((line, rule.code)).or_default();
                    comments.ignores.push(self.ignores.len());
                }
                self.ignores.push(Ignore {
                    named: named(&rules, name),
                    rules,
                    reason: reason.to_owned(),
                    place,
                    used: Cell::new(false),
                });
            }
        }
    }

    /// Counts a name. Beyond the last one that is read, nothing is silenced.
    fn is_too_much(&mut self, place: Place) -> bool {
        self.names += 1;
        let is_too_much = self.names > MOST;
        if is_too_much {
            let problem = format!(
                "this comment and those below are not read: the comments of a file name at most {MOST} rules"
            );
            self.flaws.push(Problem::at(place, problem));
        }
        is_too_much
    }

    /// Why this rule is ignored in a field, if a comment says so. `lines` are those in which the
    /// field and everything around it begin.
    pub(super) fn reason(&self, lines: &[usize], rule: &Rule) -> Option<&str> {
        let found = lines
            .iter()
            .filter_map(|line| self.by_line.get(&(*line, rule.code)));
        let mut first = usize::MAX;
        for comments in found {
            first = first.min(*comments.ignores.first()?);
            // Each list is gone through once.
            if !comments.used.replace(true) {
                let ignores = comments.ignores.iter();
                ignores.for_each(|i| self.ignores[*i].used.set(true));
            }
        }
        self.ignores.get(first).map(|ignore| ignore.reason.as_str())
    }

    /// What is wrong with the comments; with those that silenced nothing, if all was read. That a
    /// rule is off is no fault of theirs.
    pub(super) fn oddities(self, policy: &Policy, all_read: bool) -> Vec<Problem> {
        let mut oddities = self.flaws;
        let unused = self.ignores.iter().filter(|i| all_read && !i.used.get());
        let on = |ignore: &&Ignore| ignore.rules.iter().any(|rule| is_on(rule, policy));
        for ignore in unused.filter(on) {
            let named = &ignore.named;
            let problem = format!("{named} is not found here; take it out of the comment");
            oddities.push(Problem::at(ignore.place, problem));
        }
        oddities
    }
}

/// The code of the one rule that is meant, or what is written.
fn named(rules: &[&Rule], written: &str) -> String {
    match rules {
        [rule] => rule.code.to_owned(),
        _ => written.to_owned(),
    }
}

/// What stands behind `# transom: ignore`, or where that is mistyped.
fn asked(comment: &str) -> Option<&str> {
    let said = comment.trim().strip_prefix("transom:")?.trim_start();
    match said.strip_prefix("ignore") {
        Some(asked) => Some(asked.trim_start()),
        // Prose may speak of us, too.
        None => said.contains('[').then_some(""),
    }
}

/// From each line on, the first one that says anything: its number, from 1.
fn next_saying(lines: &[&str]) -> Vec<Option<usize>> {
    let mut next = vec![None; lines.len() + 1];
    for (i, line) in lines.iter().enumerate().rev() {
        let said = line.split(" #").next().unwrap_or_default();
        let is_silent = said.trim_start().starts_with('#') || says_nothing(said);
        next[i] = if is_silent { next[i + 1] } else { Some(i + 1) };
    }
    next
}

/// The line that a comment at this place holds for.
fn line(lines: &[&str], next: &[Option<usize>], place: Place) -> usize {
    let own = lines.get(place.line - 1).copied().unwrap_or_default();
    let before: String = own.chars().take(place.column - 1).collect();
    if !says_nothing(&before) {
        return place.line;
    }
    next.get(place.line)
        .copied()
        .flatten()
        .unwrap_or(place.line)
}

/// Neither a key nor a value: space, the dashes of lists, the start of a document.
fn says_nothing(line: &str) -> bool {
    let line = line.trim();
    line == "---" || line.split(' ').all(|word| word == "-" || word.is_empty())
}

fn unknown(name: &str) -> String {
    let names = rules::all().flat_map(|rule| [rule.code, rule.name]);
    match nearest(name, names) {
        Some(meant) => format!("there is no rule {name}; {meant} was probably meant"),
        None => format!("there is no rule {name}; transom rules lists them"),
    }
}

fn is_on(rule: &Rule, policy: &Policy) -> bool {
    let Some(id) = rules::id(rule.code) else {
        return false;
    };
    // Fewer tiers than 256.
    (0..rule.tiers.len()).any(|tier| policy.action(id, tier as u8) != Action::Off)
}
