//! What is said of each mistake, to the letter: line and column, key, what is wrong, what was
//! probably meant.

use transom::config::Written;
use transom::policy::Policy;

use super::{HEAD, config};

/// What is wrong with this text, a line for each mistake.
fn errors(text: &str) -> Vec<String> {
    let error = Policy::parse(text).unwrap_err().to_string();
    error.lines().map(str::to_owned).collect()
}

/// The lines below the first two, which are right; so these start in line 3.
#[test]
fn every_mistake_has_its_place_and_its_remedy() {
    for (yaml, want) in [
        // Keys.
        ("mdoe: warn", "3:1: mdoe: unknown key; did you mean mode?"),
        ("Mode: warn", "3:1: Mode: unknown key; did you mean mode?"),
        (
            "placement:\n  setPodOs: never",
            "4:3: placement.setPodOs: unknown key; did you mean setPodOS?",
        ),
        (
            "placement: {tolerations: [{key: os, tolerationSeconds: 5}]}",
            "3:37: placement.tolerations[0].tolerationSeconds: unknown key; \
             known here: builds, effect, key, operator, value",
        ),
        (
            "exemptions:\n  namespace: [a]",
            "4:3: exemptions.namespace: unknown key; did you mean namespaces?",
        ),
        (
            "namespaces: {shop: {}}",
            "3:20: namespaces.shop.mode: is missing",
        ),
        (
            "placement:\n  tolerations:\n  - value: a",
            "5:5: placement.tolerations[0].key: is missing",
        ),
        (
            "mode: warn\nprofile: current\nmode: audit",
            "5:1: mode: stands there twice, first in line 3; keep one",
        ),
        (
            "rules: {WIN301: deny, WIN301: warn}",
            "3:23: rules.WIN301: stands there twice, first in line 3; keep one",
        ),
        // Words.
        (
            "mode: enforced",
            "3:7: mode: \"enforced\" is none of off, audit, warn, enforce; did you mean enforce?",
        ),
        (
            "mode: 5",
            "3:7: mode: \"5\" is none of off, audit, warn, enforce",
        ),
        (
            "profile: kep116",
            "3:10: profile: \"kep116\" is none of current, kep-116; did you mean kep-116?",
        ),
        (
            "placement: {tolerations: [{key: os, effect: noschedule}]}",
            "3:45: placement.tolerations[0].effect: \"noschedule\" is none of NoSchedule, \
             PreferNoSchedule, NoExecute, \"\"; did you mean NoSchedule?",
        ),
        (
            "placement:\n  repair: maybe",
            "4:11: placement.repair: \"maybe\" is neither true nor false",
        ),
        (
            "placement: {repair: 'true'}",
            "3:21: placement.repair: \"true\" is neither true nor false",
        ),
        (
            "evidence: {acting: [pod-label, image_hint]}",
            "3:32: evidence.acting[1]: \"image_hint\" is none of windows-options, \
             preferred-affinity, pod-label, image-hint, windows-text, toleration; \
             did you mean image-hint?",
        ),
        // Rules.
        (
            "rules:\n  WIN331: deny",
            "4:3: rules.WIN331: there is no such rule; did you mean WIN313 (mount-c-drive)?",
        ),
        (
            "rules: {WIN609: deny}",
            "3:9: rules.WIN609: there is no such rule; did you mean WIN601 (os-conflict)?",
        ),
        (
            "rules:\n  subPath: deny",
            "4:3: rules.subPath: there is no such rule; did you mean sub-path (WIN301)?",
        ),
        (
            "rules: {WIN999: deny}",
            "3:9: rules.WIN999: there is no such rule; \
             use a code such as WIN301 or a name such as sub-path",
        ),
        (
            "rules: {WIN101: dney}",
            "3:17: rules.WIN101: \"dney\" is none of off, warn, repair, deny; did you mean deny?",
        ),
        (
            "rules: {WIN301: error}",
            "3:17: rules.WIN301: \"error\" is none of off, warn, deny",
        ),
        (
            "rules: {WIN301: repair}",
            "3:17: rules.WIN301: cannot be repair: only fields that the API server refuses beside \
             spec.os.name: windows are taken out; use deny, warn or off",
        ),
        (
            "rules: {WIN301: deny, sub-path: warn}",
            "3:23: rules.sub-path: the same rule as WIN301; keep one of them",
        ),
        // Types.
        (
            "rules: [WIN301]",
            "3:8: rules: must be keys with values, not a list",
        ),
        (
            "exemptions: {users: jane}",
            "3:21: exemptions.users: must be a list, not \"jane\"",
        ),
        (
            "exemptions: {users: [{name: jane}]}",
            "3:22: exemptions.users[0]: must be a text, not keys with values",
        ),
        (
            "rules: {WIN301: {action: deny}}",
            "3:17: rules.WIN301: must be one of off, warn, deny, not keys with values",
        ),
        (
            "mode: [warn]",
            "3:7: mode: must be one of off, audit, warn, enforce, not a list",
        ),
        // Nothing.
        (
            "rules:",
            "3:1: rules: nothing is written here; write {} for none, or leave the key out",
        ),
        (
            "placement:\n  tolerations:\nmode: warn",
            "4:3: placement.tolerations: nothing is written here; \
             write [] for none, or leave the key out",
        ),
        (
            "mode:",
            "3:1: mode: nothing is written here; \
             write one of off, audit, warn, enforce, or leave the key out",
        ),
        (
            "exemptions: {users: [~]}",
            "3:22: exemptions.users[0]: nothing is written here; write a text, or leave it out",
        ),
        // Values.
        (
            "namespaces:\n  Shop: {mode: warn}",
            "4:3: namespaces.Shop: \"Shop\" is not the name of a namespace; patterns are not known",
        ),
        (
            "namespaces:\n  a.b: {mode: warn}",
            "4:3: namespaces[\"a.b\"]: \"a.b\" is not the name of a namespace; \
             patterns are not known",
        ),
        (
            "exemptions:\n  namespaces:\n  - kube-system\n  - team-*",
            "6:5: exemptions.namespaces[1]: \"team-*\" is not the name of a namespace; \
             patterns are not known",
        ),
        (
            "placement: {osLabelKey: beta.kubernetes.io/os}",
            "3:25: placement.osLabelKey: \"beta.kubernetes.io/os\" is the label of long ago; \
             the usual one is kubernetes.io/os",
        ),
        (
            "placement: {tolerations: [{key: a, operator: Exists, value: b}]}",
            "3:61: placement.tolerations[0].value: must be empty with operator Exists",
        ),
        (
            "placement: {tolerations: [{key: a, builds: ['17763']}]}",
            "3:45: placement.tolerations[0].builds[0]: \"17763\" is not a Windows build \
             such as 10.0.17763",
        ),
        (
            "placement: {tolerations: [{key: a}, {key: a}]}",
            "3:37: placement.tolerations[1]: stands there twice",
        ),
        (
            "evidence: {images: {hint: {tags: ['']}}}",
            "3:35: evidence.images.hint.tags[0]: must not be empty",
        ),
        // YAML.
        (
            "mode: 'warn",
            "4:1: this is not YAML: a quote is opened before and not closed",
        ),
        (
            "mode: warn\n---\nmode: off",
            "5:1: a second YAML document; a configuration is one",
        ),
        (
            "mode: *m",
            "3:7: this is not YAML: nothing above has this anchor; quote a value that starts with *",
        ),
    ] {
        assert_eq!(errors(&config(yaml)), [want], "{yaml}");
    }
}

