//! The pages that are written by hand: their manifests are what they say, and their links lead somewhere.
//!
//! A block of YAML that starts with `# NAME.yaml` is a file, and what `$ transom check … NAME.yaml` finds in it stands
//! below. Any other manifest passes. Commands and metrics are those of the program, values those of the chart.
//! Not here: README (`readme.rs`) and the pages that are made (`docs.rs`).

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/program.rs"]
mod program;
#[path = "support/series.rs"]
mod series;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use blocks::{blocks, commands};
use clap::CommandFactory;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use series::Series;
use transom::cli::Cli;
use transom::policy::Policy;

const WINDOWS: (&str, &str) = (
    "windows-on-kubernetes.md",
    include_str!("../docs/windows-on-kubernetes.md"),
);
const COEXISTENCE: (&str, &str) = ("coexistence.md", include_str!("../docs/coexistence.md"));
const OPERATIONS: (&str, &str) = ("operations.md", include_str!("../docs/operations.md"));
const RUNBOOKS: (&str, &str) = ("runbooks.md", include_str!("../docs/runbooks.md"));
const INSTALL: (&str, &str) = ("install.md", include_str!("../docs/install.md"));
const SECURITY: (&str, &str) = ("../SECURITY.md", include_str!("../SECURITY.md"));
const DOCTOR: (&str, &str) = ("doctor.md", include_str!("../docs/doctor.md"));
const VERSIONS: (&str, &str) = (
    "kubernetes-versions.md",
    include_str!("../docs/kubernetes-versions.md"),
);
const SCAN: (&str, &str) = ("scan.md", include_str!("../docs/scan.md"));
/// By their places in docs/.
const PAGES: [(&str, &str); 9] = [
    WINDOWS,
    COEXISTENCE,
    INSTALL,
    OPERATIONS,
    RUNBOOKS,
    SECURITY,
    DOCTOR,
    VERSIONS,
    SCAN,
];

/// The first line of a block that is given to the Helm chart.
const VALUES: &str = "# values of the chart\n";

/// The name of the file that a block is.
fn file_name(block: &str) -> Option<&str> {
    let name = block.lines().next()?.strip_prefix("# ")?;
    name.ends_with(".yaml").then_some(name)
}

/// The documents of a block, as kubectl reads them.
fn documents(block: &str) -> Vec<Value> {
    let documents = transom::yaml::documents(block).unwrap_or_else(|e| panic!("{e:?}\n{block}"));
    let json = documents.iter().map(|document| {
        let mut json = Vec::new();
        document.write_json(&mut json).unwrap();
        serde_json::from_slice(&json).unwrap()
    });
    json.collect()
}

/// What `transom check -o concise` says of these files: everything that it prints, and its exit code.
fn check(files: &[(&str, &str)], args: &[&str]) -> (String, i32) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let output = program::run(directory.path(), &[&["check"], args].concat());
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8(printed).unwrap(),
        output.status.code().unwrap(),
    )
}

#[test]
fn manifests_pass_unless_the_page_says_what_is_found() {
    let mut passed = 0;
    for (name, page) in PAGES {
        for block in blocks(page, "yaml") {
            if file_name(&block).is_some() || !block.contains("apiVersion:") {
                continue;
            }
            let args = ["-o", "concise", "--fail-on", "warn", "a.yaml"];
            let (printed, code) = check(&[("a.yaml", &block)], &args);
            assert_eq!(code, 0, "{name}\n{block}\n{printed}");
            assert!(
                printed.starts_with("nothing found"),
                "{name}\n{block}\n{printed}"
            );
            passed += 1;
        }
    }
    assert!(passed > 10, "{passed}");
}

