//! How much memory an evaluation takes at most, and how large its response is, whatever is in the body. docs/reliability.md
//! has the bounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic is the report

#[path = "support/hostile.rs"]
mod hostile;

use allocation_counter::measure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hostile::paddings;
use serde_json::Value;
use transom::config::Written;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::workload::Kind;
use transom::{admit, review};

/// Every rule has something to say, groups and Services are read, and annotations silence rules.
fn everything() -> Policy {
    let yaml = "apiVersion: transom.dev/v1alpha1\nkind: Config\nprofile: kep-116\nignorable: [WIN101]\n\
        linuxGuard: true\nexemptions: {groups: [a]}\n\
        rules: {WIN116: deny, WIN117: deny, WIN301: deny, WIN403: deny, WIN404: deny, WIN405: deny, WIN501: deny, WIN502: deny}\n";
    Policy::of(&Written::from_bytes(yaml.as_bytes()).unwrap()).unwrap()
}

/// The most bytes that an evaluation holds at a time, without the body: to its response, and to the notice for the owner.
fn peak(endpoint: Endpoint, body: &str, policy: &Policy) -> u64 {
    let facts = Facts::default();
    let info = measure(|| {
        let Ok(request) = review::decode(body.as_bytes(), policy) else {
            return;
        };
        let verdict = admit::admit(endpoint, &request, policy, &facts);
        let response = review::encode(&verdict);
        assert!(
            response.len() <= RESPONSE,
            "{} bytes of a response",
            response.len()
        );
        let _notice = verdict.notice();
    });
    info.bytes_max
}

/// The memory for reviews, and those that take more than they may.
#[derive(Default)]
struct Report {
    count: usize,
    most: (usize, String),
    failures: Vec<String>,
}

impl Report {
    /// Evaluates a review at both endpoints.
    fn add(&mut self, what: &str, body: &str, policies: &[Policy], bound: usize) {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            for policy in policies {
                let peak = peak(endpoint, body, policy) as usize;
                let line = format!("{peak} bytes for {} ({what}, {endpoint:?})", body.len());
                if peak > bound {
                    self.failures.push(line.clone());
                }
                self.count += 1;
                self.most = (peak, line).max(std::mem::take(&mut self.most));
            }
        }
    }

    fn end(self) {
        let Self {
            count,
            most,
            failures,
        } = self;
        println!("{count} evaluations; at most {}", most.1);
        assert!(
            count > 0 && failures.is_empty(),
            "{}:\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
}

/// Bodies of this size, for each kind and operation.
fn each(bytes: usize, policies: &[Policy], bound: impl Fn(usize) -> usize) {
    let mut report = Report::default();
    for padding in &paddings() {
        for kind in Kind::ALL {
            for operation in operations(kind) {
                let body = padding.review(kind, operation, bytes);
                let what = format!("{kind:?} {operation}, {}", padding.name);
                report.add(&what, &body, policies, bound(body.len()));
            }
        }
    }
    report.end();
}

fn operations(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Pod => &["CREATE", "UPDATE", "UPDATE/ephemeralcontainers", "DELETE"],
        _ => &["CREATE", "UPDATE"],
    }
}

const MIB: usize = 1024 * 1024;

/// What no response is larger than, with tolerations of an ordinary number.
const RESPONSE: usize = 256 * 1024;

/// What a body of any size may take.
fn bound(body: usize) -> usize {
    3 * body + 8 * MIB
}

#[test]
fn bounds_memory_for_every_kind_operation_and_endpoint() {
    each(40_000, &[everything()], |body| bound(body).min(80 * body));
}

/// The largest that is read by default, with what a tree of values takes most memory for, and what is copied.
#[test]
fn bounds_memory_of_the_largest_body() {
    const BYTES: usize = 7_300_000;
    let all = paddings();
    let mut report = Report::default();
    let rows = [
        (
            r#"{"":0} in env"#,
            Kind::DaemonSet,
            "UPDATE",
            Policy::default(),
        ),
        (
            r#""":{"":0} in an ownerReference"#,
            Kind::Pod,
            "CREATE",
            everything(),
        ),
        ("one string", Kind::Pod, "CREATE", Policy::default()),
    ];
    for (name, kind, operation, policy) in rows {
        let padding = all.iter().find(|padding| padding.name == name).unwrap();
        let body = padding.review(kind, operation, BYTES);
        report.add(name, &body, &[policy], bound(body.len()));
    }
    report.end();
}

/// Those that are evaluated as many at a time as there are threads (src/webhook/evaluation.rs).
#[test]
fn bounds_memory_of_small_bodies() {
    each(8 * 1024, &[Policy::default(), everything()], |_| MIB);
}

/// A pod for Windows with these containers.
fn pod(containers: &str) -> String {
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","kind":{{"group":"","version":"v1","kind":"Pod"}},"namespace":"a","operation":"CREATE","object":{{"metadata":{{"name":"a"}},"spec":{{"nodeSelector":{{"kubernetes.io/os":"windows"}},"containers":[{containers}]}}}}}}}}"#
    )
}

