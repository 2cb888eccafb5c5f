//! The conditions of the webhooks: whatever is evidence of Windows in an object, they let through.
//!
//! Judged by a CEL interpreter here, by a real API server in tests/e2e.

use proptest::prelude::*;
use serde_json::{Value, json};
use transom::facts::Facts;
use transom::os::Condition;
use transom::policy::Policy;

use crate::common::{KINDS, create, detected, merge, object_of, policy, recordings};
use crate::filter::{Filter, matters};
use crate::objects::{any_object, linux_object, windows_object};
use crate::pieces::{hints, linux, nothing, windows};

#[test]
fn let_every_piece_of_evidence_through_in_every_kind() {
    let policy = Policy::default();
    for condition in Condition::ALL {
        let filter = Filter::new(condition, &policy);
        for piece in windows().into_iter().chain(hints()) {
            for kind in KINDS {
                let object = piece.of(kind);
                assert!(filter.lets_through(&object), "{} {kind}", piece.what);
            }
        }
    }
}

#[test]
fn keep_pods_off_the_wire_that_nothing_is_to_be_said_of() {
    let policy = Policy::default();
    let evidence = Filter::new(Condition::Evidence, &policy);
    let not_linux = Filter::new(Condition::NotLinux, &policy);
    for piece in linux() {
        for kind in KINDS {
            let object = piece.of(kind);
            assert!(!evidence.lets_through(&object), "{} {kind}", piece.what);
        }
    }
    for kind in KINDS {
        let plain = object_of(kind, json!({}));
        assert!(!evidence.lets_through(&plain));
        assert!(
            not_linux.lets_through(&plain),
            "nothing in it asks for Linux"
        );
        for spec in [
            json!({"os": {"name": "linux"}}),
            json!({"nodeSelector": {"kubernetes.io/os": "linux"}}),
        ] {
            assert!(!not_linux.lets_through(&object_of(kind, spec)), "{kind}");
        }
    }
}

/// What means nothing to us may look like something to the expression, but not all of it.
#[test]
fn keep_most_lookalikes_off_the_wire() {
    let filter = Filter::new(Condition::Evidence, &Policy::default());
    let all = nothing();
    let through: Vec<_> = all
        .iter()
        .filter(|(_, spec)| filter.lets_through(&object_of("Pod", spec.clone())))
        .map(|(what, _)| *what)
        .collect();
    println!(
        "{} of {} lookalikes are let through: {through:?}",
        through.len(),
        all.len()
    );
    assert!(through.len() * 3 < all.len());
}

#[test]
fn let_every_recording_through_that_matters_and_no_plain_one() {
    let policy = Policy::default();
    let filter = Filter::new(Condition::Evidence, &policy);
    let (mut called, mut skipped) = (0, 0);
    for (name, body) in recordings() {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let object = &review["request"]["object"];
        let through = filter.lets_through(object);
        // The API server refuses some of them before /validate, so that only a look at both answers tells.
        let service = object["kind"] == "Service";
        assert_eq!(through, service || matters(object, &policy), "{name}");
        match through {
            true => called += 1,
            false => skipped += 1,
        }
    }
    println!("{called} recordings are let through, {skipped} are not");
    assert!(called > 200 && skipped > 3);
}

#[test]
fn services_are_let_through() {
    let filter = Filter::new(Condition::Evidence, &Policy::default());
    let service = json!({"kind": "Service", "metadata": {}, "spec": {"selector": {"a": "b"}}});
    assert!(filter.lets_through(&service));
}

/// The API server's price for an iteration grows with the list: what is long goes to the webhook.
#[test]
fn lets_what_is_too_long_to_visit_through() {
    let filter = Filter::new(Condition::Evidence, &Policy::default());
    let list = |count: usize, entry: Value| Value::Array(vec![entry; count]);
    let container = |fields: Value| {
        let mut container = json!({"name": "a", "image": "a"});
        merge(&mut container, &fields);
        json!({"containers": [container]})
    };
    let required = |terms: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": terms}}}})
    };
    let expression = json!({"key": "a", "operator": "Exists"});
    let specs = |more: usize| {
        let expressions = json!({"matchExpressions": list(50 + more, expression.clone())});
        let half = list(25, json!({"name": "a", "image": "a"}));
        let rest = list(25 + more, json!({"name": "a", "image": "a"}));
        [
            json!({"containers": half, "initContainers": rest}),
            container(json!({"image": "a".repeat(299 + more)})),
            container(json!({"args": list(1_000 + more, json!("a"))})),
            container(json!({"command": ["a".repeat(8_000 + more)]})),
            container(json!({"workingDir": format!("{}:\\", "/".repeat(298 + more))})),
            container(json!({"volumeMounts":
                list(50 + more, json!({"name": "a", "mountPath": "/a"}))})),
            json!({"volumes": list(50 + more, json!({"name": "a", "emptyDir": {}}))}),
            json!({"tolerations": list(50 + more, json!({"operator": "Exists"}))}),
            json!({"tolerations": [{"key": "a", "value": "a".repeat(499 + more)}]}),
            required(list(50 + more, json!({}))),
            required(json!([expressions])),
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": expressions}]}}}),
        ]
    };
    for (visited, too_long) in specs(0).into_iter().zip(specs(1)) {
        for kind in KINDS {
            let visited = object_of(kind, visited.clone());
            assert!(!filter.lets_through(&visited), "{visited}");
            let too_long = object_of(kind, too_long.clone());
            assert!(filter.lets_through(&too_long), "{too_long}");
        }
    }
}

