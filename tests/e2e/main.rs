//! Transom in a real control plane, with simulated nodes.
//!
//! The tests need the programs in the directory that KUBEBUILDER_ASSETS names; `tests/assets/build` makes them. All
//! but a few share one control plane, each in namespaces of its own, with a Transom of its own.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)] // A test, whose functions clippy does not know as such.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};

mod balancer;
#[path = "../support/blocks.rs"]
mod blocks;
mod chart;
#[path = "../support/client.rs"]
mod client;
mod cluster;
#[path = "../common/mod.rs"]
mod common;
#[path = "../evidence/filter.rs"]
mod filter;
mod http;
#[path = "../support/kubeconform.rs"]
mod kubeconform;
mod kubectl;
#[path = "../properties/objects.rs"]
mod objects;
#[path = "../support/ports.rs"]
mod ports;
#[path = "../support/proc.rs"]
mod proc;
mod process;
#[path = "../support/queries.rs"]
mod queries;
mod transom;
mod webhook;

/// The tests of a module, by their own names.
macro_rules! tests {
    [$($test:ident),* $(,)?] => {
        pub(crate) const TESTS: &[crate::Test] = &[$((stringify!($test), $test)),*];
    };
}

mod availability;
mod brick;
mod certificates;
mod condition_costs;
mod condition_shapes;
mod conditions;
mod daemon_sets;
mod debug;
mod demo;
mod doctor;
mod enforcer;
mod events;
mod facts;
mod faults;
mod kinds;
mod labels;
mod mtls;
mod openshift;
mod oracle;
mod pod_security;
mod prometheus;
mod proof;
mod rights;
mod scan;
#[path = "../support/scc.rs"]
mod scc;
mod schemas;
mod sidecar;
mod stored;
mod words;
mod workloads;

use cluster::Cluster;

/// Only keeps a test from hanging.
const PATIENCE: Duration = Duration::from_secs(120);

type Test = (&'static str, fn(&Cluster));

/// At the same time, unless the command line says otherwise. They wait more than they work.
const THREADS: usize = 4;

/// Those that wait longest come first.
const TESTS: &[&[Test]] = &[
    faults::TESTS,
    daemon_sets::TESTS,
    events::TESTS,
    certificates::TESTS,
    proof::TESTS,
    brick::TESTS,
    oracle::TESTS,
    availability::TESTS,
    condition_costs::TESTS,
    condition_shapes::TESTS,
    conditions::TESTS,
    debug::TESTS,
    doctor::TESTS,
    enforcer::TESTS,
    facts::TESTS,
    kinds::TESTS,
    labels::TESTS,
    mtls::TESTS,
    pod_security::TESTS,
    prometheus::TESTS,
    rights::TESTS,
    scan::TESTS,
    schemas::TESTS,
    openshift::TESTS,
    sidecar::TESTS,
    stored::TESTS,
    words::TESTS,
    workloads::TESTS,
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from) else {
        println!(
            "SKIPPED: e2e: KUBEBUILDER_ASSETS is not set; run: \
             KUBEBUILDER_ASSETS=$(tests/assets/build) cargo test --test e2e"
        );
        return ExitCode::SUCCESS;
    };
    let missing = Cluster::missing(&assets);
    if !missing.is_empty() {
        eprintln!(
            "FAILED: e2e: KUBEBUILDER_ASSETS={} has no {}; tests/assets/build makes them",
            assets.display(),
            missing.join(", no ")
        );
        return ExitCode::FAILURE;
    }
    // The programs are started in other directories.
    let assets = assets.canonicalize().unwrap();
    if arguments.list {
        let nothing = |(name, _): &Test| Trial::test(*name, || Ok(()));
        let trials = TESTS.concat().iter().map(nothing).collect();
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    if std::env::var_os("TRANSOM_DEMO").is_some() {
        demo::play(&Cluster::start(&assets));
        return ExitCode::SUCCESS;
    }
    let mut cluster = Arc::new(Cluster::start(&assets));
    let trial = |&(name, test): &Test| {
        let cluster = Arc::clone(&cluster);
        Trial::test(name, move || {
            test(&cluster);
            Ok(())
        })
    };
    let trials = TESTS.concat().iter().map(trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if conclusion.has_failed()
        && let Some(cluster) = Arc::get_mut(&mut cluster)
    {
        eprintln!("the logs are kept in {}", cluster.keep_logs().display());
    }
    drop(cluster);
    conclusion.exit_code()
}

/// An image that only Windows can run; nothing else tells that the pod is for Windows.
const WINDOWS_IMAGE: &str = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022";

fn windows_pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": WINDOWS_IMAGE}]},
    })
}

/// Asks again and again until there is an answer.
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
