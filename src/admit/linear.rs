//! The cost of evaluating an object is linear in the object.
//!
//! Cost is the number of tape entries that decoding, evaluating and encoding visit: exact, and the
//! same on every machine. For each list alone, and for each pair of lists, the double length may
//! cost at most [`MOST`] times as much; a loop over one list within a loop over another costs four
//! times as much.

use serde_json::{Value, json};

use super::admit;
use crate::decision::Endpoint;
use crate::facts::{Facts, ImageFacts, NodeFacts, Platform, RuntimeClassFacts, Taint};
use crate::object::visits;
use crate::os::{BUILD_LABEL, OS_LABEL, OS_SKU_LABEL, Os};
use crate::policy::Policy;
use crate::review::{self, encode};
use crate::rules;

const MOST: f64 = 2.5;
const LENGTH: usize = 64;

/// Makes a pod longer by so many elements of one list.
type Lengthen = fn(&mut Value, usize);

const ARCH_LABEL: &str = "kubernetes.io/arch";

const REQUIRED: &str =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

const LISTS: &[(&str, Lengthen)] = &[
    ("containers of one build", |pod, n| {
        push(pod, "/spec/containers", n, |i| image(i, "a:1809"));
    }),
    ("init containers of several builds", |pod, n| {
        push(pod, "/spec/initContainers", n, |i| {
            image(i, ["a:ltsc2022", "a:ltsc2025", "a:ltsc2019"][i % 3])
        });
    }),
    ("ephemeral containers", |pod, n| {
        push(pod, "/spec/ephemeralContainers", n, |i| image(i, "known"));
    }),
    ("containers with findings", |pod, n| {
        push(pod, "/spec/containers", n, |i| {
            json!({"name": format!("f{i}"), "securityContext": {
                "runAsUser": 1, "runAsNonRoot": true, "privileged": false,
                "capabilities": {"add": ["A"]}, "windowsOptions": {"hostProcess": true},
            }})
        });
    }),
    ("terms", |pod, n| {
        push(
            pod,
            REQUIRED,
            n,
            |_| json!({"matchExpressions": [expression(BUILD_LABEL, "NotIn", 0)]}),
        );
    }),
    ("terms of node names", |pod, n| {
        push(
            pod,
            REQUIRED,
            n,
            |_| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["win-1"]}]}),
        );
    }),
    ("expressions", |pod, n| {
        let expressions: Vec<_> = (0..n)
            .map(|_| expression(BUILD_LABEL, "NotIn", 1))
            .collect();
        push(
            pod,
            REQUIRED,
            1,
            |_| json!({"matchExpressions": expressions}),
        );
    }),
    ("values of builds", |pod, n| {
        push(
            pod,
            REQUIRED,
            1,
            |_| json!({"matchExpressions": [expression(BUILD_LABEL, "NotIn", n)]}),
        );
    }),
    ("values of AKS releases", |pod, n| {
        push(
            pod,
            REQUIRED,
            1,
            |_| json!({"matchExpressions": [expression(OS_SKU_LABEL, "NotIn", n)]}),
        );
    }),
    ("values of operating systems", |pod, n| {
        push(
            pod,
            REQUIRED,
            1,
            |_| json!({"matchExpressions": [expression(OS_LABEL, "In", n)]}),
        );
    }),
    ("preferred terms", |pod, n| {
        let path = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
        push(
            pod,
            path,
            n,
            |_| json!({"preference": {"matchExpressions": [expression(OS_LABEL, "In", 1)]}}),
        );
    }),
    ("volumes", |pod, n| {
        push(
            pod,
            "/spec/volumes",
            n,
            |i| json!({"name": format!("v{i}"), "hostPath": {"path": "/etc"}, "nfs": {"server": "a"}}),
        );
    }),
    ("items of a volume", |pod, n| {
        let items: Vec<_> = (0..n).map(|_| json!({"mode": 256})).collect();
        push(
            pod,
            "/spec/volumes",
            1,
            |_| json!({"name": "items", "secret": {"items": items}}),
        );
    }),
    ("sources of a volume", |pod, n| {
        let sources: Vec<_> = (0..n)
            .map(|_| json!({"configMap": {"items": [{"mode": 256}]}}))
            .collect();
        push(
            pod,
            "/spec/volumes",
            1,
            |_| json!({"name": "sources", "projected": {"sources": sources}}),
        );
    }),
    ("mounts", |pod, n| {
        push(
            pod,
            "/spec/containers/0/volumeMounts",
            n,
            |i| json!({"name": format!("v{i}"), "mountPath": "C:\\a", "subPath": "a"}),
        );
    }),
    ("devices", |pod, n| {
        push(
            pod,
            "/spec/containers/0/volumeDevices",
            n,
            |_| json!({"name": "a"}),
        );
    }),
    ("tolerations", |pod, n| {
        push(
            pod,
            "/spec/tolerations",
            n,
            |i| json!({"key": "os", "value": format!("{i}"), "operator": "Equal"}),
        );
    }),
    ("env", |pod, n| {
        push(
            pod,
            "/spec/containers/0/env",
            n,
            |i| json!({"name": format!("{i}")}),
        );
    }),
    ("arguments", |pod, n| {
        push(pod, "/spec/containers/0/args", n, |_| json!("C:\\a"));
    }),
    ("capabilities", |pod, n| {
        push(
            pod,
            "/spec/containers/0/securityContext/capabilities/add",
            n,
            |_| json!("A"),
        );
    }),
    ("containers without an account", |pod, n| {
        pod["spec"]["securityContext"] = json!({"runAsNonRoot": true});
        push(pod, "/spec/containers", n, |i| {
            json!({"name": format!("n{i}"), "image": "a:nanoserver", "lifecycle": {
                "preStop": {"exec": {"command": ["sleep", "1"]}},
            }})
        });
    }),
    ("HostProcess containers without an account", |pod, n| {
        pod["metadata"]["annotations"]["microsoft.com/hostprocess-inherit-user"] = json!("false");
        push(pod, "/spec/containers", n, |i| {
            json!({"name": format!("h{i}"), "securityContext": {"windowsOptions": {
                "hostProcess": true, "gmsaCredentialSpecName": "a",
            }}})
        });
    }),
    ("ports", |pod, n| {
        push(
            pod,
            "/spec/containers/0/ports",
            n,
            |_| json!({"protocol": "SCTP"}),
        );
    }),
    ("claims", |pod, n| {
        push(pod, "/spec/resourceClaims", n, |_| json!({"name": "a"}));
    }),
    ("claims of a container", |pod, n| {
        push(
            pod,
            "/spec/containers/0/resources/claims",
            n,
            |_| json!({"name": "a"}),
        );
    }),
    ("devices of Linux nodes", |pod, n| {
        member(pod, "/spec/containers/0/resources/limits", n, |i| {
            format!("nvidia.com/{i}")
        });
    }),
    ("terms of architectures", |pod, n| {
        push(
            pod,
            REQUIRED,
            n,
            |_| json!({"matchExpressions": [expression(ARCH_LABEL, "In", 1)]}),
        );
    }),
    ("values of architectures", |pod, n| {
        push(
            pod,
            REQUIRED,
            1,
            |_| json!({"matchExpressions": [expression(ARCH_LABEL, "In", n)]}),
        );
    }),
    ("huge pages", |pod, n| {
        member(pod, "/spec/containers/0/resources/limits", n, |i| {
            format!("hugepages-{i}")
        });
    }),
    ("rules of restarts", |pod, n| {
        push(
            pod,
            "/spec/containers/0/restartPolicyRules",
            n,
            |_| json!({"action": "RestartAllContainers"}),
        );
    }),
    ("sysctls", |pod, n| {
        push(
            pod,
            "/spec/securityContext/sysctls",
            n,
            |_| json!({"name": "a"}),
        );
    }),
    ("search domains", |pod, n| {
        push(pod, "/spec/dnsConfig/searches", n, |_| json!("a"));
    }),
    ("image pull secrets", |pod, n| {
        push(pod, "/spec/imagePullSecrets", n, |_| json!({"name": "a"}));
    }),
    ("owners", |pod, n| {
        push(
            pod,
            "/metadata/ownerReferences",
            n,
            |_| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "u"}),
        );
    }),
    ("labels", |pod, n| {
        member(pod, "/metadata/labels", n, |i| format!("{i}"))
    }),
    ("annotations", |pod, n| {
        member(pod, "/metadata/annotations", n, |i| {
            format!("transom.dev/ignore.{i}")
        });
    }),
    ("annotations of profiles", |pod, n| {
        member(pod, "/metadata/annotations", n, |i| {
            format!("container.apparmor.security.beta.kubernetes.io/{i}")
        });
    }),
    ("node selector", |pod, n| {
        member(pod, "/spec/nodeSelector", n, |i| format!("a{i}"))
    }),
];