#[test]
fn what_is_found_in_a_file_is_what_the_page_shows() {
    for (name, page) in PAGES {
        let files: Vec<_> = blocks(page, "yaml");
        let files: Vec<_> = files
            .iter()
            .filter_map(|block| Some((file_name(block)?, block.as_str())))
            .collect();
        let mut shown = BTreeSet::new();
        for console in blocks(page, "console") {
            let Some((command, answer)) = console.split_once('\n') else {
                continue;
            };
            let Some(args) = command.strip_prefix("$ transom check ") else {
                continue;
            };
            let args: Vec<_> = args.split(' ').collect();
            let (printed, code) = check(&files, &args);
            assert_eq!(answer, printed, "{name}: {command}");
            assert_ne!(code, 2, "{name}: {command}");
            assert!(!answer.starts_with("nothing found"), "{name}: {command}");
            shown.extend(args.iter().map(ToString::to_string));
        }
        for (file, _) in files {
            assert!(shown.contains(file), "{name} does not say what {file} is");
        }
    }
}

/// No key is misspelt: nothing is lost on the way through Kubernetes' own type.
fn assert_typed<T: DeserializeOwned + Serialize>(object: &Value) {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|e| panic!("{e}: {object}"));
    assert_eq!(&serde_json::to_value(typed).unwrap(), object);
}

#[test]
fn every_object_is_one_of_its_kind() {
    let mut kinds = BTreeMap::new();
    for (name, page) in PAGES {
        for block in blocks(page, "yaml") {
            for object in documents(&block) {
                let Some(kind) = object["kind"].as_str() else {
                    continue;
                };
                *kinds.entry(kind.to_owned()).or_insert(0) += 1;
                match kind {
                    "Pod" => assert_typed::<Pod>(&object),
                    "Deployment" => assert_typed::<Deployment>(&object),
                    "DaemonSet" => assert_typed::<DaemonSet>(&object),
                    "HorizontalPodAutoscaler" => assert_typed::<HorizontalPodAutoscaler>(&object),
                    "RuntimeClass" => assert_typed::<RuntimeClass>(&object),
                    "ClusterRole" => assert_typed::<ClusterRole>(&object),
                    "RoleBinding" => assert_typed::<RoleBinding>(&object),
                    "ValidatingAdmissionPolicy" => {
                        assert_typed::<ValidatingAdmissionPolicy>(&object)
                    }
                    "ValidatingAdmissionPolicyBinding" => {
                        assert_typed::<ValidatingAdmissionPolicyBinding>(&object);
                    }
                    "Config" => drop(Policy::parse(&block).unwrap()),
                    "HelmRelease" => assert_values(&object["spec"]["values"], name),
                    "Application" => {
                        let values = &object["spec"]["source"]["helm"]["valuesObject"];
                        if !values.is_null() {
                            assert_values(values, name);
                        }
                    }
                    // A file of the kubelet: there is no type of it here.
                    "KubeletConfiguration" => {}
                    other => panic!("{name}: {other}"),
                }
            }
        }
    }
    assert!(kinds.values().sum::<i32>() > 10, "{kinds:?}");
}

/// Values are the chart's own, by its schema, and the configuration in them is one.
fn assert_values(values: &Value, whose: &str) {
    let root = env!("CARGO_MANIFEST_DIR");
    let schema = std::fs::read_to_string(format!("{root}/charts/transom/values.schema.json"));
    let schema: Value = serde_json::from_str(&schema.unwrap()).unwrap();
    let schema = jsonschema::draft7::new(&schema).unwrap();
    let wrong: Vec<_> = schema.iter_errors(values).map(|e| e.to_string()).collect();
    assert!(wrong.is_empty(), "{whose}: {wrong:?}");
    if let Some(config) = values.get("config") {
        let mut config = config.as_object().unwrap().clone();
        config.insert("apiVersion".to_owned(), "transom.dev/v1alpha1".into());
        config.insert("kind".to_owned(), "Config".into());
        let text = Value::from(config).to_string();
        Policy::parse(&text).unwrap_or_else(|e| panic!("{whose}: {e}"));
    }
}

