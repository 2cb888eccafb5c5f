//! The Linux guard: pods without any evidence of Windows are kept off Windows nodes.

use crate::common::{
    KINDS, OS, ask_with, create, merge, namespace, object_of, pod, policy, update,
};
use crate::{asked, by, container, is_silent, owned_by, patched_paths};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};

const ON: &str = "linuxGuard: true";
const SELECTED: &str = "linuxGuard: true\nlinuxGuardSelectedPods: true";

fn guarded(object: &Value) -> Vec<String> {
    guarded_by(ON, object)
}

fn guarded_by(yaml: &str, object: &Value) -> Vec<String> {
    let answer = ask_with(
        Endpoint::Mutate,
        &create(object),
        &policy(yaml),
        &Facts::default(),
    );
    assert!(answer.allowed);
    assert_eq!(answer.warnings(), [""; 0], "the guard is silent");
    patched_paths(&answer)
}

#[test]
fn keeps_pods_without_evidence_off_windows_nodes() {
    for (what, fields, path) in [
        ("nothing", json!({}), "/spec/nodeSelector"),
        ("null", json!({"nodeSelector": null}), "/spec/nodeSelector"),
        (
            "an empty selector",
            json!({"nodeSelector": {}}),
            "/spec/nodeSelector/kubernetes.io~1os",
        ),
        (
            "preferred affinity",
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": {"matchExpressions":
                    [{"key": "disk", "operator": "Exists"}]}}]}}}),
            "/spec/nodeSelector",
        ),
        // The scheduler does not look at spec.os.
        (
            "os alone",
            json!({"os": {"name": "linux"}}),
            "/spec/nodeSelector",
        ),
    ] {
        let object = pod(fields);
        assert_eq!(guarded(&object), [format!("add {path}")], "{what}");
        let answer = ask_with(
            Endpoint::Mutate,
            &create(&object),
            &policy(ON),
            &Facts::default(),
        );
        let patched = answer.patched(&object);
        assert_eq!(patched["spec"]["nodeSelector"][OS], "linux", "{what}");
        assert_eq!(
            guarded_by(SELECTED, &object),
            [format!("add {path}")],
            "{what}"
        );
        assert_eq!(guarded(&patched), [""; 0], "{what}: twice is once");
        is_silent(
            what,
            &ask_with(
                Endpoint::Mutate,
                &create(&object),
                &policy(""),
                &Facts::default(),
            ),
        );
    }
    let validated = ask_with(
        Endpoint::Validate,
        &create(&pod(json!({}))),
        &policy(ON),
        &Facts::default(),
    );
    is_silent("/validate", &validated);
}

/// Nobody knows whether the nodes with a label of their own run Linux: `agentpool: winpool` is how AKS
/// pods select Windows nodes.
#[test]
fn keeps_pods_that_select_nodes_unchanged_unless_configured() {
    let required = |expression: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}})
    };
    for (what, fields, path) in [
        (
            "the pool of AKS",
            json!({"nodeSelector": {"agentpool": "winpool"}}),
            "/spec/nodeSelector/kubernetes.io~1os",
        ),
        (
            "another label",
            json!({"nodeSelector": {"disk": "ssd"}}),
            "/spec/nodeSelector/kubernetes.io~1os",
        ),
        (
            "required affinity to another label",
            required(json!({"key": "agentpool", "operator": "In", "values": ["winpool"]})),
            "/spec/nodeSelector",
        ),
    ] {
        let object = pod(fields);
        assert_eq!(guarded(&object), [""; 0], "{what}");
        assert_eq!(
            guarded_by(SELECTED, &object),
            [format!("add {path}")],
            "{what}"
        );
        let alone = guarded_by("linuxGuardSelectedPods: true", &object);
        assert_eq!(alone, [""; 0], "{what}: the guard is off");
        let mut daemon_set = object_of("DaemonSet", json!({}));
        daemon_set["spec"]["template"]["spec"] = object["spec"].clone();
        assert_eq!(guarded(&daemon_set), [""; 0], "{what}");
    }
    // A label of AKS' systems says it, whatever the configuration.
    let sku = pod(json!({"nodeSelector": {"kubernetes.azure.com/os-sku": "AzureLinux"}}));
    assert_eq!(guarded_by(SELECTED, &sku), [""; 0]);
}

