//! The series that a server has from its start, and whether a text names any others.
//!
//! No parser of PromQL: names, matchers and the labels of `by` and `on` are found in prose and in expressions alike.
//! Whether an expression is one, promtool says (`monitoring.rs`).

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use transom::metrics::Metrics;

/// Labels that a Prometheus gives to whatever it reads.
const TARGET: [&str; 5] = ["instance", "job", "namespace", "pod", "service"];

/// What the names of families start with; only Linux tells of the process.
const PREFIXES: &[&str] = match cfg!(target_os = "linux") {
    true => &["transom_", "process_"],
    false => &["transom_"],
};

/// The values of each label.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// All series, by the name of their samples.
pub(crate) struct Series(BTreeMap<String, Labels>);

impl Series {
    /// As `/metrics` has them before anything was asked.
    pub(crate) fn new() -> Self {
        let mut all: BTreeMap<String, Labels> = BTreeMap::new();
        for line in Metrics::new().render().lines() {
            if line.starts_with('#') {
                continue;
            }
            let (series, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let known = all.entry(name.to_owned()).or_default();
            for label in labels.trim_end_matches('}').split("\",") {
                if let Some((key, value)) = label.split_once("=\"") {
                    let values = known.entry(key.to_owned()).or_default();
                    values.insert(value.trim_end_matches('"').to_owned());
                }
            }
        }
        assert!(all.len() > 20, "{all:?}");
        Self(all)
    }

    /// How many series a text names, and what is wrong with them.
    pub(crate) fn look(&self, text: &str) -> (usize, Vec<String>) {
        let (mut named, mut wrong) = (0, Vec::new());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts = PREFIXES
            .iter()
            .flat_map(|prefix| text.match_indices(prefix));
        for (at, _) in starts {
            if text[..at].ends_with(is_name) {
                continue;
            }
            let rest = &text[at..];
            let (name, rest) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
            named += 1;
            // In prose, a histogram goes by the name of its family.
            let family = format!("{name}_bucket");
            let Some(labels) = self.0.get(name).or_else(|| self.0.get(&family)) else {
                wrong.push(format!("there is no {name}"));
                continue;
            };
            if let Some(matchers) = rest.strip_prefix('{') {
                let (matchers, _) = matchers.split_once('}').unwrap();
                wrong.extend(Self::mismatches(name, labels, matchers));
            }
        }
        (named, wrong)
    }

    /// What is wrong with the matchers of a series.
    fn mismatches(name: &str, labels: &Labels, matchers: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for matcher in matchers.split(',').map(str::trim) {
            let key = matcher.split(['=', '!']).next().unwrap();
            let Some(known) = labels.get(key) else {
                if !TARGET.contains(&key) {
                    wrong.push(format!("{name} has no label {key}"));
                }
                continue;
            };
            // A variable of a dashboard is whatever the user chooses.
            let values = matcher.split('"').nth(1).unwrap_or_default();
            for value in values.split('|').filter(|value| !value.starts_with('$')) {
                if !known.contains(value) {
                    wrong.push(format!("{name} has no {key} {value}"));
                }
            }
        }
        wrong
    }

    /// The labels that an expression groups or joins by, and which no series that it names has.
    pub(crate) fn unknown_groups(&self, expression: &str) -> Vec<String> {
        let named = |name: &&String| expression.contains(name.as_str());
        let names = self.0.keys().filter(named);
        let known: BTreeSet<&str> = names
            .flat_map(|name| self.0[name].keys().map(String::as_str))
            .chain(TARGET)
            .collect();
        let mut wrong = Vec::new();
        for word in ["by", "on", "without", "ignoring"] {
            for part in expression.split(&format!("{word} (")).skip(1) {
                let (labels, _) = part.split_once(')').unwrap();
                let labels = labels.split(',').map(str::trim);
                let unknown = labels.filter(|label| !known.contains(label));
                wrong.extend(unknown.map(str::to_owned));
            }
        }
        wrong
    }
}
