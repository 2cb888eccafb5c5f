//! Each file of charts/transom/ci is to the liking of `helm lint --strict`; what is rendered by default stands
//! in deploy/, and what by values-ha.yaml in a snapshot.

use serde_json::Value;

use super::helm::{self, NAMESPACE, cases, helm, is_test};
use super::{assert_current, read, root};

#[test]
fn lint_has_nothing_to_say() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let values = root(&format!("charts/transom/ci/{case}.yaml"));
        if let Err(error) = helm.lint(&values) {
            panic!("{case}: {error}");
        }
    }
}

#[test]
fn the_oldest_version_of_kubernetes_is_the_one_that_the_chart_names() {
    let Some(helm) = helm() else { return };
    assert!(helm.text(&["--kube-version", "1.30.0"]).is_ok());
    // Providers add to the version.
    assert!(helm.text(&["--kube-version", "1.30.1-gke.100"]).is_ok());
    let error = helm.text(&["--kube-version", "1.29.9"]).unwrap_err();
    assert!(error.contains(">=1.30.0-0"), "{error}");
}

/// Without the empty lines between documents, of which every release of Helm prints others.
fn tidy(rendered: &str) -> String {
    let documents = rendered.split("---\n").map(str::trim);
    let documents: Vec<_> = documents.filter(|text| !text.is_empty()).collect();
    format!("---\n{}\n", documents.join("\n---\n"))
}

#[test]
fn high_availability_is_rendered_so() {
    let Some(helm) = helm() else { return };
    let values = ["-f", "charts/transom/values-ha.yaml", "--skip-tests"];
    insta::assert_snapshot!(tidy(&helm.text(&values).unwrap()));
}

#[test]
fn high_availability_is_tried_like_any_other_case() {
    let values = |path| -> Value { serde_saphyr::from_str(&read(path)).unwrap() };
    assert_eq!(
        values("charts/transom/values-ha.yaml"),
        values("charts/transom/ci/ha.yaml")
    );
}

#[test]
fn no_field_is_null_or_has_no_name() {
    fn look(value: &Value, path: &str) {
        match value {
            Value::Null => panic!("{path} is null"),
            Value::Object(map) => {
                for (key, value) in map {
                    look(value, &format!("{path}.{key}"));
                }
            }
            Value::Array(list) => {
                for (i, value) in list.iter().enumerate() {
                    look(value, &format!("{path}[{i}]"));
                }
            }
            _ => {}
        }
    }
    let Some(helm) = helm() else { return };
    for case in cases() {
        for object in &helm.ci(&case).0 {
            let name = object["metadata"]["name"].as_str().unwrap();
            look(object, &format!("{case}: {} {name}: ", object["kind"]));
        }
    }
}

#[test]
fn labels_of_users_are_added_and_never_win() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    for object in &rendered.0 {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/managed-by"], "Helm", "{object}");
        assert_eq!(labels["team"], "platform", "{object}");
    }
    let pod = &rendered.one("Deployment")["spec"]["template"]["metadata"];
    assert_eq!(pod["labels"]["app.kubernetes.io/managed-by"], "Helm");
    assert_eq!(pod["labels"]["team"], "windows");
    assert_eq!(pod["annotations"]["prometheus.io/scrape"], "true");
}

#[test]
fn everything_namespaced_is_in_the_namespace_of_the_release() {
    let Some(helm) = helm() else { return };
    let cluster = [
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    for case in cases() {
        for object in &helm.ci(&case).0 {
            let namespace = object["metadata"]["namespace"].as_str();
            let kind = object["kind"].as_str().unwrap();
            let want = (!cluster.contains(&kind)).then_some(NAMESPACE);
            assert_eq!(namespace, want, "{case}: {kind}");
        }
    }
}

/// The rendered default for those who have no Helm.
#[test]
fn deploy_is_the_rendered_default() {
    let Some(helm) = helm() else { return };
    let rendered = tidy(&helm.text(&["--skip-tests"]).unwrap());
    let objects = helm::Manifests::read(&rendered).0;
    assert!(objects.len() > 8 && !objects.iter().any(is_test));
    let head = "\
# The chart with its default values, for clusters without Helm. Generated: `just chart` writes it anew.
#
#   kubectl apply -f deploy/transom.yaml
#
# Set the image first (deploy/Dockerfile makes one; none is published). To remove it, take the webhook configurations
# away before the rest, so that no API server asks what is not there any more:
#
#   kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration transom
#   kubectl delete --ignore-not-found -f deploy/transom.yaml
---
apiVersion: v1
kind: Namespace
metadata:
  name: transom
  labels:
    pod-security.kubernetes.io/enforce: restricted
";
    assert_current("deploy/transom.yaml", &format!("{head}{rendered}"));
}

#[test]
fn chart_and_program_have_one_version() {
    let chart: Value = serde_saphyr::from_str(&read("charts/transom/Chart.yaml")).unwrap();
    for key in ["version", "appVersion"] {
        assert_eq!(chart[key], env!("CARGO_PKG_VERSION"), "{key}");
    }
    assert_eq!(chart["kubeVersion"], ">=1.30.0-0");
}
