//! One directory a rule, with cases in which it fires and cases in which it must not.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use common::{ask_with, assert_none, create, merge};
use serde::Deserialize;
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, ImageFacts, NamespaceFacts, NodeFacts, Platform, RuntimeClassFacts};
use transom::os::Os;
use transom::policy::Policy;
use transom::rules;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    profile: Option<String>,
    config: Option<Value>,
    #[serde(default)]
    facts: Known,
    expect: Vec<String>,
    object: Value,
}

/// What the cluster and a registry know.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct Known {
    /// The labels of each.
    namespaces: HashMap<String, HashMap<String, String>>,
    nodes: HashMap<String, Host>,
    images: HashMap<String, Vec<Host>>,
    runtime_classes: HashMap<String, RuntimeClass>,
    /// Their labels, by namespace.
    windows_pods: HashMap<String, HashSet<BTreeMap<String, String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeClass {
    handler: String,
}

/// A node, or a platform of an image.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Host {
    os: Option<String>,
    build: Option<String>,
}

impl Host {
    fn os(&self) -> Option<Os> {
        self.os.as_deref().and_then(Os::parse)
    }
}

impl Known {
    fn facts(&self) -> Facts {
        let labels = |map: &HashMap<String, String>| {
            let labels = map.iter().map(|(k, v)| (k.as_str(), v.as_str()));
            NamespaceFacts::from_labels(labels)
        };
        let node = |host: &Host| NodeFacts {
            os: host.os(),
            build: host.build.clone(),
            ..NodeFacts::default()
        };
        let platform = |host: &Host| Platform {
            os: host.os(),
            build: host.build.clone(),
        };
        let class = |class: &RuntimeClass| RuntimeClassFacts::new(&class.handler, BTreeMap::new());
        let image = |hosts: &Vec<Host>| ImageFacts {
            platforms: hosts.iter().map(platform).collect(),
        };
        Facts {
            namespaces: map(&self.namespaces, labels),
            nodes: map(&self.nodes, node).into_iter().collect(),
            images: map(&self.images, image),
            runtime_classes: map(&self.runtime_classes, class),
            windows_pods: self.windows_pods.clone(),
        }
    }
}

fn map<T, U>(from: &HashMap<String, T>, with: impl Fn(&T) -> U) -> HashMap<String, U> {
    let entries = from.iter().map(|(name, value)| (name.clone(), with(value)));
    entries.collect()
}

impl Fixture {
    fn policy(&self) -> Policy {
        let mut config = self.config.clone().unwrap_or_else(|| json!({}));
        config["apiVersion"] = json!("transom.dev/v1alpha1");
        config["kind"] = json!("Config");
        if let Some(profile) = &self.profile {
            config["profile"] = json!(profile);
        }
        Policy::parse(&config.to_string()).unwrap()
    }
}

/// The fixtures of each rule, by directory and file name.
fn fixtures() -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rules");
    let list = |directory: &Path| {
        let entries = std::fs::read_dir(directory).unwrap();
        entries
            .map(|entry| {
                let path = entry.unwrap().path();
                (path.file_name().unwrap().to_str().unwrap().to_owned(), path)
            })
            .collect::<BTreeMap<_, _>>()
    };
    list(&root)
        .into_iter()
        .map(|(name, directory)| (name, list(&directory)))
        .collect()
}

