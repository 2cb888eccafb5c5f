//! OpenShift: fields that SecurityContextConstraints wrote into pods before Transom sees them.

use crate::common::{
    Answer, KINDS, OS, ask_with, bytes, create, merge, object_of, pod, pod_metadata_mut, pod_spec,
    policy, review_of,
};
use crate::scc::{self, HOSTNETWORK_V2, ID, RESTRICTED, RESTRICTED_V2, Scc};
use crate::{container, owned_by, secured, windows, windows_os};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

fn ask(endpoint: Endpoint, object: &Value, policy: &Policy) -> Answer {
    ask_with(endpoint, &create(object), policy, &Facts::default())
}

/// A pod after the plugin.
fn assigned(scc: &Scc, spec: Value) -> Value {
    let mut object = pod(spec);
    scc::assign(scc, &mut object);
    object
}

fn app(context: Value) -> Value {
    json!({"containers": [container("main", context)]})
}

#[test]
fn removes_what_scc_wrote_and_sets_spec_os() {
    for (scc, codes) in [
        (
            &RESTRICTED_V2,
            &["WIN101", "WIN106", "WIN108", "WIN110", "WIN111", "WIN112"][..],
        ),
        (&RESTRICTED, &["WIN101", "WIN106", "WIN108", "WIN111"]),
        (
            &HOSTNETWORK_V2,
            &[
                "WIN101", "WIN104", "WIN106", "WIN108", "WIN110", "WIN111", "WIN112",
            ],
        ),
    ] {
        for profile in ["current", "kep-116"] {
            let policy = policy(&format!("profile: {profile}"));
            let object = assigned(scc, windows(app(json!({}))));
            let mutated = ask(Endpoint::Mutate, &object, &policy);
            assert!(mutated.allowed, "{}", scc.name);
            let repaired: Vec<_> = mutated.repair.iter().map(|line| &line[..6]).collect();
            assert_eq!(repaired, codes, "{}", scc.name);
            let patched = mutated.patched(&object);
            assert_eq!(patched["spec"]["os"]["name"], "windows");
            // Windows honors it, and the author may have written it.
            let context = &patched["spec"]["containers"][0]["securityContext"];
            assert_eq!(context, &json!({"runAsNonRoot": true}), "{}", scc.name);
            let of_pod = &patched["spec"]["securityContext"];
            assert_eq!(of_pod, &json!({}), "{}", scc.name);
            // The plugin leaves it alone, and so does Transom.
            let mut again = patched.clone();
            scc::assign(scc, &mut again);
            assert_eq!(again, patched);
            assert_eq!(ask(Endpoint::Mutate, &patched, &policy).patch, None);
            // The KEP to the letter does not know runAsNonRoot.
            let validated = ask(Endpoint::Validate, &patched, &policy);
            let denied: Vec<_> = validated.deny.iter().map(|line| &line[..6]).collect();
            let by_kep: &[&str] = if profile == "kep-116" {
                &["WIN103"]
            } else {
                &[]
            };
            assert_eq!(denied, by_kep, "{}", scc.name);
        }
    }
}

/// The plugin never writes these, whatever the SCC.
#[test]
fn denies_what_the_author_wrote_as_without_scc() {
    let policy = Policy::default();
    for (code, spec) in [
        ("WIN101", json!({"securityContext": {"runAsUser": 1000}})),
        ("WIN102", json!({"securityContext": {"runAsGroup": 1000}})),
        (
            "WIN108",
            secured(json!({"seLinuxOptions": {"level": "s0"}})),
        ),
        (
            "WIN110",
            secured(json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}})),
        ),
        ("WIN113", secured(json!({"privileged": true}))),
        ("WIN115", secured(json!({"readOnlyRootFilesystem": true}))),
        ("WIN201", json!({"hostNetwork": true})),
        ("WIN202", json!({"hostPID": true})),
    ] {
        let object = assigned(&RESTRICTED_V2, windows(spec));
        // With os=windows, the API server would reject the field.
        let mutated = ask(Endpoint::Mutate, &object, &policy);
        let patched = mutated.patched(&object);
        let keeps_os = code == "WIN201";
        assert_eq!(patched["spec"].get("os").is_some(), keeps_os, "{code}");
        let validated = ask(Endpoint::Validate, &patched, &policy);
        let denied: Vec<_> = validated.deny.iter().map(|line| &line[..6]).collect();
        assert_eq!(denied, [code]);
    }
}

/// The plugin changes pods only: what is in a template was written by its author.
#[test]
fn denies_templates_with_the_fields_of_scc() {
    let policy = Policy::default();
    let spec = assigned(&RESTRICTED_V2, windows(app(json!({}))))["spec"].clone();
    for kind in KINDS.into_iter().filter(|kind| *kind != "Pod") {
        let mut object = object_of(kind, spec.clone());
        let annotations = json!({"annotations": {scc::ANNOTATION: "restricted-v2"}});
        merge(pod_metadata_mut(&mut object), &annotations);
        merge(&mut object["metadata"], &annotations);
        let validated = ask(Endpoint::Validate, &object, &policy);
        let denied: Vec<_> = validated.deny.iter().map(|line| &line[..6]).collect();
        assert_eq!(denied, ["WIN101", "WIN106", "WIN108"], "{kind}");
        let patched = ask(Endpoint::Mutate, &object, &policy).patched(&object);
        assert_eq!(pod_spec(&patched).get("os"), None, "{kind}");
    }
}