fn image(i: usize, image: &str) -> Value {
    json!({"name": format!("c{i}"), "image": image})
}

fn expression(key: &str, operator: &str, values: usize) -> Value {
    let value = |i| match key {
        OS_LABEL => "windows".to_owned(),
        _ => format!("10.0.{i}"),
    };
    let values: Vec<_> = (0..values).map(value).collect();
    json!({"key": key, "operator": operator, "values": values})
}

/// What is at this place of an object, which it makes if it is not there.
fn at<'v>(mut value: &'v mut Value, path: &str) -> &'v mut Value {
    for step in path.split('/').skip(1) {
        value = match step.parse::<usize>() {
            Ok(i) => &mut value[i],
            Err(_) => &mut value[step],
        };
    }
    value
}

fn push(pod: &mut Value, path: &str, n: usize, element: impl Fn(usize) -> Value) {
    let list = at(pod, path);
    let mut elements = list.as_array().cloned().unwrap_or_default();
    elements.extend((0..n).map(element));
    *list = Value::Array(elements);
}

fn member(pod: &mut Value, path: &str, n: usize, key: impl Fn(usize) -> String) {
    let map = at(pod, path);
    for i in 0..n {
        map[key(i)] = json!("localhost/a");
    }
}

fn windows() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "u"},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [{"name": "main", "image": "a"}],
        },
    })
}

