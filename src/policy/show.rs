//! The configuration in force, written out: every key and every rule, and where each value comes
//! from.
//!
//! What is written is a configuration with the same meaning. Not here: printing it.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::{Policy, actions};
use crate::config::{Config, ConfigError, Problem, Written};
use crate::rules::{self, Profile, Rule};
use crate::yaml::{self, Node, Path, Scalar, Value};

/// A configuration in force, to be written out.
#[derive(Debug)]
pub struct Shown<'w> {
    written: &'w Written,
    policy: Policy,
    file: &'w str,
    profile_from: Option<&'w str>,
    root: Node,
}

/// Comments start here at the latest; that of a longer line is right behind it.
const MAX_COLUMN: usize = 44;

impl<'w> Shown<'w> {
    /// Of what is written in this file; the profile may come from elsewhere.
    ///
    /// # Errors
    /// Values that cannot be.
    pub fn new(
        written: &'w Written,
        file: &'w str,
        profile_from: Option<&'w str>,
    ) -> Result<Self, ConfigError> {
        let policy = Policy::of(written)?;
        let firsts =
            rules::all().filter_map(|rule| Some((rule.code, policy.actions(rule).first()?)));
        let config = Config {
            rules: firsts
                .map(|(code, action)| (code.to_owned(), (*action).into()))
                .collect(),
            ..written.config.clone()
        };
        Ok(Self {
            root: tree(&config)?,
            written,
            policy,
            file,
            profile_from,
        })
    }

    /// As YAML, with a comment behind each value.
    pub fn yaml(&self) -> String {
        let mut lines = Vec::new();
        self.lines(&self.root, Path::Root, 0, &mut lines);
        let width = |(text, comment): &(String, String)| match comment.is_empty() {
            true => 0,
            false => text.chars().count(),
        };
        let column = lines
            .iter()
            .map(width)
            .max()
            .unwrap_or_default()
            .min(MAX_COLUMN);
        let mut out = String::new();
        for (text, comment) in lines {
            // Writing to memory does not fail.
            let _ = match comment.is_empty() {
                true => writeln!(out, "{text}"),
                false => writeln!(out, "{text:column$}  # {comment}"),
            };
        }
        out
    }

    /// As JSON: an object for each path, with its value and its origin.
    pub fn json(&self) -> Json {
        let mut out = serde_json::Map::new();
        self.entries(&self.root, Path::Root, &mut out);
        out.into()
    }

    /// Where the value at this path comes from.
    fn origin(&self, path: &str) -> String {
        match (path, self.profile_from, self.written.place(path)) {
            ("profile", Some(from), _) => from.to_owned(),
            (_, _, Some(spot)) => format!("{}:{}", self.file, spot.key.line),
            _ => "default".to_owned(),
        }
    }

    /// Where a rule's action comes from.
    fn origin_of_rule(&self, rule: &Rule) -> String {
        let paths = [rule.code, rule.name].map(|name| format!("rules.{name}"));
        if let Some(path) = paths.iter().find(|path| self.written.place(path).is_some()) {
            return self.origin(path);
        }
        let config = &self.written.config;
        let profile = Profile::from(config.profile);
        let of_profile = rule.tiers.iter().map(|tier| tier.action(profile));
        if !of_profile.eq(actions::defaults(config, rule)) {
            return format!("ignoredFields: {}", config.ignored_fields.name());
        }
        let is_usual = |tier: &rules::Tier| tier.action(profile) == tier.current;
        match rule.tiers.iter().all(is_usual) {
            true => "default".to_owned(),
            false => format!("profile {}", profile.name()),
        }
    }

    /// The tiers whose action is not the first one's: what they are about, and their action.
    fn others(&self, rule: &Rule) -> impl Iterator<Item = (&'static str, &'static str)> {
        let actions = self.policy.actions(rule);
        let first = actions.first().copied();
        let tiers = rule.tiers.iter().zip(actions);
        let others = tiers.filter(move |(_, action)| Some(**action) != first);
        others.map(|(tier, action)| (tier.when, action.name()))
    }

