//! What kubectl prints, word by word.

use std::fmt::Write;

use crate::cluster::Cluster;
use crate::transom::{Options, Transom};

tests![
    kubectl_prints_a_denial,
    kubectl_prints_warnings,
    a_mode_decides_how_findings_are_told,
];

const WEB: &str = include_str!("../../examples/web.yaml");
const GOOD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers:
      - {name: web, image: 'mcr.microsoft.com/windows/servercore:ltsc2022'}
";

/// In whatever way the user comes, the same message.
fn kubectl_prints_a_denial(cluster: &Cluster) {
    let transom = Transom::install(cluster, "denial", &Options::default());
    let namespace = transom.namespace("denial", &[]);
    namespace.file("web.yaml", &WEB.replace("  namespace: default\n", ""));
    namespace.file("good.yaml", GOOD);
    let mut told = String::new();
    let mut tell = |args: &[&str]| writeln!(told, "{}", namespace.kubectl(args)).unwrap();
    tell(&["apply", "-f", "web.yaml"]);
    tell(&["create", "-f", "web.yaml"]);
    tell(&["apply", "--server-side", "-f", "web.yaml"]);
    tell(&["apply", "--dry-run=server", "-f", "web.yaml"]);
    tell(&["diff", "-f", "web.yaml"]);
    tell(&["apply", "-f", "good.yaml"]);
    tell(&["apply", "-f", "web.yaml"]);
    let patch = r#"{"spec":{"template":{"spec":{"hostPID":true}}}}"#;
    tell(&["patch", "deployment/web", "-p", patch]);
    insta::assert_snapshot!("denial", told);
    let edited = namespace.edit(
        &["edit", "deployment/web"],
        "sed -i s/dnsPolicy:.*/hostIPC:\\ true/",
    );
    assert!(!edited.succeeded(), "{edited}");
    let words = "spec.template.spec.hostIPC: true [WIN203 host-ipc]";
    assert!(edited.stderr.contains(words), "{edited}");
}

fn kubectl_prints_warnings(cluster: &Cluster) {
    let transom = Transom::install(cluster, "warnings", &Options::default());
    let namespace = transom.namespace("warnings", &[]);
    namespace.file(
        "repaired.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: repaired}
spec:
  containers:
  - name: main
    image: mcr.microsoft.com/windows/servercore:ltsc2022
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
",
    );
    namespace.file(
        "hint.yaml",
        r"
apiVersion: v1
kind: Pod
metadata: {name: hint}
spec:
  containers:
  - {name: main, image: 'example.com/app:1', command: ['C:\app.exe']}
",
    );
    namespace.file(
        "conflict.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: conflict}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: linux}
  containers:
  - {name: main, image: 'example.com/app:1'}
",
    );
    namespace.file(
        "linux.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: linux}
spec:
  securityContext: {runAsUser: 1000}
  containers:
  - {name: main, image: 'nginx:1.29'}
",
    );
    let mut told = String::new();
    for file in ["repaired.yaml", "hint.yaml", "conflict.yaml", "linux.yaml"] {
        let one = namespace.kubectl(&["apply", "-f", file]);
        writeln!(told, "{one}").unwrap();
    }
    insta::assert_snapshot!("warnings", told);
}

fn a_mode_decides_how_findings_are_told(cluster: &Cluster) {
    let web = WEB.replace("  namespace: default\n", "");
    let mut told = String::new();
    for (name, mode) in [("mode-warn", "warn"), ("mode-audit", "audit")] {
        let config = format!("mode: {mode}");
        let options = Options {
            config: &config,
            ..Options::default()
        };
        let transom = Transom::install(cluster, name, &options);
        let namespace = transom.namespace(name, &[]);
        writeln!(told, "mode: {mode}\n{}", namespace.apply("web.yaml", &web)).unwrap();
    }
    let transom = Transom::install(cluster, "mode-off", &Options::default());
    let namespace = transom.namespace("mode-off", &[("transom.dev/mode", "off")]);
    let applied = namespace.apply("web.yaml", &web);
    writeln!(
        told,
        "a namespace with the label transom.dev/mode: off\n{applied}"
    )
    .unwrap();
    insta::assert_snapshot!("modes", told);
}
