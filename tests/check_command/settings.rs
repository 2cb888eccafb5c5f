//! The configuration and what the flags say on top of it.

use super::{DENIED, Place, REPAIRED, UNMARKED, WARNED};

const HEAD: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";

fn config(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

#[test]
fn the_configuration_is_the_file_that_is_given() {
    let place = Place::new(&[
        ("web.yaml", DENIED),
        ("cluster.yaml", &config("rules: {WIN101: warn}\n")),
        (".transom.yaml", &config("rules: {WIN101: 'off'}\n")),
    ]);
    let got = place.check(&["web.yaml", "--config", "cluster.yaml"]);
    assert_eq!(got.found(), ["web.yaml:9 warn WIN101"]);
    let got = place
        .command(&["web.yaml"])
        .env("TRANSOM_CONFIG", "cluster.yaml")
        .output();
    let got = super::Outcome::of(&got.unwrap());
    assert_eq!(got.found(), ["web.yaml:9 warn WIN101"]);
    assert_eq!(place.check(&["web.yaml"]).found(), [""; 0]);
}

#[test]
fn finds_the_configuration_upwards_and_reports_it() {
    let place = Place::new(&[
        (".transom.yaml", &config("mode: warn\n")),
        ("a/b/web.yaml", DENIED),
    ]);
    let below = |args: &[&str]| {
        let mut command = place.command(args);
        super::Outcome::of(&command.current_dir(place.path("a/b")).output().unwrap())
    };
    let got = below(&["web.yaml"]);
    assert_eq!(got.found(), ["web.yaml:9 warn WIN101"]);
    // What weakens a check in a pull request is visible in its log.
    let line = ".transom.yaml (profile current, mode warn";
    assert!(got.stderr.contains(line), "{}", got.stderr);
    let quiet = below(&["web.yaml", "-q"]).stderr;
    assert!(!quiet.contains(".transom.yaml"), "{quiet}");
    let told = below(&["web.yaml", "-v"]).stderr;
    assert!(
        told.contains(".transom.yaml (profile current, mode warn"),
        "{told}"
    );
    assert_eq!(told.matches(".transom.yaml").count(), 1, "{told}");
    // The repository ends here.
    std::fs::create_dir(place.path("a/.git")).unwrap();
    let got = below(&["web.yaml", "-v"]);
    assert_eq!(got.found(), ["web.yaml:9 deny WIN101"]);
    assert!(got.stderr.contains("the defaults"), "{}", got.stderr);
}

#[test]
fn a_configuration_that_is_not_valid_is_told_as_config_check_tells_it() {
    let place = Place::new(&[
        ("web.yaml", DENIED),
        ("bad.yaml", &config("mdoe: warn\nrules: {WIN331: deny}\n")),
    ]);
    let told = super::program::run(place.0.path(), &["config", "check", "bad.yaml"]).stderr;
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.matches("did you mean").count(), 2, "{told}");
    place
        .check(&["web.yaml", "--config", "bad.yaml"])
        .refused(&[told.trim_end()]);
    place
        .check(&["web.yaml", "--config", "gone.yaml"])
        .refused(&["cannot read gone.yaml"]);
    place.write(".transom.yaml", "kind: [");
    place.check(&["web.yaml"]).refused(&[".transom.yaml:1:"]);
}

#[test]
fn the_profile_wins_over_the_configuration() {
    let place = Place::new(&[
        ("shop.yaml", WARNED),
        (".transom.yaml", &config("profile: current\n")),
    ]);
    assert_eq!(place.check(&["shop.yaml"]).code, 0);
    let got = place.check(&["shop.yaml", "--profile", "kep-116"]);
    let found = got.found();
    assert!(
        found.contains(&"shop.yaml:9 deny WIN302".to_owned()),
        "{found:?}"
    );
    assert_eq!(got.code, 1);
}

#[test]
fn rules_are_selected_and_ignored_by_code_name_and_prefix() {
    let files = [("a.yaml", DENIED), ("b.yaml", WARNED), ("c.yaml", REPAIRED)];
    let place = Place::new(&files);
    let codes = |args: &[&str]| {
        let files = ["a.yaml", "b.yaml", "c.yaml"];
        place.check(&[&files, args].concat()).codes()
    };
    assert_eq!(codes(&[]), ["WIN101", "WIN302", "WIN112"]);
    assert_eq!(codes(&["--select", "WIN3"]), ["WIN302"]);
    assert_eq!(
        codes(&["--select", "win112,run-as-user"]),
        ["WIN101", "WIN112"]
    );
    let args = [
        "--select",
        "WIN1",
        "--select",
        "mount-propagation",
        "--ignore",
        "WIN101",
    ];
    assert_eq!(codes(&args), ["WIN302", "WIN112"]);
    assert_eq!(codes(&["--ignore", "WIN1,WIN3"]), [""; 0]);
    assert_eq!(place.check(&["a.yaml", "--ignore", "WIN101"]).code, 0);
}

#[test]
fn unknown_rules_are_refused_with_the_nearest() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    for flag in ["--select", "--ignore"] {
        let refused = |rules, words: &[&str]| {
            let got = place.check(&["web.yaml", flag, rules]);
            got.refused(&[&[flag], words].concat());
        };
        refused("WIN101,WIN331", &["WIN331", "WIN313"]);
        refused("run-as-usr", &["run-as-usr", "run-as-user"]);
        refused("", &["there is no rule \"\""]);
    }
}

