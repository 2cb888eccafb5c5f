//! `--fix` over all there is: what a text says after `--fix` is what the webhook's patch makes of what it
//! said before; every line that is not edited is still there; and there is nothing left to do.

use std::collections::BTreeSet;

use serde_json::Value;
use similar::ChangeTag;
use transom::check::{Options, Severity, check, fix};

use crate::common::manifests::{patch, said};
use crate::common::{assert_none, recordings};

const APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// What happened to a text: objects changed, and left alone.
struct Outcome {
    objects: usize,
    left: usize,
}

/// Holds one text against the oracle.
fn hold(name: &str, bytes: &[u8], failures: &mut Vec<String>) -> Outcome {
    let options = Options::default();
    let before = check(name, bytes, &options);
    let fixed = fix(bytes, &options, &|_| true);
    let outcome = Outcome {
        objects: fixed.objects,
        left: fixed.left.len(),
    };
    let Some(after) = &fixed.bytes else {
        let can_be_read = before.problems.is_empty() && fixed.left.is_empty();
        if can_be_read {
            let mut want = said(&before.text);
            let is = want.clone();
            want.iter_mut()
                .for_each(|object| patch(object, None, &options));
            if is != want {
                failures.push(format!("{name}: nothing was done"));
            }
        }
        return outcome;
    };
    let report = check(name, after, &options);
    if outcome.left == 0 {
        let mut want = said(&before.text);
        want.iter_mut()
            .for_each(|object| patch(object, None, &options));
        if said(&report.text) != want {
            failures.push(format!("{name}: reads otherwise\n{}", report.text));
        }
        if report
            .findings
            .iter()
            .any(|f| f.severity == Severity::Repair)
        {
            failures.push(format!("{name}: there is something left to repair"));
        }
    }
    let again = fix(after, &options, &|_| true);
    if again.bytes.is_some() || again.left.len() < outcome.left {
        failures.push(format!("{name}: the second time changes something"));
    }
    failures.extend(kept(name, &before.text, &report.text));
    outcome
}

/// The keys that are taken out of an object, and those below them.
fn taken_out(before: &Value, after: &Value, keys: &mut [BTreeSet<String>; 2]) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                match after.get(key) {
                    Some(after) => taken_out(value, after, keys),
                    None => {
                        keys[0].insert(key.clone());
                        below(value, &mut keys[1]);
                    }
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let pairs = before.iter().zip(after);
            pairs.for_each(|(before, after)| taken_out(before, after, keys));
        }
        _ => {}
    }
}

fn below(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                below(value, keys);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| below(value, keys)),
        Value::String(text) => _ = keys.insert(text.clone()),
        _ => {}
    }
}

/// Every line is still there, byte by byte and in its order, but for those of what was taken out,
/// and those that say something else behind the same key, with the same comment.
fn kept(name: &str, before: &str, after: &str) -> Vec<String> {
    let mut keys = [BTreeSet::new(), BTreeSet::new()];
    for (before, after) in said(before).iter().zip(said(after)) {
        taken_out(before, &after, &mut keys);
    }
    let [out, below] = keys;
    let diff = similar::TextDiff::from_lines(before, after);
    let changes: Vec<_> = diff.iter_all_changes().collect();
    let inserted = |line: &str| {
        let same = |other: &str| key(other) == key(line) && comment(other) == comment(line);
        let mut inserts = changes
            .iter()
            .filter(|change| change.tag() == ChangeTag::Insert);
        inserts.any(|change| same(change.value()))
    };
    let lost = changes.iter().enumerate().filter(|(i, change)| {
        let is_below = |line: &str| below.contains(key(line)) || below.contains(line.trim());
        let line = change.value();
        change.tag() == ChangeTag::Delete
            && match line.trim_start().starts_with('#') {
                // Within what went.
                true => !changes
                    .get(i + 1)
                    .is_some_and(|next| is_below(next.value())),
                false => !out.contains(key(line)) && !is_below(line) && !inserted(line),
            }
    });
    lost.map(|(_, change)| format!("{name}: went: {}", change.value()))
        .collect()
}

/// What stands before the colon, without a dash and quotes.
fn key(line: &str) -> &str {
    let line = line.trim().trim_start_matches("- ").trim_start();
    let line = line.strip_prefix('"').unwrap_or(line);
    line.split(['"', ':', ' ']).next().unwrap_or_default()
}

