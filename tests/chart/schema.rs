//! values.schema.json: closed wherever the values are ours, with the program's own schema for `config`.

use serde_json::{Value, json};
use transom::config;

use super::{assert_current, read};

const PATH: &str = "charts/transom/values.schema.json";

fn schema() -> Value {
    serde_json::from_str(&read(PATH)).unwrap()
}

/// The program's schema as a part of the chart's: format and kind of the file are the chart's to write.
fn config_schema() -> Value {
    let mut schema = config::schema().clone();
    let object = schema.as_object_mut().unwrap();
    for key in ["$id", "$schema", "title"] {
        object.remove(key);
    }
    assert_eq!(
        object.remove("required"),
        Some(json!(["apiVersion", "kind"]))
    );
    schema
}

#[test]
fn the_schema_of_the_configuration_is_the_programs() {
    let mut want = schema();
    want["properties"]["config"] = config_schema();
    assert_current(PATH, &format!("{want:#}\n"));
}

#[test]
fn every_object_of_ours_is_closed() {
    // What Kubernetes defines, and what Helm gives to the charts in a chart.
    let open = [
        "/properties/affinity",
        "/properties/global",
        "/properties/networkPolicy/properties/dnsTo/items",
        "/properties/networkPolicy/properties/metricsFrom/items",
        "/properties/networkPolicy/properties/webhookFrom/items",
        "/properties/podSecurityContext",
        "/properties/resources",
        "/properties/securityContext",
        "/properties/tolerations/items",
        "/properties/topologySpreadConstraints/items",
    ];
    fn look(schema: &Value, path: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                let is_open = map
                    .get("additionalProperties")
                    .is_none_or(|a| *a == json!(true));
                if map.get("type") == Some(&json!("object")) && is_open {
                    found.push(path.to_owned());
                }
                for (key, value) in map {
                    // A default is no schema.
                    if key != "default" {
                        look(value, &format!("{path}/{key}"), found);
                    }
                }
            }
            Value::Array(list) => {
                for (i, value) in list.iter().enumerate() {
                    look(value, &format!("{path}/{i}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    look(&schema(), "", &mut found);
    found.sort();
    assert_eq!(found, open);
}

/// A value that nobody can set, or that is not in the file of defaults.
#[test]
fn values_and_schema_know_the_same_keys() {
    fn look(values: &Value, schema: &Value, path: &str) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return;
        };
        let known: Vec<_> = properties.keys().filter(|key| *key != "global").collect();
        let Some(values) = values.as_object() else {
            panic!("{path} is no object in values.yaml");
        };
        let have: Vec<_> = values.keys().collect();
        assert_eq!(have, known, "{path}");
        for (key, value) in values {
            // Empty by default: what may stand in them is the configuration's or Kubernetes' to say.
            if value.as_object().is_none_or(|map| !map.is_empty()) {
                look(value, &properties[key], &format!("{path}.{key}"));
            }
        }
    }
    let values: Value = serde_saphyr::from_str(&read("charts/transom/values.yaml")).unwrap();
    let schema = schema();
    look(&values, &schema, "");
    let schema = jsonschema::draft7::new(&schema).unwrap();
    assert_eq!(schema.iter_errors(&values).count(), 0);
}
