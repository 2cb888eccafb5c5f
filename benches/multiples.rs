//! parse + decide + encode as a multiple of a walk that looks at nothing, beside a parse into
//! `serde_json::Value` and into Kubernetes' own types; all in one run, in turn, medians of many
//! rounds. Prints the table of docs/performance.md.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

mod bodies;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bodies::Body;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::{admit, review};

#[derive(Deserialize)]
struct Typed<T> {
    request: Objects<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Objects<T> {
    object: Option<T>,
    old_object: Option<T>,
}

fn typed(json: &[u8]) {
    // What a webhook would do that routes by the request's kind.
    if json
        .windows(24)
        .any(|w| w == b"\"resource\":\"deployments\"")
    {
        touch(serde_json::from_slice::<Typed<Deployment>>(json).ok());
    } else {
        touch(serde_json::from_slice::<Typed<Pod>>(json).ok());
    }
}

fn touch<T>(review: Option<Typed<T>>) {
    if let Some(review) = review {
        black_box((review.request.object, review.request.old_object));
    }
}

fn transom(
    endpoint: transom::decision::Endpoint,
    json: &[u8],
    policy: &Policy,
    facts: &Facts,
) -> usize {
    let request = review::decode(json, policy).unwrap();
    let verdict = admit::admit(endpoint, &request, policy, facts);
    review::encode(&verdict).len()
}

type Work<'w> = Box<dyn FnMut(&[u8]) + 'w>;

/// The time of one round over all of a body's reviews.
fn time(body: &Body, repeat: usize, work: &mut dyn FnMut(&[u8])) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        for json in &body.json {
            work(black_box(json));
        }
    }
    start.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let rounds: usize = std::env::var("ROUNDS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(61);
    let (policy, facts) = (Policy::default(), Facts::default());
    let mut out = String::from(
        "| body | kB | walk µs | Transom | k8s-openapi | Value |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for body in bodies::all() {
        let mut works: [Work<'_>; 4] = [
            Box::new(|json| _ = black_box(serde_json::from_slice::<IgnoredAny>(json).unwrap())),
            Box::new(|json| _ = black_box(transom(body.endpoint, json, &policy, &facts))),
            Box::new(typed),
            Box::new(|json| _ = black_box(serde_json::from_slice::<Value>(json).unwrap())),
        ];
        // About a millisecond a round, so that the clock and the scheduler do not matter.
        let once = time(&body, 1, &mut works[0]).max(Duration::from_nanos(200));
        let repeat = (1_000_000 / once.as_nanos().max(1)).clamp(1, 2_000) as usize;
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            for (work, times) in works.iter_mut().zip(&mut times) {
                times.push(time(&body, repeat, work).as_secs_f64());
            }
        }
        let ratio = |i: usize| {
            let pairs = times[i].iter().zip(&times[0]);
            median(pairs.map(|(a, walk)| a / walk).collect())
        };
        let walk = median(times[0].clone()) / (repeat * body.json.len()) as f64 * 1e6;
        let kilobytes = body.bytes() as f64 / body.json.len() as f64 / 1e3;
        let (ours, types, value) = (ratio(1), ratio(2), ratio(3));
        let row = format!(
            "| {} | {kilobytes:.1} | {walk:.2} | {ours:.2} | {types:.1} | {value:.1} |\n",
            body.name
        );
        out.push_str(&row);
    }
    #[expect(clippy::print_stdout)] // it is what the program is for
    {
        println!("{out}");
    }
}
