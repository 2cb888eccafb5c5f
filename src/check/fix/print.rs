//! A value as YAML, as the lines around it are written.

use crate::yaml::{Key, Node, Scalar, Value};

/// How lines are indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// The entries of a map, further than its key.
    pub(super) step: usize,
    /// The dashes of a list, further than its key.
    pub(super) dash: usize,
    /// An element, further than its dash.
    pub(super) gap: usize,
}

/// `key: value` in as many lines as it takes.
pub(super) fn entry(key: &str, value: &Node, indent: usize, style: Style) -> Vec<String> {
    let key = format!("{:indent$}{}:", "", text(key, true));
    match &value.value {
        Value::Scalar(scalar) => vec![format!("{key} {}", self::scalar(scalar))],
        value if is_empty(value) => vec![format!("{key} {}", flow_value(value))],
        value => [vec![key], below(value, indent, style)].concat(),
    }
}

/// What stands in the lines below a key at this indentation.
pub(super) fn below(value: &Value, indent: usize, style: Style) -> Vec<String> {
    match value {
        Value::Scalar(_) => Vec::new(),
        Value::Map(map) => {
            let entries = map.iter();
            entries
                .flat_map(|(key, node)| entry(&key.text, node, indent + style.step, style))
                .collect()
        }
        Value::List(list) => {
            let items = list.iter();
            items
                .flat_map(|node| item(node, indent + style.dash, style))
                .collect()
        }
    }
}

/// An element of a list, its dash at this indentation.
pub(super) fn item(value: &Node, indent: usize, style: Style) -> Vec<String> {
    let inner = indent + style.gap;
    match &value.value {
        Value::Map(map) if !map.is_empty() => {
            let entries = map.iter();
            let mut lines: Vec<_> = entries
                .flat_map(|(key, node)| entry(&key.text, node, inner, style))
                .collect();
            if let Some(first) = lines.first_mut() {
                first.replace_range(..inner, &dash(indent, style));
            }
            lines
        }
        _ => vec![flow_item(value, indent, style)],
    }
}

/// An element of a list in one line.
pub(super) fn flow_item(value: &Node, indent: usize, style: Style) -> String {
    format!("{}{}", dash(indent, style), flow(value))
}

fn dash(indent: usize, style: Style) -> String {
    format!("{:indent$}-{:gap$}", "", "", gap = style.gap - 1)
}

/// In braces, brackets and one line.
pub(super) fn flow(node: &Node) -> String {
    flow_value(&node.value)
}

pub(super) fn flow_value(value: &Value) -> String {
    match value {
        Value::Scalar(scalar) => self::scalar(scalar),
        Value::List(list) => {
            let items: Vec<_> = list.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entry = |(key, node): &(Key, Node)| flow_entry(&key.text, node);
            let entries: Vec<_> = map.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `key: value` in one line.
pub(super) fn flow_entry(key: &str, value: &Node) -> String {
    format!("{}: {}", text(key, true), flow(value))
}

/// `key: value` of KYAML, without the indentation of its first line.
pub(super) fn kyaml_entry(key: &str, value: &Node, indent: usize) -> String {
    format!("{}: {}", text(key, true), kyaml(&value.value, indent))
}

/// A value of KYAML: in braces, an entry a line, with quotes and a comma behind each.
pub(super) fn kyaml(value: &Value, indent: usize) -> String {
    match value {
        Value::Scalar(scalar) if scalar.plain && !scalar.is_text() => scalar.text.clone(),
        Value::Scalar(scalar) => serde_json::Value::from(scalar.text.as_str()).to_string(),
        Value::List(list) => {
            let items: Vec<_> = list.iter().map(|node| kyaml(&node.value, indent)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) if map.is_empty() => "{}".to_owned(),
        Value::Map(map) => {
            let inner = indent + 2;
            let entries = map.iter();
            let entries: String = entries
                .map(|(key, node)| {
                    format!("{:inner$}{},\n", "", kyaml_entry(&key.text, node, inner))
                })
                .collect();
            format!("{{\n{entries}{:indent$}}}", "")
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Scalar(_) => false,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
    }
}

fn scalar(scalar: &Scalar) -> String {
    text(&scalar.text, !scalar.plain)
}

/// A text without quotes where it needs none: neither in braces, nor to be no number.
fn text(text: &str, is_text: bool) -> String {
    let plain = Scalar {
        text: text.to_owned(),
        plain: true,
    };
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    let is_safe = starts && text.chars().all(is_word) && plain.is_text() == is_text;
    match is_safe || !is_text {
        true => text.to_owned(),
        // JSON's strings are YAML's.
        false => serde_json::Value::from(text).to_string(),
    }
}