#[test]
fn values_are_those_of_the_chart() {
    let mut seen = 0;
    for (name, page) in PAGES {
        for block in blocks(page, "yaml") {
            if !block.starts_with(VALUES) {
                assert!(block.contains("kind: "), "{name}: what is this?\n{block}");
                continue;
            }
            assert_values(&documents(&block).remove(0), &format!("{name}\n{block}"));
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

/// What `--set` makes of `a.b=c`.
fn set(assignment: &str) -> Value {
    let (path, value) = assignment.split_once('=').unwrap();
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    let keys = path.rsplit('.');
    keys.fold(value, |value, key| serde_json::json!({ key: value }))
}

#[test]
fn commands_of_the_program_and_of_helm_are_understood() {
    let (mut own, mut values) = (0, 0);
    for (name, page) in PAGES {
        for command in commands(page) {
            let words: Vec<_> = command.split(' ').collect();
            if words[0] == "transom" {
                let read = Cli::command().try_get_matches_from(&words);
                assert!(read.is_ok(), "{name}: {command}\n{}", read.unwrap_err());
                own += 1;
            }
            if words[0] == "helm" {
                for pair in words.windows(2).filter(|pair| pair[0] == "--set") {
                    assert_values(&set(pair[1]), &format!("{name}: {command}"));
                    values += 1;
                }
            }
            for word in words {
                let ours = ["charts/", "deploy/", "examples/"];
                if ours.iter().any(|directory| word.starts_with(directory)) {
                    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(word);
                    assert!(path.exists(), "{name}: {command}");
                }
            }
        }
    }
    assert!(own > 5 && values > 2, "{own} {values}");
}

#[test]
fn metrics_exist_with_their_labels() {
    let series = Series::new();
    let mut seen = 0;
    for (name, page) in PAGES {
        let (named, wrong) = series.look(page);
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        seen += named;
    }
    assert!(seen > 10, "{seen}");
}

/// The headings of a page, as a browser finds them.
fn anchors(page: &str) -> HashSet<String> {
    let mut code = false;
    let headings = page.lines().filter(|line| {
        code ^= line.trim_start().starts_with("```");
        !code && line.starts_with('#')
    });
    headings
        .map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_within_the_project_lead_somewhere() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for (name, page) in PAGES {
        let mut links = 0;
        for rest in page.split("](").skip(1) {
            let target = rest.split(')').next().unwrap();
            if target.starts_with("https://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => docs.join(name),
                _ => docs.join(name).parent().unwrap().join(file),
            };
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {target}: {e}"));
            assert!(
                anchor.is_empty() || anchors(&text).contains(anchor),
                "{name}: {target}"
            );
            links += 1;
        }
        assert!(links > 5, "{name}");
    }
}

#[test]
fn every_reference_is_defined_and_used() {
    for (name, page) in PAGES {
        let defined: BTreeSet<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.split_once("]: https://"))
            .map(|(reference, _)| reference)
            .collect();
        let used = page.split("][").skip(1);
        let used: BTreeSet<_> = used.map(|rest| rest.split(']').next().unwrap()).collect();
        assert_eq!(defined, used, "{name}");
    }
}

/// The KEP's list under "Graduation Criteria", in its order and shortened.
#[test]
fn each_document_that_the_kep_asks_for_is_a_section() {
    let (_, page) = WINDOWS;
    let want = [
        "Outline",
        "Getting started",
        "Deploying Windows nodes",
        "Networking",
        "Network plugins",
        "Clouds and distributions",
        "Scheduling",
        "Metrics and horizontal autoscaling",
        "Group managed service accounts",
        "Taints and tolerations",
        "Hyper-V isolation",
        "Building from source",
        "Supported functionality",
        "Known limitations",
        "Unsupported functionality",
        "Help and troubleshooting",
    ];
    let listed = page.lines().filter_map(|line| {
        let (number, rest) = line.split_once(". [")?;
        number.parse::<usize>().ok()?;
        rest.split_once("](#")
    });
    let listed: Vec<_> = listed.map(|(title, _)| title).collect();
    assert_eq!(listed, want);
    for title in want {
        let section = page.split(&format!("\n## {title}\n")).nth(1);
        let section = section.and_then(|rest| rest.split("\n## ").next());
        let section = section.unwrap_or_else(|| panic!("{title}"));
        // A section says something, or where to read it.
        assert!(section.split_whitespace().count() > 10, "{title}");
        assert!(section.contains("](") || section.contains("]["), "{title}");
    }
}
