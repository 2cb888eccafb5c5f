//! `transom config show`: it means the same as what it shows, and says where it comes from.

use transom::config::{ProfileName, Written};
use transom::policy::{Policy, Shown, advice};
use transom::rules;

use super::config;

/// What is shown of a configuration of these lines.
fn shown(yaml: &str) -> String {
    let written = Written::read(&config(yaml)).unwrap();
    Shown::new(&written, "config.yaml", None).unwrap().yaml()
}

/// The line for this key, without the room before the comment.
fn line<'s>(shown: &'s str, key: &str) -> Vec<&'s str> {
    let start = format!("{key}:");
    let line = shown
        .lines()
        .find(|line| line.trim_start_matches([' ', '-']).starts_with(&start));
    line.unwrap_or_default()
        .trim_start_matches([' ', '-'])
        .splitn(2, "  ")
        .map(str::trim)
        .collect()
}

#[test]
fn what_is_shown_means_the_same() {
    for yaml in [
        "",
        "profile: kep-116",
        "profile: kep-116\nrules: {WIN113: warn, seccomp: repair, WIN308: \"off\", WIN506: warn}",
        "mode: off\nnamespaces: {on: {mode: audit}, n: {mode: \"off\"}, '1': {mode: warn}, true: {mode: warn}}",
        "exemptions: {namespaces: [], users: [\"a: b\", '#', \"it's\", 'a\"b', \"\\u00e9\\n\"], groups: ['- x']}",
        "evidence: {acting: [windows-text], images: {hint: {words: [], tags: ['0x10', '1e3', 'null']}}}",
        "placement: {osLabelKey: a/b, tolerations: [{key: os, operator: Exists}, {key: a.b/c, value: 'off', builds: [10.0.1, 10.0.2]}], setPodOS: never, repair: no}",
        "placement: {tolerations: []}\nhostProcess: {namespaces: [a]}",
        "ignoredFields: warn",
        "ignoredFields: repair\nrules: {WIN113: warn, run-as-user: deny}",
        "ignoredFields: warn\nprofile: kep-116",
    ] {
        let written = Written::read(&config(yaml)).unwrap();
        let policy = Policy::of(&written).unwrap();
        let text = shown(yaml);
        let again = Written::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let same = Policy::of(&again).unwrap();
        for rule in rules::all() {
            assert_eq!(
                policy.actions(rule),
                same.actions(rule),
                "{yaml}: {}",
                rule.code
            );
        }
        let [mut before, mut after] = [written.config, again.config];
        assert_eq!(after.rules.len(), rules::all().count());
        before.rules.clear();
        after.rules.clear();
        assert_eq!(before, after, "{text}");
        // To YAML 1.2 as to YAML 1.1.
        let other: transom::config::Config = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(other, Written::read(&text).unwrap().config);
    }
}

#[test]
fn every_value_says_where_it_comes_from() {
    let text = shown(
        "mode: warn\nrules:\n  sub-path: deny\n  WIN113: warn\nplacement:\n  tolerations:\n  - key: a\n    effect: NoExecute\n",
    );
    for (key, want) in [
        (
            "apiVersion",
            ["apiVersion: transom.dev/v1alpha1", "# config.yaml:1"],
        ),
        ("mode", ["mode: warn", "# config.yaml:3"]),
        ("profile", ["profile: current", "# default"]),
        ("WIN301", ["WIN301: deny", "# config.yaml:5; sub-path"]),
        ("WIN113", ["WIN113: warn", "# config.yaml:6; privileged"]),
        ("WIN101", ["WIN101: deny", "# default; run-as-user"]),
        (
            "WIN308",
            [
                "WIN308: deny",
                "# default; linux-volume-type; flexVolume: warn; csi: off",
            ],
        ),
        (
            "WIN116",
            ["WIN116: \"off\"", "# default; container-administrator"],
        ),
        ("tolerations", ["tolerations:", "# config.yaml:8"]),
        ("key", ["key: a", "# config.yaml:9"]),
        ("effect", ["effect: NoExecute", "# config.yaml:10"]),
        ("operator", ["operator: Equal", "# default"]),
        ("repair", ["repair: true", "# default"]),
    ] {
        assert_eq!(line(&text, key), want, "{text}");
    }
}

