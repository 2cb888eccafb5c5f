//! `transom doctor`: what is said of a sound cluster, and of it after one thing was changed; and the program against an
//! API server in process.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

#[path = "../support/apiserver.rs"]
mod apiserver;
mod cluster;
mod command;
mod installation;
#[path = "../support/program.rs"]
mod program;
mod sound;

use serde_json::{Value, json};
use transom::doctor::{
    CHECKS, Census, Cluster, Part, Source, Status, examine, json as to_json, text, watched_config,
};

use installation::{configure, entries, label};
use sound::{of, sound};

/// Without what is in order: `status check: text`, and behind an arrow what helps.
fn trouble(cluster: &Cluster) -> Vec<String> {
    let lines = examine(cluster).into_iter();
    let lines = lines.filter(|line| line.status != Status::Ok);
    lines
        .map(|line| {
            let remedy = line.remedy.map_or(String::new(), |r| format!(" -> {r}"));
            format!(
                "{} {}: {}{remedy}",
                line.status.name(),
                line.check,
                line.text
            )
        })
        .collect()
}

#[test]
fn a_sound_cluster_is_in_order_in_every_respect() {
    let cluster = sound();
    assert_eq!(trouble(&cluster), Vec::<String>::new());
    let lines = examine(&cluster);
    let said: Vec<_> = lines.iter().map(|line| line.check).collect();
    let all: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(said, all);
    insta::assert_snapshot!("sound", text(&lines, None));
}

#[test]
fn the_configuration_is_found_through_the_deployment() {
    let config = || {
        let [name, key] = ["transom-config", "config.yaml"].map(str::to_owned);
        Ok(Source::ConfigMap { name, key })
    };
    assert_eq!(watched_config(&sound()), config());
    let with = |args: &[&str], env: Value| {
        let mut cluster = sound();
        let deployment = &mut cluster.deployments.as_mut().unwrap()[0];
        let container = &mut deployment.spec.template.spec.containers[0];
        container.args = args.iter().map(ToString::to_string).collect();
        container.env = of(env);
        watched_config(&cluster)
    };
    let file = "/etc/transom/config.yaml";
    assert_eq!(with(&["serve", "--config", file], json!([])), config());
    let variable = json!([{"name": "TRANSOM_CONFIG", "value": file}]);
    assert_eq!(with(&["serve"], variable), config());
    assert_eq!(with(&["serve"], json!([])), Ok(Source::Defaults));
    // What cannot be seen is not taken for the defaults.
    assert!(with(&["serve", "--config=/elsewhere/config.yaml"], json!([])).is_err());
    let mut cluster = sound();
    cluster.deployments = Ok(Vec::new());
    assert!(watched_config(&cluster).is_err());
}