/// Evidence of Windows, hints included, and whatever says already where the pod goes.
#[test]
fn leaves_everything_else_alone() {
    let required = |expression: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}})
    };
    let containers = |fields: Value| json!({"containers": [container("main", fields)]});
    for (what, fields) in [
        ("Linux", json!({"nodeSelector": {OS: "linux"}})),
        (
            "Linux of long ago",
            json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
        ),
        ("another OS", json!({"nodeSelector": {OS: "freebsd"}})),
        (
            "Linux by affinity",
            required(json!({"key": OS, "operator": "In", "values": ["linux"]})),
        ),
        (
            "both",
            required(json!({"key": OS, "operator": "In", "values": ["linux", "windows"]})),
        ),
        (
            "neither",
            required(json!({"key": OS, "operator": "NotIn", "values": ["linux"]})),
        ),
        ("a node", json!({"nodeName": "node-1"})),
        (
            "a node by its label",
            json!({"nodeSelector": {"kubernetes.io/hostname": "win-1"}}),
        ),
        (
            "a node by affinity to its label",
            required(
                json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["win-1"]}),
            ),
        ),
        (
            "a hint by image",
            containers(json!({"image": "registry.example/windows/app:1"})),
        ),
        (
            "a hint by path",
            containers(json!({"command": ["powershell.exe"]})),
        ),
        (
            "a hint and something of Linux",
            containers(json!({
                "image": "registry.example/windows/app:1",
                "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}},
            })),
        ),
        (
            "a hint by toleration",
            json!({"tolerations": [{"key": "os", "value": "windows"}]}),
        ),
        (
            "a hint by affinity",
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": {"matchExpressions":
                    [{"key": OS, "operator": "In", "values": ["windows"]}]}}]}}}),
        ),
        ("no operating system", json!({"os": {"name": "Windows"}})),
    ] {
        assert_eq!(guarded(&pod(fields.clone())), [""; 0], "{what}");
        assert_eq!(guarded_by(SELECTED, &pod(fields)), [""; 0], "{what}");
    }
    let mut misspelt = pod(json!({}));
    merge(
        &mut misspelt,
        &json!({"metadata": {"annotations": {"transom.dev/os": "Windows"}}}),
    );
    assert_eq!(
        guarded(&misspelt),
        [""; 0],
        "an intent that nobody can read"
    );
    let windows = guarded(&pod(containers(json!({"image": "app:ltsc2022"}))));
    assert!(windows.contains(&"add /spec/os".to_owned()), "{windows:?}");
}

#[test]
fn is_for_pods_and_the_templates_of_daemon_sets() {
    for kind in KINDS {
        let paths = guarded(&object_of(kind, json!({})));
        match kind {
            "Pod" => assert_eq!(paths, ["add /spec/nodeSelector"]),
            "DaemonSet" => assert_eq!(paths, ["add /spec/template/spec/nodeSelector"]),
            _ => assert_eq!(paths, [""; 0], "{kind}"),
        }
    }
    // What the class schedules to is merged into pods, but stands in no template.
    let class = json!({"runtimeClassName": "runhcs-wcow"});
    assert_eq!(guarded(&object_of("DaemonSet", class.clone())), [""; 0]);
    assert_eq!(guarded(&pod(class)), ["add /spec/nodeSelector"]);
    // Its controller would loop.
    let of_daemon_set = owned_by("Pod", "DaemonSet", "apps/v1", json!(true), json!({}));
    assert_eq!(guarded(&of_daemon_set), [""; 0]);
    let of_replica_set = owned_by("Pod", "ReplicaSet", "apps/v1", json!(true), json!({}));
    assert_eq!(guarded(&of_replica_set), ["add /spec/nodeSelector"]);
}

