//! Objects that cannot be read: repeated keys, nulls in lists, no object, unknown kinds.

use crate::common::{KINDS, ask, bytes, object_of, pod, review_of};
use crate::{pod_text, review_text};
use serde_json::{Value, json};
use transom::decision::Endpoint;

#[test]
fn denies_repeated_keys_with_their_path() {
    for (fields, path) in [
        (
            r#""hostNetwork":false,"hostNetwork":true"#,
            "spec.hostNetwork",
        ),
        (
            r#""os":{"name":"linux"},"os":{"name":"windows"}"#,
            "spec.os",
        ),
        (r#""os":{"name":"linux","name":"windows"}"#, "spec.os.name"),
        (
            r#""containers":[],"containers":[{"name":"a"}]"#,
            "spec.containers",
        ),
        (
            r#""containers":[{"name":"a"},{"image":"b","image":"c"}]"#,
            "spec.containers[1].image",
        ),
        (
            r#""securityContext":{},"securityContext":{}"#,
            "spec.securityContext",
        ),
        (
            r#""volumes":[{"name":"v","nfs":{},"nfs":{}}]"#,
            "spec.volumes[0].nfs",
        ),
        (
            r#""host\u004eetwork":false,"hostNetwork":true"#,
            "spec.hostNetwork",
        ),
    ] {
        let body = pod_text(fields).into_bytes();
        let answer = ask(Endpoint::Validate, &body);
        assert!(!answer.allowed, "{fields}");
        let want = format!("{path}: stands there twice, so nobody can tell");
        assert!(answer.message().starts_with(&want), "{}", answer.message());
        let mutated = ask(Endpoint::Mutate, &body);
        assert!(mutated.allowed && mutated.patch.is_none(), "{fields}");
    }
    let ignored = pod_text(r#""priority":1,"priority":2,"x":{"hostNetwork":1,"hostNetwork":2}"#);
    assert!(
        ask(Endpoint::Validate, ignored.as_bytes()).allowed,
        "nobody reads it"
    );
    let twice = review_text(r#"{"metadata":{},"metadata":{},"spec":{}}"#);
    assert!(!ask(Endpoint::Validate, twice.as_bytes()).allowed);
}

#[test]
fn counts_null_elements_in_indices() {
    let body = pod_text(
        r#""containers":[null,{"name":"a","securityContext":{"runAsUser":1}},null],"volumes":[null,{"nfs":{}}]"#,
    );
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.containers[1].securityContext.runAsUser",
            "WIN307 spec.volumes[1].nfs"
        ]
    );
}

#[test]
fn denies_objects_that_are_missing_or_no_objects() {
    for kind in KINDS {
        let mut review = review_of(&object_of(kind, json!({})), "CREATE", None);
        for (object, want) in [
            (Some(Value::Null), "object: is missing"),
            (None, "object: is missing"),
            (
                Some(json!([])),
                "request.object: must be an object, not a list",
            ),
            (
                Some(json!("x")),
                "request.object: must be an object, not a string",
            ),
            (
                Some(json!({"spec": []})),
                "spec: must be an object, not a list",
            ),
        ] {
            let request = review["request"].as_object_mut().unwrap();
            match &object {
                Some(object) => request.insert("object".to_owned(), object.clone()),
                None => request.remove("object"),
            };
            let answer = ask(Endpoint::Validate, &bytes(&review));
            assert!(!answer.allowed, "{kind} {object:?}");
            assert!(
                answer.message().starts_with(want),
                "{kind}: {}",
                answer.message()
            );
            assert!(
                ask(Endpoint::Mutate, &bytes(&review)).allowed,
                "{kind} {object:?}"
            );
        }
    }
    for object in [
        json!({}),
        json!({"spec": {}}),
        json!({"spec": {"template": {}}}),
        json!({"metadata": {}}),
    ] {
        for kind in KINDS {
            let mut review = review_of(&object_of(kind, json!({})), "CREATE", None);
            review["request"]["object"] = object.clone();
            assert!(
                ask(Endpoint::Validate, &bytes(&review)).allowed,
                "{kind} {object}"
            );
        }
    }
}

#[test]
fn leaves_unknown_kinds_alone_whatever_is_in_them() {
    for (group, kind) in [
        ("", "Service"),
        ("example.com", "Pod"),
        ("apps", "Deploymnt"),
        ("", ""),
    ] {
        let mut review = review_of(&pod(json!({"hostNetwork": "x"})), "CREATE", None);
        review["request"]["kind"] = json!({"group": group, "kind": kind});
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask(endpoint, &bytes(&review));
            assert!(
                answer.allowed && answer.warnings().is_empty(),
                "{group}/{kind}"
            );
        }
    }
    for kind in [Value::Null, json!({}), json!({"kind": null})] {
        let mut review = review_of(&pod(json!({"hostNetwork": true})), "CREATE", None);
        review["request"]["kind"] = kind;
        assert!(ask(Endpoint::Validate, &bytes(&review)).allowed);
    }
}
