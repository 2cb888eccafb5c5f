//! The envelope of a review: bodies that are none, and fields of the wrong type, missing or twice. Odd values of
//! the right type are in `odd`.

use serde_json::{Value, json};

use super::{Bad, ENDPOINTS, UID, Want};
use crate::common::{bytes, pod, review_of};

/// The fields of the envelope that are read, and of which type they are.
const FIELDS: &[(&str, &str)] = &[
    ("apiVersion", "a string"),
    ("kind", "a string"),
    ("request", "an object"),
    ("request.uid", "a string"),
    ("request.kind", "an object"),
    ("request.kind.group", "a string"),
    ("request.kind.kind", "a string"),
    ("request.subResource", "a string"),
    ("request.name", "a string"),
    ("request.namespace", "a string"),
    ("request.operation", "a string"),
    ("request.userInfo", "an object"),
    ("request.userInfo.username", "a string"),
    ("request.dryRun", "true or false"),
    ("request.object", "an object"),
    ("request.oldObject", "an object"),
];

pub(super) fn rows() -> Vec<Bad> {
    let mut rows = Vec::new();
    for endpoint in ENDPOINTS {
        for (name, body, says) in BODIES {
            let want = Want::says(400, *says);
            let name = format!("no review: {name}");
            rows.push(Bad::body(&name, endpoint, || body.to_vec(), want));
        }
        for (field, kind) in FIELDS {
            rows.extend(types(endpoint, field, kind));
            rows.push(twice(endpoint, field));
        }
    }
    rows
}

/// Bodies, and what is said of them.
const BODIES: &[(&str, &[u8], &str)] = &[
    ("nothing", b"", "the body is not JSON"),
    ("blanks", b" \r\n\t", "the body is not JSON"),
    ("null", b"null", "the body is null"),
    ("a list", b"[]", "the body: must be an object, not a list"),
    (
        "a number",
        b"5",
        "the body: must be an object, not a number",
    ),
    (
        "a string",
        b"\"AdmissionReview\"",
        "must be an object, not a string",
    ),
    ("true", b"true", "must be an object, not true or false"),
    ("an empty object", b"{}", "kind is \"\""),
    ("an open brace", b"{", "the body is not JSON"),
    ("the wrong bracket", b"{]", "the body is not JSON"),
    ("half a word", b"nul", "the body is not JSON"),
    ("NaN", b"NaN", "the body is not JSON"),
    ("Infinity", b"-Infinity", "the body is not JSON"),
    ("a plus sign", b"{\"a\":+1}", "the body is not JSON"),
    ("a leading zero", b"{\"a\":01}", "the body is not JSON"),
    (
        "a hexadecimal number",
        b"{\"a\":0x1}",
        "the body is not JSON",
    ),
    (
        "a number that ends with its point",
        b"{\"a\":1.}",
        "the body is not JSON",
    ),
    ("a comment", b"{/* a */}", "the body is not JSON"),
    ("a trailing comma", b"{\"a\":1,}", "the body is not JSON"),
    ("a key without quotes", b"{a:1}", "the body is not JSON"),
    ("single quotes", b"{'a':1}", "the body is not JSON"),
    ("a key that is a number", b"{1:1}", "the body is not JSON"),
    (
        "a value without a colon",
        b"{\"a\"1}",
        "the body is not JSON",
    ),
    (
        "a line feed in a string",
        b"{\"a\":\"\n\"}",
        "the body is not JSON",
    ),
    (
        "an unknown escape",
        b"{\"kind\":\"\\x\"}",
        "the body is not JSON",
    ),
    (
        "half an escape",
        b"{\"kind\":\"\\u12",
        "the body is not JSON",
    ),
    ("a byte of zero", b"\0", "the body is not JSON"),
    (
        "a byte order mark",
        b"\xef\xbb\xbf{}",
        "the body is not JSON",
    ),
    (
        "UTF-16",
        b"\xff\xfe{\0}\0",
        "the body is not UTF-8 from byte 0",
    ),
    (
        "gzip",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        "the body is not UTF-8 from byte 1",
    ),
    (
        "protobuf of Kubernetes",
        b"k8s\0\n\x14",
        "the body is not JSON",
    ),
    ("YAML", b"kind: AdmissionReview\n", "the body is not JSON"),
    ("HTML", b"<html></html>", "the body is not JSON"),
    (
        "a form",
        b"kind=AdmissionReview&uid=a",
        "the body is not JSON",
    ),
    ("two documents", b"{} {}", "the body is not JSON"),
    (
        "a pod",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
        "kind is \"Pod\"",
    ),
];

