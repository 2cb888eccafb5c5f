//! Which node runs which image, as containerd decides it.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use transom::os::{Build, runs_on};

/// Builds of Windows 10.0: releases of the server, of the client and of the annual channel, previews,
/// and the neighbors of each release where the rule changes.
const BUILDS: [u16; 48] = [
    10240, 10586, 14393, 15063, 16299, 17134, 17762, 17763, 17764, 18362, 18363, 19041, 19042,
    19043, 19044, 19045, 20280, 20344, 20347, 20348, 20349, 21390, 22000, 22621, 22631, 25236,
    25314, 25379, 25397, 25398, 25399, 26040, 26085, 26099, 26100, 26101, 26120, 26200, 26212,
    26220, 27842, 27965, 28000, 29000, 30000, 40000, 65534, 65535,
];

/// What containerd says of each line; nothing if it cannot be built here.
fn containerd(lines: &str) -> Option<String> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assets/platforms");
    let go = || {
        let mut go = Command::new("go");
        go.arg("-C").arg(&module).env("CGO_ENABLED", "0");
        go
    };
    let modules = go().args(["mod", "download"]).output();
    let missing = match modules {
        Err(error) => Some(format!("go: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8(output.stderr).unwrap()),
    };
    if let Some(missing) = missing {
        // Past the capture of what tests print that pass.
        let line = format!("SKIPPED: containerd's rule for Windows builds: {missing}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    }
    let mut run = go();
    run.args(["run", "."]);
    run.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = run.spawn().unwrap();
    // It answers when it has read everything, so that neither waits for the other.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn agrees_with_containerd_on_every_pair_of_builds() {
    let pairs = BUILDS
        .iter()
        .flat_map(|node| BUILDS.map(|image| (*node, image)));
    let pairs: Vec<_> = pairs.collect();
    let lines = pairs
        .iter()
        .map(|(node, image)| format!("10.0.{node} 10.0.{image}.1234\n"));
    let Some(answers) = containerd(&lines.collect::<String>()) else {
        return;
    };
    let answers: Vec<bool> = answers.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(answers.len(), pairs.len());
    let differences: Vec<_> = pairs
        .iter()
        .zip(&answers)
        .filter(|((node, image), answer)| {
            runs_on(Build::new(*image), Build::new(*node)) != **answer
        })
        .collect();
    assert!(
        differences.is_empty(),
        "(node, image), containerd: {differences:?}"
    );
    let number = answers.iter().filter(|answer| **answer).count();
    assert!(
        number > BUILDS.len() && number < pairs.len() / 2,
        "{number} of {}",
        pairs.len()
    );
}

#[test]
fn runs_images_of_the_release_before_since_2022() {
    for (image, node, expected) in [
        (17763, 17763, true),
        (17763, 20348, false),
        (20348, 17763, false),
        (20348, 20348, true),
        (20348, 25398, true),
        (20348, 26100, true),
        (25398, 26100, true),
        (26100, 25398, false),
        (26100, 20348, false),
        (17763, 26100, false),
        (20348, 26200, true),
        (26100, 26200, true),
    ] {
        let runs = runs_on(Build::new(image), Build::new(node));
        assert_eq!(runs, expected, "image {image} on node {node}");
    }
}