fn load(path: &Path) -> Fixture {
    let yaml = std::fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A finding line's code, for sorting: within one code the order of keys in the file decides.
fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn every_fixture_is_judged_as_it_says() {
    let mut failures = Vec::new();
    for (rule, files) in fixtures() {
        for (file, path) in files {
            let fixture = load(&path);
            let answer = ask_with(
                Endpoint::Validate,
                &create(&fixture.object),
                &fixture.policy(),
                &fixture.facts.facts(),
            );
            let denied = fixture.expect.iter().any(|line| line.starts_with("deny "));
            let found = sorted(answer.findings());
            if found != sorted(fixture.expect.clone()) || answer.allowed == denied {
                failures.push(format!(
                    "{rule}/{file}:\n  want {:?}\n  got  {found:?}",
                    fixture.expect
                ));
            }
        }
    }
    assert_none(&failures);
}

#[test]
fn every_rule_has_fixtures_both_ways_and_every_fixture_a_rule() {
    let fixtures = fixtures();
    let want: Vec<_> = rules::all()
        .map(|rule| format!("{}-{}", rule.code, rule.name))
        .collect();
    assert_eq!(fixtures.keys().cloned().collect::<Vec<_>>(), want);
    for (rule, files) in &fixtures {
        let code = rule.split('-').next().unwrap();
        for (way, fires) in [("pass", false), ("fail", true)] {
            let mut of_this_way = files
                .iter()
                .filter(|(file, _)| file.starts_with(way))
                .peekable();
            assert!(of_this_way.peek().is_some(), "{rule} has no {way} fixture");
            for (file, path) in of_this_way {
                let mut lines = load(path).expect.into_iter();
                let told = lines.any(|line| line.split(' ').nth(1) == Some(code));
                assert_eq!(told, fires, "{rule}/{file}");
            }
        }
        assert!(
            files
                .keys()
                .all(|file| file.starts_with("pass.") || file.starts_with("fail.")),
            "{rule}: a file that is neither pass nor fail"
        );
    }
}

/// What the API server would refuse is refused in each tier's fixtures by the strongest effect.
#[test]
fn every_tier_of_every_rule_has_a_fixture() {
    let fixtures = fixtures();
    for rule in rules::all() {
        let files = &fixtures[&format!("{}-{}", rule.code, rule.name)];
        let failing = files.keys().filter(|file| file.starts_with("fail")).count();
        assert!(
            failing >= rule.tiers.len(),
            "{}: fewer fixtures than tiers",
            rule.code
        );
    }
}

/// The failing fixtures that are pods, with these fields of the pod spec on top.
fn failing_pods(fields: &Value) -> Vec<(String, Fixture)> {
    let mut pods = Vec::new();
    for (rule, files) in fixtures() {
        for (file, path) in files.iter().filter(|(file, _)| file.starts_with("fail")) {
            let mut fixture = load(path);
            if fixture.object["kind"] == "Pod" {
                merge(&mut fixture.object["spec"], fields);
                pods.push((format!("{rule}/{file}"), fixture));
            }
        }
    }
    pods
}

fn code_of(line: &str) -> &str {
    line.split(' ').nth(1).unwrap()
}

/// The rules that HostProcess containers are exempt from, or that are about them alone.
#[test]
fn host_process_pods_are_held_to_all_other_rules() {
    const NOT_FOR_HOST_PROCESS: [&str; 11] = [
        "WIN116", "WIN118", "WIN119", "WIN408", "WIN507", "WIN201", "WIN206", "WIN311", "WIN312",
        "WIN603", "WIN605",
    ];
    let host_process = json!({
        "hostNetwork": true,
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "securityContext": {"windowsOptions": {"hostProcess": true}},
    });
    let mut failures = Vec::new();
    let mut held = 0;
    for (name, fixture) in failing_pods(&host_process) {
        // Contradictions leave nothing to judge.
        if fixture
            .expect
            .iter()
            .any(|l| ["WIN601", "WIN602", "WIN604"].contains(&code_of(l)))
        {
            continue;
        }
        let body = create(&fixture.object);
        let (policy, facts) = (fixture.policy(), fixture.facts.facts());
        let found = ask_with(Endpoint::Validate, &body, &policy, &facts).findings();
        for line in &fixture.expect {
            let is_due = !NOT_FOR_HOST_PROCESS.contains(&code_of(line));
            // A harmless value is denied beside os=windows and warned of without.
            let is_found = found
                .iter()
                .any(|f| f.split_once(' ').unwrap().1 == line.split_once(' ').unwrap().1);
            held += usize::from(is_due);
            if is_due && !is_found {
                failures.push(format!("{name}: no {line}"));
            }
        }
    }
    assert!(held > 100, "{held}");
    assert_none(&failures);
}

/// What the API server accepts beside os=windows does not keep os from being patched in, and what
/// it refuses does.
#[test]
fn os_is_patched_in_where_the_api_server_accepts_the_pod_with_it() {
    // By the API server's validation; the annotations of WIN109 and WIN110 are no part of it.
    const REFUSED: [&str; 20] = [
        "WIN101", "WIN102", "WIN104", "WIN105", "WIN106", "WIN107", "WIN108", "WIN109", "WIN110",
        "WIN111", "WIN112", "WIN113", "WIN114", "WIN115", "WIN202", "WIN203", "WIN204", "WIN205",
        "WIN402", "WIN503",
    ];
    let mut failures = Vec::new();
    let (mut with, mut without) = (0, 0);
    for (name, fixture) in failing_pods(&json!({})) {
        let body = create(&fixture.object);
        let config = "placement: {repair: false}";
        let (policy, facts) = (common::policy(config), fixture.facts.facts());
        let spec = &fixture.object["spec"];
        let contradicts = |line: &String| ["WIN601", "WIN602", "WIN604"].contains(&code_of(line));
        if !spec["os"].is_null() || fixture.expect.iter().any(contradicts) {
            continue;
        }
        let is_refused = |line: &String| {
            REFUSED.contains(&code_of(line)) && !line.contains("metadata.annotations")
        };
        let accepted = !fixture.expect.iter().any(is_refused);
        let answer = ask_with(Endpoint::Mutate, &body, &policy, &facts);
        let added = answer.patched(&fixture.object)["spec"]["os"]["name"] == "windows";
        *(if added { &mut with } else { &mut without }) += 1;
        if added != accepted {
            failures.push(format!(
                "{name}: os {}",
                if added { "added" } else { "not added" }
            ));
        }
    }
    assert!(with > 50 && without > 50, "{with} {without}");
    assert_none(&failures);
}
