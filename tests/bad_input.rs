//! Whatever arrives: never a panic, a sentence for what is no review, an answer with the uid for
//! everything else, and a denial that names the field for what cannot be read.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use common::{Answer, KINDS, ask, create, merge, object_of, pod, policy, recording, review_of};
use serde_json::{Value, json};
use tower::ServiceExt;
use transom::admit::admit;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::review;
use transom::server::{AppState, Limits, router};
use transom::webhook::WebhookState;

/// Why these bytes are no review.
fn malformed(body: &[u8]) -> String {
    match review::decode(body, &Policy::default()) {
        Ok(_) => panic!("{}", String::from_utf8_lossy(body)),
        Err(error) => error.to_string(),
    }
}

/// Both webhooks answer with the uid, or the body is refused: neither panics.
fn answers_or_refuses(body: &[u8], policy: &Policy) {
    let Ok(request) = review::decode(body, policy) else {
        return;
    };
    let facts = Facts::default();
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let bytes = review::encode(&admit(endpoint, &request, policy, &facts));
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(answer["response"]["uid"], request.uid());
    }
}

fn bytes(review: &Value) -> Vec<u8> {
    serde_json::to_vec(review).unwrap()
}

/// A review in the order of the API server: the object last.
fn review_text(object: &str) -> String {
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u-1","kind":{{"group":"","version":"v1","kind":"Pod"}},"namespace":"default","operation":"CREATE","userInfo":{{"username":"jane"}},"object":{object},"oldObject":null,"dryRun":false}}}}"#
    )
}

/// A Windows pod with more fields in its spec, as text.
fn pod_text(fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    review_text(&format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"a"}},"spec":{{"nodeSelector":{{"kubernetes.io/os":"windows"}}{comma}{fields}}}}}"#
    ))
}

const HEAD: &str = r#""kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1""#;

