//! What objects are taken for: exempt, Windows, placed by the webhook; facts from the input.

use serde_json::Value;

use super::{DENIED, Place, UNMARKED};

const EXEMPT: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: csi, namespace: kube-system}
spec:
  template:
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers:
      - {name: a, image: b, securityContext: {runAsUser: 0}}
";

/// Nothing but the webhook keeps it off Linux nodes.
const PLACED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: iis}
spec: {template: {spec: {containers: [{name: a, image: mcr.microsoft.com/windows/servercore/iis}]}}}
";

fn json(place: &Place, args: &[&str]) -> Value {
    let got = place.plain(&[args, &["-o", "json"]].concat());
    serde_json::from_str(&got.stdout).unwrap()
}

#[test]
fn reports_exempt_objects_and_evaluates_them_when_asked() {
    let place = Place::new(&[("csi.yaml", EXEMPT)]);
    let got = place.check(&["csi.yaml"]);
    assert_eq!(
        got.stdout,
        "csi.yaml:1:1: note: DaemonSet kube-system/csi is exempt (namespace kube-system) and was not evaluated; \
         --include-exempt evaluates it\n"
    );
    assert_eq!(
        got.stderr,
        "nothing found in 1 of 1 file; 0 Windows objects, 0 Linux or unmarked, 1 exempt (namespace kube-system)\n"
    );
    assert_eq!(got.code, 0);
    let got = place.check(&["csi.yaml", "--include-exempt"]);
    assert_eq!(got.found(), ["csi.yaml:9 deny WIN101"]);
    assert_eq!(got.code, 1);

    let got = json(&place, &["csi.yaml"]);
    assert_eq!(got["summary"]["exempt"], 1);
    assert_eq!(got["summary"]["judged"], 0);
    let object = &got["objects"][0];
    assert_eq!(object["exempt"], "namespace kube-system");
    assert_eq!(object["os"], "windows");

    let got = place.plain(&["csi.yaml", "-o", "sarif"]);
    let sarif: Value = serde_json::from_str(&got.stdout).unwrap();
    let told = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(told["descriptor"]["id"], "exempt");
    assert_eq!(told["level"], "note");
}

/// Each reason, with what evaluates the object all the same.
#[test]
fn names_each_reason_of_an_exemption() {
    for (config, namespace, why) in [
        (
            "namespaces: {a: {mode: off}}",
            "a",
            "mode off in namespace a",
        ),
        ("mode: off", "a", "mode off in namespace a"),
        (
            "exemptions: {runtimeClasses: [r]}",
            "a",
            "runtimeClassName r",
        ),
        ("exemptions: {namespaces: [a]}", "a", "namespace a"),
    ] {
        let pod = EXEMPT
            .replace("kube-system", namespace)
            .replace("    spec:\n", "    spec:\n      runtimeClassName: r\n");
        let config = format!("apiVersion: transom.dev/v1alpha1\nkind: Config\n{config}\n");
        let place = Place::new(&[("a.yaml", &pod), ("config", &config)]);
        let got = json(&place, &["a.yaml", "--config", "config"]);
        assert_eq!(got["objects"][0]["exempt"], why, "{config}");
        assert_eq!(got["objects"][0]["os"], "windows", "{config}");
        let got = place.check(&["a.yaml", "--config", "config", "--include-exempt"]);
        assert_eq!(got.codes(), ["WIN101"], "{config}");
    }
    let place = Place::new(&[("a.yaml", DENIED)]);
    let off = ["a.yaml", "--namespace-labels", "transom.dev/mode=off"];
    assert_eq!(
        json(&place, &off)["objects"][0]["exempt"],
        "mode off in namespace default"
    );
    let got = place.check(&[&off[..], &["--include-exempt"]].concat());
    assert_eq!(got.codes(), ["WIN101"]);
}

/// A Linux object in kube-system is counted, and no line is about it.
#[test]
fn counts_exempt_linux_objects_in_silence() {
    let text = UNMARKED.replace("name: linux", "name: linux, namespace: kube-system");
    let place = Place::new(&[("a.yaml", &text)]);
    let got = place.check(&["a.yaml"]);
    assert_eq!(got.stdout, "");
    assert!(
        got.stderr.contains(", 1 exempt (namespace kube-system)"),
        "{}",
        got.stderr
    );
    let got = place.check(&["a.yaml", "-v"]);
    assert!(
        got.stderr.contains(
            "a.yaml:1: Pod kube-system/linux: exempt (namespace kube-system), unmarked\n"
        ),
        "{}",
        got.stderr
    );
}

