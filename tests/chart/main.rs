//! The chart as Helm renders it, with the values of each file in charts/transom/ci and with values that must be
//! refused. Not here: what a cluster makes of it.
//!
//! Helm is looked for in the directory that `KUBEBUILDER_ASSETS` names, then in the PATH.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod cert_manager;
mod configuration;
mod deployment;
mod helm;
mod helm_test;
mod image;
#[path = "../support/kubeconform.rs"]
mod kubeconform;
mod lint;
mod readme;
mod refused;
mod rights;
mod schema;
mod schemas;
mod strings;
mod values;
mod webhooks;

use std::path::{Path, PathBuf};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The file is this text; with `UPDATE_CHART` it is made so.
fn assert_current(path: &str, want: &str) {
    if std::env::var_os("UPDATE_CHART").is_some() {
        std::fs::write(root(path), want).unwrap();
    }
    let have = std::fs::read_to_string(root(path)).unwrap_or_default();
    let mut lines = have.lines().zip(want.lines()).enumerate();
    let different = lines.find(|(_, (have, want))| have != want);
    assert!(
        have == want,
        "{path} is stale: `just chart`, or `UPDATE_CHART=1 cargo test --test chart`, renews it{}",
        different.map_or_else(String::new, |(i, (have, want))| {
            format!("\nline {}:\n- {have}\n+ {want}", i + 1)
        })
    );
}