/// A match costs the length of the text times that of the pattern, and an expression has a budget.
#[test]
fn lets_shorter_images_through_the_longer_the_pattern_is() {
    let long = |words: usize| {
        let words: Vec<_> = (0..words).map(|i| format!("some-word-{i}")).collect();
        let words = words.join(", ");
        policy(&format!(
            "evidence: {{images: {{hint: {{words: [{words}]}}}}}}"
        ))
    };
    let image = |length: usize| {
        object_of(
            "Pod",
            json!({"containers": [{"name": "a", "image": "a".repeat(length)}]}),
        )
    };
    let limit = |policy: &Policy| {
        let filter = Filter::new(Condition::Evidence, policy);
        (0..=300)
            .find(|length| filter.lets_through(&image(*length)))
            .unwrap()
    };
    assert_eq!(limit(&Policy::default()), 300);
    let limits = [100, 500, 1_000, 2_000].map(|words| limit(&long(words)));
    assert!(limits.is_sorted_by(|a, b| a > b || *b == 0), "{limits:?}");
    assert_eq!(limits[3], 0, "nothing is matched");
}

/// A configuration's own images, taints and label.
const CUSTOM: &str = "
evidence:
  images:
    certain:
      repositories: [registry.example:5000/win(1)]
      tags: [onwin]
    hint:
      words: [dotnet]
      tags: []
placement:
  osLabelKey: example.com/os
  tolerations:
  - {key: example.com/taint, value: win, effect: NoSchedule}
  - {key: example.com/any, operator: Exists}
";

#[test]
fn know_what_a_configuration_adds_and_takes_away() {
    let policy = policy(CUSTOM);
    let filter = Filter::new(Condition::Evidence, &policy);
    let image = |image: &str| json!({"containers": [{"name": "a", "image": image}]});
    for (object, want) in [
        (image("registry.example:5000/win(1)/a"), true),
        (image("registry.example:5000/win(2)/a"), false),
        (image("a:1-ONWIN"), true),
        (image("team/dotnet-a"), true),
        (image("mcr.microsoft.com/a:1809"), false),
        (json!({"nodeSelector": {"example.com/os": "windows"}}), true),
        (
            json!({"tolerations": [{"key": "example.com/taint", "value": "win"}]}),
            true,
        ),
        (
            json!({"tolerations": [{"key": "example.com/any", "operator": "Exists"}]}),
            false,
        ),
    ] {
        let object = object_of("Pod", object);
        assert_eq!(filter.lets_through(&object), want, "{object}");
        assert!(want || !matters(&object, &policy), "{object}");
    }
    let not_linux = Filter::new(Condition::NotLinux, &policy);
    let linux = json!({"nodeSelector": {"example.com/os": "linux"}});
    assert!(!not_linux.lets_through(&object_of("Pod", linux)));

    let nothing = Filter::new(
        Condition::Evidence,
        &crate::common::policy(
            "evidence: {images: {certain: {repositories: [], tags: []}, hint: {words: [], tags: []}}}",
        ),
    );
    assert!(!nothing.lets_through(&object_of("Pod", image("mcr.microsoft.com/windows:a^"))));
}

/// A text of fragments that mean something, and of some that do not.
fn text_of(fragments: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(fragments), 0..7)
        .prop_map(|fragments| fragments.concat())
}

fn image() -> impl Strategy<Value = String> {
    text_of(&[
        "mcr.microsoft.com/windows",
        "dockurr/windows",
        "servercore",
        "sigwindowstools",
        "hostprocess",
        "ltsc-20",
        "win",
        "64",
        "MCR.microsoft.com/dotnet/framework",
        "registry:5000",
        "team",
        "/",
        "/",
        ":",
        ":",
        "@sha256:00",
        "@",
        "-",
        "_",
        ".",
        "ltsc2022",
        "LTSC2019",
        "nanoserver",
        "1809",
        "20h2",
        "iis",
        "windows",
        "a",
        "1",
    ])
}