#[test]
fn each_change_is_told_with_what_helps_and_nothing_else_is() {
    let (mut told, mut wrong) = (String::new(), Vec::new());
    let changes = || {
        installation::OF_THE_INSTALLATION
            .iter()
            .chain(cluster::OF_THE_CLUSTER)
    };
    for (name, change, want) in changes() {
        let mut cluster = sound();
        change(&mut cluster);
        let trouble = trouble(&cluster);
        let have: Vec<_> = trouble
            .iter()
            .map(|line| line.split(':').next().unwrap())
            .collect();
        if have != *want {
            wrong.push(format!("{name}: not {want:?}:\n{}\n", trouble.join("\n")));
        }
        for line in trouble.iter().filter(|line| !line.starts_with("skip")) {
            assert!(line.contains(" -> "), "{line}");
            told.push_str(&format!("{name}\n  {line}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::assert_snapshot!("told", told);
    // Every check says more than that all is well, but that which only counts.
    for check in CHECKS.iter().filter(|check| check.name != "modes") {
        let is_in =
            |line: &&&str| line.split(' ').nth(1) == Some(check.name) && !line.starts_with("skip");
        let wants = changes().flat_map(|(_, _, want)| *want);
        assert!(wants.clone().any(|line| is_in(&line)), "{}", check.name);
    }
}

#[test]
fn a_check_is_skipped_if_and_only_if_what_it_needs_cannot_be_read() {
    for part in Part::ALL {
        let mut cluster = sound();
        let why = "you may not".to_owned();
        match part {
            Part::Version => cluster.version = Err(why),
            Part::MutatingWebhooks => cluster.mutating = Err(why),
            Part::ValidatingWebhooks => cluster.validating = Err(why),
            Part::Namespaces => cluster.namespaces = Err(why),
            Part::Nodes => cluster.nodes = Err(why),
            Part::RuntimeClasses => cluster.runtime_classes = Err(why),
            Part::Service => cluster.service = Err(why),
            Part::EndpointSlices => cluster.slices = Err(why),
            Part::Deployments => cluster.deployments = Err(why),
            Part::Budgets => cluster.budgets = Err(why),
            Part::ConfigMap => cluster.settings = Err(why),
            Part::Pods => {
                cluster.windows_pods = Err(why.clone());
                cluster.misplaced = Err(why);
            }
            Part::DaemonSets => cluster.misplaced = Err(why),
            Part::KyvernoPolicies => cluster.kyverno = Err(why),
            Part::Groups => cluster.groups = Err(why),
            Part::Connection => cluster.served = Err(why),
        }
        let needing: Vec<_> = CHECKS
            .iter()
            .filter(|check| check.needs.contains(&part))
            .collect();
        assert!(!needing.is_empty(), "{part:?}");
        let want: Vec<_> = needing
            .iter()
            .map(|check| format!("skip {}: you may not", check.name))
            .collect();
        assert_eq!(trouble(&cluster), want, "{part:?}");
    }
}

/// A cluster with namespaces that Transom does not look into.
fn with_blind_spots() -> Cluster {
    let mut cluster = sound();
    label(&mut cluster, "old", "transom.dev/mode", "off");
    configure(&mut cluster, "namespaces: {safe: {mode: \"off\"}}");
    cluster
}

#[test]
fn pods_are_counted_where_transom_does_not_look() {
    let sound = sound();
    assert_eq!(Census::of(&sound).unwrap().namespaces(), Vec::<&str>::new());
    let cluster = with_blind_spots();
    let mut census = Census::of(&cluster).unwrap();
    assert_eq!(census.namespaces(), ["old", "safe"]);
    let windows = json!({"nodeSelector": {"kubernetes.io/os": "windows"}});
    for (namespace, spec, phase) in [
        ("old", &windows, "Running"),
        ("safe", &windows, "Pending"),
        // Known by the node that it is on.
        ("old", &json!({"nodeName": "windows-1"}), "Running"),
        ("old", &json!({"nodeName": "linux-1"}), "Running"),
        ("old", &json!({}), "Pending"),
        ("old", &windows, "Succeeded"),
        ("shop", &windows, "Running"),
        ("kube-system", &windows, "Running"),
    ] {
        let metadata = json!({"name": "a", "namespace": namespace});
        let pod = json!({"metadata": metadata, "spec": spec, "status": {"phase": phase}});
        census.count(&pod.to_string());
    }
    let counts: Vec<_> = census.counts().into_iter().collect();
    assert_eq!(counts, [("old".to_owned(), 2), ("safe".to_owned(), 1)]);
}

#[test]
fn the_json_is_for_programs_and_the_text_fits_a_terminal() {
    let mut cluster = sound();
    entries(&mut cluster).for_each(|entry| entry.timeout_seconds = 30);
    cluster.nodes = Err("nodes may not be listed".to_owned());
    let lines: Vec<_> = examine(&cluster)
        .into_iter()
        .filter(|line| ["timeout", "windows-nodes", "endpoints"].contains(&line.check))
        .collect();
    insta::assert_snapshot!("json", to_json(&lines));
    insta::assert_snapshot!("narrow", text(&lines, Some(60)));
}

const PAGE: &str = include_str!("../../docs/doctor.md");

#[test]
fn the_page_has_the_table_of_the_checks() {
    let table = transom::doctor::table();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/doctor.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let (before, rest) = PAGE.split_once("| check |").unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        std::fs::write(path, format!("{before}{table}\n{after}")).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap();
    assert!(
        page.contains(&format!("\n\n{table}\n")),
        "docs/doctor.md is stale: `UPDATE_DOCS=1 cargo test --test doctor` renews its table:\n{table}"
    );
}

/// Who has the rights of the page may read everything.
#[test]
fn the_role_of_the_page_is_enough_and_no_more() {
    let yaml = PAGE.split("```yaml\n").nth(1).unwrap();
    let role: Value = serde_saphyr::from_str(yaml.split("```").next().unwrap()).unwrap();
    let mut given = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        let list = |key: &str| {
            let items = rule[key].as_array().unwrap().iter();
            items.map(|item| item.as_str().unwrap()).collect::<Vec<_>>()
        };
        for (group, verb) in list("apiGroups").into_iter().zip(list("verbs")) {
            given.extend(
                list("resources")
                    .into_iter()
                    .map(|resource| (verb, group, resource)),
            );
        }
    }
    let mut wanted = Vec::new();
    for part in Part::ALL {
        let (group, resources) = part.resources().unwrap_or_default();
        let verb = if part.is_single() { "get" } else { "list" };
        wanted.extend(resources.iter().map(|resource| (verb, group, *resource)));
    }
    given.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(given, wanted);
}