pub(super) fn good() -> Value {
    let mut review = review_of(&pod(json!({})), "CREATE", None);
    review["request"]["uid"] = json!(UID);
    review
}

/// The place of `request.kind.group` in a review.
pub(super) fn place<'v>(review: &'v mut Value, field: &str) -> &'v mut Value {
    let mut at = review;
    for step in field.split('.') {
        at = &mut at[step];
    }
    at
}

/// The field with values of all other types, with null and without.
fn types(endpoint: &'static str, field: &'static str, kind: &str) -> Vec<Bad> {
    let others = [
        ("true or false", json!(true)),
        ("a number", json!(5)),
        ("a string", json!("x")),
        ("a list", json!([{}])),
        ("an object", json!({"a": 1})),
    ];
    let others = others.into_iter().filter(|(other, _)| *other != kind);
    let mut rows: Vec<_> = others
        .map(|(other, value)| {
            let want = match field {
                "request.object" | "request.oldObject" => {
                    let says = format!("{field}: must be {kind}, not {other}");
                    Want::unreadable(endpoint, says)
                }
                _ => Want::says(400, format!("{field}: must be {kind}, not {other}")),
            };
            let body = move || {
                let mut review = good();
                *place(&mut review, field) = value.clone();
                bytes(&review)
            };
            let name = format!("field of the envelope: {field} is {other}");
            Bad::body(&name, endpoint, body, want)
        })
        .collect();
    let want = || match field {
        "apiVersion" | "kind" => Want::says(400, format!("{field} is \"\"")),
        "request" => Want::says(400, "the AdmissionReview has no request"),
        "request.uid" => Want::says(400, "request.uid is missing or empty"),
        "request.object" => Want::unreadable(endpoint, "object: is missing"),
        _ => Want::allowed(),
    };
    let null = move || {
        let mut review = good();
        *place(&mut review, field) = Value::Null;
        bytes(&review)
    };
    let absent = move || {
        let mut review = good();
        let (parent, key) = field.rsplit_once('.').unwrap_or(("", field));
        let parent = match parent {
            "" => &mut review,
            parent => place(&mut review, parent),
        };
        parent.as_object_mut().unwrap().remove(key);
        bytes(&review)
    };
    let name = |what| format!("field of the envelope: {field} is {what}");
    rows.push(Bad::body(&name("null"), endpoint, null, want()));
    rows.push(Bad::body(&name("missing"), endpoint, absent, want()));
    rows
}

/// The field, and once more at the end of what it is in.
fn twice(endpoint: &str, field: &'static str) -> Bad {
    let body = move || {
        let mut review = good();
        if matches!(field, "request.subResource" | "request.oldObject") {
            *place(&mut review, field) = if field.ends_with("Object") {
                json!({})
            } else {
                json!("a")
            };
        }
        let value = place(&mut review, field).clone();
        let (parent, key) = field.rsplit_once('.').unwrap_or(("", field));
        let marked = match parent {
            "" => &mut review,
            parent => place(&mut review, parent),
        };
        marked["again"] = value;
        let text = String::from_utf8(bytes(&review)).unwrap();
        text.replace("\"again\"", &format!("{key:?}")).into_bytes()
    };
    let says = Want::says(400, format!("{field}: stands there twice"));
    let name = format!("key twice: {field}");
    Bad::body(&name, endpoint, body, says)
}