fn not_reviews() -> Vec<(Vec<u8>, &'static str)> {
    let with = |request: &str| format!("{{{HEAD},\"request\":{request}}}").into_bytes();
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        (text(""), "the body is not JSON: "),
        (text(" \n"), "the body is not JSON: "),
        (text("{"), "the body is not JSON: "),
        (text("{]"), "the body is not JSON: "),
        (text("nul"), "the body is not JSON: "),
        (text("<html>"), "the body is not JSON: "),
        (text("{'a': 1}"), "the body is not JSON: "),
        (text("null"), "the body is null"),
        (text("[]"), "the body: must be an object, not a list"),
        (text("5"), "the body: must be an object, not a number"),
        (
            text("\"AdmissionReview\""),
            "the body: must be an object, not a string",
        ),
        (
            text("true"),
            "the body: must be an object, not true or false",
        ),
        (text("{}"), "kind is \"\""),
        (
            text(r#"{"kind": "Pod", "apiVersion": "v1"}"#),
            "kind is \"Pod\"",
        ),
        (
            text(r#"{"kind": 5}"#),
            "kind: must be a string, not a number",
        ),
        (
            text(
                r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "u"}}"#,
            ),
            "apiVersion is \"admission.k8s.io/v1beta1\"",
        ),
        (text(r#"{"kind": "AdmissionReview"}"#), "apiVersion is \"\""),
        (
            format!("{{{HEAD}}}").into_bytes(),
            "the AdmissionReview has no request",
        ),
        (with("null"), "the AdmissionReview has no request"),
        (with("[]"), "request: must be an object, not a list"),
        (with("\"a\""), "request: must be an object, not a string"),
        (with("{}"), "request.uid is missing"),
        (with(r#"{"uid": ""}"#), "request.uid is missing"),
        (with(r#"{"uid": null}"#), "request.uid is missing"),
        (
            with(r#"{"uid": 5}"#),
            "request.uid: must be a string, not a number",
        ),
        (
            with(r#"{"uid": "a", "uid": "b"}"#),
            "request.uid: stands there twice",
        ),
        (
            with(r#"{"uid": "a", "object": {"spec": []}, "operation": 1}"#),
            "request.operation: must be a string, not a number",
        ),
        (
            with(r#"{"uid": "a", "operation": 1}"#),
            "request.operation: must be a string",
        ),
        (
            with(r#"{"uid": "a", "kind": "Pod"}"#),
            "request.kind: must be an object",
        ),
        (
            with(r#"{"uid": "a", "userInfo": {"username": ["g"]}}"#),
            "request.userInfo.username: must be a string, not a list",
        ),
        (
            with(r#"{"uid": "a", "object": {}, "object": {}}"#),
            "request.object: stands there twice",
        ),
        (with(r#"{"uid": "a"}} {"#), "the body is not JSON: "),
        (b"\xff\xfe{}".to_vec(), "the body is not UTF-8 from byte 0"),
        (
            b"{\"kind\":\"\xc3\x28\"}".to_vec(),
            "the body is not UTF-8 from byte 9",
        ),
    ]
}

#[test]
fn refuses_what_is_no_review_and_says_why() {
    for (body, want) in not_reviews() {
        let error = malformed(&body);
        assert!(error.starts_with(want), "{error}\n  want {want}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn the_router_answers_400_to_what_is_no_review() {
    let metrics = Arc::new(Metrics::new());
    let router = router(AppState {
        webhook: Arc::new(WebhookState::new(Policy::default(), Arc::clone(&metrics))),
        metrics,
        limits: Limits::default(),
    });
    for path in ["/mutate", "/validate"] {
        for (body, want) in not_reviews() {
            let request = Request::post(path)
                .header("Content-Type", "application/json")
                .body(Body::from(body))
                .unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), 400, "{want}");
        }
    }
}

#[test]
fn accepts_no_prefix_of_a_review() {
    let policy = Policy::default();
    for name in [
        "pod-create-linux-plain.mutating",
        "pod-create-winos-c-capabilities.mutating",
    ] {
        let body = recording(name);
        let end = body.trim_ascii_end().len();
        for cut in 0..end {
            assert!(review::decode(&body[..cut], &policy).is_err(), "{cut}");
        }
        answers_or_refuses(&body, &policy);
    }
}

#[test]
fn survives_every_changed_byte() {
    let policy = Policy::default();
    let body = pod_text(r#""hostNetwork":true,"containers":[{"name":"a","image":"b:ltsc2022"}]"#);
    for at in 0..body.len() {
        for byte in [0, b'"', b'{', b'}', b'[', b'\\', b'0', b' ', 0xff] {
            let mut changed = body.clone().into_bytes();
            changed[at] = byte;
            answers_or_refuses(&changed, &policy);
        }
    }
}

// ── Fields that cannot be read ───────────────────────────────────────────────────────────────

#[test]
fn denies_repeated_keys_with_their_path() {
    for (fields, path) in [
        (
            r#""hostNetwork":false,"hostNetwork":true"#,
            "spec.hostNetwork",
        ),
        (
            r#""os":{"name":"linux"},"os":{"name":"windows"}"#,
            "spec.os",
        ),
        (r#""os":{"name":"linux","name":"windows"}"#, "spec.os.name"),
        (
            r#""containers":[],"containers":[{"name":"a"}]"#,
            "spec.containers",
        ),
        (
            r#""containers":[{"name":"a"},{"image":"b","image":"c"}]"#,
            "spec.containers[1].image",
        ),
        (
            r#""securityContext":{},"securityContext":{}"#,
            "spec.securityContext",
        ),
        (
            r#""volumes":[{"name":"v","nfs":{},"nfs":{}}]"#,
            "spec.volumes[0].nfs",
        ),
        (
            r#""host\u004eetwork":false,"hostNetwork":true"#,
            "spec.hostNetwork",
        ),
    ] {
        let body = pod_text(fields).into_bytes();
        let answer = ask(Endpoint::Validate, &body);
        assert!(!answer.allowed, "{fields}");
        let want = format!("{path}: stands there twice, so nobody can tell");
        assert!(answer.message().starts_with(&want), "{}", answer.message());
        let mutated = ask(Endpoint::Mutate, &body);
        assert!(mutated.allowed && mutated.patch.is_none(), "{fields}");
    }
    let ignored = pod_text(r#""priority":1,"priority":2,"x":{"hostNetwork":1,"hostNetwork":2}"#);
    assert!(
        ask(Endpoint::Validate, ignored.as_bytes()).allowed,
        "nobody reads it"
    );
    let twice = review_text(r#"{"metadata":{},"metadata":{},"spec":{}}"#);
    assert!(!ask(Endpoint::Validate, twice.as_bytes()).allowed);
}

/// A pod in which every field that the table reads has a value, of its own type.
fn everything() -> Value {
    let context = json!({
        "runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": true, "privileged": true,
        "allowPrivilegeEscalation": true, "readOnlyRootFilesystem": true, "procMount": "Unmasked",
        "seLinuxOptions": {"level": "s0"},
        "appArmorProfile": {"type": "Localhost"},
        "seccompProfile": {"type": "Localhost"},
        "capabilities": {"add": ["NET_ADMIN"]},
        "windowsOptions": {"hostProcess": false, "runAsUserName": "ContainerAdministrator"},
    });
    let exec = json!({"exec": {"command": ["sh"]}});
    let container = json!({
        "name": "main", "image": "app:ltsc2022",
        "command": ["sh"], "args": ["sh"], "workingDir": "C:\\",
        "livenessProbe": exec, "readinessProbe": exec, "startupProbe": exec,
        "lifecycle": {"postStart": exec, "preStop": exec, "stopSignal": "SIGUSR1"},
        "terminationMessagePath": "/a",
        "restartPolicyRules": [{"action": "RestartAllContainers"}],
        "volumeDevices": [{"name": "v"}],
        "volumeMounts": [{
            "subPath": "a", "subPathExpr": "b", "mountPropagation": "Bidirectional",
            "recursiveReadOnly": "Enabled", "mountPath": "C:\\a",
        }],
        "resources": {
            "limits": {"hugepages-2Mi": "2Mi", "cpu": "1", "memory": "1Gi"},
            "requests": {"hugepages-2Mi": "2Mi", "cpu": "1", "memory": "2Gi"},
        },
        "securityContext": context,
    });
    let named = |name: &str, mut fields: Value| {
        fields["name"] = json!(name);
        fields
    };
    let items = json!({"defaultMode": 256, "items": [{"mode": 256}]});
    let expression = json!({"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]});
    let mut object = pod(json!({
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "os": {"name": "windows"},
        "hostNetwork": true, "hostPID": true, "hostIPC": true, "hostUsers": false,
        "shareProcessNamespace": true, "dnsPolicy": "ClusterFirstWithHostNet",
        "dnsConfig": {"searches": ["a", "b"]},
        "terminationGracePeriodSeconds": 5, "nodeName": "a", "runtimeClassName": "b",
        "resources": {"limits": {"cpu": "1"}},
        "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
                "matchExpressions": [expression],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}],
            }]},
            "preferredDuringSchedulingIgnoredDuringExecution":
                [{"preference": {"matchExpressions": [expression]}}],
        }},
        "securityContext": {
            "runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": true, "fsGroup": 1,
            "fsGroupChangePolicy": "Always", "supplementalGroups": [1],
            "supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "Recursive",
            "sysctls": [{"name": "a"}],
            "seLinuxOptions": {"level": "s0"},
            "appArmorProfile": {"type": "Localhost"},
            "seccompProfile": {"type": "Localhost"},
            "windowsOptions": {"hostProcess": false, "runAsUserName": "ContainerAdministrator"},
        },
        "containers": [container], "initContainers": [container], "ephemeralContainers": [container],
        "volumes": [
            named("a", json!({"emptyDir": {"medium": "Memory"}})),
            named("b", json!({"hostPath": {"path": "/etc"}})),
            named("c", json!({"secret": items, "configMap": items, "downwardAPI": items})),
            named("d", json!({"projected": {"defaultMode": 256, "sources":
                [{"secret": items, "configMap": items, "downwardAPI": items}]}})),
            named("e", json!({"nfs": {}, "cephfs": {}, "rbd": {}, "glusterfs": {}, "fc": {},
                "quobyte": {}, "storageos": {}, "scaleIO": {}, "flocker": {}, "portworxVolume": {},
                "photonPersistentDisk": {}, "cinder": {}, "iscsi": {}, "flexVolume": {}, "csi": {},
                "image": {}})),
        ],
    }));
    merge(
        &mut object["metadata"],
        &json!({
            "labels": {"kubernetes.io/os": "windows"},
            "annotations": {
                "transom.dev/os": "windows",
                "container.apparmor.security.beta.kubernetes.io/main": "localhost/a",
                "container.seccomp.security.alpha.kubernetes.io/main": "localhost/a",
                "seccomp.security.alpha.kubernetes.io/pod": "localhost/a",
                "experimental.windows.kubernetes.io/isolation-type": "hyperv",
            },
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}],
        }),
    );
    object
}

/// The JSON pointers of everything below a value, lists and maps included.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        let mut below = |key: &str, value: &Value| {
            let key = key.replace('~', "~0").replace('/', "~1");
            let path = format!("{path}/{key}");
            out.push(path.clone());
            walk(value, &path, out);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| below(key, value)),
            Value::Array(list) => {
                for (i, value) in list.iter().enumerate() {
                    below(&i.to_string(), value);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out
}

/// `/spec/containers/0/name` as messages have it.
fn dotted(pointer: &str) -> String {
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

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Fields of `everything` that nobody reads, or reads no further than that they are there.
fn is_not_read(pointer: &str) -> bool {
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
        "/volumeDevices/0",
        "/volumeDevices/0/name",
    ]) && pointer != "/metadata/labels"
        && !pointer.starts_with("/metadata/ownerReferences/0/")
        // A quantity is a string or a number; rules without a word in this profile read no more.
        || ends(&["/resources/limits/cpu", "/resources/requests/cpu"])
        || ends(&["/resources/limits/memory", "/resources/requests/memory"])
}

/// The rules of both profiles are read.
fn all_rules() -> Policy {
    let off_by_default = "WIN116 WIN117 WIN403 WIN404 WIN405 WIN501 WIN502";
    let rules: Vec<_> = off_by_default
        .split(' ')
        .map(|code| format!("{code}: deny"))
        .collect();
    policy(&format!(
        "profile: current\nrules: {{{}}}",
        rules.join(", ")
    ))
}

fn judge(review: &Value, policy: &Policy) -> Answer {
    common::ask_with(
        Endpoint::Validate,
        &bytes(review),
        policy,
        &Facts::default(),
    )
}

#[test]
fn names_every_field_of_the_wrong_type() {
    let object = everything();
    let policy = all_rules();
    let review = review_of(&object, "CREATE", None);
    let other = [
        json!(true),
        json!(5),
        json!("x"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": 1}),
    ];
    let mut failures = Vec::new();
    let mut count = 0;
    for pointer in pointers(&object) {
        if is_not_read(&pointer) {
            continue;
        }
        for value in &other {
            let mut changed = object.clone();
            let place = changed.pointer_mut(&pointer).unwrap();
            if same_type(place, value) {
                continue;
            }
            *place = value.clone();
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
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// A null is as good as an absent field, everywhere.
#[test]
fn takes_nulls_for_absent_fields() {
    let object = everything();
    let policy = all_rules();
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

#[test]
fn counts_null_elements_in_indices() {
    let body = pod_text(
        r#""containers":[null,{"name":"a","securityContext":{"runAsUser":1}},null],"volumes":[null,{"nfs":{}}]"#,
    );
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.containers[1].securityContext.runAsUser",
            "WIN307 spec.volumes[1].nfs"
        ]
    );
}

#[test]
fn denies_objects_that_are_missing_or_no_objects() {
    for kind in KINDS {
        let mut review = review_of(&object_of(kind, json!({})), "CREATE", None);
        for (object, want) in [
            (Some(Value::Null), "object: is missing"),
            (None, "object: is missing"),
            (
                Some(json!([])),
                "request.object: must be an object, not a list",
            ),
            (
                Some(json!("x")),
                "request.object: must be an object, not a string",
            ),
            (
                Some(json!({"spec": []})),
                "spec: must be an object, not a list",
            ),
        ] {
            let request = review["request"].as_object_mut().unwrap();
            match &object {
                Some(object) => request.insert("object".to_owned(), object.clone()),
                None => request.remove("object"),
            };
            let answer = ask(Endpoint::Validate, &bytes(&review));
            assert!(!answer.allowed, "{kind} {object:?}");
            assert!(
                answer.message().starts_with(want),
                "{kind}: {}",
                answer.message()
            );
            assert!(
                ask(Endpoint::Mutate, &bytes(&review)).allowed,
                "{kind} {object:?}"
            );
        }
    }
    for object in [
        json!({}),
        json!({"spec": {}}),
        json!({"spec": {"template": {}}}),
        json!({"metadata": {}}),
    ] {
        for kind in KINDS {
            let mut review = review_of(&object_of(kind, json!({})), "CREATE", None);
            review["request"]["object"] = object.clone();
            assert!(
                ask(Endpoint::Validate, &bytes(&review)).allowed,
                "{kind} {object}"
            );
        }
    }
}

#[test]
fn leaves_unknown_kinds_alone_whatever_is_in_them() {
    for (group, kind) in [
        ("", "Service"),
        ("example.com", "Pod"),
        ("apps", "Deploymnt"),
        ("", ""),
    ] {
        let mut review = review_of(&pod(json!({"hostNetwork": "x"})), "CREATE", None);
        review["request"]["kind"] = json!({"group": group, "kind": kind});
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let answer = ask(endpoint, &bytes(&review));
            assert!(
                answer.allowed && answer.warnings().is_empty(),
                "{group}/{kind}"
            );
        }
    }
    for kind in [Value::Null, json!({}), json!({"kind": null})] {
        let mut review = review_of(&pod(json!({"hostNetwork": true})), "CREATE", None);
        review["request"]["kind"] = kind;
        assert!(ask(Endpoint::Validate, &bytes(&review)).allowed);
    }
}

// ── Size and depth ───────────────────────────────────────────────────────────────────────────

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
        assert!(
            message.contains("holds more than 65536 fields"),
            "{message}"
        );
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
    assert!(answer.message().contains("holds more than 65536 fields"));
}

// ── Numbers and strings ──────────────────────────────────────────────────────────────────────

#[test]
fn reads_numbers_of_every_size() {
    for number in [
        "0",
        "-1",
        "9223372036854775808",
        "18446744073709551615",
        "1e3",
        "1.5",
        "-0.0",
        "1e308",
    ] {
        let body = pod_text(&format!(r#""securityContext":{{"runAsUser":{number}}}"#));
        let answer = ask(Endpoint::Validate, body.as_bytes());
        assert_eq!(
            answer.deny,
            ["WIN101 spec.securityContext.runAsUser"],
            "{number}"
        );
        let body = pod_text(&format!(
            r#""volumes":[{{"secret":{{"defaultMode":{number}}}}}]"#
        ));
        let answer = ask(Endpoint::Validate, body.as_bytes());
        assert_eq!(
            answer.warn,
            ["WIN306 spec.volumes[0].secret.defaultMode"],
            "{number}"
        );
    }
    for huge in ["1e400", "-1e400", &"9".repeat(400)] {
        for field in [
            "ignored",
            "resources",
            "hostNetwork",
            "terminationGracePeriodSeconds",
        ] {
            answers_or_refuses(
                pod_text(&format!("{field:?}:{huge}")).as_bytes(),
                &Policy::default(),
            );
        }
        let ignored = pod_text(&format!(r#""ignored":{huge}"#));
        assert!(
            ask(Endpoint::Validate, ignored.as_bytes()).allowed,
            "{huge}"
        );
    }
}

/// A number stays a number whatever features a dependency of ours turns on in serde_json.
#[test]
fn numbers_are_no_maps() {
    let answer = ask(
        Endpoint::Validate,
        pod_text(r#""securityContext":{"runAsUser":1000}"#).as_bytes(),
    );
    assert!(
        answer
            .message()
            .contains("spec.securityContext.runAsUser: 1000 [")
    );
}

#[test]
fn reads_escaped_keys_and_values() {
    let body = review_text(
        r#"{"\u0073pec":{"\u006e\u006fdeSelector":{"kubernetes.io\/os":"\u0077indows"},"host\u004eetwork":true,"containers":[{"n\u0061me":"\u00e4\ud83d\ude42\n\"","securityContext":{"runAs\u0055ser":1}}]}}"#,
    );
    let answer = ask(Endpoint::Validate, body.as_bytes());
    assert_eq!(
        answer.deny,
        [
            "WIN101 spec.containers[0].securityContext.runAsUser",
            "WIN201 spec.hostNetwork"
        ]
    );
    let uid = body.replace("u-1", r#"\u0075\"\\\u0001🙂"#);
    assert_eq!(
        ask(Endpoint::Validate, uid.as_bytes()).response["uid"],
        "u\"\\\u{1}🙂"
    );
}

#[test]
fn survives_lone_surrogates() {
    for text in [
        r"\ud800",
        r"\udc00",
        r"\ud800\ud800",
        r"\ud800x",
        r"\u12",
        r"\x",
    ] {
        for fields in [
            format!(r#""ignored":"{text}""#),
            format!(r#""{text}":1"#),
            format!(r#""nodeName":"{text}""#),
            format!(r#""containers":[{{"image":"{text}"}}]"#),
            format!(r#""containers":[{{"command":["{text}"]}}]"#),
        ] {
            answers_or_refuses(pod_text(&fields).as_bytes(), &Policy::default());
        }
    }
}

#[test]
fn leaves_names_in_another_case_alone() {
    for fields in [
        r#""hostnetwork":true"#,
        r#""HostNetwork":true"#,
        r#""host_network":true"#,
        r#""hostNetwork ":true"#,
    ] {
        assert!(
            ask(Endpoint::Validate, pod_text(fields).as_bytes()).allowed,
            "{fields}"
        );
    }
}

#[test]
fn keeps_the_names_of_annotations_apart() {
    let mut object = pod(json!({"os": {"name": "windows"}}));
    object["metadata"]["annotations"] = json!({
        "container.apparmor.security.beta.kubernetes.io/a.b/c~d": "localhost/x",
    });
    let answer = ask(Endpoint::Validate, &create(&object));
    assert_eq!(
        answer.warn,
        ["WIN109 metadata.annotations[\"container.apparmor.security.beta.kubernetes.io/a.b/c~d\"]"]
    );
}
