//! `transom check`: manifests in, findings with places out.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod cluster;
mod comments;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod defaults;
mod fixes;
mod formats;
mod hostile;
mod noise;
#[path = "../support/program.rs"]
mod program;

use transom::check::{FileReport, Options, check};

fn checked(text: &str) -> FileReport {
    check("web.yaml", text.as_bytes(), &Options::default())
}

/// `line:column severity CODE path`
fn lines(report: &FileReport) -> Vec<String> {
    let findings = report.findings.iter();
    findings
        .map(|f| {
            let span = f.span.unwrap();
            let (line, column) = (span.line, span.column);
            let (severity, code) = (f.severity.name(), f.rule.code);
            format!("{line}:{column} {severity} {code} {}", f.path)
        })
        .collect()
}

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      nodeSelector:
        kubernetes.io/os: windows
      securityContext:
        runAsUser: 1000
      containers:
      - name: main
        image: registry.example/app:1
        securityContext: {privileged: false}
        volumeMounts:
        - {name: a, mountPath: 'C:\\a', mountPropagation: HostToContainer}
";

#[test]
fn findings_have_places() {
    let report = checked(WEB);
    assert_eq!(report.problems, []);
    assert_eq!(
        lines(&report),
        [
            "11:9 deny WIN101 spec.template.spec.securityContext.runAsUser",
            "15:27 warn WIN113 spec.template.spec.containers[0].securityContext.privileged",
            "17:40 warn WIN302 spec.template.spec.containers[0].volumeMounts[0].mountPropagation",
        ]
    );
    let told = |i: usize| {
        let span = report.findings[i].span.unwrap();
        &report.text[span.start..span.end]
    };
    assert_eq!(told(0), "runAsUser: 1000");
    assert_eq!(told(1), "privileged: false");
    assert_eq!(told(2), "mountPropagation: HostToContainer");
    let first = &report.findings[0];
    assert_eq!(first.value.as_deref(), Some("1000"));
    assert!(first.evidence.as_deref().unwrap().ends_with("windows"));
}

/// What the webhook repairs on its way in is no denial.
#[test]
fn repairs_are_told_with_their_patch() {
    let text = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: main
    image: app:ltsc2022
    securityContext:
      allowPrivilegeEscalation: false
";
    let report = checked(text);
    assert_eq!(
        lines(&report),
        ["9:7 repair WIN112 spec.containers[0].securityContext.allowPrivilegeEscalation"]
    );
    let patch = report.findings[0].patch.as_deref().unwrap();
    assert_eq!(
        patch,
        r#"[{"op":"remove","path":"/spec/containers/0/securityContext/allowPrivilegeEscalation"}]"#
    );
}

#[test]
fn comments_silence_rules() {
    let text = WEB.replace(
        "runAsUser: 1000",
        "runAsUser: 1000 # transom: ignore[WIN101] ticket 17",
    );
    let report = checked(&text);
    assert_eq!(
        lines(&report)[0],
        "11:9 ignored WIN101 spec.template.spec.securityContext.runAsUser"
    );
    assert_eq!(report.findings[0].ignored.as_deref(), Some("ticket 17"));
}