#[test]
fn looks_at_updates_of_daemon_sets_that_change_the_template() {
    let old = object_of("DaemonSet", json!({}));
    let guard = |new: &Value| {
        let body = update(new, &old);
        patched_paths(&ask_with(
            Endpoint::Mutate,
            &body,
            &policy(ON),
            &Facts::default(),
        ))
    };
    let mut scaled = old.clone();
    merge(
        &mut scaled,
        &json!({"metadata": {"annotations": {"a": "b"}}}),
    );
    assert_eq!(guard(&scaled), [""; 0]);
    let mut changed = old.clone();
    changed["spec"]["template"]["spec"]["priority"] = json!(5);
    assert_eq!(guard(&changed), ["add /spec/template/spec/nodeSelector"]);
    let pods = update(&pod(json!({})), &pod(json!({"priority": 5})));
    let answer = ask_with(Endpoint::Mutate, &pods, &policy(ON), &Facts::default());
    is_silent("an UPDATE of a pod", &answer);
}

/// The namespace's label wins over the configuration, both ways.
#[test]
fn a_namespace_can_be_guarded_by_itself() {
    let labelled = |value: &str| {
        namespace(NamespaceFacts::from_labels([(
            "transom.dev/linux-guard",
            value,
        )]))
    };
    for (yaml, facts, guarded) in [
        ("", labelled("true"), true),
        ("", labelled("false"), false),
        ("", labelled("yes"), false),
        ("", labelled(""), false),
        (ON, labelled("true"), true),
        (ON, labelled("false"), false),
        (ON, labelled("yes"), true),
        ("", Facts::default(), false),
        (ON, Facts::default(), true),
    ] {
        let body = create(&pod(json!({})));
        let answer = ask_with(Endpoint::Mutate, &body, &policy(yaml), &facts);
        assert_eq!(
            patched_paths(&answer).len(),
            usize::from(guarded),
            "{yaml} {facts:?}"
        );
    }
}

/// The intent for Linux that is declared places nothing by itself.
#[test]
fn declared_linux_is_placed_too() {
    let facts = namespace(NamespaceFacts::from_labels([
        ("transom.dev/os", "linux"),
        ("transom.dev/linux-guard", "true"),
    ]));
    let answer = ask_with(
        Endpoint::Mutate,
        &create(&pod(json!({}))),
        &policy(""),
        &facts,
    );
    assert_eq!(patched_paths(&answer), ["add /spec/nodeSelector"]);
}

#[test]
fn modes_and_exemptions_hold() {
    let body = create(&pod(json!({})));
    for (mode, patched) in [
        ("enforce", true),
        ("warn", true),
        ("audit", false),
        ("\"off\"", false),
    ] {
        let policy = policy(&format!("{ON}\nmode: {mode}"));
        let answer = ask_with(Endpoint::Mutate, &body, &policy, &Facts::default());
        assert_eq!(answer.patch.is_some(), patched, "{mode}");
    }
    let policy = policy(&format!("{ON}\nexemptions: {{users: [jane]}}"));
    let answer = ask_with(Endpoint::Mutate, &body, &policy, &Facts::default());
    is_silent("exempt", &answer);
    let being_deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let mut object = pod(json!({}));
    merge(&mut object, &being_deleted);
    assert_eq!(guarded(&object), [""; 0]);
    // Off is off.
    is_silent(
        "off",
        &asked(Endpoint::Mutate, &pod(json!({})), None, &by("jane")),
    );
}

#[test]
fn the_audit_log_tells_of_it() {
    let body = create(&pod(json!({})));
    let answer = ask_with(Endpoint::Mutate, &body, &policy(ON), &Facts::default());
    let audit = &answer.response["auditAnnotations"];
    assert_eq!(audit["linux-guard"], "kubernetes.io/os: linux");
}
