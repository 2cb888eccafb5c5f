//! Size and depth: deep nesting, too many fields.

use crate::common::ask;
use crate::{HEAD, answers_or_refuses, pod_text, review_text};
use transom::decision::Endpoint;
use transom::policy::Policy;

#[test]
fn survives_deep_nesting_in_ignored_and_in_read_fields() {
    let policy = Policy::default();
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        for field in [
            "ignored",
            "nfs",
            "hostNetwork",
            "securityContext",
            "containers",
            "volumes",
            "os",
            "nodeSelector",
            "tolerations",
            "affinity",
            "resources",
            "template",
        ] {
            answers_or_refuses(pod_text(&format!("{field:?}:{deep}")).as_bytes(), &policy);
        }
        let ignored = pod_text(&format!(r#""ignored":{deep}"#));
        assert!(ask(Endpoint::Validate, ignored.as_bytes()).allowed);
        let set = pod_text(&format!(r#""securityContext":{{"runAsUser":{deep}}}"#));
        let answer = ask(Endpoint::Validate, set.as_bytes());
        assert_eq!(answer.deny, ["WIN101 spec.securityContext.runAsUser"]);
        let present = pod_text(&format!(r#""volumes":[{{"nfs":{deep}}}]"#));
        let answer = ask(Endpoint::Validate, present.as_bytes());
        assert_eq!(answer.deny, ["WIN307 spec.volumes[0].nfs"]);
        let wrong = pod_text(&format!(r#""hostNetwork":{deep}"#));
        let answer = ask(Endpoint::Validate, wrong.as_bytes());
        assert!(
            answer
                .message()
                .starts_with("spec.hostNetwork: must be true or false")
        );
        // In the envelope, too.
        answers_or_refuses(deep.as_bytes(), &policy);
        answers_or_refuses(
            format!(r#"{{{HEAD},"request":{deep}}}"#).as_bytes(),
            &policy,
        );
    }
}

#[test]
fn answers_objects_of_too_many_fields_with_their_uid() {
    let containers: Vec<_> = (0..70_000)
        .map(|i| format!(r#"{{"name":"c{i}"}}"#))
        .collect();
    let annotations: Vec<_> = (0..70_000)
        .map(|i| format!(r#""container.apparmor.security.beta.kubernetes.io/{i}":"x""#))
        .collect();
    let selector: Vec<_> = (0..70_000).map(|i| format!(r#""k{i}":"x""#)).collect();
    for body in [
        pod_text(&format!(r#""containers":[{}]"#, containers.join(","))),
        pod_text(&format!(
            r#""nodeSelector2":1,"tolerations":[{}]"#,
            vec![r#"{"key":"a"}"#; 70_000].join(",")
        )),
        review_text(&format!(
            r#"{{"metadata":{{"annotations":{{{}}}}},"spec":{{"os":{{"name":"windows"}}}}}}"#,
            annotations.join(",")
        )),
        review_text(&format!(
            r#"{{"spec":{{"nodeSelector":{{{}}}}}}}"#,
            selector.join(",")
        )),
    ] {
        let answer = ask(Endpoint::Validate, body.as_bytes());
        assert!(!answer.allowed);
        let message = answer.message();
        assert!(message.contains("hold more than 65536 fields"), "{message}");
        assert!(ask(Endpoint::Mutate, body.as_bytes()).allowed);
    }
    // Fields that nobody asks for are not counted.
    let labels: Vec<_> = (0..200_000).map(|i| format!(r#""k{i}":"x""#)).collect();
    let body = review_text(&format!(
        r#"{{"metadata":{{"labels":{{{}}}}},"spec":{{}}}}"#,
        labels.join(",")
    ));
    assert!(ask(Endpoint::Validate, body.as_bytes()).allowed);
}

/// The uid survives wherever it stands: it may come after an object of too many fields.
#[test]
fn finds_the_envelope_behind_an_object_of_too_many_fields() {
    let containers: Vec<_> = (0..70_000)
        .map(|i| format!(r#"{{"name":"c{i}"}}"#))
        .collect();
    let body = format!(
        r#"{{"request":{{"object":{{"spec":{{"containers":[{}]}}}},"operation":"CREATE","kind":{{"kind":"Pod"}},"uid":"late"}},{HEAD}}}"#,
        containers.join(",")
    );
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert_eq!(answer.response["uid"], "late");
    assert!(!answer.allowed);
    assert!(answer.message().contains("hold more than 65536 fields"));
}

#[test]
fn allows_updates_whose_old_object_alone_has_too_many_fields() {
    let tolerations = |count: usize| {
        let all: Vec<_> = (0..count).map(|i| format!(r#"{{"key":"k{i}"}}"#)).collect();
        format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"containers":[{{"name":"a"}}],"tolerations":[{}]}}}}"#,
            all.join(",")
        )
    };
    let update = |object: usize, old: usize| {
        let (object, old) = (tolerations(object), tolerations(old));
        let request = format!(
            r#""uid":"u","operation":"UPDATE","kind":{{"group":"","kind":"Pod"}},"object":{object},"oldObject":{old}"#
        );
        ask(
            Endpoint::Validate,
            format!(r#"{{{HEAD},"request":{{{request}}}}}"#).as_bytes(),
        )
    };
    for (object, old) in [(1, 70_000), (20_000, 20_000)] {
        assert!(update(object, old).allowed, "{object} and {old}");
    }
    assert!(!update(70_000, 1).allowed);
}
