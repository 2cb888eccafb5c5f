//! Annotations that silence a rule for one object, where the configuration lets them.

use crate::common::{
    Answer, KINDS, ask_with, create, merge, object_of, pod, pod_metadata_mut, policy, spec_path,
};
use crate::{container, image_only, patched_paths, windows, windows_os};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

const ALLOWED: &str = "ignorable: [WIN302, host-network, WIN112, WIN601, WIN604]";

fn ignoring(mut object: Value, annotations: Value) -> Value {
    merge(
        pod_metadata_mut(&mut object),
        &json!({"annotations": annotations}),
    );
    object
}

fn mount_propagation() -> Value {
    windows(json!({"containers": [container("main", json!({
        "volumeMounts": [{"name": "a", "mountPath": "/a", "mountPropagation": "HostToContainer"}],
    }))]}))
}

fn at(endpoint: Endpoint, object: &Value, policy: &Policy) -> Answer {
    ask_with(endpoint, &create(object), policy, &Facts::default())
}

fn validate(object: &Value, yaml: &str) -> Answer {
    at(Endpoint::Validate, object, &policy(yaml))
}

const REASON: &str = "the share is read by one process, ticket 17";

#[test]
fn silences_a_rule_that_may_be_ignored_in_every_kind() {
    for kind in KINDS {
        let object = ignoring(
            object_of(kind, mount_propagation()),
            json!({"transom.dev/ignore.WIN302": REASON}),
        );
        let answer = validate(&object, &format!("{ALLOWED}\nrules: {{WIN302: deny}}"));
        assert!(answer.allowed, "{kind}");
        assert_eq!(answer.warnings(), [""; 0], "{kind}");
        let path = format!(
            "{}.containers[0].volumeMounts[0].mountPropagation",
            spec_path(kind)
        );
        assert_eq!(answer.findings(), [format!("ignore WIN302 {path}")]);
        let audit = &answer.response["auditAnnotations"];
        assert_eq!(audit["findings"], format!("WIN302 ignore {path}"));
        assert_eq!(audit["ignored"], format!("WIN302: {REASON}"));
    }
}

/// By code and by name, on both sides.
#[test]
fn rules_go_by_code_or_name() {
    for key in ["WIN302", "mount-propagation"] {
        for allowed in ["WIN302", "mount-propagation"] {
            let object = ignoring(
                pod(mount_propagation()),
                json!({format!("transom.dev/ignore.{key}"): "r"}),
            );
            let answer = validate(&object, &format!("ignorable: [{allowed}]"));
            assert_eq!(answer.warn, [""; 0], "{key} {allowed}");
            assert_eq!(answer.ignore.len(), 1);
        }
    }
}

#[test]
fn has_no_effect_where_the_configuration_does_not_let_it() {
    for (yaml, annotation, reason, why) in [
        ("", "WIN302", "r", "does not let WIN302 be ignored"),
        (
            "ignorable: [WIN301]",
            "WIN302",
            "r",
            "does not let WIN302 be ignored",
        ),
        (
            "",
            "mount-propagation",
            "r",
            "does not let WIN302 be ignored",
        ),
        (ALLOWED, "WIN302", "", "write the reason as its value"),
        (ALLOWED, "WIN302", "  ", "write the reason as its value"),
        (ALLOWED, "WIN999", "r", "there is no such rule"),
        (ALLOWED, "win301", "r", "there is no such rule"),
    ] {
        let annotation = format!("transom.dev/ignore.{annotation}");
        let object = ignoring(pod(mount_propagation()), json!({&annotation: reason}));
        let answer = validate(&object, yaml);
        assert_eq!(
            answer.findings(),
            ["warn WIN302 spec.containers[0].volumeMounts[0].mountPropagation"]
        );
        let told: Vec<_> = answer
            .warnings()
            .into_iter()
            .filter(|w| w.contains(&annotation))
            .map(str::to_owned)
            .collect();
        assert_eq!(told.len(), 1, "{:?}", answer.warnings());
        assert!(told[0].contains(why), "{told:?}");
        assert!(told[0].len() <= 120, "{told:?}");
    }
}

/// Nobody is told of annotations that would silence nothing.
#[test]
fn an_annotation_without_a_finding_is_silent() {
    for yaml in ["", ALLOWED] {
        let object = ignoring(
            pod(windows(json!({}))),
            json!({"transom.dev/ignore.WIN302": "r"}),
        );
        let answer = validate(&object, yaml);
        assert_eq!(answer.warnings(), [""; 0], "{yaml}");
        assert_eq!(answer.findings(), [""; 0], "{yaml}");
    }
    let linux = ignoring(
        pod(json!({"nodeSelector": {"kubernetes.io/os": "linux"}})),
        json!({"transom.dev/ignore.WIN999": "r"}),
    );
    assert_eq!(validate(&linux, ALLOWED).warnings(), [""; 0]);
}

