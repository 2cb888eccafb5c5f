//! parse + decide + encode in instructions, as a multiple of a walk that looks at nothing: a gate; and what
//! the whole handler takes, from a request with its body to the response, which is only told.
//!
//! Counted by valgrind's callgrind, so that neither the machine's speed nor its mood matters. Ends
//! with exit code 1 where a body takes more than its limit. The ratio of two counts is what is
//! limited, and that no benchmark library does; the rest is little enough.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report
#![allow(clippy::print_stdout, clippy::print_stderr)] // it is what the program is for

mod bodies;

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use axum::Router;
use axum::http::Request;
use axum::http::header::CONTENT_TYPE;
use bodies::Body;
use serde::de::IgnoredAny;
use tokio::runtime::Runtime;
use tower::ServiceExt;
use transom::facts::Facts;
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::{AppState, Limits};
use transom::webhook::WebhookState;
use transom::{admit, review};

/// What the core takes, as a multiple of the walk; docs/performance.md has the counts.
const CORE: [(&str, f64); 7] = [
    ("allowed pod", 1.552),
    ("patched pod", 1.641),
    ("Linux pod", 1.707),
    ("denied Deployment", 2.018),
    ("UPDATE of a pod", 1.464),
    ("all mutating recordings", 1.661),
    ("all validating recordings", 1.656),
];

/// That and 5 % is let pass, and never more than this.
const MOST: f64 = 1.75;

/// The one body that was beyond it from the start: its answer is 3 kB of text.
const BEYOND: &str = "denied Deployment";

/// Which body a run under callgrind asks, and for what.
const BODY: &str = "TRANSOM_INSTRUCTIONS_BODY";
const WORK: &str = "TRANSOM_INSTRUCTIONS_WORK";

/// What is done with a body.
const WORKS: [&str; 3] = ["walk", "core", "handler"];

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(BODY) {
        run(&bodies::of(&name), &std::env::var(WORK).unwrap());
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIPPED: instruction counts: valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    println!("| body | walk | Transom | multiple | limit | handler |");
    println!("|---|---:|---:|---:|---:|---:|");
    let mut too_many = Vec::new();
    for (name, core) in CORE {
        let limit = match name {
            BEYOND => core * 1.05,
            _ => MOST.min(core * 1.05),
        };
        let reviews = bodies::of(name).json.len() as u64;
        let [walk, ours, handler] = WORKS.map(|work| count(name, work) / reviews);
        // The symbols of the works are not in the program, or valgrind did not run it.
        assert!(walk > 0 && ours > 0, "{name}: no instructions were counted");
        let multiple = ours as f64 / walk as f64;
        println!("| {name} | {walk} | {ours} | {multiple:.3} | {limit:.3} | {handler} |");
        if multiple > limit {
            too_many.push(name);
        }
    }
    if too_many.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "more instructions than their limit: {}",
        too_many.join(", ")
    );
    ExitCode::FAILURE
}

/// The instructions of one round in a process of its own.
fn count(name: &str, work: &str) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--collect-atstart=no", "--toggle-collect=*::measured"])
        .arg(std::env::current_exe().unwrap())
        .env(BODY, name)
        .env(WORK, work);
    let output = valgrind.output().unwrap();
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{report}");
    let collected = report
        .lines()
        .find_map(|line| line.split_once("Collected :"));
    let (_, count) = collected.unwrap_or_else(|| panic!("no count in:\n{report}"));
    count.trim().parse().unwrap()
}

/// One round that is not counted, since it fills what is made once, and one that is.
fn run(body: &Body, work: &str) {
    let walk = |json: &[u8]| {
        _ = black_box(serde_json::from_slice::<IgnoredAny>(json).unwrap());
    };
    let (policy, facts) = (Policy::default(), Facts::default());
    let core = |json: &[u8]| {
        let request = review::decode(json, &policy).unwrap();
        let verdict = admit::admit(body.endpoint, &request, &policy, &facts);
        _ = black_box(review::encode(&verdict));
    };
    let (runtime, router) = (runtime(), router());
    let handler = |json: &[u8]| {
        let request = Request::post(format!("/{}?timeout=10s", body.endpoint.name()))
            .header(CONTENT_TYPE, "application/json")
            .body(axum::body::Body::from(json.to_vec()));
        _ = black_box(runtime.block_on(router.clone().oneshot(request.unwrap())));
    };
    let work: &dyn Fn(&[u8]) = match work {
        "walk" => &walk,
        "core" => &core,
        _ => &handler,
    };
    body.json.iter().for_each(|json| work(json));
    measured(body, work);
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}

fn router() -> Router {
    let metrics = Arc::new(Metrics::new());
    let webhook = WebhookState::new(Policy::default(), Arc::clone(&metrics));
    transom::server::router(AppState {
        webhook: Arc::new(webhook),
        metrics,
        limits: Limits::default(),
    })
}

#[inline(never)]
fn measured(body: &Body, work: &dyn Fn(&[u8])) {
    for json in &body.json {
        work(black_box(json));
    }
}
