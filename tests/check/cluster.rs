//! `check` decides as the cluster would: /mutate first, its patch, then /validate.

use transom::check::{FileReport, Options, check};
use transom::facts::NamespaceFacts;

use crate::common::policy;
use crate::lines;

fn checked(text: &str) -> FileReport {
    with(text, &Options::default())
}

fn with(text: &str, options: &Options) -> FileReport {
    let report = check("a.yaml", text.as_bytes(), options);
    assert_eq!(report.problems, [], "{text}");
    report
}

/// A workload with this pod spec; its lines start at line 7.
fn workload(kind: &str, spec: &str) -> String {
    let spec = spec.trim_start_matches('\n').replace('\n', "\n      ");
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  template:\n    spec:\n      {spec}\n"
    )
}

fn pod(spec: &str) -> String {
    let spec = spec.trim_start_matches('\n').replace('\n', "\n  ");
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  {spec}\n")
}

const HARMLESS: &str = "
os: {name: windows}
containers:
- name: main
  image: app:1
  securityContext:
    privileged: false";

const SELECTED: &str = "
nodeSelector: {kubernetes.io/os: windows}
containers:
- name: main
  image: app:1
  securityContext:
    privileged: false";

/// Nobody patches a Deployment's template, so its pods would be refused by the API server.
#[test]
fn what_a_template_cannot_be_rid_of_is_a_denial() {
    for kind in ["Deployment", "ReplicaSet", "StatefulSet"] {
        assert_eq!(
            lines(&checked(&workload(kind, HARMLESS))),
            ["12:11 deny WIN113 spec.template.spec.containers[0].securityContext.privileged"],
            "{kind}"
        );
        assert_eq!(
            lines(&checked(&workload(kind, SELECTED))),
            ["12:11 warn WIN113 spec.template.spec.containers[0].securityContext.privileged"],
            "{kind}"
        );
    }
}

#[test]
fn pods_and_the_templates_of_daemon_sets_are_repaired() {
    for spec in [HARMLESS, SELECTED] {
        assert_eq!(
            lines(&checked(&pod(spec))),
            ["10:7 repair WIN113 spec.containers[0].securityContext.privileged"]
        );
        let daemon_set = checked(&workload("DaemonSet", spec));
        assert_eq!(
            lines(&daemon_set),
            ["12:11 repair WIN113 spec.template.spec.containers[0].securityContext.privileged"]
        );
        assert_eq!(
            daemon_set.findings[0].patch.as_deref(),
            Some(
                r#"[{"op":"remove","path":"/spec/template/spec/containers/0/securityContext/privileged"}]"#
            )
        );
    }
}

/// /mutate refuses it before the API server's own validation would, and repairs nothing then.
#[test]
fn a_refused_field_is_a_denial_and_nothing_is_repaired_beside_it() {
    let spec = format!(
        "hostPID: true{HARMLESS}\n  volumeMounts:\n  - {{name: v, mountPath: /v, mountPropagation: HostToContainer}}"
    );
    assert_eq!(
        lines(&checked(&pod(&spec))),
        [
            "5:3 deny WIN202 spec.hostPID",
            "11:7 warn WIN113 spec.containers[0].securityContext.privileged",
            "13:32 warn WIN302 spec.containers[0].volumeMounts[0].mountPropagation",
        ]
    );
}

/// Without os=windows it is /validate that refuses; os is not patched in beside what the API
/// server would refuse, so that the harmless field may stay.
#[test]
fn without_an_os_the_same_is_a_denial_too() {
    let spec = format!("hostPID: true{SELECTED}");
    assert_eq!(
        lines(&checked(&pod(&spec))),
        [
            "5:3 deny WIN202 spec.hostPID",
            "11:7 warn WIN113 spec.containers[0].securityContext.privileged",
        ]
    );
}

#[test]
fn evidence_is_what_is_written_and_not_what_is_patched_in() {
    let spec = "
containers:
- name: main
  image: mcr.microsoft.com/windows/nanoserver:ltsc2022
  volumeMounts:
  - {name: v, mountPath: 'C:\\v', mountPropagation: HostToContainer}";
    let report = checked(&pod(spec));
    let evidence = report.findings[0].evidence.as_deref().unwrap();
    assert_eq!(
        evidence,
        "spec.containers[0].image: mcr.microsoft.com/windows/nanoserver:ltsc2022"
    );
}