fn text() -> impl Strategy<Value = String> {
    text_of(&[
        "C",
        "d",
        ":",
        ":\\",
        "\\",
        "\\\\.\\pipe\\",
        "n",
        "t",
        "x",
        "0",
        "/",
        "%",
        "cmd",
        "CMD",
        "powershell",
        ".exe",
        ".EXE",
        "exe",
        ".",
        " ",
        "'",
        "\"",
        "é",
        "\n",
    ])
}

/// More than 10,000 objects in all.
fn many() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        cases: 2_600,
        ..ProptestConfig::default()
    }
}

thread_local! {
    static POLICY: Policy = Policy::default();
    static EVIDENCE: Filter = POLICY.with(|policy| Filter::new(Condition::Evidence, policy));
    static NOT_LINUX: Filter = POLICY.with(|policy| Filter::new(Condition::NotLinux, policy));
}

/// Whether it matters, and whether each condition lets it through.
fn judged(object: &Value) -> (bool, bool, bool) {
    let matters = POLICY.with(|policy| matters(object, policy));
    let through = EVIDENCE.with(|filter| filter.lets_through(object));
    (
        matters,
        through,
        NOT_LINUX.with(|filter| filter.lets_through(object)),
    )
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn let_whatever_matters_through(
        object in prop_oneof![any_object(), windows_object(), linux_object()],
    ) {
        let (matters, evidence, not_linux) = judged(&object);
        prop_assert!(evidence || !matters, "{object:#}");
        prop_assert!(not_linux || !evidence, "{object:#}");
    }

    #[test]
    fn let_images_through_that_are_evidence(image in image(), list in any::<bool>()) {
        let list = if list { "containers" } else { "initContainers" };
        let object = object_of("Pod", json!({list: [{"name": "b", "image": image}]}));
        let (matters, evidence, _) = judged(&object);
        prop_assert!(evidence || !matters, "{image}");
    }

    /// To the letter: scripts are long, and full of what looks like a drive.
    #[test]
    fn let_texts_through_that_are_evidence_and_no_others(text in text(), field in 0..5) {
        let container = match field {
            0 => json!({"command": ["a", text]}),
            1 => json!({"args": [text]}),
            2 => json!({"workingDir": text}),
            _ => json!({"volumeMounts": [{"name": "v", "mountPath": text}]}),
        };
        let mut spec = json!({"containers": [{"name": "b", "image": "a"}]});
        match field {
            4 => spec["volumes"] = json!([{"name": "v", "hostPath": {"path": text}}]),
            _ => merge(&mut spec["containers"][0], &container),
        }
        let object = object_of("Pod", spec);
        let (os, source) = detected(&create(&object), &Policy::default(), &Facts::default());
        let (_, evidence, _) = judged(&object);
        prop_assert_eq!(evidence, os.is_none() && source.is_some(), "{:?}", text);
    }

    #[test]
    fn let_affinity_through_that_is_evidence(terms in terms(), preferred in any::<bool>()) {
        let affinity = match preferred {
            false => json!({"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": terms}}),
            true => json!({"preferredDuringSchedulingIgnoredDuringExecution":
                terms.iter().map(|term| json!({"weight": 1, "preference": term})).collect::<Vec<_>>()}),
        };
        let object = object_of("Deployment", json!({"affinity": {"nodeAffinity": affinity}}));
        let (matters, evidence, _) = judged(&object);
        prop_assert!(evidence || !matters, "{object:#}");
    }
}

fn terms() -> impl Strategy<Value = Vec<Value>> {
    let key = proptest::sample::select(vec![
        "kubernetes.io/os",
        "beta.kubernetes.io/os",
        "node.kubernetes.io/windows-build",
        "kubernetes.azure.com/os-sku",
        "kubernetes.io/hostname",
    ]);
    let operator = proptest::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt"]);
    let values = proptest::collection::vec(
        proptest::sample::select(vec!["windows", "linux", "10.0.20348", "Windows2022"]),
        0..3,
    );
    let expression = (key, operator, values).prop_map(
        |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
    );
    let term = proptest::collection::vec(expression, 0..3).prop_map(|expressions| match expressions.len() {
        0 => json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}),
        _ => json!({"matchExpressions": expressions}),
    });
    proptest::collection::vec(term, 1..3)
}