#[test]
fn reports_which_actions_ignored_fields_lowers() {
    let text = shown("ignoredFields: warn\nrules:\n  WIN113: deny\n  WIN106: warn\n");
    for (key, want) in [
        ("ignoredFields", ["ignoredFields: warn", "# config.yaml:3"]),
        (
            "WIN101",
            ["WIN101: warn", "# ignoredFields: warn; run-as-user"],
        ),
        (
            "WIN112",
            [
                "WIN112: warn",
                "# ignoredFields: warn; allow-privilege-escalation; false: repair",
            ],
        ),
        ("WIN106", ["WIN106: warn", "# config.yaml:6; fs-group"]),
        (
            "WIN113",
            [
                "WIN113: deny",
                "# config.yaml:5; privileged; false, or in a HostProcess pod: repair",
            ],
        ),
        ("WIN307", ["WIN307: deny", "# default; nfs"]),
    ] {
        assert_eq!(line(&text, key), want, "{text}");
    }
}

#[test]
fn a_profile_says_what_it_changes_and_who_chose_it() {
    let mut written = Written::read(&config("profile: current\nrules: {WIN503: deny}")).unwrap();
    written.config.profile = ProfileName::Kep116;
    let shown = Shown::new(&written, "config.yaml", Some("--profile")).unwrap();
    let text = shown.yaml();
    for (key, want) in [
        ("profile", ["profile: kep-116", "# --profile"]),
        ("WIN101", ["WIN101: deny", "# default; run-as-user"]),
        (
            "WIN302",
            ["WIN302: deny", "# profile kep-116; mount-propagation"],
        ),
        ("WIN503", ["WIN503: deny", "# config.yaml:4; stop-signal"]),
    ] {
        assert_eq!(line(&text, key), want, "{text}");
    }
    let json = shown.json();
    assert_eq!(json["profile"]["origin"], "--profile");
    assert_eq!(json["profile"]["value"], "kep-116");
    assert_eq!(json["rules.WIN302"]["origin"], "profile kep-116");
    assert_eq!(json["rules.WIN302"]["name"], "mount-propagation");
    assert_eq!(json["rules.WIN506"]["others"]["with one container"], "off");
    assert_eq!(json["placement.repair"]["value"], true);
    assert_eq!(json["placement.tolerations[0].key"]["value"], "os");
    assert_eq!(json["exemptions.namespaces"]["value"][0], "kube-system");
    assert_eq!(
        json["hostProcess.namespaces"]["value"],
        serde_json::json!([])
    );
}

/// What is valid and probably not meant.
fn advised(yaml: &str) -> Vec<String> {
    let written = Written::read(&config(yaml)).unwrap();
    let policy = Policy::of(&written).unwrap();
    advice(&written, &policy)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn what_was_probably_not_meant_is_told() {
    for (yaml, want) in [
        (
            "exemptions:\n  namespaces: [a]",
            "4:15: exemptions.namespaces: kube-system is not exempt: \
             what the cluster needs to run can be refused; add it",
        ),
        (
            "namespaces:\n  kube-system: {mode: warn}",
            "4:3: namespaces.kube-system: changes nothing: the namespace is exempt \
             (exemptions.namespaces)",
        ),
        (
            "rules: {mount-propagation: warn, WIN301: deny}",
            "3:28: rules.mount-propagation: changes nothing: warn is the default of profile current",
        ),
        (
            "profile: kep-116\nignoredFields: warn",
            "4:16: ignoredFields: changes nothing: profile kep-116 does not use it",
        ),
        (
            "ignoredFields: repair\nplacement: {repair: false}",
            "3:16: ignoredFields: has the effect of warn: placement.repair is false, so no field is removed",
        ),
        (
            "ignoredFields: warn\nrules: {WIN101: warn}",
            "4:17: rules.WIN101: changes nothing: ignoredFields makes it warn already",
        ),
        (
            "hostProcess: {namespaces: [a]}",
            "3:27: hostProcess.namespaces: changes nothing: rule WIN117 (host-process) is off",
        ),
    ] {
        assert_eq!(advised(yaml), [want], "{yaml}");
    }
}

#[test]
fn what_was_meant_is_not_told() {
    for yaml in [
        "",
        "rules: {WIN301: deny, WIN113: repair, WIN308: warn}",
        "profile: kep-116\nrules: {WIN301: warn}\nhostProcess: {namespaces: [a]}",
        "exemptions: {namespaces: [kube-system, a]}\nnamespaces: {b: {mode: warn}}",
        "ignoredFields: warn",
        "ignoredFields: repair\nrules: {WIN101: warn}",
        "ignoredFields: deny\nprofile: kep-116",
    ] {
        assert_eq!(advised(yaml), [""; 0], "{yaml}");
    }
    // Everything written down is one line.
    let written = Written::read(&shown("rules: {WIN301: deny}")).unwrap();
    let advice = advice(&written, &Policy::of(&written).unwrap());
    let count = rules::all().count();
    let want = format!(
        "{} of {count} change nothing: profile current has the same",
        count - 1
    );
    assert_eq!(advice.len(), 1);
    assert_eq!(advice[0].problem, want);
}
