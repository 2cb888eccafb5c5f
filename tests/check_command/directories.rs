//! Directories as they are: charts, kustomizations, and files that are no manifests.

use std::process::Command;

use super::{DENIED, Outcome, Place, UNMARKED, program};

const TEMPLATE: &str = "apiVersion: v1\nkind: Pod\nspec: {{ .Values.spec }}\n";

fn chart() -> Place {
    Place::new(&[
        (
            "charts/shop/Chart.yaml",
            "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
        ),
        ("charts/shop/values.yaml", "user: 1\n"),
        ("charts/shop/templates/a.yaml", TEMPLATE),
        ("charts/shop/templates/deep/b.yaml", TEMPLATE),
        (
            "charts/shop/charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
        ),
        ("charts/shop/charts/sub/templates/c.yaml", TEMPLATE),
        ("deploy/web.yaml", DENIED),
        // No chart: a directory of that name.
        ("deploy/templates/web.yaml", UNMARKED),
    ])
}

#[test]
fn names_a_chart_in_a_line() {
    let place = chart();
    let got = place.check(&["."]);
    assert_eq!(got.found(), ["deploy/web.yaml:9 deny WIN101"]);
    assert_eq!(got.code, 1);
    assert_eq!(
        got.stderr,
        "charts/shop: note: a Helm chart, 3 templates not checked; run helm template charts/shop | transom check -, \
         or use --helm\n\
         1 denied in 1 of 2 files; 1 Windows object, 1 Linux or unmarked\n"
    );
    // Nothing but charts is nothing that was checked.
    for path in ["charts", "charts/shop/templates"] {
        let got = place.check(&[path]);
        assert_eq!(got.found(), [format!("{path} error")]);
        assert!(
            got.stderr.contains("charts/shop: note: a Helm chart"),
            "{}",
            got.stderr
        );
        assert_eq!(got.code, 2);
    }
    // One that is named was meant.
    let got = place.check(&["charts/shop/templates/a.yaml"]);
    assert_eq!(got.found(), ["charts/shop/templates/a.yaml error"]);
}

#[test]
fn bounds_the_lines_about_charts() {
    let place = Place::new(&[("web.yaml", UNMARKED)]);
    for i in 0..30 {
        place.write(&format!("{i}/Chart.yaml"), "name: a\n");
        place.write(&format!("{i}/templates/a.yaml"), TEMPLATE);
        place.write(&format!("k{i}/kustomization.yaml"), "resources: []\n");
    }
    let got = place.check(&["."]);
    assert_eq!(got.stderr.matches(": note: a Helm chart").count(), 10);
    assert_eq!(got.stderr.matches(": note: a kustomization").count(), 10);
    assert!(
        got.stderr
            .contains("note: 20 more Helm charts are not named\n"),
        "{}",
        got.stderr
    );
}

#[test]
fn quotes_paths_in_commands() {
    let name = "a'; touch x; '$(id)";
    let place = Place::new(&[("web.yaml", UNMARKED)]);
    place.write(&format!("{name}/Chart.yaml"), "name: a\n");
    place.write(&format!("{name}/templates/a.yaml"), TEMPLATE);
    let got = place.check(&["."]);
    let quoted = r"helm template 'a'\''; touch x; '\''$(id)' |";
    assert!(got.stderr.contains(quoted), "{}", got.stderr);
}

#[test]
fn names_a_kustomization_and_checks_its_files() {
    let place = Place::new(&[
        ("base/web.yaml", DENIED),
        ("over/kustomization.yaml", "resources: [../base]\n"),
    ]);
    let got = place.check(&["."]);
    assert_eq!(got.found(), ["base/web.yaml:9 deny WIN101"]);
    assert!(
        got.stderr.contains("over: note: a kustomization, its files are checked as they are; to check what it builds, run kubectl kustomize over | transom check -\n"),
        "{}",
        got.stderr
    );
}

