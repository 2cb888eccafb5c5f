//! Label selectors: which labels they match.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Labels of an object, by key.
pub type Labels = BTreeMap<String, String>;

/// A label selector; an empty one matches everything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selector {
    /// All of these.
    pub match_labels: Labels,
    /// And all of these.
    pub match_expressions: Vec<Requirement>,
}

/// What a label has to be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// Of the label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Of `In` and `NotIn`.
    pub values: Vec<String>,
}

impl Selector {
    /// Whether these labels are meant.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        is_part_of(&self.match_labels, labels)
            && self.match_expressions.iter().all(|r| r.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let is_listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            // The API server has no other.
            _ => false,
        }
    }
}

/// Whether all of `wanted` are among `labels`.
pub(super) fn is_part_of(wanted: &Labels, labels: &Labels) -> bool {
    wanted
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn matches_as_the_api_server_does() {
        let labels = Labels::from([("a".to_owned(), "1".to_owned())]);
        let cases = [
            (json!({}), true),
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "2"}}), false),
            (json!({"matchLabels": {"a": "1", "b": "1"}}), false),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["0", "1"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "In", "values": ["1"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "Exists"}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}),
                true,
            ),
            (
                json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}),
                false,
            ),
        ];
        for (written, matches) in cases {
            let selector: Selector = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(selector.matches(&labels), matches, "{written}");
        }
    }
}
