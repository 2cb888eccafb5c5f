//! What holds for every pod, tried on generated ones: fields that the rules look at, evidence for
//! either system, in every kind. PROPTEST_CASES sets the number of cases.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "../common/mod.rs"]
mod common;

mod objects;
mod patches;
mod reading;
mod survival;

use proptest::prelude::*;

/// The default of proptest is 256 cases; regressions become plain tests, not files.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