/// All evidence is read, since what is stronger than the annotation is not there.
fn declared() -> Value {
    let mut pod = windows();
    pod["spec"]["nodeSelector"] = json!({"pool": "a"});
    pod["metadata"]["annotations"] = json!({"transom.dev/os": "windows"});
    pod
}

/// Every rule that is not about Services denies.
fn strict() -> Policy {
    let all: Vec<_> = rules::all().map(|rule| rule.code).collect();
    let actions: String = all.iter().map(|code| format!("  {code}: deny\n")).collect();
    let yaml = format!(
        "apiVersion: transom.dev/v1alpha1\nkind: Config\nprofile: kep-116\nlinuxGuard: true\n\
         ignorable: [{}]\nexemptions: {{groups: [a]}}\nplacement:\n  learnTaints: true\n  \
         tolerations: [{{key: os, value: a, builds: [10.0.20348]}}, {{key: os, value: b}}]\n\
         rules:\n{actions}",
        all.join(", ")
    );
    Policy::parse(&yaml).unwrap_or_else(|error| panic!("{error}"))
}

fn facts() -> Facts {
    let taint = Taint {
        key: "os".to_owned(),
        value: "windows".to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    let labels = [(OS_LABEL, "windows"), (BUILD_LABEL, "10.0.20348")];
    let node = NodeFacts::new(labels, [taint]);
    let platform = Platform {
        os: Some(Os::Windows),
        build: Some("10.0.17763".to_owned()),
    };
    let platforms = vec![platform];
    let class = RuntimeClassFacts::default();
    Facts {
        nodes: [("win-1".to_owned(), node)].into_iter().collect(),
        images: [("known".to_owned(), ImageFacts { platforms })].into(),
        runtime_classes: [("a".to_owned(), class)].into(),
        ..Facts::default()
    }
}

/// The entries that an answer to an UPDATE, by both webhooks, visits.
fn cost(policy: &Policy, facts: &Facts, object: &Value, old: &Value) -> u64 {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "UPDATE", "namespace": "default",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "userInfo": {"username": "system:kube-controller-manager", "groups": ["b"]},
            "object": object, "oldObject": old,
        },
    });
    let body = review.to_string();
    visits::during(|| {
        let request =
            review::decode(body.as_bytes(), policy).unwrap_or_else(|error| panic!("{error}"));
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let verdict = admit(endpoint, &request, policy, facts);
            assert_eq!(verdict.unreadable(), None);
            encode(&verdict);
            verdict.notice();
            verdict.ineffective();
            verdict.patch_sparing(|_| true);
            for finding in verdict.findings() {
                verdict.likeness(finding);
                verdict.annotated_reason(finding);
            }
        }
    })
}

/// The costs of an object that all of these have made longer, and of one twice as long.
fn costs(policy: &Policy, facts: &Facts, base: &Value, lists: &[Lengthen]) -> [u64; 2] {
    [LENGTH, 2 * LENGTH].map(|n| {
        let mut object = base.clone();
        lists.iter().for_each(|lengthen| lengthen(&mut object, n));
        // Half of the old findings are others.
        let mut old = object.clone();
        for container in old["spec"]["containers"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .step_by(2)
        {
            container["name"] = json!("other");
        }
        cost(policy, facts, &object, &old)
    })
}

fn assert_linear(what: &str, [once, twice]: [u64; 2]) {
    assert!(
        twice as f64 <= MOST * once as f64,
        "{what}: {once} visits for {LENGTH} elements, {twice} for twice as many"
    );
}

#[test]
fn visits_grow_linearly_with_each_list() {
    let facts = facts();
    for (name, policy) in [("default", Policy::default()), ("strict", strict())] {
        for base in [windows(), declared()] {
            for (list, lengthen) in LISTS {
                let costs = costs(&policy, &facts, &base, &[*lengthen]);
                assert_linear(&format!("{list}, {name} policy"), costs);
            }
        }
    }
}

#[test]
fn visits_grow_linearly_with_each_pair_of_lists() {
    let (facts, policy) = (facts(), strict());
    for (i, (a, first)) in LISTS.iter().enumerate() {
        for (b, second) in &LISTS[i + 1..] {
            let costs = costs(&policy, &facts, &declared(), &[*first, *second]);
            assert_linear(&format!("{a} and {b}"), costs);
        }
    }
}
