//! Whatever arrives: never a panic, a sentence for what is no review, an answer with the uid for
//! everything else, and a denial that names the field for what cannot be read. A module for each
//! subject; here is what they share.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "../support/client.rs"]
mod client;
#[path = "../common/mod.rs"]
mod common;
#[path = "../support/proc.rs"]
mod proc;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/serve.rs"]
mod serve;

mod every_field;
mod not_reviews;
mod served;
mod size;
mod text;
mod unreadable;

use serde_json::Value;
use transom::admit::admit;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::review;

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
