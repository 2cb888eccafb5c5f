//! DaemonSets, whose template is patched, and the other workloads, whose template is not.

use crate::common::{KINDS, ask, merge, object_of, pod_metadata_mut, pod_spec_mut, update};
use crate::{asked, by, image_only, is_silent, mutate, owned_by, patched_paths};
use serde_json::{Value, json};
use transom::decision::Endpoint;

#[test]
fn pods_of_daemon_sets_get_no_selector() {
    let object = owned_by("Pod", "DaemonSet", "apps/v1", json!(true), image_only());
    for user in [
        "system:serviceaccount:kube-system:daemon-set-controller",
        "jane",
    ] {
        let answer = asked(Endpoint::Mutate, &object, None, &by(user));
        assert_eq!(
            patched_paths(&answer),
            ["add /spec/os", "add /spec/tolerations"],
            "{user}"
        );
    }
    for (owner, api_version, controller) in [
        ("DaemonSet", "example.com/v1", json!(true)),
        ("DaemonSet", "apps/v1", json!(false)),
        ("ReplicaSet", "apps/v1", json!(true)),
    ] {
        let object = owned_by("Pod", owner, api_version, controller, image_only());
        assert!(patched_paths(&mutate(&object)).contains(&"add /spec/nodeSelector".to_owned()));
    }
}

#[test]
fn patches_the_template_of_daemon_sets_and_of_no_other_workload() {
    for kind in KINDS.into_iter().filter(|kind| *kind != "Pod") {
        let mut spec = image_only();
        spec["containers"][0]["securityContext"] = json!({"privileged": false});
        let object = object_of(kind, spec);
        let answer = mutate(&object);
        if kind == "DaemonSet" {
            assert_eq!(
                patched_paths(&answer),
                [
                    "add /spec/template/spec/os",
                    "add /spec/template/spec/nodeSelector",
                    "add /spec/template/spec/tolerations",
                    "remove /spec/template/spec/containers/0/securityContext/privileged",
                ]
            );
        } else {
            is_silent(kind, &answer);
        }
    }
}

#[test]
fn patches_daemon_sets_on_updates_that_change_the_template() {
    let set = |spec: Value| object_of("DaemonSet", spec);
    let old = set(image_only());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        ask(Endpoint::Mutate, &update(&new, &old)).patch.is_some()
    };
    let main = |object: &mut Value, fields: Value| {
        merge(&mut pod_spec_mut(object)["containers"][0], &fields);
    };
    assert!(!changed(&|_| {}), "nothing changed");
    assert!(
        !changed(&|o| o["metadata"]["labels"] = json!({"x": "y"})),
        "its own labels"
    );
    assert!(
        !changed(&|o| o["spec"]["minReadySeconds"] = json!(5)),
        "beside the template"
    );
    assert!(!changed(&|o| o["status"] = json!({"x": 1})), "status");
    assert!(
        changed(&|o| main(o, json!({"image": "app:1-ltsc2022"}))),
        "an image"
    );
    assert!(
        changed(&|o| main(o, json!({"env": [{"name": "A", "value": "b"}]}))),
        "env, which nobody reads"
    );
    assert!(
        changed(&|o| main(o, json!({"ports": [{"containerPort": 1}]}))),
        "ports"
    );
    assert!(
        changed(&|o| merge(
            pod_metadata_mut(o),
            &json!({"annotations": {"restartedAt": "now"}})
        )),
        "an annotation of the template"
    );
    assert!(
        !changed(&|o| {
            o["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            main(o, json!({"image": "app:1-ltsc2022"}));
        }),
        "it is on its way out"
    );
    for kind in ["Deployment", "StatefulSet", "ReplicaSet", "Job"] {
        let old = object_of(kind, image_only());
        let mut new = old.clone();
        merge(
            &mut pod_spec_mut(&mut new)["containers"][0],
            &json!({"image": "b:ltsc2022"}),
        );
        is_silent(kind, &ask(Endpoint::Mutate, &update(&new, &old)));
    }
}
