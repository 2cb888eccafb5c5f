//! The alerts and the queries of the dashboard, as the chart has them.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use serde_json::Value;

const ALERTS: &str = include_str!("../../charts/transom/files/alerts.yaml");
pub(crate) const DASHBOARD: &str = include_str!("../../charts/transom/files/dashboard.json");

/// The rules of all groups of alerts.
pub(crate) fn rules() -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let groups = file["groups"].as_array().unwrap();
    let rules = groups.iter().flat_map(|g| g["rules"].as_array().unwrap());
    rules.cloned().collect()
}

/// The queries of the dashboard's panels: expression and legend.
pub(crate) fn queries() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| {
        let (expression, legend) = (text(target, "expr"), text(target, "legendFormat"));
        (expression.to_owned(), legend.to_owned())
    });
    queries.collect()
}

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}