/// With a program by the name of helm.
#[cfg(unix)]
mod helm {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn run(place: &Place, script: &str, args: &[&str]) -> Outcome {
        place.write("bin/helm", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(place.path("bin/helm"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command: Command = place.command(args);
        command.env("PATH", format!("{}:{path}", place.path("bin").display()));
        Outcome::of(&command.output().unwrap())
    }

    #[test]
    fn renders_charts_when_asked() {
        let place = chart();
        place.write("v.yaml", "user: 2\n");
        place.write("rendered", &format!("foo: bar\n---\n{DENIED}"));
        let script = "echo \"$@\" > args; cat rendered";
        let args = ["charts", "deploy", "--helm", "--helm-values", "v.yaml"];
        let got = run(&place, script, &args);
        assert_eq!(
            got.found(),
            [
                "<helm template charts/shop>:11 deny WIN101",
                "deploy/web.yaml:9 deny WIN101"
            ]
        );
        assert_eq!(got.code, 1);
        assert_eq!(
            place.read("args"),
            "template --values v.yaml -- charts/shop\n"
        );
        assert!(!got.stderr.contains("a Helm chart"), "{}", got.stderr);
        // Nothing is run unless it is asked for.
        fs::remove_file(place.path("args")).unwrap();
        run(&place, script, &["charts", "deploy"]);
        assert!(!place.path("args").exists());
    }

    #[test]
    fn reports_a_chart_that_cannot_be_rendered() {
        let place = chart();
        let script = "printf 'walk\\nError: \\033[31mno such value\\n' >&2; exit 1";
        let got = run(&place, script, &["charts", "--helm"]);
        assert_eq!(got.found(), ["<helm template charts/shop> error"]);
        assert!(
            got.stdout.contains("helm cannot render the chart: Error: "),
            "{}",
            got.stdout
        );
        assert!(!got.stdout.contains('\x1b'));
        assert_eq!(got.code, 2);
        place
            .check(&["charts", "--helm-values", "a"])
            .refused(&["--helm"]);
        place
            .check(&["charts", "--helm", "--fix"])
            .refused(&["--fix"]);
    }
}

#[test]
fn passes_over_json_that_holds_no_manifest() {
    let place = Place::new(&[
        ("d/web.yaml", DENIED),
        ("d/list.json", "[1, 2]"),
        ("d/comments.json", "{\n  // a\n  \"a\": 1\n}\n"),
        ("d/dashboard.json", "{\"a\": {{ b }}, \"c\": \"\\d\"}"),
        ("d/deep.json", "{\"a\": [}"),
    ]);
    let got = place.check(&["d", "-v"]);
    assert_eq!(got.found(), ["d/web.yaml:9 deny WIN101"]);
    assert_eq!(got.code, 1);
    assert_eq!(
        got.stderr
            .matches(".json: passed over: no Kubernetes object")
            .count(),
        4
    );
    // One that is named was meant, and so was one with an object in it.
    assert_eq!(place.check(&["d/list.json"]).found(), ["d/list.json error"]);
    place.write("d/broken.json", "{\"apiVersion\": \"v1\", \"kind\": [}");
    assert_eq!(place.check(&["d"]).code, 2);
}

#[test]
fn passes_over_documents_without_a_kind_on_stdin() {
    let place = Place::new(&[]);
    let got = place.check_stdin(&format!("foo: bar\n---\n{DENIED}---\n- 1\n"), &["-"]);
    assert_eq!(got.found(), ["<stdin>:11 deny WIN101"]);
    assert_eq!(got.code, 1);
    let got = place.check_stdin("foo: bar\n", &["-"]);
    assert_eq!(
        (got.found(), got.code),
        (vec!["<stdin> error".to_owned()], 2)
    );
}

#[test]
fn says_why_a_removed_api_is_skipped() {
    let old = DENIED.replace("apps/v1", "extensions/v1beta1");
    let place = Place::new(&[("a.yaml", &old)]);
    let got = place.check(&["a.yaml"]);
    assert_eq!(
        got.stdout,
        "a.yaml:1:1: warning: Deployment of extensions/v1beta1 is skipped: Kubernetes 1.16 removed this API; use apps/v1\n"
    );
    assert_eq!(got.code, 0);
}

#[test]
fn leaves_out_what_is_excluded() {
    let place = Place::new(&[
        ("d/a.yaml", DENIED),
        ("d/tests/b.yaml", DENIED),
        ("d/c.tmpl.yaml", DENIED),
    ]);
    let got = place.check(&["d", "--exclude", "tests/", "--exclude", "*.tmpl.yaml"]);
    assert_eq!(got.found(), ["d/a.yaml:9 deny WIN101"]);
    let got = place.check(&["d", "--exclude", "d/a.yaml"]);
    assert_eq!(
        got.found(),
        [
            "d/c.tmpl.yaml:9 deny WIN101",
            "d/tests/b.yaml:9 deny WIN101"
        ]
    );
    // A file that is named is read all the same.
    let got = place.check(&["d/a.yaml", "--exclude", "*.yaml"]);
    assert_eq!(got.found(), ["d/a.yaml:9 deny WIN101"]);
    for wrong in ["", "!a", "a[", "{a"] {
        let arg = format!("--exclude={wrong}");
        place.check(&["d", &arg]).refused(&["--exclude"]);
    }
}

#[test]
fn stdin_has_the_name_that_it_is_given() {
    let place = Place::new(&[]);
    let got = place.check_stdin(DENIED, &["-", "--stdin-filename", "deploy/web.yaml"]);
    assert_eq!(got.found(), ["deploy/web.yaml:9 deny WIN101"]);
    place
        .check(&["-", "--stdin-filename="])
        .refused(&["--stdin-filename"]);
}

#[test]
fn counts_findings_by_rule() {
    let place = Place::new(&[
        ("a.yaml", DENIED),
        ("b.yaml", DENIED),
        ("c.yaml", super::WARNED),
    ]);
    let got = place.plain(&[".", "--statistics"]);
    assert_eq!(
        got.stdout,
        "2 deny WIN101 run-as-user: Windows has no numeric user IDs\n\
         1 warn WIN302 mount-propagation: Windows mounts are always private\n"
    );
    assert_eq!(got.code, 1);
    place
        .plain(&[".", "--statistics", "-ojson"])
        .refused(&["--statistics"]);
}

#[test]
fn reports_nothing_below_the_severity_that_is_asked_for() {
    let place = Place::new(&[
        ("a.yaml", DENIED),
        ("b.yaml", super::REPAIRED),
        ("c.yaml", super::WARNED),
    ]);
    for (least, want, notes) in [
        ("note", &["WIN101", "WIN112", "WIN302"][..], 2),
        ("repair", &["WIN101", "WIN112", "WIN302"], 0),
        ("warn", &["WIN101", "WIN302"], 0),
        ("deny", &["WIN101"], 0),
    ] {
        let got = place.check(&[".", "--min-severity", least]);
        assert_eq!(got.codes(), want, "{least}");
        assert_eq!(got.stdout.matches(": note: ").count(), notes, "{least}");
    }
    place
        .check(&[".", "--min-severity=deny", "--fail-on=place"])
        .refused(&["--min-severity", "--fail-on"]);
}

#[test]
fn suggests_the_flag_that_was_meant() {
    let place = Place::new(&[]);
    for (wrong, meant) in [
        ("--severity=deny", "--min-severity"),
        ("--format=json", "--output"),
        ("--skip=WIN1", "--ignore"),
        ("--statistic", "--statistics"),
        ("--exlude=a", "--exclude"),
    ] {
        place
            .check(&[wrong, "."])
            .refused(&["unexpected argument", meant]);
    }
}

#[test]
fn writes_a_commented_configuration_once() {
    let place = Place::new(&[("till.yaml", super::REPAIRED)]);
    let init = || Outcome::of(&program::run(place.0.path(), &["init"]));
    let got = init();
    assert_eq!((got.code, got.stdout.as_str()), (0, ""));
    assert!(
        got.stderr.starts_with("wrote .transom.yaml"),
        "{}",
        got.stderr
    );
    let text = place.read(".transom.yaml");
    for key in ["# mode: enforce", "# exemptions:", "#   tolerations:"] {
        assert!(
            text.lines().any(|line| line.starts_with(key)),
            "{key}: {text}"
        );
    }
    let keys = text
        .lines()
        .filter(|line| !line.is_empty() && !line.trim_start().starts_with('#'));
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["apiVersion: transom.dev/v1alpha1", "kind: Config"]
    );
    let check = program::run(place.0.path(), &["config", "check", ".transom.yaml"]);
    assert!(check.status.success());
    // Defaults that nobody set stay defaults.
    assert!(
        !place
            .plain(&["till.yaml", "--diff"])
            .stdout
            .contains("tolerations")
    );
    init().refused(&[".transom.yaml exists"]);
    assert_eq!(place.read(".transom.yaml"), text);
}

/// As `args: [1]`, which the API server rejects.
#[test]
fn reports_values_that_are_no_strings() {
    let pod = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, annotations: {x: false, y: 'false', n: null, l: [a]}}
spec:
  template:
    metadata: {labels: {version: 1.10}}
    spec:
      initContainers: [{name: a, image: b, env: [{name: A, value: 0644}, {name: B, value: '1'}, {name: C}]}]
      containers: [{name: a, image: b, env: [{name: A, value: yes}]}]
";
    let place = Place::new(&[("a.yaml", pod)]);
    let got = place.check(&["a.yaml", "-q"]);
    assert_eq!(
        got.stdout,
        "\
a.yaml:3:38: error: metadata.annotations.x: must be a string, not a boolean; put it in quotes
a.yaml:3:69: error: metadata.annotations.l: must be a string, not a list
a.yaml:6:34: error: spec.template.metadata.labels.version: must be a string, not a number; put it in quotes
a.yaml:8:67: error: spec.template.spec.initContainers[0].env[0].value: must be a string, not a number; put it in quotes
a.yaml:9:63: error: spec.template.spec.containers[0].env[0].value: must be a string, not a boolean; put it in quotes
"
    );
    assert_eq!(got.code, 2);
}

/// For those who read stderr alone.
#[test]
fn reports_on_stderr_in_every_format_what_cannot_be_read() {
    let place = Place::new(&[("bad.yaml", "kind: [\n"), ("latin.yaml", "")]);
    std::fs::write(place.path("latin.yaml"), b"a: \xe4\n").unwrap();
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        let got = place.plain(&["bad.yaml", "latin.yaml", "gone.yaml", "-o", format]);
        assert_eq!(got.code, 2, "{format}");
        for line in [
            "bad.yaml:1:7: error: ",
            "latin.yaml:1:4: error: this is not UTF-8; save the file as UTF-8\n",
            "gone.yaml: error: there is no such file\n",
        ] {
            assert!(got.stderr.contains(line), "{format}: {}", got.stderr);
        }
    }
}
