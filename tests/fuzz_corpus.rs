//! The inputs that the fuzz targets have kept, and those that they once failed on: what is in `fuzz/corpus` and
//! `fuzz/regressions` is done again, by the same functions, without a fuzzer.
//!
//! UPDATE_FUZZ=1 writes `fuzz/words.dict` anew. Not here: the fuzzing itself (`just fuzz`).
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use targets::TARGETS;
use targets::common::everything::everything;
use targets::common::pointers;
use transom::rules;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files of a directory, which may be missing.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs the target on each of its files in this directory; a panic names the file.
fn replay(directory: &str, name: &str, run: fn(&[u8])) -> usize {
    let files = files(&fuzz().join(directory).join(name));
    for file in &files {
        let data = fs::read(file).unwrap();
        let done = std::panic::catch_unwind(|| run(&data));
        assert!(done.is_ok(), "{}", file.display());
    }
    files.len()
}

#[test]
fn what_was_kept_still_holds() {
    for (name, run) in TARGETS {
        let count = replay("corpus", name, run);
        assert!(count > 10, "{name}: {count} inputs");
    }
}

#[test]
fn what_once_failed_holds() {
    let counts = TARGETS.map(|(name, run)| replay("regressions", name, run));
    assert!(counts.iter().sum::<usize>() >= 2, "{counts:?}");
}

/// It is part of every clone, and of every run of the tests.
#[test]
fn the_corpus_stays_small() {
    let directories = ["corpus", "regressions"];
    let (mut count, mut bytes) = (0, 0);
    for directory in directories {
        for (name, _) in TARGETS {
            for file in files(&fuzz().join(directory).join(name)) {
                count += 1;
                bytes += fs::metadata(file).unwrap().len();
            }
        }
    }
    println!("{count} inputs of {bytes} bytes");
    assert!(
        count < 1_000 && bytes < 1_500_000,
        "{count} inputs of {bytes} bytes"
    );
}

/// A target that no list names is never replayed.
#[test]
fn every_target_is_replayed() {
    let mut names: Vec<_> = files(&fuzz().join("fuzz_targets"))
        .into_iter()
        .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, TARGETS.map(|(name, _)| name));
    let run = fs::read_to_string(fuzz().join("run")).unwrap();
    let all = run.lines().find_map(|line| line.strip_prefix("all=("));
    let mut all: Vec<_> = all.unwrap().trim_end_matches(')').split(' ').collect();
    all.sort_unstable();
    assert_eq!(all, names, "fuzz/run knows them");
}

#[test]
fn the_words_are_those_of_the_rules() {
    let file = fuzz().join("words.dict");
    let words = words();
    if std::env::var_os("UPDATE_FUZZ").is_some() {
        fs::write(&file, &words).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == words,
        "write it anew: UPDATE_FUZZ=1 cargo test --test fuzz_corpus"
    );
}

/// What libFuzzer may put in: the names of fields, rules and settings, and the values that they have.
fn words() -> String {
    let pod = everything();
    let mut words = BTreeSet::new();
    for pointer in pointers(&pod) {
        words.extend(pointer.split('/').map(|step| step.replace("~1", "/")));
        words.extend(
            pod.pointer(&pointer)
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
    }
    for rule in rules::all() {
        words.extend([rule.code, rule.name].map(str::to_owned));
    }
    strings(transom::config::schema(), &mut words);
    let is_word = |word: &&String| (2..60).contains(&word.len()) && !word.contains(' ');
    let mut out = String::from("# Made by tests/fuzz_corpus.rs.\n");
    for word in words.iter().filter(is_word) {
        out += &format!("\"{}\"\n", word.replace('\\', "\\\\").replace('"', "\\\""));
    }
    out
}

/// The keys of a schema's properties, and the words of its enumerations.
fn strings(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                words.insert(key.clone());
                strings(value, words);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| strings(value, words)),
        Value::String(word) => _ = words.insert(word.clone()),
        _ => {}
    }
}