/// `count` fields that a patch removes, each in a container of its own.
fn removable(count: usize) -> String {
    pod(&vec![r#"{"securityContext":{"allowPrivilegeEscalation":false}}"#; count].join(","))
}

fn respond(endpoint: Endpoint, body: &str, policy: &Policy) -> Value {
    let facts = Facts::default();
    let request = review::decode(body.as_bytes(), policy).unwrap();
    let response = review::encode(&admit::admit(endpoint, &request, policy, &facts));
    assert!(
        response.len() <= RESPONSE,
        "{} bytes of a response",
        response.len()
    );
    let review: Value = serde_json::from_slice(&response).unwrap();
    review["response"].clone()
}

fn patch(response: &Value) -> Vec<Value> {
    let patch = response["patch"].as_str().unwrap();
    serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap()
}

fn config(keys: &str) -> Policy {
    let yaml = format!("apiVersion: transom.dev/v1alpha1\nkind: Config\n{keys}\n");
    Policy::of(&Written::from_bytes(yaml.as_bytes()).unwrap()).unwrap()
}

#[test]
fn bounds_response_whatever_the_keys_are() {
    let key = "a".repeat(90_000);
    let pages = format!(r#"{{"resources":{{"limits":{{"hugepages-{key}":"1"}}}}}}"#);
    let body = pod(&vec![pages; 64].join(","));
    let policy = config("rules: {WIN401: deny}");
    let response = respond(Endpoint::Validate, &body, &policy);
    let causes = response["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 64, "{response}");
    for cause in causes {
        assert!(
            cause["field"].as_str().unwrap().ends_with("…\"]"),
            "{cause}"
        );
    }
    let silenced = format!(r#""transom.dev/ignore.{key}":"a""#);
    let annotations = vec![silenced; 64].join(",");
    let body = removable(1).replace(
        r#""metadata":{"#,
        &format!(r#""metadata":{{"annotations":{{{annotations}}},"#),
    );
    let response = respond(Endpoint::Validate, &body, &config(""));
    let warnings = response["warnings"].as_array().unwrap();
    let ineffective = warnings
        .iter()
        .filter(|w| w.as_str().unwrap().contains("… has no effect"));
    assert_eq!(ineffective.count(), 64, "{response}");
}

#[test]
fn patches_as_many_fields_as_a_patch_removes_and_denies_more() {
    let policy = config("");
    let response = respond(Endpoint::Mutate, &removable(1024), &policy);
    let operations = patch(&response);
    assert_eq!(
        operations.iter().filter(|o| o["op"] == "remove").count(),
        1024
    );
    let response = respond(Endpoint::Mutate, &removable(1025), &policy);
    assert_eq!(response["allowed"], false);
    assert!(response.get("patch").is_none());
    let message = response["status"]["message"].as_str().unwrap();
    let (first, rest) = message.split_once('\n').unwrap();
    assert_eq!(
        first,
        "this Pod is for Windows (spec.nodeSelector[\"kubernetes.io/os\"]: windows) and has 1025 fields to remove, more \
         than the 1024 that one patch removes; remove them from the manifest:"
    );
    assert!(rest.ends_with("\nand 961 more"), "{message}");
}

#[test]
fn places_but_does_not_repair_what_is_too_much_for_a_patch_and_not_denied() {
    let body = removable(1025);
    let warns = respond(Endpoint::Mutate, &body, &config("mode: warn"));
    // Its owner was evaluated, so nothing is denied.
    let owned = body
        .replace(
            r#""metadata":{"#,
            r#""metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true}],"#,
        )
        .replace(
            r#""operation":"CREATE""#,
            r#""operation":"CREATE","userInfo":{"username":"system:serviceaccount:kube-system:replicaset-controller"}"#,
        );
    for response in [warns, respond(Endpoint::Mutate, &owned, &config(""))] {
        assert_eq!(response["allowed"], true, "{response}");
        let operations = patch(&response);
        assert!(!operations.is_empty());
        for operation in operations {
            assert!(
                operation["path"]
                    .as_str()
                    .unwrap()
                    .starts_with("/spec/tolerations"),
                "{operation}"
            );
        }
    }
}

#[test]
fn denies_more_findings_than_are_evaluated_with_their_count() {
    let body = removable(15_000);
    let policy = config("");
    let response = respond(Endpoint::Mutate, &body, &policy);
    assert_eq!(response["allowed"], true);
    assert!(response.get("patch").is_none());
    let response = respond(Endpoint::Validate, &body, &policy);
    let message = response["status"]["message"].as_str().unwrap();
    let rest = "more than the 2048 that are evaluated, which no real pod has; remove what Windows does not support";
    let count = message
        .strip_prefix("spec: has ")
        .unwrap()
        .strip_suffix(rest)
        .unwrap();
    let count: usize = count.strip_suffix(" findings, ").unwrap().parse().unwrap();
    assert!(count >= 15_000, "{message}");
    let response = respond(Endpoint::Validate, &body, &config("mode: warn"));
    assert_eq!(response["allowed"], true);
    assert_eq!(response["warnings"].as_array().unwrap().len(), 1);
}
