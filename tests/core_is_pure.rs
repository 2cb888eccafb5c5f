//! The core stays pure: no I/O, no clock, no logging, read off the imports of its files.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::path::{Path, PathBuf};

/// The rooms that may touch the world; everything else is the core.
const SHELL: [&str; 10] = [
    "authority",
    "cli",
    "cluster",
    "command",
    "logging",
    "main",
    "metrics",
    "server",
    "terminal",
    "webhook",
];

/// What a pure function has no use for.
const IMPURE: [&str; 19] = [
    "std::fs",
    "std::{fs",
    "std::io",
    "std::{io",
    "std::net",
    "std::time",
    "std::env",
    "std::process",
    "std::thread",
    "tokio::",
    "axum::",
    "hyper::",
    "rustls::",
    "tracing::",
    "prometheus::",
    "kube::",
    "println!",
    "eprintln!",
    "print!",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The Rust files of `src`, by their path below it.
fn files() -> Vec<(String, String)> {
    fn walk(directory: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push(path);
            }
        }
    }
    let (root, mut paths) = (root(), Vec::new());
    walk(&root, &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
            (
                name.replace('\\', "/"),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        // Unit tests in a file of their own, and what is no part of the program.
        .filter(|(name, _)| {
            !name.ends_with("/tests.rs") && !name.contains("/tests/") && name != "rules/mutants.rs"
        })
        .collect()
}

/// Without the tests and the comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split("#[cfg(test)]")
        .next()
        .unwrap()
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .enumerate()
        .map(|(i, line)| (i + 1, line))
}

fn is_shell(name: &str) -> bool {
    let room = name.split(['/', '.']).next().unwrap();
    SHELL.contains(&room)
}

#[test]
fn the_core_does_no_input_or_output() {
    let core: Vec<_> = files()
        .into_iter()
        .filter(|(name, _)| !is_shell(name))
        .collect();
    assert!(core.len() > 20, "{}", core.len());
    for (name, text) in core {
        for (line, code) in code(&text) {
            for word in IMPURE {
                assert!(!code.contains(word), "src/{name}:{line}: {word}");
            }
        }
    }
}

/// The arrows of the house point one way: no room of the core knows the shell.
#[test]
fn the_core_does_not_know_the_shell() {
    for (name, text) in files().into_iter().filter(|(name, _)| !is_shell(name)) {
        for (line, code) in code(&text) {
            for room in SHELL {
                let import = format!("crate::{room}");
                let knows = code.match_indices(&import).any(|(i, _)| {
                    !code[i + import.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
                });
                assert!(!knows, "src/{name}:{line}: {import}");
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (name, text) in files() {
        assert!(text.starts_with("//! "), "src/{name}");
    }
}

/// Where a mistake in the program's own literals fails in every test, at start and never later.
const MAY_EXPECT: [&str; 1] = ["metrics/family.rs"];

#[test]
fn nothing_but_tests_unwraps() {
    for (name, text) in files() {
        for (line, code) in code(&text) {
            for word in [".unwrap()", ".expect(", ".unwrap_err()", "todo!", "dbg!"] {
                let may = word == ".expect(" && MAY_EXPECT.contains(&name.as_str());
                assert!(!code.contains(word) || may, "src/{name}:{line}: {word}");
            }
        }
    }
}

#[test]
fn no_directory_has_a_mod_file() {
    for (name, _) in files() {
        assert!(!name.ends_with("mod.rs"), "src/{name}");
    }
}
