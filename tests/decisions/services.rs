//! Services, which have no pod in them: judged where a rule for them is on.

use crate::common::{ask_with, create, endpoint_of, policy, recordings, update};
use crate::is_silent;
use serde_json::{Value, json};
use transom::decision::{Endpoint, Exemption};
use transom::facts::{Facts, NamespaceFacts};
use transom::{admit, review};

const ON: &str = "rules: {WIN701: deny, WIN702: deny}";

fn service(spec: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {"transom.dev/os": "windows"},
        },
        "spec": spec,
    })
}

#[test]
fn are_left_alone_while_no_rule_for_them_is_on() {
    let object = service(json!({"externalTrafficPolicy": 5, "selector": "not a map"}));
    let body = create(&object);
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        for yaml in ["", "rules: {WIN701: \"off\"}"] {
            let policy = policy(yaml);
            let answer = ask_with(endpoint, &body, &policy, &Facts::default());
            is_silent(yaml, &answer);
            let request = review::decode(&body, &policy).unwrap();
            let facts = Facts::default();
            let verdict = admit::admit(endpoint, &request, &policy, &facts);
            assert_eq!(verdict.exemption(), Some(Exemption::Unknown));
        }
    }
}

#[test]
fn are_denied_by_validate_alone_and_never_patched() {
    let body = create(&service(json!({"externalTrafficPolicy": "Local"})));
    let policy = policy(&format!("{ON}\nlinuxGuard: true"));
    let answer = ask_with(Endpoint::Validate, &body, &policy, &Facts::default());
    assert_eq!(answer.deny, ["WIN702 spec.externalTrafficPolicy"]);
    let start = "this Service is for Windows (metadata.annotations[\"transom.dev/os\"]: windows)";
    assert!(answer.message().starts_with(start), "{}", answer.message());
    let answer = ask_with(Endpoint::Mutate, &body, &policy, &Facts::default());
    is_silent("/mutate", &answer);
}

#[test]
fn the_evidence_is_told() {
    let mut object = service(json!({
        "externalTrafficPolicy": "Local",
        "selector": {"app": "web"},
    }));
    object["metadata"]["annotations"] = json!(null);
    let pod = [("app".to_owned(), "web".to_owned())].into();
    let facts = Facts {
        windows_pods: [("default".to_owned(), [pod].into())].into(),
        ..Facts::default()
    };
    let answer = ask_with(Endpoint::Validate, &create(&object), &policy(ON), &facts);
    let told = "(spec.selector: {app: web}, which selects windows pods)";
    assert!(answer.message().contains(told), "{}", answer.message());
    // One that selects nothing is filled by hand.
    for selector in [json!({}), json!(null)] {
        object["spec"]["selector"] = selector;
        let answer = ask_with(Endpoint::Validate, &create(&object), &policy(ON), &facts);
        is_silent("no selector", &answer);
    }
}

#[test]
fn updates_ratchet() {
    let local = service(json!({"externalTrafficPolicy": "Local"}));
    let cluster = service(json!({"externalTrafficPolicy": "Cluster"}));
    for (old, denied) in [(&local, false), (&cluster, true)] {
        let body = update(&local, old);
        let answer = ask_with(Endpoint::Validate, &body, &policy(ON), &Facts::default());
        assert_eq!(answer.allowed, !denied);
    }
}

/// What rules look at in pods is no matter in a Service, nor the other way round.
#[test]
fn are_not_taken_for_pods() {
    let odd = json!({"hostNetwork": true, "externalTrafficPolicy": "Cluster"});
    let answer = ask_with(
        Endpoint::Validate,
        &create(&service(odd)),
        &policy(ON),
        &Facts::default(),
    );
    is_silent("a Service with a field of pods", &answer);
    let mut pod = crate::common::pod(crate::windows(json!({"externalTrafficPolicy": "Local"})));
    pod["metadata"]["annotations"] = json!({"transom.dev/os": "windows"});
    let answer = ask_with(
        Endpoint::Validate,
        &create(&pod),
        &policy(ON),
        &Facts::default(),
    );
    is_silent("a pod with a field of Services", &answer);
    // A Deployment's selector is of another form.
    let mut deployment = crate::common::object_of("Deployment", crate::windows(json!({})));
    deployment["spec"]["selector"] = json!({"matchLabels": {"app": "a"}});
    let answer = ask_with(
        Endpoint::Validate,
        &create(&deployment),
        &policy(ON),
        &Facts::default(),
    );
    is_silent("a Deployment", &answer);
}

#[test]
fn a_wrong_type_is_an_answer_that_names_the_field() {
    let body = create(&service(json!({"externalTrafficPolicy": 5})));
    let answer = ask_with(Endpoint::Validate, &body, &policy(ON), &Facts::default());
    assert!(!answer.allowed);
    let start = "spec.externalTrafficPolicy: must be a string, not a number";
    assert!(answer.message().starts_with(start), "{}", answer.message());
}

/// What the API server fills in is no finding, and is understood.
#[test]
fn recorded_services_of_a_windows_namespace_are_fine() {
    let labels = NamespaceFacts::from_labels([("transom.dev/os", "windows")]);
    let facts = Facts {
        namespaces: [("winplay".to_owned(), labels)].into(),
        ..Facts::default()
    };
    let policy = policy("rules: {WIN701: deny, WIN702: deny, WIN703: deny}");
    let mut count = 0;
    for (name, body) in recordings() {
        if name.starts_with("service-") {
            let answer = ask_with(endpoint_of(&name), &body, &policy, &facts);
            is_silent(&name, &answer);
            assert_eq!(answer.response["auditAnnotations"]["os"], "windows");
            count += 1;
        }
    }
    assert_eq!(count, 10);
}
