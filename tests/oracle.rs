//! What a real API server refuses of pods that say os=windows, line by line of oracle.jsonl: our
//! denials are the same, and what we repair would pass.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::collections::BTreeSet;

use common::{Answer, ask_with, corpus, create};
use serde::Deserialize;
use serde_json::Value;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;

#[derive(Deserialize)]
struct Line {
    id: String,
    object: Value,
    code: u16,
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    field: String,
    message: String,
}

impl Line {
    /// The fields that validateWindows refused; the rest is other validation.
    fn refused(&self) -> BTreeSet<&str> {
        let causes = self.causes.iter().filter(|cause| {
            cause.message.contains("cannot be set for a windows pod")
                || cause.message.contains("may not be set for a windows pod")
        });
        causes.map(|cause| cause.field.as_str()).collect()
    }
}

fn lines() -> Vec<Line> {
    let text = std::fs::read_to_string(corpus().join("oracle.jsonl")).unwrap();
    let lines: Vec<Line> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 496);
    assert!(lines.iter().all(|line| matches!(line.code, 201 | 422)));
    lines
}

/// Fields that validateWindows knows, by the last steps of their paths.
fn is_known_to_validate_windows(path: &str) -> bool {
    const POD: [&str; 5] = [
        "hostPID",
        "hostIPC",
        "hostUsers",
        "shareProcessNamespace",
        "resources",
    ];
    const BOTH: [&str; 5] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "runAsUser",
        "runAsGroup",
    ];
    const POD_CONTEXT: [&str; 6] = [
        "seLinuxChangePolicy",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "supplementalGroups",
        "supplementalGroupsPolicy",
    ];
    const CONTAINER: [&str; 5] = [
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
    ];
    let (parent, name) = path.rsplit_once('.').unwrap();
    match parent.strip_suffix(".securityContext") {
        Some(owner) if owner.ends_with(']') => BOTH.contains(&name) || CONTAINER.contains(&name),
        Some(_) => BOTH.contains(&name) || POD_CONTEXT.contains(&name),
        None => parent.ends_with("spec") && POD.contains(&name),
    }
}

fn denied(answer: &Answer) -> BTreeSet<&str> {
    let paths = answer
        .deny
        .iter()
        .map(|finding| finding.split_once(' ').unwrap().1);
    paths
        .filter(|path| is_known_to_validate_windows(path))
        .collect()
}

/// Both webhooks, one after the other, as the API server calls them.
fn both(line: &Line, policy: &Policy) -> (Answer, Answer) {
    let facts = Facts::default();
    let mutated = ask_with(Endpoint::Mutate, &create(&line.object), policy, &facts);
    let object = mutated.patched(&line.object);
    let validated = ask_with(Endpoint::Validate, &create(&object), policy, &facts);
    (mutated, validated)
}

#[test]
fn with_repairs_off_the_denials_are_those_of_the_api_server() {
    let policy = Policy::parse(
        "{apiVersion: transom.dev/v1alpha1, kind: Config, placement: {repair: false}}",
    )
    .unwrap();
    let mut refused_lines = 0;
    for line in lines() {
        let refused = line.refused();
        let (mutated, validated) = both(&line, &policy);
        assert_eq!(denied(&mutated), refused, "{} at /mutate", line.id);
        assert_eq!(denied(&validated), refused, "{} at /validate", line.id);
        assert_eq!(mutated.allowed, refused.is_empty(), "{}", line.id);
        refused_lines += usize::from(!refused.is_empty());
    }
    assert!(refused_lines > 400, "{refused_lines}");
}

#[test]
fn with_repairs_on_what_is_let_through_would_pass() {
    let mut repaired = 0;
    for line in lines() {
        let (mutated, _) = both(&line, &Policy::default());
        let object = mutated.patched(&line.object);
        if mutated.allowed {
            for path in line.refused() {
                let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
                assert!(
                    object.pointer(&pointer).is_none(),
                    "{}: {path} is still there",
                    line.id
                );
                repaired += 1;
            }
        } else {
            assert!(!line.refused().is_empty(), "{}: denied too much", line.id);
        }
    }
    assert!(repaired > 10, "{repaired}");
}