    fn lines(&self, node: &Node, path: Path<'_>, depth: usize, out: &mut Vec<(String, String)>) {
        let indent = "  ".repeat(depth);
        match &node.value {
            Value::Map(entries) => {
                for (key, node) in entries {
                    let path = Path::Key(&path, &key.text);
                    let start = format!("{indent}{}:", word(&key.text));
                    match leaf(node) {
                        Some(text) => out.push((format!("{start} {text}"), self.comment(path))),
                        None if matches!(node.value, Value::List(_)) => {
                            out.push((start, self.comment(path)));
                            self.lines(node, path, depth, out);
                        }
                        None => {
                            out.push((start, String::new()));
                            self.lines(node, path, depth + 1, out);
                        }
                    }
                }
            }
            Value::List(items) => {
                for (i, node) in items.iter().enumerate() {
                    let first = out.len();
                    match leaf(node) {
                        Some(text) => out.push((format!("{indent}- {text}"), String::new())),
                        None => {
                            self.lines(node, Path::Item(&path, i), depth + 1, out);
                            out[first]
                                .0
                                .replace_range(indent.len()..indent.len() + 1, "-");
                        }
                    }
                }
            }
            Value::Scalar(_) => {}
        }
    }

    fn comment(&self, path: Path<'_>) -> String {
        let Some(rule) = rule(path) else {
            return self.origin(&path.to_string());
        };
        let others = self
            .others(rule)
            .map(|(when, action)| format!("; {when}: {action}"));
        let others: String = others.collect();
        format!("{}; {}{others}", self.origin_of_rule(rule), rule.name)
    }

    fn entries(&self, node: &Node, path: Path<'_>, out: &mut serde_json::Map<String, Json>) {
        if let Some(rule) = rule(path) {
            let others: serde_json::Map<_, _> = self
                .others(rule)
                .map(|(when, action)| (when.to_owned(), action.into()))
                .collect();
            let entry = json!({
                "value": value(node),
                "origin": self.origin_of_rule(rule),
                "name": rule.name,
                "others": others,
            });
            out.insert(path.to_string(), entry);
            return;
        }
        match &node.value {
            Value::Map(entries) if !entries.is_empty() => {
                for (key, node) in entries {
                    self.entries(node, Path::Key(&path, &key.text), out);
                }
            }
            Value::List(items) if items.iter().any(|item| item.scalar().is_none()) => {
                for (i, node) in items.iter().enumerate() {
                    self.entries(node, Path::Item(&path, i), out);
                }
            }
            _ => {
                let path = path.to_string();
                let entry = json!({"value": value(node), "origin": self.origin(&path)});
                out.insert(path, entry);
            }
        }
    }
}

/// Whether any action of this rule is another one than profile and `ignoredFields` give it.
pub(super) fn is_changed(policy: &Policy, written: &Written, rule: &Rule) -> bool {
    actions::defaults(&written.config, rule) != policy.actions(rule)
}

/// The keys in the order of their declaration, which JSON keeps as text.
fn tree(config: &Config) -> Result<Node, ConfigError> {
    let failed = |problem: String| ConfigError::new(vec![Problem::value("", problem)]);
    let json = serde_json::to_string(config).map_err(|error| failed(error.to_string()))?;
    let documents = yaml::documents(&printable(&json)).map_err(|flaw| failed(flaw.problem))?;
    let mut documents = documents.into_iter();
    documents
        .next()
        .ok_or_else(|| failed("there is nothing in it".to_owned()))
}

/// The rule, if the path is that of a rule's action.
fn rule(path: Path<'_>) -> Option<&'static Rule> {
    match path {
        Path::Key(Path::Key(Path::Root, "rules"), code) => Rule::find(code),
        _ => None,
    }
}

/// What fits behind its key.
fn leaf(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(Scalar { text, plain: true }) => Some(text.clone()),
        Value::Scalar(Scalar { text, .. }) => Some(word(text)),
        Value::List(list) if list.is_empty() => Some("[]".to_owned()),
        Value::Map(map) if map.is_empty() => Some("{}".to_owned()),
        _ => None,
    }
}

fn value(node: &Node) -> Json {
    match &node.value {
        Value::Scalar(scalar) => match scalar.bool() {
            Some(value) => value.into(),
            None => scalar.text.as_str().into(),
        },
        Value::List(list) => list.iter().map(value).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, node)| (key.text.clone(), value(node)))
            .collect(),
    }
}

/// A text, in quotes if YAML could take it for something else.
fn word(text: &str) -> String {
    const TAKEN: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
        && !TAKEN.contains(&text.to_ascii_lowercase().as_str());
    match is_plain {
        true => text.to_owned(),
        false => printable(&Json::from(text).to_string()),
    }
}

/// JSON without the characters that YAML does not take as they are.
fn printable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                // Writing to memory does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
