//! How often an answer asks for memory, whatever is in the body: a bound that a change breaks
//! only on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

#[path = "../benches/bodies/mod.rs"]
mod bodies;

use allocation_counter::measure;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::{admit, review};

/// Allocations of the second answer: the first one fills what is made once.
fn allocations(endpoint: Endpoint, body: &[u8]) -> u64 {
    let (policy, facts) = (Policy::default(), Facts::default());
    let answer = || {
        let request = review::decode(body, &policy).unwrap();
        let verdict = admit::admit(endpoint, &request, &policy, &facts);
        review::encode(&verdict)
    };
    let first = answer();
    let info = measure(|| assert_eq!(answer(), first));
    info.count_total
}

#[test]
fn an_answer_asks_for_memory_only_so_often() {
    for (name, limit) in [
        ("allowed pod", 8),
        ("patched pod", 8),
        ("Linux pod", 8),
        ("denied Deployment", 16),
        ("UPDATE of a pod", 16),
        ("6 containers", 8),
        ("padded", 8),
        ("146 containers", 16),
        ("1 MB of containers", 32),
    ] {
        let body = bodies::of(name);
        let count = allocations(body.endpoint, &body.json[0]);
        assert!(
            count <= limit,
            "{name}: {count} allocations, {limit} allowed"
        );
    }
}

#[test]
fn no_recording_asks_for_more_than_32() {
    for name in ["all mutating recordings", "all validating recordings"] {
        let body = bodies::of(name);
        for json in &body.json {
            let count = allocations(body.endpoint, json);
            assert!(
                count <= 32,
                "{name}: {count} allocations for {}",
                String::from_utf8_lossy(json)
            );
        }
    }
}
