//! Values that meet the chart's own: null instead of what is there by default, keys that are said in several places.

use serde_json::{Value, json};

use super::helm::helm;

/// A merge of values leaves no map behind where a user says null.
#[test]
fn a_key_that_is_null_is_as_good_as_an_empty_one() {
    let Some(helm) = helm() else { return };
    let everything_on = super::read("charts/transom/ci/everything-on.yaml");
    let everything_on: Value = serde_saphyr::from_str(&everything_on).unwrap();
    let keys = [
        "affinity",
        "commonLabels",
        "config",
        "dashboards.annotations",
        "dashboards.labels",
        "extraArgs",
        "imagePullSecrets",
        "metrics.serviceMonitor.labels",
        "networkPolicy.apiServerCIDRs",
        "networkPolicy.dnsTo",
        "networkPolicy.metricsFrom",
        "networkPolicy.webhookFrom",
        "nodeSelector",
        "podAnnotations",
        "podLabels",
        "prometheusRule.alertLabels",
        "prometheusRule.labels",
        "resources",
        "service.annotations",
        "serviceAccount.annotations",
        "strategy.rollingUpdate",
        "strategy.type",
        "tolerations",
        "topologySpreadConstraints",
        "webhook.annotations",
        "webhook.mutating.matchConditions",
        "webhook.mutating.namespaceSelector",
        "webhook.validating.objectSelector",
    ];
    let mut values = everything_on;
    for key in keys {
        let place = key.split('.');
        *place.fold(&mut values, |place, key| &mut place[key]) = Value::Null;
    }
    for values in [values, json!({"strategy": null})] {
        if let Err(error) = helm.with(&values.to_string()) {
            panic!("{error}");
        }
    }
}

/// Two tools that read a manifest with a key that stands twice need not agree.
#[test]
fn a_label_that_is_said_in_several_places_stands_once() {
    let Some(helm) = helm() else { return };
    let twice: Result<Value, _> = serde_saphyr::from_str("a: 1\na: 2");
    assert!(twice.is_err(), "this test would see nothing");
    let labels = |whose: &str| json!({"team": whose, "app.kubernetes.io/component": whose, "app.kubernetes.io/name": whose});
    let values = json!({
        "commonLabels": labels("all"),
        "podLabels": labels("pods"),
        "metrics": {"serviceMonitor": {"enabled": true, "labels": labels("monitor")}},
        "prometheusRule": {"enabled": true, "labels": labels("rule")},
        "dashboards": {"enabled": true, "labels": labels("dashboard")},
    });
    let rendered = helm.with(&values.to_string()).unwrap();
    let of = |object: &Value| object["metadata"]["labels"].clone();
    let dashboard = rendered
        .all("ConfigMap")
        .into_iter()
        .find(|m| m["data"].get("transom.json").is_some());
    let pods = &rendered.one("Deployment")["spec"]["template"];
    for (object, whose, name) in [
        (rendered.one("Deployment"), "all", "transom"),
        (pods, "pods", "transom"),
        (rendered.one("ServiceMonitor"), "monitor", "transom"),
        (rendered.one("PrometheusRule"), "rule", "transom"),
        (dashboard.unwrap(), "dashboard", "transom"),
        (rendered.test_pod(), "all", "transom-test"),
    ] {
        let labels = of(object);
        assert_eq!(labels["team"], whose);
        assert_eq!(
            labels["app.kubernetes.io/name"], name,
            "the chart's own win"
        );
    }
    assert_eq!(
        of(rendered.test_pod())["app.kubernetes.io/component"],
        "test"
    );
}

#[test]
fn beside_recreate_nothing_is_said_of_rolling_updates() {
    let Some(helm) = helm() else { return };
    let strategy =
        |values| helm.with(values).unwrap().one("Deployment")["spec"]["strategy"].clone();
    assert_eq!(
        strategy("strategy: {type: Recreate}"),
        json!({"type": "Recreate"})
    );
    assert_eq!(
        strategy("strategy: {rollingUpdate: {maxSurge: 2}}"),
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}})
    );
}
