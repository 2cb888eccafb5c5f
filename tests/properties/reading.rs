//! Reading: the order of keys means nothing, the parse agrees with a walk over a tree, and the
//! same question gets the same answer.

use crate::common::{
    Answer, OS, ask, ask_with, create, endpoint_of, object_of, pod_spec, recording, recordings,
    review_of, spec_path,
};
use crate::config;
use crate::objects::{any_object, windows_object};
use proptest::prelude::*;
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_keys_does_not_matter(object in any_object(), seed in any::<u64>()) {
        let review = review_of(&object, "CREATE", None);
        let shuffled = shuffle(&review, &mut seed.clone());
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let straight = ask(endpoint, &serde_json::to_vec(&review).unwrap());
            let other = ask(endpoint, shuffled.as_bytes());
            prop_assert_eq!(straight.allowed, other.allowed);
            prop_assert_eq!(straight.patched(&object), other.patched(&object));
            prop_assert_eq!(unordered(&straight), unordered(&other));
        }
    }

    #[test]
    fn the_parse_agrees_with_a_walk_over_values(object in windows_object()) {
        let answer = ask(Endpoint::Validate, &create(&object));
        let told: Vec<_> = answer.deny.iter().chain(&answer.warn).cloned().collect();
        let told = told.into_iter().filter(|f| WALKED.contains(&&f[..6])).collect();
        prop_assert_eq!(sorted(told), sorted(walk(&object)));
    }
}

/// The volume for the service account's token has modes, and its name may stand behind them.
#[test]
fn the_service_account_volume_is_known_whatever_the_order_of_its_keys() {
    let modes = r#""projected":{"defaultMode":256,"sources":[
        {"secret":{"items":[{"key":"a","path":"a","mode":256}]}},
        {"configMap":{"items":[{"key":"a","path":"a","mode":256}]}},
        {"downwardAPI":{"items":[{"path":"a","mode":256}]}}]}"#;
    for (name, found) in [("kube-api-access-x7d2k", 0), ("tokens", 2)] {
        let name = format!(r#""name":"{name}""#);
        for volume in [format!("{name},{modes}"), format!("{modes},{name}")] {
            let object = object_of(
                "Pod",
                json!({"nodeSelector": {OS: "windows"}, "volumes": ["V"]}),
            );
            let body = String::from_utf8(create(&object)).unwrap();
            let body = body.replace("\"V\"", &format!("{{{volume}}}"));
            let answer = ask(Endpoint::Validate, body.as_bytes());
            assert_eq!(answer.warn.len(), found, "{volume}: {:?}", answer.warn);
        }
    }
}

/// The value as text, with the keys of every object in some order.
fn shuffle(value: &Value, seed: &mut u64) -> String {
    let mut random = |below: usize| {
        // xorshift: any order will do, the same for the same seed.
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        usize::try_from(*seed % (below as u64).max(1)).unwrap()
    };
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            for i in (1..keys.len()).rev() {
                keys.swap(i, random(i + 1));
            }
            let members: Vec<_> = keys
                .into_iter()
                .map(|(key, value)| format!("{}:{}", json!(key), shuffle(value, seed)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(list) => {
            let elements: Vec<_> = list.iter().map(|value| shuffle(value, seed)).collect();
            format!("[{}]", elements.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The rules that `walk` knows, too.
const WALKED: [&str; 8] = [
    "WIN101", "WIN113", "WIN201", "WIN202", "WIN302", "WIN304", "WIN307", "WIN504",
];

/// The same rules once more, by hand over a tree of values.
fn walk(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap();
    let root = spec_path(kind);
    let spec = pod_spec(object);
    let mut found = Vec::new();
    let mut tell = |fires: bool, code: &str, path: String| {
        if fires {
            found.push(format!("{code} {root}{path}"));
        }
    };
    let set = |value: &Value| !value.is_null();
    let shell = |value: &Value| {
        value.as_str().is_some_and(|word| {
            word.starts_with("/bin/")
                || word.starts_with("/usr/bin/")
                || ["sh", "bash"].contains(&word)
        })
    };
    let user = &spec["securityContext"]["runAsUser"];
    tell(set(user), "WIN101", ".securityContext.runAsUser".to_owned());
    tell(
        spec["hostNetwork"] == true,
        "WIN201",
        ".hostNetwork".to_owned(),
    );
    tell(spec["hostPID"] == true, "WIN202", ".hostPID".to_owned());
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (i, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let at = format!(".{list}[{i}]");
            let context = &container["securityContext"];
            for (code, field) in [("WIN101", "runAsUser"), ("WIN113", "privileged")] {
                tell(
                    set(&context[field]),
                    code,
                    format!("{at}.securityContext.{field}"),
                );
            }
            for (j, mount) in container["volumeMounts"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                tell(
                    mount["mountPropagation"] == "HostToContainer",
                    "WIN302",
                    format!("{at}.volumeMounts[{j}].mountPropagation"),
                );
            }
            tell(
                shell(&container["command"][0]),
                "WIN504",
                format!("{at}.command[0]"),
            );
            let probe = &container["livenessProbe"]["exec"]["command"][0];
            tell(
                shell(probe),
                "WIN504",
                format!("{at}.livenessProbe.exec.command[0]"),
            );
        }
    }
    for (i, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        let medium = volume["emptyDir"]["medium"] == "Memory";
        tell(medium, "WIN304", format!(".volumes[{i}].emptyDir.medium"));
        tell(set(&volume["nfs"]), "WIN307", format!(".volumes[{i}].nfs"));
    }
    found
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

/// The findings in an order of their own. Of several hints that are equally strong WIN604 tells
/// the first of the document, whichever that is.
fn unordered(answer: &Answer) -> Vec<String> {
    let told = answer.findings().into_iter().map(|finding| {
        let (start, _) = finding.rsplit_once(' ').unwrap_or((&finding, ""));
        match start.ends_with("WIN604") {
            true => start.to_owned(),
            false => finding,
        }
    });
    sorted(told.collect())
}

#[test]
fn the_order_of_keys_does_not_matter_in_recordings() {
    for (i, (name, body)) in recordings().into_iter().enumerate() {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let endpoint = endpoint_of(&name);
        let straight = ask(endpoint, &body);
        let mut seed = i as u64 + 1;
        let other = ask(endpoint, shuffle(&review, &mut seed).as_bytes());
        assert_eq!(straight.allowed, other.allowed, "{name}");
        assert_eq!(
            sorted(straight.findings()),
            sorted(other.findings()),
            "{name}"
        );
        let object = &review["request"]["object"];
        assert_eq!(straight.patched(object), other.patched(object), "{name}");
    }
}

/// Facts and policy are read, never written: the same question gets the same answer.
#[test]
fn the_same_question_gets_the_same_answer() {
    let (policy, facts) = (Policy::default(), Facts::default());
    let body = recording("pod-create-win-c-privileged-false.mutating");
    let first = ask_with(Endpoint::Mutate, &body, &policy, &facts);
    for _ in 0..3 {
        assert_eq!(ask_with(Endpoint::Mutate, &body, &policy, &facts), first);
    }
}