fn comment(line: &str) -> Option<&str> {
    line.trim_end().split_once(" #").map(|(_, comment)| comment)
}

#[test]
fn the_corpus_reads_as_the_webhook_would_have_it() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check/corpus");
    let mut failures = Vec::new();
    let (mut objects, mut left) = (0, 0);
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let outcome = hold(&path.display().to_string(), &bytes, &mut failures);
        objects += outcome.objects;
        left += outcome.left;
    }
    println!("{objects} objects fixed, {left} left alone");
    assert!(objects >= 25 && left >= 10, "{objects} {left}");
    assert_none(&failures);
}

/// The ways in which people write YAML.
#[derive(Clone, Copy, Debug)]
struct Hand {
    step: usize,
    dash: usize,
    gap: usize,
    /// Maps and lists of scalars are in braces.
    braces: bool,
    /// A comment behind each line, and one before each key.
    comments: bool,
    end: &'static str,
}

impl Hand {
    fn write(&self, object: &Value) -> String {
        let mut lines = Vec::new();
        self.value(object, 0, &mut lines);
        let text = lines.join(self.end);
        match self.comments {
            // Neither a last line's end.
            true => text,
            false => text + self.end,
        }
    }

    fn value(&self, value: &Value, indent: usize, lines: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if self.comments {
                        lines.push(format!("{:indent$}# own {}", "", lines.len()));
                    }
                    let key = format!("{:indent$}{key:?}:", "");
                    if self.is_short(value) {
                        lines.push(self.remarked(format!("{key} {}", short(value)), lines.len()));
                        continue;
                    }
                    lines.push(self.remarked(key, lines.len()));
                    let step = if value.is_array() {
                        self.dash
                    } else {
                        self.step
                    };
                    self.value(value, indent + step, lines);
                }
            }
            Value::Array(list) => {
                for value in list {
                    let first = lines.len();
                    let inner = indent + self.gap;
                    match self.is_short(value) {
                        true => lines.push(format!("{:inner$}{}", "", short(value))),
                        false => self.value(value, inner, lines),
                    }
                    // The dash comes before the first line that is no comment.
                    let line = lines[first..]
                        .iter_mut()
                        .find(|line| !line.trim().starts_with('#'));
                    line.unwrap().replace_range(indent..=indent, "-");
                }
            }
            _ => lines.push(format!("{:indent$}{}", "", short(value))),
        }
    }

    fn remarked(&self, line: String, number: usize) -> String {
        match self.comments {
            true => format!("{line}  # line {number}"),
            false => line,
        }
    }

    fn is_short(&self, value: &Value) -> bool {
        let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
        match value {
            Value::Object(map) => map.is_empty() || self.braces && map.values().all(is_scalar),
            Value::Array(list) => list.is_empty() || self.braces && list.iter().all(is_scalar),
            _ => true,
        }
    }
}

fn short(value: &Value) -> String {
    value.to_string()
}

#[test]
fn the_recordings_written_by_many_hands_do_too() {
    let plain = Hand {
        step: 2,
        dash: 0,
        gap: 2,
        braces: false,
        comments: false,
        end: "\n",
    };
    let hands = [
        plain,
        Hand {
            dash: 2,
            comments: true,
            ..plain
        },
        Hand {
            step: 4,
            dash: 2,
            gap: 4,
            braces: true,
            comments: true,
            end: "\r\n",
        },
        Hand {
            step: 3,
            dash: 1,
            gap: 3,
            braces: true,
            end: "\r",
            ..plain
        },
    ];
    let mut failures = Vec::new();
    let (mut texts, mut objects, mut left) = (0, 0, 0);
    for (name, body) in recordings() {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let object = &review["request"]["object"];
        let Some(applied) = object.pointer(APPLIED).and_then(Value::as_str) else {
            continue;
        };
        let manifest: Value = serde_json::from_str(applied).unwrap();
        for hand in hands {
            let text = hand.write(&manifest);
            assert_eq!(said(&text)[0], manifest, "{text}");
            let name = format!("{name} {hand:?}");
            let outcome = hold(&name, text.as_bytes(), &mut failures);
            texts += 1;
            objects += outcome.objects;
            left += outcome.left;
        }
    }
    println!("{texts} texts, {objects} objects fixed, {left} left alone");
    assert!(texts >= 760 && objects >= 300, "{texts} {objects}");
    assert_none(&failures);
}
