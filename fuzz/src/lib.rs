//! What the fuzz targets do with the bytes that they are given: each module has a function `run`, which panics
//! where something does not hold.
//!
//! The targets of cargo-fuzz call it with libFuzzer's bytes, and `tests/fuzz_corpus.rs`, which has this file as
//! a module, with those that are kept in `fuzz/corpus`. Not here: how they are run (`just fuzz`).
#![allow(missing_docs, unreachable_pub)] // A library for the targets, a module for the test.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a target speaks.

#[path = "../../tests/common/mod.rs"]
pub mod common;

pub mod config;
mod generate;
pub mod manifest;
pub mod pair;
pub mod pod;
mod policies;
pub mod review;

/// A target's name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 5] = [
    ("config", config::run),
    ("manifest", manifest::run),
    ("pair", pair::run),
    ("pod", pod::run),
    ("review", review::run),
];