#[test]
fn only_the_named_rule_is_silenced() {
    let mut spec = mount_propagation();
    spec["hostNetwork"] = json!(true);
    spec["hostPID"] = json!(true);
    let object = ignoring(
        pod(spec),
        json!({"transom.dev/ignore.host-network": "r", "transom.dev/ignore.WIN202": "r"}),
    );
    let answer = validate(&object, ALLOWED);
    assert!(!answer.allowed);
    assert_eq!(answer.deny, ["WIN202 spec.hostPID"]);
    assert_eq!(answer.ignore, ["WIN201 spec.hostNetwork"]);
    assert!(!answer.message().contains("WIN201"));
    let told = answer.warnings().join("\n");
    assert!(told.contains("transom.dev/ignore.WIN202"), "{told}");
}

/// A workload's own annotation is not one of its pods.
#[test]
fn the_template_counts_and_not_the_workload() {
    let mut object = object_of("Deployment", mount_propagation());
    object["metadata"]["annotations"] = json!({"transom.dev/ignore.WIN302": "r"});
    let answer = validate(&object, ALLOWED);
    assert_eq!(answer.warn.len(), 1);
    let told = "transom: transom.dev/ignore.WIN302 has no effect: it belongs to the metadata of the pod template";
    assert!(answer.warnings().contains(&told), "{:?}", answer.warnings());
    // In both places it is in the right one.
    let both = ignoring(object, json!({"transom.dev/ignore.WIN302": "r"}));
    let answer = validate(&both, ALLOWED);
    assert_eq!(answer.warnings(), [""; 0]);
    assert_eq!(answer.ignore.len(), 1);
}

/// A harmless field that is to stay keeps os=windows from being patched in: the API server would
/// refuse the two together.
#[test]
fn a_repair_can_be_ignored() {
    let mut spec = image_only();
    spec["containers"][0]["securityContext"] = json!({"allowPrivilegeEscalation": false});
    let object = ignoring(pod(spec), json!({"transom.dev/ignore.WIN112": "r"}));
    let answer = at(Endpoint::Mutate, &object, &policy(ALLOWED));
    assert_eq!(
        patched_paths(&answer),
        ["add /spec/nodeSelector", "add /spec/tolerations"]
    );
    assert_eq!(answer.warnings(), [""; 0]);
    let answer = at(Endpoint::Mutate, &object, &Policy::default());
    assert!(patched_paths(&answer).contains(&"add /spec/os".to_owned()));
}

#[test]
fn contradictions_and_hints_can_be_ignored() {
    let conflict = ignoring(
        pod(json!({"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "linux"}})),
        json!({"transom.dev/ignore.WIN601": "r"}),
    );
    let answer = validate(&conflict, ALLOWED);
    assert!(answer.allowed);
    assert_eq!(answer.ignore.len(), 1);
    assert!(!validate(&conflict, "").allowed);
    let hint = ignoring(
        pod(json!({"containers": [container("a", json!({"command": ["cmd.exe"]}))]})),
        json!({"transom.dev/ignore.unplaced": "r"}),
    );
    let answer = validate(&hint, ALLOWED);
    assert_eq!(answer.warnings(), [""; 0]);
    assert_eq!(answer.ignore.len(), 1);
}

/// /mutate speaks before the API server's own validation, and of what is ignored it does not.
#[test]
fn the_api_server_still_has_its_word() {
    let object = ignoring(
        pod(windows_os(json!({"hostPID": true}))),
        json!({"transom.dev/ignore.WIN202": "r"}),
    );
    let answer = at(Endpoint::Mutate, &object, &policy("ignorable: [WIN202]"));
    assert!(answer.allowed);
    assert!(!at(Endpoint::Mutate, &object, &Policy::default()).allowed);
}

#[test]
fn long_reasons_are_cut_in_the_audit_log() {
    let object = ignoring(
        pod(mount_propagation()),
        json!({"transom.dev/ignore.WIN302": "x".repeat(100_000)}),
    );
    let answer = validate(&object, ALLOWED);
    let audit = answer.response["auditAnnotations"]["ignored"]
        .as_str()
        .unwrap();
    assert!(audit.len() < 300, "{}", audit.len());
}

#[test]
fn the_configuration_names_rules_that_there_are() {
    let error = |yaml: &str| {
        Policy::parse(&crate::common::config(yaml))
            .unwrap_err()
            .to_string()
    };
    assert!(error("ignorable: [WIN302, WIN999]").contains("ignorable[1]"));
    assert!(error("ignorable: [WIN302, mount-propagation]").contains("ignorable[1]"));
    assert!(error("ignorable:").contains("nothing is written here"));
}
