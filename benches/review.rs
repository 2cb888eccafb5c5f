//! parse + decide + encode, for profiles and for comparing two states of the code.
//! `cargo bench --bench review -- patched`
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

mod bodies;

use divan::{AllocProfiler, Bencher};
use transom::facts::Facts;
use transom::policy::Policy;
use transom::{admit, review};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(args = [
    "allowed pod", "patched pod", "Linux pod", "denied Deployment", "UPDATE of a pod",
    "6 containers", "padded", "146 containers", "1 MB of containers",
])]
fn answer(bencher: Bencher<'_, '_>, name: &str) {
    let body = bodies::of(name);
    let (policy, facts) = (Policy::default(), Facts::default());
    bencher.bench(|| {
        let request = review::decode(&body.json[0], &policy).unwrap();
        let verdict = admit::admit(body.endpoint, &request, &policy, &facts);
        review::encode(&verdict)
    });
}

#[divan::bench(args = ["allowed pod", "Linux pod", "denied Deployment", "146 containers"])]
fn decode(bencher: Bencher<'_, '_>, name: &str) {
    let body = bodies::of(name);
    let policy = Policy::default();
    bencher.bench(|| review::decode(&body.json[0], &policy).map(drop).unwrap());
}
