//! The configuration file is understood to the letter or refused with a sentence that names the
//! key; and what its settings make of the rules' actions. A module for each subject.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "../common/mod.rs"]
mod common;

#[path = "../support/program.rs"]
mod program;

mod actions;
mod command;
mod errors;
mod schema;
mod shown;

use common::{ask_with, config, create, object_of, policy};
use serde_json::json;
use transom::config::{Config, Written};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::rules::Action::Off;
use transom::rules::Rule;

/// What is wrong with these lines.
fn refused(yaml: &str) -> String {
    match Policy::parse(&config(yaml)) {
        Ok(_) => panic!("accepted: {yaml}"),
        Err(error) => {
            let problem = &error.problems()[0];
            format!("{}: {}", problem.path, problem.problem)
        }
    }
}

#[test]
fn accepts_the_two_keys_that_have_to_be_there() {
    assert!(Policy::parse(&config("")).is_ok());
    assert!(Policy::parse(r#"{"apiVersion": "transom.dev/v1alpha1", "kind": "Config"}"#).is_ok());
}

#[test]
fn accepts_every_key() {
    let policy = Policy::parse(&config(
        r#"
profile: kep-116
mode: warn
namespaces: {shop: {mode: "off"}, legacy: {mode: audit}}
rules: {WIN301: deny, privileged: repair, host-network: "off"}
exemptions:
  namespaces: [kube-system, transom]
  users: ["system:node:a"]
  groups: ["system:masters"]
  runtimeClasses: [legacy]
ownedObjects: enforce
evidence:
  images:
    certain: {repositories: [a/b], tags: [c]}
    hint: {words: [d], tags: [e]}
    linux: {repositories: [f/g]}
  acting: [windows-options, preferred-affinity, pod-label, image-hint, windows-text, toleration]
placement:
  osLabelKey: example.com/os
  tolerations:
  - {key: os, operator: Equal, value: windows, effect: NoSchedule, builds: ["10.0.17763"]}
  - {key: example.com/os, operator: Exists}
  setPodOS: never
  repair: false
linuxGuard: true
linuxGuardSelectedPods: true
hostProcess: {namespaces: [kube-system]}
"#,
    ));
    assert!(policy.is_ok(), "{policy:?}");
}

#[test]
fn the_default_configuration_survives_being_written() {
    let json = serde_json::to_string(&Config::default()).unwrap();
    assert_eq!(Written::read(&json).unwrap().config, Config::default());
    let minimal = Written::read(&config("")).unwrap();
    assert_eq!(minimal.config, Config::default());
}

#[test]
fn rejects_unknown_keys_at_every_level() {
    for yaml in [
        "modes: warn",
        "Mode: warn",
        "rule: {}",
        "namespaces: {shop: {mode: warn, os: windows}}",
        "namespaces: {shop: {}}",
        "exemptions: {namespace: [a]}",
        "exemptions: {runtimeclasses: [a]}",
        "evidence: {image: {}}",
        "evidence: {images: {certainly: {}}}",
        "evidence: {images: {certain: {repository: []}}}",
        "evidence: {images: {hint: {repositories: []}}}",
        "placement: {setPodOs: never}",
        "placement: {oslabelkey: a}",
        "placement: {tolerations: [{key: a, tolerationSeconds: 5}]}",
        "placement: {tolerations: [{value: a}]}",
        "hostProcess: {namespace: [a]}",
        "rules: {WIN301: {action: deny}}",
    ] {
        refused(yaml);
    }
}

#[test]
fn rejects_values_that_are_none_of_the_words() {
    for yaml in [
        "mode: enforced",
        "mode: Enforce",
        "mode: true",
        "profile: kep116",
        "profile: latest",
        "ownedObjects: deny",
        "placement: {setPodOS: sometimes}",
        "placement: {setPodOS: true}",
        "placement: {repair: maybe}",
        "placement: {tolerations: [{key: a, operator: equal}]}",
        "placement: {tolerations: {key: a}}",
        "evidence: {acting: [os-field]}",
        "evidence: {acting: [certain-image]}",
        "evidence: {acting: windows-text}",
        "rules: {WIN301: error}",
        "rules: {WIN301: Deny}",
        "rules: {WIN301: true}",
        "rules: [WIN301]",
        "exemptions: {users: jane}",
        "namespaces: [shop]",
    ] {
        refused(yaml);
    }
}

/// YAML 1.1 reads `off` as false; what is meant is clear, and it has to mean that in every place.
#[test]
fn reads_off_without_quotes_as_the_word() {
    for off in ["off", "'off'", "\"off\""] {
        let quiet = policy(&format!("mode: {off}"));
        let flawed = object_of(
            "Pod",
            json!({"os": {"name": "windows"}, "hostNetwork": true}),
        );
        let body = create(&flawed);
        let answer = ask_with(Endpoint::Validate, &body, &quiet, &Facts::default());
        assert!(answer.allowed, "{off}");
        let quiet = policy(&format!("namespaces: {{default: {{mode: {off}}}}}"));
        let answer = ask_with(Endpoint::Validate, &body, &quiet, &Facts::default());
        assert!(answer.allowed, "{off}");
        let quiet = policy(&format!("rules: {{host-network: {off}}}"));
        assert_eq!(quiet.actions(Rule::find("WIN201").unwrap()), [Off], "{off}");
    }
}

#[test]
fn rejects_what_is_no_configuration() {
    for text in [
        "",
        "\n",
        "---\n",
        "# nothing\n",
        "null",
        "[]",
        "5",
        "a word",
        "{",
        "a: b: c",
        "\t- x",
        "kind: Config",
        "apiVersion: transom.dev/v1alpha1",
        "%YAML",
        "\u{0}",
    ] {
        assert!(Policy::parse(text).is_err(), "{text:?}");
    }
    for (api_version, kind, names) in [
        ("transom.dev/v1", "Config", "apiVersion"),
        ("transom.dev/v1alpha2", "Config", "apiVersion"),
        ("v1", "Config", "apiVersion"),
        ("transom.dev/v1alpha1", "Policy", "kind"),
        ("transom.dev/v1alpha1", "config", "kind"),
        ("transom.dev/v1alpha1", "", "kind"),
    ] {
        let text = format!("apiVersion: {api_version:?}\nkind: {kind:?}\n");
        let error = Policy::parse(&text).unwrap_err().to_string();
        assert!(error.contains(&format!(": {names}: must be ")), "{error}");
    }
}

#[test]
fn rejects_keys_that_stand_there_twice() {
    for yaml in [
        "mode: warn\nmode: enforce",
        "rules: {WIN301: deny, WIN301: warn}",
        "placement: {repair: true, repair: false}",
    ] {
        refused(yaml);
    }
}

/// Every refusal names the key.
#[test]
fn rejects_values_that_cannot_be_and_names_their_place() {
    let long = format!("placement: {{osLabelKey: {}}}", "a".repeat(64));
    for (yaml, place) in [
        ("rules: {WIN999: deny}", "rules.WIN999: "),
        ("rules: {win301: deny}", "rules.win301: "),
        ("rules: {subPath: deny}", "rules.subPath: "),
        ("rules: {WIN699: deny}", "rules.WIN699: "),
        ("rules: {'': deny}", "rules[\"\"]: "),
        (
            "rules: {WIN301: deny, sub-path: warn}",
            "rules.sub-path: the same rule as WIN301",
        ),
        ("rules: {WIN301: repair}", "rules.WIN301: cannot be repair"),
        (
            "rules: {host-network: repair}",
            "rules.host-network: cannot be repair",
        ),
        ("rules: {WIN503: repair}", "rules.WIN503: cannot be repair"),
        ("rules: {WIN601: repair}", "rules.WIN601: cannot be repair"),
        ("placement: {osLabelKey: ''}", "placement.osLabelKey: "),
        ("placement: {osLabelKey: 'a b'}", "placement.osLabelKey: "),
        ("placement: {osLabelKey: 'a/b/c'}", "placement.osLabelKey: "),
        ("placement: {osLabelKey: '/b'}", "placement.osLabelKey: "),
        ("placement: {osLabelKey: 'a/'}", "placement.osLabelKey: "),
        (
            "placement: {osLabelKey: 'UPPER.example/a'}",
            "placement.osLabelKey: ",
        ),
        ("placement: {osLabelKey: '-a'}", "placement.osLabelKey: "),
        ("placement: {osLabelKey: 'a\"b'}", "placement.osLabelKey: "),
        (&long, "placement.osLabelKey: "),
        (
            "placement: {osLabelKey: beta.kubernetes.io/os}",
            "placement.osLabelKey: ",
        ),
        (
            "placement: {tolerations: [{key: ''}]}",
            "placement.tolerations[0].key: ",
        ),
        (
            "placement: {tolerations: [{key: a}, {key: 'a b'}]}",
            "placement.tolerations[1].key: ",
        ),
        (
            "placement: {tolerations: [{key: a, value: 'b c'}]}",
            "placement.tolerations[0].value: ",
        ),
        (
            "placement: {tolerations: [{key: a, value: '\"'}]}",
            "placement.tolerations[0].value: ",
        ),
        (
            "placement: {tolerations: [{key: a, operator: Exists, value: b}]}",
            "placement.tolerations[0].value: ",
        ),
        (
            "placement: {tolerations: [{key: a, effect: noschedule}]}",
            "placement.tolerations[0].effect: ",
        ),
        (
            "placement: {tolerations: [{key: a, builds: ['17763']}]}",
            "placement.tolerations[0].builds[0]: ",
        ),
        (
            "placement: {tolerations: [{key: a, builds: ['10.0.17763', '10.0.']}]}",
            "placement.tolerations[0].builds[1]: ",
        ),
        (
            "placement: {tolerations: [{key: a, builds: ['10.0.1x']}]}",
            "placement.tolerations[0].builds[0]: ",
        ),
        (
            "evidence: {images: {certain: {repositories: [a, '']}}}",
            "evidence.images.certain.repositories[1]: ",
        ),
        (
            "evidence: {images: {certain: {tags: ['']}}}",
            "evidence.images.certain.tags[0]: ",
        ),
        (
            "evidence: {images: {hint: {words: ['']}}}",
            "evidence.images.hint.words[0]: ",
        ),
        (
            "evidence: {images: {hint: {tags: ['']}}}",
            "evidence.images.hint.tags[0]: ",
        ),
        (
            "exemptions: {namespaces: ['']}",
            "exemptions.namespaces[0]: ",
        ),
        ("exemptions: {users: ['']}", "exemptions.users[0]: "),
        ("exemptions: {groups: ['']}", "exemptions.groups[0]: "),
        (
            "exemptions: {runtimeClasses: ['']}",
            "exemptions.runtimeClasses[0]: ",
        ),
        (
            "hostProcess: {namespaces: ['']}",
            "hostProcess.namespaces[0]: ",
        ),
    ] {
        let error = refused(yaml);
        assert!(error.starts_with(place), "{yaml}\n  {error}");
    }
}

const HEAD: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";

/// What would be taken without a word and do nothing, or more than was meant.
#[test]
fn rejects_what_could_never_match() {
    for (yaml, key) in [
        (
            "exemptions: {namespaces: [team-*]}",
            "exemptions.namespaces[0]",
        ),
        (
            "namespaces: {Kube_System: {mode: off}}",
            "namespaces.Kube_System",
        ),
        (
            "hostProcess: {namespaces: [A]}",
            "hostProcess.namespaces[0]",
        ),
        ("exemptions: {namespaces: }", "nothing is written here"),
        ("placement: {tolerations: }", "nothing is written here"),
        ("rules:", "nothing is written here"),
        (
            "evidence: {images: {certain: {repositories: [reg.example/win/]}}}",
            "evidence.images.certain.repositories[0]",
        ),
        (
            "evidence: {images: {certain: {repositories: ['reg.example:5000/win:1']}}}",
            "evidence.images.certain.repositories[0]",
        ),
        (
            "evidence: {images: {linux: {repositories: [reg.example/win/]}}}",
            "evidence.images.linux.repositories[0]",
        ),
        (
            "evidence: {images: {certain: {tags: ['win*']}}}",
            "evidence.images.certain.tags[0]",
        ),
        (
            "evidence: {images: {hint: {tags: [win-10]}}}",
            "evidence.images.hint.tags[0]",
        ),
        (
            "evidence: {images: {hint: {words: [Windows]}}}",
            "evidence.images.hint.words[0]",
        ),
        (
            "placement: {osLabelKey: node.kubernetes.io/windows-build}",
            "placement.osLabelKey",
        ),
        (
            "placement: {tolerations: [{key: a, value: b}, {key: a, value: b}]}",
            "placement.tolerations[1]",
        ),
    ] {
        let error = Policy::parse(&format!("{HEAD}{yaml}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(key), "{yaml}: {error}");
    }
}

#[test]
fn host_process_is_allowed_in_the_namespaces_that_are_listed() {
    let object = object_of(
        "Pod",
        json!({
            "hostNetwork": true,
            "securityContext": {"windowsOptions": {"hostProcess": true}},
            "nodeSelector": {"kubernetes.io/os": "windows"},
        }),
    );
    for (yaml, deny) in [
        ("", 0),
        ("rules: {host-process: deny}", 1),
        (
            "rules: {host-process: deny}\nhostProcess: {namespaces: [other]}",
            1,
        ),
        (
            "rules: {host-process: deny}\nhostProcess: {namespaces: [default]}",
            0,
        ),
    ] {
        let answer = ask_with(
            Endpoint::Validate,
            &create(&object),
            &policy(yaml),
            &Facts::default(),
        );
        assert_eq!(answer.deny.len(), deny, "{yaml}: {:?}", answer.deny);
    }
}