#[test]
fn a_text_that_is_no_configuration_is_told_in_one_line() {
    const EMPTY: &str =
        "1:1: it is empty; it starts with apiVersion: transom.dev/v1alpha1 and kind: Config";
    for (text, want) in [
        ("", EMPTY),
        ("\n\n# nothing\n", EMPTY),
        ("---\n", EMPTY),
        ("null", EMPTY),
        ("[]", "1:1: must be keys with values, not a list"),
        ("a word", "1:1: must be keys with values, not \"a word\""),
        (
            "apiVersion: transom.dev/v1alpha1",
            "1:1: kind: is missing; write kind: Config",
        ),
        (
            "kind: Config\napiVersion: v1",
            "2:13: apiVersion: must be transom.dev/v1alpha1, not \"v1\"",
        ),
        (
            "{apiVersion: transom.dev/v1alpha1, kind: ''}",
            "1:42: kind: must be Config, not \"\"",
        ),
    ] {
        assert_eq!(errors(text), [want], "{text:?}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let text = config(
        "rules:\n  WIN331: deny\n  WIN101: denny\nmdoe: warn\nexemptions:\n  users: jane\n  users:\n",
    );
    assert_eq!(
        errors(&text),
        [
            "4:3: rules.WIN331: there is no such rule; did you mean WIN313 (mount-c-drive)?",
            "5:11: rules.WIN101: \"denny\" is none of off, warn, repair, deny; did you mean deny?",
            "6:1: mdoe: unknown key; did you mean mode?",
            "8:10: exemptions.users: must be a list, not \"jane\"",
            "9:3: exemptions.users: stands there twice, first in line 8; keep one",
        ]
    );
    let text = config(
        "namespaces: {A: {mode: warn}}\nplacement: {osLabelKey: '', tolerations: [{key: '-'}]}",
    );
    let places: Vec<_> = errors(&text)
        .into_iter()
        .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        places,
        [
            "3:14 namespaces.A",
            "4:25 placement.osLabelKey",
            "4:49 placement.tolerations[0].key"
        ]
    );
}

#[test]
fn a_report_shows_the_line() {
    let text = config("rules:\n  WIN331: deny\nmode: \"enforced\"");
    let error = Written::read(&text).unwrap_err();
    assert_eq!(
        error.report("config.yaml", &text),
        "\
config.yaml:4:3: rules.WIN331: there is no such rule; did you mean WIN313 (mount-c-drive)?
  4 |   WIN331: deny
    |   ^^^^^^
config.yaml:5:7: mode: \"enforced\" is none of off, audit, warn, enforce; did you mean enforce?
  5 | mode: \"enforced\"
    |       ^^^^^^^^^^
"
    );
    let empty = Written::read("").unwrap_err();
    assert_eq!(
        empty.report("-", ""),
        "-:1:1: it is empty; it starts with apiVersion: transom.dev/v1alpha1 and kind: Config\n"
    );
}

/// Anchors and merge keys are read, and what they bring is checked where it is written.
#[test]
fn aliases_are_read() {
    let text = config("namespaces:\n  a: &a {mode: warn}\n  b: *a\n  c: {<<: *a, mode: audit}");
    assert!(Policy::parse(&text).is_ok());
    let text = config("namespaces:\n  a: &a {mode: warm}\n  b: *a");
    let want = "4:16: namespaces.a.mode: \"warm\" is none of off, audit, warn, enforce; did you mean warn?";
    assert_eq!(errors(&text)[0], want);
}

#[test]
fn every_line_ending_counts_as_one() {
    let text = format!("{HEAD}mode: warn\n").replace('\n', "\r\n") + "mdoe: warn\r\n";
    assert_eq!(
        errors(&text),
        ["4:1: mdoe: unknown key; did you mean mode?"]
    );
    let text = format!("\u{feff}{HEAD}mdoe: warn\n");
    assert_eq!(
        errors(&text),
        ["3:1: mdoe: unknown key; did you mean mode?"]
    );
}
