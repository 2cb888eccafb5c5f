//! charts/transom/README.md has a row for each value, with its default and what values.yaml says of it.

use super::{assert_current, read};

/// A value of values.yaml.
#[derive(Debug, PartialEq)]
struct Row {
    key: String,
    default: String,
    text: String,
}

/// What stands below `# --`, for each of them, as helm-docs reads it.
fn rows(values: &str) -> Vec<Row> {
    let lines: Vec<_> = values.lines().collect();
    let mut rows = Vec::new();
    let mut parents: Vec<(usize, &str)> = Vec::new();
    let mut text: Option<String> = None;
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(start) = trimmed.strip_prefix("# -- ") {
            text = Some(start.to_owned());
        } else if let Some(more) = trimmed.strip_prefix("# ") {
            if let Some(text) = &mut text {
                text.push(' ');
                text.push_str(more);
            }
        } else if let Some((key, value)) = trimmed.split_once(':')
            && !trimmed.starts_with("- ")
        {
            parents.retain(|(depth, _)| *depth < indent);
            if let Some(text) = text.take() {
                let path = parents.iter().map(|(_, key)| *key).chain([key]);
                rows.push(Row {
                    key: path.collect::<Vec<_>>().join("."),
                    default: default(value.trim(), &lines[i + 1..], indent),
                    text,
                });
            }
            parents.push((indent, key));
        }
    }
    rows
}

/// The value behind the key, or in the lines below it, as JSON.
fn default(value: &str, below: &[&str], indent: usize) -> String {
    let block = below.iter().take_while(|line| {
        let deeper = line.len() - line.trim_start().len() > indent;
        deeper || line[indent.min(line.len())..].starts_with("- ")
    });
    let block: Vec<_> = block.copied().collect();
    let yaml = if value.is_empty() {
        block.join("\n")
    } else {
        value.to_owned()
    };
    let value: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
    value.to_string()
}

#[test]
fn the_table_of_values_is_current() {
    let rows = rows(&read("charts/transom/values.yaml"));
    let mut table = "| value | default | |\n|---|---|---|\n".to_owned();
    for Row { key, default, text } in &rows {
        let text = text.replace('|', "\\|");
        table.push_str(&format!("| `{key}` | `{default}` | {text} |\n"));
    }
    let path = "charts/transom/README.md";
    let readme = read(path);
    let (before, _) = readme.split_once("| value |").unwrap();
    let after = readme.rsplit_once("|\n").unwrap().1;
    assert_current(path, &format!("{before}{table}{after}"));
}

/// A value without a comment has no row.
#[test]
fn every_value_is_explained() {
    fn leaves(schema: &serde_json::Value, path: &str, all: &mut Vec<String>) {
        let properties = schema.get("properties").and_then(|p| p.as_object());
        match properties {
            Some(properties) if path != "config" && path != "strategy" => {
                for (key, value) in properties.iter().filter(|(key, _)| *key != "global") {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    leaves(value, &path, all);
                }
            }
            _ => all.push(path.to_owned()),
        }
    }
    let schema = serde_json::from_str(&read("charts/transom/values.schema.json")).unwrap();
    let mut want = Vec::new();
    leaves(&schema, "", &mut want);
    let mut have: Vec<_> = rows(&read("charts/transom/values.yaml"))
        .into_iter()
        .map(|row| row.key)
        .collect();
    have.sort();
    // One comment for all of them.
    want.retain(|path| !path.starts_with("tls.certManager.issuerRef."));
    want.push("tls.certManager.issuerRef".to_owned());
    want.sort();
    assert_eq!(have, want);
}

#[test]
fn rows_have_the_whole_path_and_the_whole_comment() {
    let values = "a:\n  # -- One\n  # and two.\n  b: [c]\n# -- Three\nd:\n- e\n# no value\nf: 1\n";
    let row = |key: &str, default: &str, text: &str| Row {
        key: key.to_owned(),
        default: default.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        rows(values),
        [
            row("a.b", "[\"c\"]", "One and two."),
            row("d", "[\"e\"]", "Three")
        ]
    );
}
