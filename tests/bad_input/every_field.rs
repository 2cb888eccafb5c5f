//! Every field that is read, with a value of another type and with null.

use crate::common::everything::everything;
use crate::common::{Answer, ask_with, assert_none, bytes, pointers, policy, review_of};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::rules::{self, Owner};

/// `/spec/containers/0/name` as messages have it.
pub(crate) fn dotted(pointer: &str) -> String {
    let mut out = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let plain = step
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if step.bytes().all(|b| b.is_ascii_digit()) {
            out += &format!("[{step}]");
        } else if !plain {
            out += &format!("[\"{step}\"]");
        } else if out.is_empty() {
            out += &step;
        } else {
            out += &format!(".{step}");
        }
    }
    out
}

/// Values of all types but that of this one.
pub(crate) fn other_types(value: &Value) -> Vec<Value> {
    let all = [
        json!(true),
        json!(5),
        json!("x"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": 1}),
    ];
    let is_other = |other: &Value| std::mem::discriminant(other) != std::mem::discriminant(value);
    all.into_iter().filter(is_other).collect()
}

/// Fields of `everything` that nobody reads, or reads no further than that they are there.
pub(crate) fn is_not_read(pointer: &str) -> bool {
    let ends = |list: &[&str]| list.iter().any(|end| pointer.ends_with(end));
    ends(&[
        "/apiVersion",
        "/kind",
        "/namespace",
        "/labels/app",
        "/metadata/labels",
        "/seLinuxOptions/level",
        "/spec/resources/limits",
        "/spec/resources/limits/cpu",
        "/searches/0",
        "/searches/1",
        // Kubernetes has it beside the sources only.
        "/sources/0/secret/defaultMode",
        "/sources/0/configMap/defaultMode",
        "/sources/0/downwardAPI/defaultMode",
        "/supplementalGroups/0",
        "/sysctls/0",
        "/sysctls/0/name",
        // Off in this profile: the tier is read and nothing comes of it.
        "/csi",
        "/configMap/items/0/mode",
        "/downwardAPI/items/0/mode",
        "/volumeDevices/0",
        "/volumeDevices/0/name",
        "/claims/0",
        "/claims/0/name",
        "/resourceClaims/0",
        "/resourceClaims/0/name",
        // The API server writes or checks them before; of any other type they say nothing.
        "/metadata/uid",
        "/gmsaCredentialSpec",
        "/microsoft.com~1hostprocess-inherit-user",
    ]) && pointer != "/metadata/labels"
        && !pointer.starts_with("/metadata/ownerReferences/0/")
        // A quantity is a string or a number; rules without a word in this profile read no more.
        || ends(&["/resources/limits/cpu", "/resources/requests/cpu"])
        || ends(&["/resources/limits/memory", "/resources/requests/memory"])
        // A device is reported whatever its quantity is.
        || pointer.contains("/resources/limits/") && pointer.contains("~1")
}

/// The rules of both profiles are read.
pub(crate) const ALL_RULES: &str = "profile: current\nrules: {WIN116: deny, WIN117: deny, WIN301: deny, \
    WIN403: deny, WIN404: deny, WIN405: deny, WIN501: deny, WIN502: deny}";

fn judge(review: &Value, policy: &Policy) -> Answer {
    ask_with(
        Endpoint::Validate,
        &bytes(review),
        policy,
        &Facts::default(),
    )
}

#[test]
fn names_every_field_of_the_wrong_type() {
    let object = everything();
    let policy = policy(ALL_RULES);
    let review = review_of(&object, "CREATE", None);
    let mut failures = Vec::new();
    let mut count = 0;
    for pointer in pointers(&object) {
        if is_not_read(&pointer) {
            continue;
        }
        for value in other_types(object.pointer(&pointer).unwrap()) {
            let mut changed = object.clone();
            *changed.pointer_mut(&pointer).unwrap() = value.clone();
            let mut review = review.clone();
            review["request"]["object"] = changed;
            let answer = judge(&review, &policy);
            count += 1;
            let path = dotted(&pointer);
            let found = answer.deny.iter().chain(&answer.warn).any(|finding| {
                let (_, at) = finding.split_once(' ').unwrap();
                at == path
            });
            let unreadable = answer.message().starts_with(&format!("{path}: must be "));
            if answer.allowed || !(found || unreadable) {
                failures.push(format!("{path} = {value}"));
            }
        }
    }
    assert!(count > 1_500, "{count}");
    assert_none(&failures);
}

/// A null is as good as an absent field, everywhere.
#[test]
fn takes_nulls_for_absent_fields() {
    let object = everything();
    let policy = policy(ALL_RULES);
    for pointer in pointers(&object) {
        let in_list = pointer.rsplit('/').next().unwrap().parse::<usize>().is_ok();
        if in_list || is_not_read(&pointer) {
            continue;
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let mut null = object.clone();
        *null.pointer_mut(&pointer).unwrap() = Value::Null;
        let mut absent = object.clone();
        let map = absent.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        map.remove(&key);
        // The review is the same but for the field.
        let review = |object: &Value| {
            let mut review = review_of(&everything(), "CREATE", None);
            review["request"]["object"] = object.clone();
            review
        };
        let (with, without) = (
            judge(&review(&null), &policy),
            judge(&review(&absent), &policy),
        );
        assert_eq!(with.findings(), without.findings(), "{pointer}");
        assert_eq!(with.allowed, without.allowed, "{pointer}");
    }
}

/// The pod with all fields has those of the rule table, so that a new rule's are tried, too.
#[test]
fn the_pod_with_all_fields_has_those_of_every_rule() {
    let object = everything();
    let fields = rules::all().flat_map(|rule| rule.fields());
    let fields = fields.filter(|field| field.of != Owner::Service);
    let paths = fields.flat_map(|field| field.paths().collect::<Vec<_>>());
    let missing: Vec<_> = paths.filter(|path| !has(&object, path)).collect();
    assert_none(&missing);
}

/// Whether a value has a field at this path, in any element of a list, under any key that starts as it does.
fn has(value: &Value, path: &str) -> bool {
    let path = path.trim_start_matches('.');
    if path.is_empty() {
        return true;
    }
    let element = ["[*]", "[0]"].iter().find_map(|any| path.strip_prefix(any));
    if let Some(rest) = element {
        let list = value.as_array().into_iter().flatten();
        return list.into_iter().any(|element| has(element, rest));
    }
    let (key, rest) = match path.strip_prefix("[\"") {
        Some(quoted) => quoted.split_once("\"]").unwrap(),
        None => path.split_at(path.find(['.', '[']).unwrap_or(path.len())),
    };
    let is_meant = |name: &str| match key.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == key,
    };
    let map = value.as_object().into_iter().flatten();
    map.into_iter()
        .any(|(name, value)| is_meant(name) && has(value, rest))
}
