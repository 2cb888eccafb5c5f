//! Objects that controllers make for owners that were judged themselves.

use crate::common::{OS, ask_with, bytes, merge, object_of, policy, review_of};
use crate::{CONTROLLER, asked, by, image_only, owned_by, patched_paths, windows};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::Facts;

#[test]
fn warns_of_objects_that_controllers_made_for_judged_owners() {
    let flawed = windows(json!({"hostNetwork": true}));
    let own = [
        ("Pod", "ReplicaSet", "apps/v1"),
        ("Pod", "ReplicationController", "v1"),
        ("Pod", "StatefulSet", "apps/v1"),
        ("Pod", "DaemonSet", "apps/v1"),
        ("Pod", "Job", "batch/v1"),
        ("ReplicaSet", "Deployment", "apps/v1"),
        ("Job", "CronJob", "batch/v1"),
    ];
    let other = [
        ("Pod", "ReplicaSet", "v1"),
        ("Pod", "ReplicaSet", "extensions/v1"),
        ("Pod", "ReplicationController", "apps/v1"),
        ("Pod", "Job", "apps/v1"),
        ("Pod", "Deployment", "apps/v1"),
        ("Pod", "CronJob", "batch/v1"),
        ("Pod", "Workflow", "argoproj.io/v1"),
        ("Pod", "Node", "v1"),
        ("ReplicaSet", "Rollout", "argoproj.io/v1"),
        ("ReplicaSet", "DaemonSet", "apps/v1"),
        ("Job", "Deployment", "apps/v1"),
        ("Deployment", "Deployment", "apps/v1"),
        ("StatefulSet", "StatefulSet", "apps/v1"),
    ];
    let controllers = [
        "system:kube-controller-manager",
        CONTROLLER,
        "system:serviceaccount:kube-system:cronjob-controller",
        "system:serviceaccount:kube-system:daemon-set-controller",
        "system:serviceaccount:kube-system:deployment-controller",
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:kube-system:replication-controller",
        "system:serviceaccount:kube-system:statefulset-controller",
    ];
    let users = [
        "jane",
        "system:serviceaccount:default:replicaset-controller",
        "system:serviceaccount:kube-system:replicaset-controller2",
        "system:serviceaccount:kube-system:my-addon-controller",
        "system:serviceaccount:kube-system:aws-load-balancer-controller",
        "system:serviceaccount:kube-system:namespace-controller",
        "system:serviceaccount:kube-system:default",
        "system:node:a",
        "",
    ];
    let judge = |object: &Value, user: &str| asked(Endpoint::Validate, object, None, &by(user));
    for (kind, owner, api_version) in own {
        let object = owned_by(kind, owner, api_version, json!(true), flawed.clone());
        for user in controllers {
            let answer = judge(&object, user);
            assert!(answer.allowed, "{kind} of {owner} by {user}");
            assert_eq!(answer.warn.len(), 1, "{kind} of {owner} by {user}");
        }
        for user in users {
            assert!(!judge(&object, user).allowed, "{kind} of {owner} by {user}");
        }
        for flag in [json!(false), Value::Null] {
            let object = owned_by(kind, owner, api_version, flag, flawed.clone());
            assert!(!judge(&object, CONTROLLER).allowed, "{kind} of {owner}");
        }
        let enforce = policy("ownedObjects: enforce");
        let mut review = review_of(&object, "CREATE", None);
        merge(&mut review["request"], &by(CONTROLLER));
        let answer = ask_with(
            Endpoint::Validate,
            &bytes(&review),
            &enforce,
            &Facts::default(),
        );
        assert!(!answer.allowed, "{kind} of {owner}");
    }
    for (kind, owner, api_version) in other {
        let object = owned_by(kind, owner, api_version, json!(true), flawed.clone());
        assert!(
            !judge(&object, CONTROLLER).allowed,
            "{kind} of {api_version} {owner}"
        );
    }
    let unowned = object_of("Pod", flawed);
    assert!(!judge(&unowned, CONTROLLER).allowed);
}

#[test]
fn owned_objects_keep_the_denial_of_contradictions() {
    let conflict = json!({"nodeSelector": {OS: "linux"}, "os": {"name": "windows"}});
    let object = owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), conflict);
    let answer = asked(Endpoint::Validate, &object, None, &by(CONTROLLER));
    assert_eq!(answer.deny.len(), 1);
    assert!(answer.deny[0].starts_with("WIN601 "));
}

#[test]
fn owned_pods_are_placed_like_others() {
    let object = owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), image_only());
    let answer = asked(Endpoint::Mutate, &object, None, &by(CONTROLLER));
    assert_eq!(
        patched_paths(&answer),
        [
            "add /spec/os",
            "add /spec/nodeSelector",
            "add /spec/tolerations"
        ]
    );
}