#[test]
fn a_rule_that_is_off_stays_off_when_it_is_selected() {
    let place = Place::new(&[
        ("web.yaml", DENIED),
        (".transom.yaml", &config("rules: {WIN101: 'off'}\n")),
    ]);
    let got = place.check(&["web.yaml", "--select", "WIN101", "--verbose"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, ""));
    assert!(
        got.stderr.contains("WIN101 is selected, but off"),
        "{}",
        got.stderr
    );
}

/// What is told does not change what is decided: the other finding is still repaired.
#[test]
fn a_selection_changes_no_decision() {
    let both = REPAIRED.replace("Escalation: false", "Escalation: false, privileged: false");
    let place = Place::new(&[("till.yaml", &both)]);
    let got = place.check(&["till.yaml"]);
    assert_eq!(
        got.found(),
        ["till.yaml:8 repair WIN112", "till.yaml:8 repair WIN113"]
    );
    let got = place.check(&["till.yaml", "--select", "WIN113"]);
    assert_eq!(got.found(), ["till.yaml:8 repair WIN113"]);
}

#[test]
fn pods_without_evidence_are_for_the_system_that_is_assumed() {
    let place = Place::new(&[("a.yaml", UNMARKED), ("b.yaml", WARNED)]);
    let codes = |args: &[&str]| place.check(&[&["a.yaml", "b.yaml"], args].concat()).codes();
    assert_eq!(codes(&[]), ["WIN302"]);
    assert_eq!(codes(&["--assume-os", "windows"]), ["WIN101", "WIN302"]);
    assert_eq!(codes(&["--assume-os=linux"]), ["WIN302"]);
    let labels = "--namespace-labels=team=shop,transom.dev/os=windows";
    assert_eq!(codes(&[labels]), ["WIN101", "WIN302"]);
    assert_eq!(codes(&[labels, "--assume-os", "linux"]), ["WIN302"]);
    place
        .check(&["a.yaml", "--assume-os", "plan9"])
        .refused(&["windows", "linux"]);
}

#[test]
fn labels_of_the_namespace_count() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    let got = place.check(&["web.yaml", "--namespace-labels", "transom.dev/mode=warn"]);
    assert_eq!(got.found(), ["web.yaml:9 warn WIN101"]);
    for (labels, words) in [
        (
            "transom.dev/mood=warn",
            &["transom.dev/mood", "transom.dev/mode"][..],
        ),
        (
            "transom.dev/mode=warm",
            &["warm", "enforce, warn, audit, off"],
        ),
        ("transom.dev/mode", &["KEY=VALUE"]),
        ("=warn", &["KEY=VALUE"]),
        ("", &["KEY=VALUE"]),
    ] {
        place
            .check(&["web.yaml", "--namespace-labels", labels])
            .refused(words);
    }
}

#[test]
fn the_namespace_of_manifests_that_name_none_can_be_given() {
    let other = DENIED.replace("name: web", "name: web, namespace: dev");
    let place = Place::new(&[
        ("a.yaml", DENIED),
        ("b.yaml", &other),
        (
            ".transom.yaml",
            &config("namespaces: {shop: {mode: warn}}\n"),
        ),
    ]);
    let got = place.check(&["a.yaml", "b.yaml", "-n", "shop"]);
    assert_eq!(
        got.found(),
        ["a.yaml:9 warn WIN101", "b.yaml:9 deny WIN101"]
    );
    place
        .check(&["a.yaml", "--namespace", ""])
        .refused(&["--namespace"]);
}

#[test]
fn reports_linux_workloads_that_windows_nodes_could_receive_in_a_mixed_cluster() {
    let set = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      tolerations:
      - operator: Exists
      containers: [{name: main, image: app}]
";
    let pinned = set.replace(
        "      tolerations:",
        "      nodeSelector: {kubernetes.io/os: linux}\n      tolerations:",
    );
    let off = config("rules: {WIN608: 'off'}\n");
    let place = Place::new(&[("a.yaml", set), ("b.yaml", &pinned), ("off.yaml", &off)]);
    assert_eq!(place.check(&["a.yaml"]).found(), [""; 0]);
    for more in [
        &[][..],
        &["--config", "off.yaml"],
        &["--profile", "kep-116"],
    ] {
        let args = [&["a.yaml", "b.yaml", "--mixed-cluster"], more].concat();
        assert_eq!(
            place.check(&args).found(),
            ["a.yaml:8 warn WIN608"],
            "{more:?}"
        );
    }
    let code = |args: &[&str]| place.check(args).code;
    assert_eq!(code(&["a.yaml", "--mixed-cluster"]), 0);
    assert_eq!(code(&["a.yaml", "--mixed-cluster", "--fail-on", "warn"]), 1);
    assert_eq!(code(&["b.yaml", "--mixed-cluster", "--fail-on", "warn"]), 0);
    assert_eq!(place.check(&["a.yaml", "--mixed-cluster", "--fix"]).code, 0);
    assert_eq!(place.read("a.yaml"), set);
}
