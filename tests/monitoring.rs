//! Alerts and the dashboard: their expressions name only series that the program has, and promtool reads them; it tries
//! each alert.
//!
//! Not here: whether the runbooks' commands are right (`pages`), what the chart makes of the files (`chart`).
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "support/queries.rs"]
mod queries;
#[path = "support/series.rs"]
mod series;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::process::Command;

use queries::{DASHBOARD, queries, rules, text};
use serde_json::Value;
use series::Series;

const RUNBOOKS: &str = include_str!("../docs/runbooks.md");
const TESTS: &str = include_str!("alerts.yaml");

/// Runs promtool in the project's directory; says so if there is none.
fn promtool(args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("promtool");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let printed = [output.stdout, output.stderr].concat();
            Err(String::from_utf8(printed).unwrap())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Past the capture of what tests print that pass.
            let line = format!(
                "SKIPPED: promtool {}: there is none in PATH; Debian's package prometheus has it\n",
                args.join(" ")
            );
            let _ = std::io::stderr().write_all(line.as_bytes());
            Ok(())
        }
        Err(error) => panic!("promtool: {error}"),
    }
}

#[test]
fn expressions_name_only_series_that_exist() {
    let series = Series::new();
    for rule in rules() {
        let (name, expression) = (text(&rule, "alert"), text(&rule, "expr"));
        let (named, wrong) = series.look(expression);
        assert!(named > 0, "{name}: {expression}");
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        let unknown = series.unknown_groups(expression);
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn what_does_not_exist_is_found() {
    let series = Series::new();
    for wrong in [
        "transom_no_such_family",
        "transom_errors_total{stag=\"panic\"}",
        "transom_errors_total{stage=\"pancake\"}",
        "transom_errors_total{stage=~\"panic|pancake\"}",
        "transom_admission_duration_seconds_bucket{le=\"2\"}",
    ] {
        let (named, found) = series.look(wrong);
        assert_eq!((named, found.len()), (1, 1), "{wrong}: {found:?}");
    }
    let grouped = "sum by (webhook, stage) (rate(transom_errors_total[5m]))";
    assert_eq!(series.unknown_groups(grouped), ["webhook"]);
}

#[test]
fn every_alert_is_complete() {
    let mut names = BTreeSet::new();
    for rule in rules() {
        let name = text(&rule, "alert");
        assert!(name.starts_with("Transom"), "{name}");
        assert!(names.insert(name.to_owned()), "{name} is there twice");
        let severity = text(&rule["labels"], "severity");
        let severities = ["critical", "warning", "info"];
        assert!(severities.contains(&severity), "{name}: {severity}");
        let annotations = &rule["annotations"];
        for key in ["summary", "description"] {
            assert!(text(annotations, key).ends_with('.'), "{name}: {key}");
        }
        // Alertmanager needs an absolute URL, and the chart writes the one of its values.
        assert!(annotations.get("runbook_url").is_none(), "{name}");
    }
    assert!(names.len() > 10, "{names:?}");
}

#[test]
fn alerts_fire_when_they_should() {
    promtool(&["check", "rules", "charts/transom/files/alerts.yaml"]).unwrap();
    promtool(&["test", "rules", "tests/alerts.yaml"]).unwrap();
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let sections = RUNBOOKS.split("\n## ").skip(1);
    let mut titles = Vec::new();
    for section in sections {
        let title = section.lines().next().unwrap();
        for part in ["Meaning", "Impact", "Diagnosis", "Remedy"] {
            let paragraph = format!("\n**{part}.**");
            assert!(section.contains(&paragraph), "{title} has no {part}");
        }
        titles.push(title.to_owned());
    }
    let alerts: Vec<_> = rules()
        .iter()
        .map(|r| text(r, "alert").to_owned())
        .collect();
    assert_eq!(titles, alerts);
}

/// Each test also asks for a moment at which nothing fires, and for all alerts at once.
#[test]
fn every_alert_is_tried() {
    let file: Value = serde_saphyr::from_str(TESTS).unwrap();
    for rule in rules() {
        let wanted = format!("alertname=\"{}\"", text(&rule, "alert"));
        let fires = |check: &Value| {
            let samples = check["exp_samples"].as_array().unwrap();
            samples.iter().any(|s| text(s, "labels").contains(&wanted))
        };
        let test = file["tests"].as_array().unwrap().iter().find(|test| {
            let checks = test["promql_expr_test"].as_array().unwrap();
            let all = checks
                .iter()
                .all(|check| check["expr"] == "ALERTS{alertstate=\"firing\"}");
            let silent = |check: &Value| check["exp_samples"].as_array().unwrap().is_empty();
            all && checks.iter().any(fires) && checks.iter().any(silent)
        });
        assert!(test.is_some(), "no test in tests/alerts.yaml has {wanted}");
    }
}

#[test]
fn the_dashboard_asks_only_for_series_that_exist() {
    let series = Series::new();
    let queries = queries();
    assert!(queries.len() > 15, "{}", queries.len());
    for (expression, legend) in queries {
        let (named, wrong) = series.look(&expression);
        assert!(named > 0 && wrong.is_empty(), "{expression}: {wrong:?}");
        let unknown = series.unknown_groups(&expression);
        assert!(unknown.is_empty(), "{expression}: {unknown:?}");
        // What is grouped by something has no other labels.
        for label in legend.split("{{").skip(1) {
            let (label, _) = label.split_once("}}").unwrap();
            let grouped = expression.split("by (").nth(1);
            let grouped = grouped.map_or("pod", |rest| rest.split(')').next().unwrap());
            let mut labels = grouped.split(", ");
            assert!(labels.any(|l| l == label), "{expression}: {legend}");
        }
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let (_, wrong) = series.look(&variable["query"].to_string());
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

/// All families but those that only matter to whoever looks for something else.
#[test]
fn the_dashboard_shows_what_is_counted() {
    let unseen = [
        "transom_certificate_reloads_total",
        "transom_client_ca_reloads_total",
        "transom_config_reloads_total",
        "transom_config_info",
        "transom_ca_in_secret",
        "transom_learnt_tolerations",
        "transom_namespace_lookups_total",
        "transom_events_total",
    ];
    let metrics = transom::metrics::Metrics::new().render();
    let types = metrics.lines().filter_map(|l| l.strip_prefix("# TYPE "));
    let families = types.map(|line| line.split(' ').next().unwrap());
    for family in families.filter(|family| family.starts_with("transom_")) {
        let shown = DASHBOARD.contains(family);
        assert_eq!(shown, !unseen.contains(&family), "{family}");
    }
}

#[test]
fn prometheus_understands_the_dashboard() {
    let rules: Vec<_> = queries()
        .into_iter()
        .enumerate()
        .map(|(i, (expression, _))| {
            let expression = expression.replace("$__rate_interval", "5m");
            serde_json::json!({"record": format!("panel:{i}"), "expr": expression})
        })
        .collect();
    let file = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]});
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules.yaml");
    std::fs::write(&path, file.to_string()).unwrap();
    promtool(&["check", "rules", path.to_str().unwrap()]).unwrap();
}
