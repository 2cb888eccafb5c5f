//! What the owner of an object that a controller has made should hear, and what it should not.

use crate::common::{OS, bytes, merge, object_of, policy, review_of};
use crate::{CONTROLLER, by, container, labelled, owned_by, windows, windows_os};
use serde_json::{Value, json};
use transom::admit::{self, Notice};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::mode::Mode;
use transom::review::{self, Owner};

const ENFORCE: &str = "ownedObjects: enforce";

fn notice(
    endpoint: Endpoint,
    object: &Value,
    more: &Value,
    yaml: &str,
    facts: &Facts,
) -> Option<Notice> {
    let mut review = review_of(object, "CREATE", None);
    merge(&mut review["request"], more);
    let (body, policy) = (bytes(&review), policy(yaml));
    let request = review::decode(&body, &policy).unwrap();
    admit::admit(endpoint, &request, &policy, facts).notice()
}

fn pod(spec: Value) -> Value {
    owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), spec)
}

fn validated(object: &Value, yaml: &str) -> Option<Notice> {
    let facts = Facts::default();
    notice(Endpoint::Validate, object, &by(CONTROLLER), yaml, &facts)
}

fn flawed() -> Value {
    windows(json!({"hostPID": true}))
}

#[test]
fn an_owner_hears_of_what_was_refused() {
    let told = validated(&pod(flawed()), ENFORCE).unwrap();
    let owner = Owner {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: "o".to_owned(),
        uid: "u".to_owned(),
    };
    assert_eq!(
        (told.owner, told.namespace.as_str(), told.denied),
        (owner, "default", true)
    );
    let start = "Pod refused: spec.hostPID: true [WIN202 host-pid] ";
    assert!(told.note.starts_with(start), "{}", told.note);
    assert!(told.note.ends_with('.'), "{}", told.note);

    // By the first webhook, where the API server would not come to the second.
    let object = pod(windows_os(json!({"hostPID": true})));
    let facts = Facts::default();
    let told = notice(Endpoint::Mutate, &object, &by(CONTROLLER), ENFORCE, &facts);
    assert!(told.unwrap().denied);
    // Contradictions are refused, whatever is done about owned objects.
    let conflict = json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}});
    let told = validated(&pod(conflict), "").unwrap();
    assert!(told.denied && told.note.contains("[WIN601 "), "{told:?}");
}

#[test]
fn an_owner_hears_of_what_was_admitted_for_its_sake() {
    let told = validated(&pod(flawed()), "").unwrap();
    assert!(!told.denied);
    let start = "Pod admitted, though mode enforce refuses new workloads like it: spec.hostPID: true [WIN202 host-pid]";
    assert!(told.note.starts_with(start), "{}", told.note);
    // Mode warn spares it as well.
    let warn = labelled(Mode::Warn);
    for yaml in ["", ENFORCE] {
        let told = notice(
            Endpoint::Validate,
            &pod(flawed()),
            &by(CONTROLLER),
            yaml,
            &warn,
        );
        assert_eq!(told.map(|told| told.denied), Some(false), "{yaml}");
    }
    for (kind, owner, api_version) in [
        ("ReplicaSet", "Deployment", "apps/v1"),
        ("Job", "CronJob", "batch/v1"),
    ] {
        let object = owned_by(kind, owner, api_version, json!(true), flawed());
        let told = validated(&object, "").unwrap();
        assert_eq!(told.owner.kind, owner);
        let start = format!("{kind} admitted, though");
        assert!(told.note.starts_with(&start), "{}", told.note);
    }
}

#[test]
fn nobody_hears_of_anything_else() {
    let silent = |what: &str, told: Option<Notice>| assert_eq!(told, None, "{what}");
    silent("no flaw", validated(&pod(windows(json!({}))), ENFORCE));
    // Who applied the owner was told already.
    let rule = "rules: {WIN202: warn}";
    silent("only a warning", validated(&pod(flawed()), rule));
    let ignored = "rules: {WIN202: \"off\"}";
    silent("a rule that is off", validated(&pod(flawed()), ignored));
    let linux = json!({"nodeSelector": {OS: "linux"}, "hostPID": true});
    silent("a Linux pod", validated(&pod(linux), ENFORCE));
    silent("no owner", validated(&object_of("Pod", flawed()), ENFORCE));
    let asked = |more: Value, facts: &Facts| {
        notice(Endpoint::Validate, &pod(flawed()), &more, ENFORCE, facts)
    };
    let nothing = Facts::default();
    silent("not a controller", asked(by("jane"), &nothing));
    let mut dry = by(CONTROLLER);
    dry["dryRun"] = json!(true);
    silent("a dry run", asked(dry, &nothing));
    for mode in [Mode::Audit, Mode::Off] {
        silent(mode.name(), asked(by(CONTROLLER), &labelled(mode)));
    }
    let exempt = "exemptions: {namespaces: [default]}";
    silent("an exemption", validated(&pod(flawed()), exempt));
    // The controllers go on changing what was there before.
    let object = pod(flawed());
    let mut review = review_of(&object, "UPDATE", Some(&object));
    merge(&mut review["request"], &by(CONTROLLER));
    let (body, policy) = (bytes(&review), policy(ENFORCE));
    let request = review::decode(&body, &policy).unwrap();
    let verdict = admit::admit(Endpoint::Validate, &request, &policy, &nothing);
    silent("an update", verdict.notice());
    // Repairs are what is wanted.
    let repaired = windows(json!({"containers": [container("main", json!({
        "securityContext": {"allowPrivilegeEscalation": false},
    }))]}));
    let told = notice(
        Endpoint::Mutate,
        &pod(repaired),
        &by(CONTROLLER),
        ENFORCE,
        &nothing,
    );
    silent("a repair", told);
}

/// The API server takes 1024 bytes.
#[test]
fn a_note_is_cut_where_it_gets_too_long() {
    for count in [1, 2, 3, 4, 5, 70] {
        let containers = (0..count).map(|number| {
            let name = format!("container-{number}");
            container(&name, json!({"securityContext": {"privileged": true}}))
        });
        let spec = windows(json!({"containers": containers.collect::<Vec<_>>()}));
        let note = validated(&pod(spec), "").unwrap().note;
        assert!(note.len() <= 1024, "{count}: {}", note.len());
        let told = note.matches("[WIN").count();
        assert!((1..=count).contains(&told), "{count}: {note}");
        let rest = match count.min(64) - told {
            0 => ".".to_owned(),
            rest => format!(" And {rest} more."),
        };
        assert!(note.ends_with(&rest), "{count}: {note}");
    }
    // One of its own is longer than that, and no character is cut in two.
    for length in 900..910 {
        let user = format!("{}{}", "a".repeat(length % 10), "ä".repeat(length));
        let options = json!({"windowsOptions": {"runAsUserName": user}});
        let spec = windows(json!({"securityContext": options, "hostPID": true}));
        let note = validated(&pod(spec), "").unwrap().note;
        assert!(note.len() <= 1024, "{}", note.len());
    }
}
