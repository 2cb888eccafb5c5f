//! Values of the right type in the envelope of a review that nobody has a use for.

use serde_json::{Value, json};

use super::envelope::{good, place};
use super::{Bad, ENDPOINTS, UID, Want};
use crate::common::bytes;
use crate::pod_text;

pub(super) fn rows() -> Vec<Bad> {
    ENDPOINTS.into_iter().flat_map(values).collect()
}

fn values(endpoint: &'static str) -> Vec<Bad> {
    let version = |version| Want::says(400, format!("apiVersion is {version:?}"));
    let kind = |kind| Want::says(400, format!("kind is {kind:?}"));
    let huge = "u".repeat(1_000_000);
    let odd = "\u{0}\u{1}\"\\/\u{7f}\u{2028}\u{1f642}";
    let list: Vec<(&str, &'static str, Value, Want)> = vec![
        (
            "an older version",
            "apiVersion",
            json!("admission.k8s.io/v1beta1"),
            version("admission.k8s.io/v1beta1"),
        ),
        (
            "a version to come",
            "apiVersion",
            json!("admission.k8s.io/v2"),
            version("admission.k8s.io/v2"),
        ),
        (
            "a version without a group",
            "apiVersion",
            json!("v1"),
            version("v1"),
        ),
        (
            "another group",
            "apiVersion",
            json!("example.com/v1"),
            version("example.com/v1"),
        ),
        (
            "a version in another case",
            "apiVersion",
            json!("admission.k8s.io/V1"),
            version("admission.k8s.io/V1"),
        ),
        (
            "a blank behind the version",
            "apiVersion",
            json!("admission.k8s.io/v1 "),
            version("admission.k8s.io/v1 "),
        ),
        (
            "a long version",
            "apiVersion",
            json!(huge),
            version(&huge[..60]),
        ),
        (
            "a kind in another case",
            "kind",
            json!("admissionreview"),
            kind("admissionreview"),
        ),
        (
            "a list of reviews",
            "kind",
            json!("AdmissionReviewList"),
            kind("AdmissionReviewList"),
        ),
        (
            "another review",
            "kind",
            json!("ConversionReview"),
            kind("ConversionReview"),
        ),
        (
            "an empty uid",
            "request.uid",
            json!(""),
            Want::says(400, "request.uid is missing or empty"),
        ),
        (
            "a uid of 1 MB",
            "request.uid",
            json!(huge),
            Want::says(400, "request.uid has 1000000 bytes"),
        ),
        (
            "a uid of control characters",
            "request.uid",
            json!(odd),
            Want::Allowed(odd.to_owned()),
        ),
        (
            "an operation in lower case",
            "request.operation",
            json!("create"),
            Want::allowed(),
        ),
        (
            "an empty operation",
            "request.operation",
            json!(""),
            Want::allowed(),
        ),
        (
            "an unknown operation",
            "request.operation",
            json!("PATCH"),
            Want::allowed(),
        ),
        (
            "a DELETE that has an object",
            "request.operation",
            json!("DELETE"),
            Want::allowed(),
        ),
        (
            "a CONNECT",
            "request.operation",
            json!("CONNECT"),
            Want::allowed(),
        ),
        (
            "an UPDATE without an old object",
            "request.operation",
            json!("UPDATE"),
            Want::allowed(),
        ),
        (
            "an unknown subresource",
            "request.subResource",
            json!("nothing"),
            Want::allowed(),
        ),
        (
            "ephemeral containers on CREATE",
            "request.subResource",
            json!("ephemeralcontainers"),
            Want::allowed(),
        ),
        (
            "an unknown kind",
            "request.kind",
            json!({"group": "a", "version": "b", "kind": "C"}),
            Want::allowed(),
        ),
        ("no kind", "request.kind", json!({}), Want::allowed()),
        (
            "a pod of another group",
            "request.kind",
            json!({"group": "example.com", "version": "v1", "kind": "Pod"}),
            Want::allowed(),
        ),
        (
            "a name of 1 MB",
            "request.name",
            json!(huge),
            Want::allowed(),
        ),
        (
            "a namespace of 1 MB",
            "request.namespace",
            json!(huge),
            Want::allowed(),
        ),
        (
            "a namespace of control characters",
            "request.namespace",
            json!(odd),
            Want::allowed(),
        ),
        (
            "a user of 1 MB",
            "request.userInfo.username",
            json!(huge),
            Want::allowed(),
        ),
        ("no user", "request.userInfo", json!({}), Want::allowed()),
        (
            "groups that are a number",
            "request.userInfo.groups",
            json!(5),
            Want::allowed(),
        ),
        (
            "options that are a list",
            "request.options",
            json!([1]),
            Want::allowed(),
        ),
        (
            "a resource that is a number",
            "request.resource",
            json!(5),
            Want::allowed(),
        ),
        (
            "an object of nothing",
            "request.object",
            json!({}),
            Want::allowed(),
        ),
        (
            "an object of another kind",
            "request.object",
            json!({"apiVersion": "v1", "kind": "Secret", "data": {}}),
            Want::allowed(),
        ),
    ];
    let mut rows: Vec<_> = list
        .into_iter()
        .map(|(name, field, value, want)| {
            let body = move || {
                let mut review = good();
                *place(&mut review, field) = value.clone();
                bytes(&review)
            };
            Bad::body(&format!("odd value: {name}"), endpoint, body, want)
        })
        .collect();
    let only_old = move || {
        let mut review = good();
        let object = review["request"]["object"].take();
        review["request"]["oldObject"] = object;
        bytes(&review)
    };
    let missing = Want::unreadable(endpoint, "object: is missing");
    rows.push(Bad::body(
        "odd value: an old object alone",
        endpoint,
        only_old,
        missing,
    ));
    let deleted = move || {
        let mut review = good();
        let object = review["request"]["object"].take();
        review["request"]["oldObject"] = object;
        review["request"]["operation"] = json!("DELETE");
        bytes(&review)
    };
    let name = "odd value: a DELETE as it should be, which nobody asked for";
    rows.push(Bad::body(name, endpoint, deleted, Want::allowed()));
    let answer = move || {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": UID, "allowed": true}});
        bytes(&review)
    };
    let want = Want::says(400, "the AdmissionReview has no request");
    rows.push(Bad::body("odd value: an answer", endpoint, answer, want));
    let unread = move || pod_text(r#""hostnetwork":true,"HostPID":true"#).into_bytes();
    if endpoint == "validate" {
        let name = "odd value: fields in another case";
        rows.push(Bad::body(name, endpoint, unread, Want::allowed()));
    }
    rows
}