#[test]
fn reports_what_was_taken_for_windows() {
    let place = Place::new(&[
        ("d/a.yaml", DENIED),
        ("d/b.yaml", UNMARKED),
        ("d/c.yaml", UNMARKED),
    ]);
    let got = place.check(&["d", "-v"]);
    assert!(
        got.stderr
            .contains("1 denied in 1 of 3 files; 1 Windows object, 2 Linux or unmarked\n"),
        "{}",
        got.stderr
    );
    let evidence = r#"spec.template.spec.nodeSelector["kubernetes.io/os"]: windows"#;
    let line = format!("d/a.yaml:1: Deployment web: Windows ({evidence})\n");
    assert!(got.stderr.contains(&line), "{}", got.stderr);
    let got = json(&place, &["d"]);
    let os: Vec<_> = got["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["os"].clone())
        .collect();
    assert_eq!(os, [Value::from("windows"), Value::Null, Value::Null]);
    assert_eq!(got["objects"][0]["evidence"], evidence);
    assert_eq!(got["summary"]["windows"], 1);
}

#[test]
fn reports_what_the_webhook_places() {
    let place = Place::new(&[("a.yaml", PLACED)]);
    let got = place.check(&["a.yaml"]);
    assert!(
        got.stdout.starts_with(
            "a.yaml:1:1: note: Deployment iis targets Windows but has no node selector"
        ),
        "{}",
        got.stdout
    );
    assert!(got.stdout.contains(
        "the webhook adds spec.os and the node selector (see --diff), and tolerations, at admission"
    ));
    assert!(
        got.stderr.starts_with("1 to be placed in 1 of 1 file"),
        "{}",
        got.stderr
    );
    for (least, code) in [("deny", 0), ("warn", 0), ("place", 1)] {
        assert_eq!(
            place.check(&["a.yaml", "--fail-on", least]).code,
            code,
            "{least}"
        );
    }
    let got = json(&place, &["a.yaml"]);
    assert_eq!(
        got["objects"][0]["adds"],
        serde_json::json!(["spec.os", "spec.nodeSelector"])
    );
    assert_eq!(got["objects"][0]["placed"], true);
    assert_eq!(got["summary"]["placed"], 1);
    // --fix writes what the note is about.
    assert_eq!(
        place.check(&["a.yaml", "--fix", "--fail-on", "place"]).code,
        0
    );
}

/// The scheduler goes by these already.
#[test]
fn reports_no_placement_of_what_is_bound_to_windows_nodes() {
    for (bound, is_placed) in [
        ("nodeSelector: {kubernetes.io/os: windows}", false),
        ("nodeSelector: {beta.kubernetes.io/os: windows}", false),
        (
            "nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}",
            false,
        ),
        (
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]}]}}}",
            false,
        ),
        ("os: {name: windows}", true),
        (
            "securityContext: {windowsOptions: {runAsUserName: a}}",
            true,
        ),
    ] {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  {bound}\n  containers: [{{name: a, image: b}}]\n"
        );
        let place = Place::new(&[("a.yaml", &text)]);
        let code = place.check(&["a.yaml", "--fail-on", "place"]).code;
        assert_eq!(code, i32::from(is_placed), "{bound}");
    }
}

const CLASS: &str = "\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: win}
handler: docker
scheduling: {nodeSelector: {kubernetes.io/os: windows}}
";

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {transom.dev/os: windows}}
";

#[test]
fn uses_runtime_classes_and_namespaces_of_the_input() {
    let by_class = UNMARKED.replace("spec:\n", "spec:\n  runtimeClassName: win\n");
    let by_namespace = UNMARKED.replace("name: linux", "name: linux, namespace: shop");
    let place = Place::new(&[
        ("d/a.yaml", &by_class),
        ("d/b.yaml", &by_namespace),
        ("d/c.yaml", UNMARKED),
        ("z.yaml", CLASS),
        ("n.yaml", NAMESPACE),
    ]);
    assert_eq!(place.check(&["d"]).code, 0);
    let want = ["d/a.yaml:6 deny WIN101", "d/b.yaml:5 deny WIN101"];
    assert_eq!(
        place.check(&["d", "z.yaml", "n.yaml", "-j", "2"]).found()[..1],
        want[..1]
    );
    let got = place.check(&["d", "z.yaml", "n.yaml"]).found();
    let denied: Vec<_> = got.iter().filter(|line| line.contains("deny")).collect();
    assert_eq!(denied, want.iter().collect::<Vec<_>>());
    // All in one stream, the class behind the pod.
    let stream = [by_class.as_str(), CLASS].join("---\n");
    assert_eq!(place.check_stdin(&stream, &["-"]).codes(), ["WIN101"]);
    // --fix goes by them, too.
    let got = place.check(&["d", "z.yaml", "--fix", "--exit-zero"]);
    assert!(
        got.stderr.contains("fixed 1 object in 1 file"),
        "{}",
        got.stderr
    );
}

/// Two clusters in one repository.
#[test]
fn uses_no_facts_that_manifests_disagree_on() {
    let by_class = UNMARKED.replace("spec:\n", "spec:\n  runtimeClassName: win\n");
    let other = CLASS.replace("windows}}", "linux}}");
    let place = Place::new(&[
        ("d/a.yaml", &by_class),
        ("d/b.yaml", CLASS),
        ("d/c.yaml", &other),
    ]);
    assert_eq!(place.check(&["d"]).found(), [""; 0]);
}

/// The flags say what holds, whatever a manifest does.
#[test]
fn namespace_labels_of_the_command_line_win_over_a_manifest() {
    let pod = UNMARKED.replace("name: linux", "name: linux, namespace: shop");
    let place = Place::new(&[("d/a.yaml", &pod), ("d/n.yaml", NAMESPACE)]);
    let got = place.check(&["d", "--assume-os", "linux"]);
    assert_eq!(got.found(), [""; 0]);
}

/// Names come from the file, and GitHub Actions reads the output.
#[test]
fn keeps_commands_out_of_notes() {
    let name = r#""::error::x\n::stop-commands::a ##[b] \e[31m""#;
    let text = PLACED.replace("name: iis", &format!("name: {name}"));
    let exempt = EXEMPT.replace("name: csi", &format!("name: {name}"));
    let place = Place::new(&[("a.yaml", &text), ("b.yaml", &exempt)]);
    for format in ["text", "concise", "github", "markdown", "json", "sarif"] {
        let got = place.plain(&["a.yaml", "b.yaml", "-v", "-o", format]);
        let own = |line: &str| format == "github" && line.starts_with("::notice file=");
        for line in got.stdout.lines().chain(got.stderr.lines()) {
            assert!(
                own(line) || !line.trim_start().starts_with("::"),
                "{format}: {line}"
            );
            assert!(
                !line.contains("##[") && !line.contains('\x1b'),
                "{format}: {line}"
            );
        }
    }
}
