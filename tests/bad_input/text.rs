//! Numbers, strings and names as JSON may spell them.

use crate::common::{ask, create, pod};
use crate::{answers_or_refuses, pod_text, review_text};
use serde_json::json;
use transom::decision::Endpoint;
use transom::policy::Policy;

#[test]
fn reads_numbers_of_every_size() {
    for number in [
        "0",
        "-1",
        "9223372036854775808",
        "18446744073709551615",
        "1e3",
        "1.5",
        "-0.0",
        "1e308",
    ] {
        let body = pod_text(&format!(r#""securityContext":{{"runAsUser":{number}}}"#));
        let answer = ask(Endpoint::Validate, body.as_bytes());
        assert_eq!(
            answer.deny,
            ["WIN101 spec.securityContext.runAsUser"],
            "{number}"
        );
        let body = pod_text(&format!(
            r#""volumes":[{{"secret":{{"defaultMode":{number}}}}}]"#
        ));
        let answer = ask(Endpoint::Validate, body.as_bytes());
        assert_eq!(
            answer.warn,
            ["WIN306 spec.volumes[0].secret.defaultMode"],
            "{number}"
        );
    }
    for huge in ["1e400", "-1e400", &"9".repeat(400)] {
        for field in [
            "ignored",
            "resources",
            "hostNetwork",
            "terminationGracePeriodSeconds",
        ] {
            answers_or_refuses(
                pod_text(&format!("{field:?}:{huge}")).as_bytes(),
                &Policy::default(),
            );
        }
        let ignored = pod_text(&format!(r#""ignored":{huge}"#));
        assert!(
            ask(Endpoint::Validate, ignored.as_bytes()).allowed,
            "{huge}"
        );
    }
}

/// A number stays a number whatever features a dependency of ours turns on in serde_json.
#[test]
fn numbers_are_no_maps() {
    let answer = ask(
        Endpoint::Validate,
        pod_text(r#""securityContext":{"runAsUser":1000}"#).as_bytes(),
    );
    assert!(
        answer
            .message()
            .contains("spec.securityContext.runAsUser: 1000 [")
    );
}

#[test]
fn reads_escaped_keys_and_values() {
    let body = review_text(
        r#"{"\u0073pec":{"\u006e\u006fdeSelector":{"kubernetes.io\/os":"\u0077indows"},"host\u004eetwork":true,"containers":[{"n\u0061me":"\u00e4\ud83d\ude42\n\"","securityContext":{"runAs\u0055ser":1}}]}}"#,
    );
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.containers[0].securityContext.runAsUser",
            "WIN201 spec.hostNetwork"
        ]
    );
    let uid = body.replace("u-1", r#"\u0075\"\\\u0001🙂"#);
    assert_eq!(
        ask(Endpoint::Validate, uid.as_bytes()).response["uid"],
        "u\"\\\u{1}🙂"
    );
}

#[test]
fn survives_lone_surrogates() {
    for text in [
        r"\ud800",
        r"\udc00",
        r"\ud800\ud800",
        r"\ud800x",
        r"\u12",
        r"\x",
    ] {
        for fields in [
            format!(r#""ignored":"{text}""#),
            format!(r#""{text}":1"#),
            format!(r#""nodeName":"{text}""#),
            format!(r#""containers":[{{"image":"{text}"}}]"#),
            format!(r#""containers":[{{"command":["{text}"]}}]"#),
        ] {
            answers_or_refuses(pod_text(&fields).as_bytes(), &Policy::default());
        }
    }
}

#[test]
fn leaves_names_in_another_case_alone() {
    for fields in [
        r#""hostnetwork":true"#,
        r#""HostNetwork":true"#,
        r#""host_network":true"#,
        r#""hostNetwork ":true"#,
    ] {
        assert!(
            ask(Endpoint::Validate, pod_text(fields).as_bytes()).allowed,
            "{fields}"
        );
    }
}

#[test]
fn keeps_the_names_of_annotations_apart() {
    let mut object = pod(json!({"os": {"name": "windows"}}));
    object["metadata"]["annotations"] = json!({
        "container.apparmor.security.beta.kubernetes.io/a.b/c~d": "localhost/x",
    });
    let answer = ask(Endpoint::Validate, &create(&object));
    assert_eq!(
        answer.warn,
        ["WIN109 metadata.annotations[\"container.apparmor.security.beta.kubernetes.io/a.b/c~d\"]"]
    );
}
