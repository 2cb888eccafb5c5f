//! Changes the rule table in one place at a time and expects that a test fails: `just mutants`.
//!
//! Ends with exit code 1 if a change goes unnoticed.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report
#![allow(clippy::print_stdout, clippy::print_stderr)] // it is what the program is for

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use transom::rules::mutants::{self, VARIABLE};

/// The test targets that hold the table: the quick ones first, the documentation last, so that the
/// counts tell what is noticed by nothing else.
const TARGETS: [&str; 10] = [
    "table",
    "fixtures",
    "oracle",
    "recordings",
    "evidence",
    "decisions",
    "config",
    "properties",
    "readme",
    "docs",
];

fn main() -> ExitCode {
    let programs = build();
    let mutants = mutants::all();
    let only = std::env::args().nth(1).unwrap_or_default();
    let next = AtomicUsize::new(0);
    let noticed = Mutex::new(BTreeMap::<&str, usize>::new());
    let survivors = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(i) else { break };
            if !mutant.name.starts_with(&only) {
                continue;
            }
            let killer = programs.iter().find(|(_, program)| !passes(program, i));
            match killer {
                Some((target, _)) => *noticed.lock().unwrap().entry(target).or_default() += 1,
                None => survivors.lock().unwrap().push(mutant.name.clone()),
            }
            if i.is_multiple_of(100) {
                eprintln!("{i} of {}", mutants.len());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    report(
        &noticed.into_inner().unwrap(),
        survivors.into_inner().unwrap(),
    )
}

fn report(noticed: &BTreeMap<&str, usize>, mut survivors: Vec<String>) -> ExitCode {
    survivors.sort();
    let count: usize = noticed.values().sum();
    println!(
        "{} changes tried, {count} noticed: {noticed:?}",
        count + survivors.len()
    );
    for name in &survivors {
        println!("UNNOTICED: {name}");
    }
    ExitCode::from(u8::from(!survivors.is_empty()))
}

/// Builds the test programs, in the order of their targets.
fn build() -> Vec<(&'static str, PathBuf)> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "test",
        "--no-run",
        "--features",
        "mutants",
        "--message-format=json",
    ]);
    for target in TARGETS {
        cargo.args(["--test", target]);
    }
    let output = cargo.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the tests do not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let programs: BTreeMap<String, PathBuf> = messages
        .filter_map(|message| {
            let program = message["executable"].as_str()?;
            let target = message["target"]["name"].as_str()?;
            Some((target.to_owned(), program.into()))
        })
        .collect();
    let programs = TARGETS.map(|target| (target, programs[target].clone()));
    let failing = programs
        .iter()
        .find(|(_, program)| !passes(program, usize::MAX));
    assert!(failing.is_none(), "{failing:?} fails without any change");
    programs.into()
}

/// Whether all tests of a program pass with this change.
fn passes(program: &PathBuf, mutant: usize) -> bool {
    let status = Command::new(program)
        .env(VARIABLE, mutant.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}