/// Without `spec.os`, Windows ignores the fields, and SCC requires them.
#[test]
fn warns_when_spec_os_is_not_set() {
    for yaml in ["placement: {setPodOS: never}", "placement: {repair: false}"] {
        let policy = policy(yaml);
        let object = assigned(&RESTRICTED_V2, windows(app(json!({}))));
        let patched = ask(Endpoint::Mutate, &object, &policy).patched(&object);
        assert_eq!(patched["spec"].get("os"), None, "{yaml}");
        let context = |object: &Value| object["spec"]["containers"][0]["securityContext"].clone();
        assert_eq!(context(&patched), context(&object), "{yaml}");
        let validated = ask(Endpoint::Validate, &patched, &policy);
        assert!(validated.allowed, "{yaml}: {}", validated.message());
        let warned: Vec<_> = validated.warn.iter().map(|line| &line[..6]).collect();
        // SCC writes runAsNonRoot, too, which Windows honors: that WIN118 warns has nothing to do with spec.os.
        let all = [
            "WIN101", "WIN106", "WIN108", "WIN110", "WIN111", "WIN112", "WIN118",
        ];
        assert_eq!(warned, all, "{yaml}");
    }
    // /mutate was not called.
    let object = assigned(&RESTRICTED_V2, windows(app(json!({}))));
    assert!(ask(Endpoint::Validate, &object, &Policy::default()).allowed);
}

/// An action that is set for a rule does not change what SCC wrote, unless it is off.
#[test]
fn keeps_to_repair_unless_the_rule_is_off() {
    let object = assigned(&RESTRICTED_V2, windows(app(json!({}))));
    for (yaml, os) in [
        ("rules: {WIN106: deny}", true),
        ("rules: {WIN106: warn}", true),
        ("rules: {WIN106: \"off\"}", false),
        ("ignoredFields: warn", true),
        ("ignoredFields: repair", true),
    ] {
        let policy = policy(yaml);
        let patched = ask(Endpoint::Mutate, &object, &policy).patched(&object);
        assert_eq!(patched["spec"].get("os").is_some(), os, "{yaml}");
        let validated = ask(Endpoint::Validate, &patched, &policy);
        assert!(validated.allowed, "{yaml}: {}", validated.message());
    }
}

#[test]
fn removes_what_scc_wrote_into_pods_of_controllers() {
    let mut object = owned_by(
        "Pod",
        "ReplicaSet",
        "apps/v1",
        json!(true),
        windows(app(json!({}))),
    );
    scc::assign(&RESTRICTED_V2, &mut object);
    let patched = ask(Endpoint::Mutate, &object, &Policy::default()).patched(&object);
    assert_eq!(patched["spec"]["os"]["name"], "windows");
}

/// Any author of a pod can write the annotation. It changes the answer about the fields of SCC, and
/// nothing in a pod that says os=windows: the plugin ignores that.
#[test]
fn denies_the_fields_of_scc_without_its_annotation_or_with_spec_os() {
    let policy = Policy::default();
    let mut object = assigned(&RESTRICTED_V2, windows(app(json!({}))));
    object["metadata"]["annotations"] = json!({"openshift.io/sccs": "restricted-v2"});
    let validated = ask(Endpoint::Validate, &object, &policy);
    let denied: Vec<_> = validated.deny.iter().map(|line| &line[..6]).collect();
    assert_eq!(denied, ["WIN101", "WIN106", "WIN108"]);

    let mut object = assigned(&RESTRICTED_V2, windows(app(json!({}))));
    object["spec"]["os"] = json!({"name": "windows"});
    let answer = ask(Endpoint::Mutate, &object, &policy);
    assert!(!answer.allowed);
    let denied: Vec<_> = answer.deny.iter().map(|line| &line[..6]).collect();
    assert_eq!(denied, ["WIN101", "WIN106", "WIN108"]);
}

/// The validation of SCC requires what it wrote into a debug container, as long as the pod does not say
/// os=windows.
#[test]
fn keeps_the_fields_of_scc_in_ephemeral_containers() {
    let policy = Policy::default();
    let context = json!({
        "runAsUser": ID, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        "privileged": true,
    });
    for (spec, removed) in [
        (windows(app(json!({}))), &["WIN113"][..]),
        (
            windows_os(app(json!({}))),
            &["WIN101", "WIN111", "WIN112", "WIN113"],
        ),
    ] {
        let mut old = pod(spec);
        old["metadata"]["annotations"] = json!({scc::ANNOTATION: "restricted-v2"});
        let mut new = old.clone();
        let debug = container("debug", json!({"securityContext": context.clone()}));
        new["spec"]["ephemeralContainers"] = json!([debug]);
        let mut review = review_of(&new, "UPDATE", Some(&old));
        review["request"]["subResource"] = json!("ephemeralcontainers");
        let ask = |endpoint| ask_with(endpoint, &bytes(&review), &policy, &Facts::default());
        let mutated = ask(Endpoint::Mutate);
        let repaired: Vec<_> = mutated.repair.iter().map(|line| &line[..6]).collect();
        assert_eq!(repaired, removed);
    }
}

/// The selector is the evidence; an identity that SCC wrote is not evidence of Linux.
#[test]
fn warns_of_hints_beside_the_identity_of_scc() {
    let image = container("main", json!({"image": "registry.example/windows-app:1"}));
    let object = assigned(&RESTRICTED_V2, json!({"containers": [image]}));
    assert_eq!(
        object["spec"]["containers"][0]["securityContext"]["runAsUser"],
        ID
    );
    let validated = ask(Endpoint::Validate, &object, &Policy::default());
    assert!(
        validated.warn[0].starts_with("WIN604"),
        "{:?}",
        validated.warn
    );
    assert_eq!(object["spec"].get("nodeSelector").map(|s| &s[OS]), None);
}