#[test]
fn a_contradiction_is_a_denial_where_it_stands() {
    let spec = "
os: {name: windows}
nodeSelector:
  kubernetes.io/os: linux
containers: [{name: main, image: app}]";
    let report = checked(&workload("Deployment", spec));
    let told: Vec<_> = report
        .findings
        .iter()
        .map(|f| (f.rule.code, f.severity.name()))
        .collect();
    assert_eq!(told, [("WIN601", "deny")]);
}

#[test]
fn hints_are_warned_of() {
    let spec = "
containers:
- name: main
  image: app
  command: ['powershell.exe', '-File', 'C:\\run.ps1']";
    let report = checked(&pod(spec));
    assert_eq!(
        lines(&report),
        ["8:15 warn WIN604 spec.containers[0].command[0]"]
    );
}

#[test]
fn linux_and_unknown_pods_have_no_findings() {
    for spec in [
        "nodeSelector: {kubernetes.io/os: linux}\nhostPID: true\ncontainers: [{name: a, image: b}]",
        "hostPID: true\ncontainers: [{name: a, image: b}]",
    ] {
        assert_eq!(lines(&checked(&pod(spec))), [] as [&str; 0]);
    }
}

/// Only where the mode is `enforce` anything is refused.
#[test]
fn the_mode_decides_what_a_denial_is() {
    let text = pod(&format!("hostPID: true{SELECTED}"));
    for (mode, want) in [
        ("enforce", Some("deny")),
        ("warn", Some("warn")),
        ("audit", Some("warn")),
        ("off", None),
    ] {
        let options = Options {
            policy: policy(&format!("mode: {mode}")),
            ..Options::default()
        };
        let report = with(&text, &options);
        let first = report.findings.first().map(|f| f.severity.name());
        assert_eq!(first, want, "{mode}");
    }
    let options = Options {
        namespace: NamespaceFacts::from_labels([("transom.dev/mode", "warn")]),
        ..Options::default()
    };
    assert_eq!(with(&text, &options).findings[0].severity.name(), "warn");
}

/// Where repairs are off, or `spec.os` is not to be set, nothing is taken out of what has no os.
#[test]
fn the_configuration_of_the_cluster_holds() {
    let options = |yaml: &str| Options {
        policy: policy(yaml),
        ..Options::default()
    };
    let never = options("placement: {setPodOS: never}");
    assert_eq!(
        lines(&with(&pod(SELECTED), &never)),
        ["10:7 warn WIN113 spec.containers[0].securityContext.privileged"]
    );
    let unrepaired = options("placement: {repair: false}");
    assert_eq!(
        lines(&with(&pod(HARMLESS), &unrepaired)),
        ["10:7 deny WIN113 spec.containers[0].securityContext.privileged"]
    );
    let off = options("rules: {WIN113: off}");
    assert_eq!(lines(&with(&pod(HARMLESS), &off)), [] as [&str; 0]);
}

/// What silences a rule in the cluster silences it here, with its reason; what has no effect
/// there is told of.
#[test]
fn annotations_that_ignore_are_read() {
    let text = pod(&format!("hostPID: true{SELECTED}")).replace(
        "{name: a}",
        "{name: a, annotations: {transom.dev/ignore.WIN202: ticket 9}}",
    );
    let options = Options {
        policy: policy("ignorable: [WIN202]"),
        ..Options::default()
    };
    let report = with(&text, &options);
    assert_eq!(lines(&report)[0], "5:3 ignored WIN202 spec.hostPID");
    assert_eq!(report.findings[0].ignored.as_deref(), Some("ticket 9"));
    assert_eq!(report.oddities, []);

    let report = checked(&text);
    assert_eq!(lines(&report)[0], "5:3 deny WIN202 spec.hostPID");
    let oddity = &report.oddities[0];
    assert_eq!(oddity.place.unwrap().to_string(), "3:35");
    assert!(
        oddity.text.contains("does not let WIN202 be ignored"),
        "{}",
        oddity.text
    );
}

#[test]
fn lists_are_taken_apart_however_they_nest() {
    let inner = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: PodList
    items:
    - metadata: {name: a}
      spec:
        os: {name: windows}
        hostPID: true
        containers: [{name: a, image: b}]
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: c}
- apiVersion: v1
  kind: ConfigMapList
  items: []
- apiVersion: v1
  kind: SecretList
  items: null
";
    let report = checked(inner);
    assert_eq!(lines(&report), ["13:9 deny WIN202 spec.hostPID"]);
    let finding = &report.findings[0];
    assert_eq!(
        (finding.kind.as_str(), finding.name.as_deref()),
        ("Pod", Some("a"))
    );
    assert_eq!(report.judged, 1);
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped["ConfigMap"], 1);
}
