//! Manifests are not defaulted, and are found to be what the defaulted object is.
//!
//! A recording of a CREATE by `kubectl apply` holds both: the object as the API server sent it,
//! with its defaults and with what admission plugins before the webhooks put in, and, in the
//! annotation, the manifest. `check` over the manifest has to find what /mutate and then
//! /validate find in the object. So both are asked here about the object, with the patch of the
//! first applied before the second: in a mutating recording the object is at the very place in
//! the API server's chain. In a validating recording it has passed the mutating webhooks, of
//! which there was none that patched: it is the same object, with a uid and what the API server
//! copies between fields and annotations; /mutate finds in it what it would have found before.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use transom::admit::admit;
use transom::check::{Options, check};
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::review;

use crate::common::{assert_none, bytes, policy, recordings};

const APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// What is found in one of the two alone: recording, finding, and why.
const EXCEPTIONS: [(&str, &str, &str); 9] = [
    (
        "pod-create-win-apparmor-annotation.validating",
        "WIN109 spec.containers[0].securityContext.appArmorProfile",
        "after the mutating webhooks the API server copies the annotation into the field",
    ),
    ("pod-create-win-hugepages.mutating", HUGE_PAGES, LIMIT),
    ("pod-create-win-hugepages.validating", HUGE_PAGES, LIMIT),
    (
        "pod-create-winos-emptydir-hugepages.mutating",
        HUGE_PAGES,
        LIMIT,
    ),
    (
        "pod-create-winos-emptydir-hugepages.validating",
        HUGE_PAGES,
        LIMIT,
    ),
    ("pod-create-winos-hugepages.mutating", HUGE_PAGES, LIMIT),
    ("pod-create-winos-hugepages.validating", HUGE_PAGES, LIMIT),
    (
        "pod-create-win-stopsignal.validating",
        "WIN503 spec.containers[0].lifecycle.stopSignal",
        GATE,
    ),
    (
        "pod-create-winos-stopsignal.validating",
        "WIN503 spec.containers[0].lifecycle.stopSignal",
        GATE,
    ),
];

const HUGE_PAGES: &str = "WIN401 spec.containers[0].resources.requests.hugepages-2Mi";
const LIMIT: &str = "the API server fills a pod's requests from its limits; of the limit both tell";
const GATE: &str =
    "after the mutating webhooks the API server drops the field: its feature gate is off";

/// What is found: code, path and tier, with what becomes of it.
type Found = BTreeMap<(String, String, u8), &'static str>;

/// What the two webhooks tell of the object of a review, one after the other.
fn asked(mut review: Value, policy: &Policy) -> Found {
    let facts = Facts::default();
    let mut found = Found::new();
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let body = bytes(&review);
        let request = review::decode(&body, policy).unwrap();
        let verdict = admit(endpoint, &request, policy, &facts);
        assert_eq!(verdict.unreadable(), None);
        for finding in verdict.findings() {
            let (code, path) = (finding.rule().code, verdict.path(finding));
            let key = (code.to_owned(), path.to_string(), finding.tier());
            // What /mutate refuses never comes to /validate; that is asked for the rest.
            found.entry(key).or_insert_with(|| finding.effect().name());
        }
        if let Some(patch) = verdict.patch() {
            let patch: json_patch::Patch = serde_json::from_str(&patch).unwrap();
            json_patch::patch(&mut review["request"]["object"], &patch).unwrap();
        }
    }
    found
}

/// What `check` tells of a manifest.
fn checked(name: &str, manifest: &str, options: &Options) -> Found {
    let report = check(name, manifest.as_bytes(), options);
    assert_eq!(report.problems, [], "{name}");
    assert_eq!(report.oddities, [], "{name}");
    let findings = report.findings.iter().map(|finding| {
        let key = (
            finding.rule.code.to_owned(),
            finding.path.clone(),
            finding.tier,
        );
        (key, finding.severity.name())
    });
    findings.collect()
}

/// `CODE path` of what is found in one of the two alone, or comes to something else.
fn difference(manifest: &Found, object: &Found) -> BTreeSet<String> {
    let lacking = |of: &Found, other: &Found| {
        let missing = of
            .iter()
            .filter(|(key, what)| other.get(*key) != Some(*what));
        let told = missing.map(|((code, path, _), _)| format!("{code} {path}"));
        told.collect::<BTreeSet<_>>()
    };
    &lacking(manifest, object) | &lacking(object, manifest)
}

/// Holds all recordings to it under one policy, and tells which exceptions there were.
#[expect(clippy::print_stdout)] // the count is what the test is asked for
fn hold(policy: &Policy) -> Vec<&'static str> {
    let options = Options {
        policy: policy.clone(),
        ..Options::default()
    };
    let (mut count, mut findings) = (0, 0);
    let (mut differences, mut exceptions) = (Vec::new(), Vec::new());
    for (name, body) in recordings() {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let request = &review["request"];
        let applied = request["object"].pointer(APPLIED);
        let (Some(json), "CREATE") = (applied, request["operation"].as_str().unwrap()) else {
            continue;
        };
        let json = json.as_str().unwrap();
        let manifest: Value = serde_json::from_str(json).unwrap();
        let yaml = serde_saphyr::to_string(&manifest).unwrap();
        let from_json = checked(&name, json, &options);
        let from_yaml = checked(&name, &yaml, &options);
        assert_eq!(from_yaml, from_json, "{name}\n{yaml}");
        let from_object = asked(review, policy);
        count += 1;
        findings += from_object.len();
        for told in difference(&from_json, &from_object) {
            let is_known = |(recording, finding, _): &&(&str, &str, &str)| {
                *recording == name && *finding == told
            };
            match EXCEPTIONS.iter().find(is_known) {
                Some((recording, ..)) => exceptions.push(*recording),
                None => differences.push(format!("{name}: {told}")),
            }
        }
    }
    let excepted = exceptions.len();
    println!("{count} recordings with their manifests, {findings} findings, {excepted} exceptions");
    assert!(count >= 190, "{count}");
    assert_none(&differences);
    exceptions
}

#[test]
fn a_manifest_gives_what_the_defaulted_object_gives() {
    let mut exceptions = hold(&Policy::default());
    exceptions.sort_unstable();
    let mut listed: Vec<_> = EXCEPTIONS.iter().map(|(name, ..)| *name).collect();
    listed.sort_unstable();
    assert_eq!(exceptions, listed, "all that are listed, and no more");
}

#[test]
fn so_it_does_under_the_stricter_profile() {
    hold(&policy("profile: kep-116"));
}

/// Defaults that no rule of the profiles looks at may still matter to somebody's own.
#[test]
fn so_it_does_where_every_rule_is_on() {
    let rules = transom::rules::all().map(|rule| format!("  {}: warn", rule.code));
    let rules: Vec<_> = rules.collect();
    hold(&policy(&format!("rules:\n{}", rules.join("\n"))));
}
