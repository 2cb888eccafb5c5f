//! `transom rules` and `transom explain`, run as a user runs them.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};

use common::{ask_with, assert_none, create, merge, policy};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::explain::{self, text};
use transom::facts::{Facts, ImageFacts, NodeFacts, Platform, RuntimeClassFacts};
use transom::os::Os;
use transom::policy::Policy;
use transom::rules::{self, Action, Consequence, FAMILIES, Profile, Rule};

/// Runs the program with its output in a pipe.
fn transom(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_transom"));
    command.args(args);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = transom(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    assert!(stderr.is_empty(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(args: &[&str]) -> String {
    let output = transom(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The codes at the start of lines.
fn codes(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.starts_with("WIN"));
    let words = lines.map(|line| line.split(' ').next().unwrap());
    words.filter(|word| word.len() == 6).collect()
}

fn all_codes() -> Vec<&'static str> {
    rules::all().map(|rule| rule.code).collect()
}

fn parsed(args: &[&str]) -> Vec<Value> {
    serde_json::from_str(&stdout(args)).unwrap()
}

#[test]
fn every_rule_is_in_the_table_under_its_family() {
    let table = stdout(&["rules"]);
    assert_eq!(codes(&table), all_codes());
    let mut family = "";
    for line in table.lines() {
        if let Some((prefix, _)) = line.split_once("xx: ") {
            family = prefix;
        } else if codes(line).len() == 1 {
            assert!(line.starts_with(family), "{line}");
        }
    }
    for family in &FAMILIES {
        assert!(table.contains(&family.heading()), "{}", family.prefix);
    }
}

#[test]
fn the_columns_of_the_table_are_aligned() {
    for args in [
        &["rules"][..],
        &["rules", "WIN3", "nfs"],
        &["rules", "--profile", "kep-116"],
    ] {
        let table = stdout(args);
        let header = table.lines().next().unwrap();
        let [action, repair, wrong] =
            ["ACTION", "REPAIR", "WHAT IS WRONG"].map(|column| header.find(column).unwrap());
        for line in table.lines().filter(|line| codes(line).len() == 1) {
            let rule = Rule::find(&line[..6]).unwrap();
            assert!(line[8..action].starts_with(rule.name), "{line}");
            assert!(line[action - 2..].starts_with("  "), "{line}");
            let first = line[action..].split(['/', ' ']).next().unwrap();
            assert!(Action::ALL.iter().any(|a| a.name() == first), "{line}");
            let repairable = if rule.is_repairable() { "yes" } else { "no" };
            assert_eq!(line[repair..wrong].trim(), repairable, "{line}");
            assert_eq!(&line[wrong..], rule.brief);
        }
    }
}

#[test]
fn the_profile_chooses_the_actions_of_the_table() {
    let row = |args: &[&str]| {
        let table = stdout(args);
        let row = table.lines().find(|line| line.starts_with("WIN301"));
        row.unwrap().split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!(row(&["rules"]), "off");
    assert_eq!(row(&["rules", "--profile", "current"]), "off");
    assert_eq!(row(&["rules", "--profile", "kep-116"]), "deny");
    for format in ["json", "markdown"] {
        let message = stderr(&["rules", "--profile", "kep-116", "-o", format]);
        assert!(message.contains("--profile is for -o text"), "{message}");
    }
    let message = stderr(&["rules", "--profile", "kep"]);
    assert!(message.contains("kep-116"), "{message}");
}

#[test]
fn filters_take_codes_names_and_beginnings_of_codes() {
    let chosen = |args: &[&str]| {
        let table = stdout(&[&["rules"], args].concat());
        codes(&table)
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen(&["WIN101"]), ["WIN101"]);
    assert_eq!(chosen(&["win101", "sub-path"]), ["WIN101", "WIN301"]);
    assert_eq!(chosen(&["nfs", "WIN101"]), ["WIN101", "WIN307"]);
    let volumes: Vec<_> = all_codes()
        .into_iter()
        .filter(|c| c.starts_with("WIN3"))
        .collect();
    assert_eq!(chosen(&["WIN3"]), volumes);
    assert_eq!(chosen(&["win3", "WIN301"]), volumes);
    let json = parsed(&["rules", "-o", "json", "WIN3"]);
    assert_eq!(json.len(), volumes.len());
    let markdown = stdout(&["rules", "-o", "markdown", "WIN3", "WIN101"]);
    assert_eq!(markdown.matches("\n### ").count(), volumes.len() + 1);
    assert!(markdown.starts_with("## WIN1xx: security context\n"));
}

#[test]
fn an_unknown_rule_is_an_error_that_tells_the_nearest_name() {
    for (command, name, nearest) in [
        ("rules", "run-as-usr", "run-as-user"),
        ("explain", "run-as-usr", "run-as-user"),
        ("explain", "runAsUser", "run-as-user"),
        ("explain", "subPath", "sub-path"),
        ("explain", "hostNetwork", "host-network"),
        ("explain", "WIN1O1", "WIN101"),
        ("rules", "WIN01", "WIN201"),
        ("rules", "WIN9", "WIN1"),
    ] {
        let message = stderr(&[command, "WIN301", name]);
        assert_eq!(
            message,
            format!(
                "transom: there is no rule {name:?}, the nearest is {nearest}; transom rules lists them all\n"
            )
        );
    }
    for args in [["rules", ""], ["explain", ""], ["explain", "zzz"]] {
        let message = stderr(&args);
        assert!(message.contains("there is no rule"), "{message}");
        assert!(!message.contains("nearest"), "{message}");
    }
    let message = stderr(&["rules", "-o", "yaml"]);
    assert!(message.contains("text, json, markdown"), "{message}");
}

#[test]
fn explain_without_a_rule_prints_its_help() {
    let help = stderr(&["explain"]);
    assert!(help.contains("Usage: transom explain"), "{help}");
}

#[test]
fn a_pipe_gets_no_escape_codes_and_a_terminal_does() {
    for args in [
        &["rules"][..],
        &["explain", "WIN101"],
        &["rules", "-o", "markdown"],
    ] {
        assert!(!stdout(args).contains('\x1b'), "{args:?}");
    }
    let all: Vec<_> = rules::all().collect();
    let table = explain::table(&all, Profile::Current, None);
    for action in Action::ALL {
        let coloured = format!("m{}\x1b[0m", action.name());
        assert!(table.contains(&coloured), "{coloured:?}");
    }
    // What clap and anstream take for "colours, whatever stdout is".
    let forced = Command::new(env!("CARGO_BIN_EXE_transom"))
        .args(["rules", "WIN101"])
        .env_remove("NO_COLOR")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(
        String::from_utf8(forced.stdout)
            .unwrap()
            .contains("\x1b[31mdeny")
    );
    let refused = Command::new(env!("CARGO_BIN_EXE_transom"))
        .args(["rules", "WIN101"])
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn a_narrow_terminal_gets_lines_that_fit() {
    let all: Vec<_> = rules::all().collect();
    let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
    let table = plain(&explain::table(&all, Profile::Current, Some(80)));
    for line in table.lines().filter(|line| !line.starts_with("Default")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for rule in rules::all() {
        assert!(table.contains(rule.brief), "{}", rule.code);
    }
    for width in [80, 100] {
        let text = plain(&text::explanations(&all, width));
        for line in text.lines() {
            let one_word = line.split_whitespace().count() == 1;
            let is_yaml = line.starts_with("    ");
            assert!(
                line.chars().count() <= width || one_word || is_yaml,
                "{line}"
            );
        }
    }
}

#[test]
fn the_json_has_every_rule_with_all_of_its_keys() {
    let all = parsed(&["rules", "-o", "json"]);
    let codes: Vec<_> = all
        .iter()
        .map(|rule| rule["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, all_codes());
    let want: BTreeSet<_> = [
        "code",
        "name",
        "family",
        "brief",
        "reason",
        "remedy",
        "note",
        "references",
        "fields",
        "never",
        "repairable",
        "tiers",
        "example",
    ]
    .into();
    for (record, rule) in all.iter().zip(rules::all()) {
        let keys = record.as_object().unwrap().keys().map(String::as_str);
        assert_eq!(keys.collect::<BTreeSet<_>>(), want);
        assert_eq!(record["name"], rule.name);
        assert_eq!(record["family"], rule.family().unwrap().title);
        assert_eq!(record["repairable"], rule.is_repairable());
        let fields = record["fields"].as_array().unwrap();
        assert!(!fields.is_empty(), "{}", rule.code);
        for field in fields {
            let path = field["path"].as_str().unwrap();
            assert!(
                path.starts_with("spec.") || path.starts_with("metadata."),
                "{path}"
            );
            assert!(!field["when"].as_str().unwrap().is_empty(), "{path}");
        }
        let tiers = record["tiers"].as_array().unwrap();
        for (told, tier) in tiers.iter().zip(rule.tiers) {
            assert_eq!(told["when"], tier.when);
            let consequence = tier.consequence.map(Consequence::name);
            assert_eq!(told["consequence"], json!(consequence), "{}", rule.code);
            for profile in Profile::ALL {
                let action = &told["actions"][profile.name()];
                assert_eq!(action, tier.action(profile).name(), "{}", rule.code);
            }
        }
        assert_eq!(tiers.len(), rule.tiers.len());
    }
}

#[test]
fn the_json_names_a_container_field_in_all_three_lists() {
    let rule = &parsed(&["explain", "privileged", "-o", "json"])[0];
    let paths: Vec<_> = rule["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "spec.containers[*].securityContext.privileged",
            "spec.initContainers[*].securityContext.privileged",
            "spec.ephemeralContainers[*].securityContext.privileged",
        ]
    );
}

/// Without line breaks and the signs of Markdown.
fn words(text: &str) -> String {
    let text: String = text.chars().filter(|c| !"\\`*".contains(*c)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_explanation_has_everything_in_every_format() {
    for rule in rules::all() {
        let code = rule.code;
        for format in ["text", "markdown"] {
            let all = stdout(&["explain", &code.to_lowercase(), "-o", format]);
            let all = words(&all);
            let mut pieces = vec![
                format!("{code} {}", rule.name),
                rule.brief.to_owned(),
                rule.reason.to_owned(),
                rule.remedy.to_owned(),
                "A finding:".to_owned(),
                "No finding:".to_owned(),
                format!("rules: {code}: "),
            ];
            pieces.extend(rule.references.iter().map(|&r| r.to_owned()));
            pieces.extend(rule.never().into_iter().map(str::to_owned));
            for tier in rule.tiers {
                let [current, kep_116] = Profile::ALL.map(|p| tier.action(p).name());
                let when = if tier.when.is_empty() {
                    "any finding"
                } else {
                    tier.when
                };
                let consequence = tier.consequence.map_or("-", Consequence::name);
                let row = match format {
                    // In columns if they fit.
                    "text" => [
                        format!("{when} {current} {kep_116} {consequence}"),
                        format!(
                            "{when}: current {current}, kep-116 {kep_116}, without Transom {consequence}"
                        ),
                    ]
                    .into_iter()
                    .find(|row| all.contains(&words(row)))
                    .unwrap_or_else(|| panic!("{code}: {when}\n{all}")),
                    _ => format!("| {when} | {current} | {kep_116} | {consequence} |"),
                };
                pieces.push(row);
            }
            for field in rule.fields() {
                pieces.extend([field.path, field.when]);
            }
            for piece in pieces {
                assert!(
                    all.contains(&words(&piece)),
                    "{code} as {format}: {piece}\n{all}"
                );
            }
        }
        let json = parsed(&["explain", rule.name, "-o", "json"]);
        assert_eq!(json.len(), 1);
        assert_eq!(json[0]["code"], code);
    }
}

#[test]
fn several_rules_are_explained_in_the_order_of_the_command_line() {
    let titles = |args: &[&str]| {
        let markdown = stdout(&[&["explain", "-o", "markdown"], args].concat());
        let titles = markdown
            .lines()
            .filter_map(|line| line.strip_prefix("### "));
        titles
            .map(|title| title[..6].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(titles(&["sub-path", "WIN101"]), ["WIN301", "WIN101"]);
    assert_eq!(titles(&["WIN101", "run-as-user", "win101"]), ["WIN101"]);
}

#[test]
fn an_explanation_says_what_is_never_a_finding() {
    for (rule, piece) in [
        ("linux-host-path", "HostProcess pods"),
        (
            "named-pipe-host-process",
            "pods that are not HostProcess pods",
        ),
        ("file-mode", "kube-api-access-"),
        ("build-mismatch", "HostProcess pods"),
    ] {
        let text = stdout(&["explain", rule]);
        let never = text.split("\nNever on\n").nth(1).unwrap();
        assert!(
            never.split("\nWhy\n").next().unwrap().contains(piece),
            "{text}"
        );
    }
}

/// The piece of configuration that `explain` shows.
#[test]
fn the_setting_of_an_explanation_is_a_valid_configuration() {
    for rule in rules::all() {
        let text = stdout(&["explain", rule.code]);
        let setting = text.split("\nConfiguration\n").nth(1).unwrap();
        let yaml: Vec<_> = setting
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .take(2)
            .collect();
        let set = policy(&yaml.join("\n"));
        assert_ne!(
            set.actions(rule),
            Policy::default().actions(rule),
            "{}",
            rule.code
        );
        let may_repair = yaml[1].contains("repair");
        assert_eq!(may_repair, rule.is_repairable(), "{}", rule.code);
    }
}

/// Lists of containers are merged by name, as kubectl does.
fn put(into: &mut Value, fragment: &Value) {
    let Value::Object(fragment) = fragment else {
        return merge(into, fragment);
    };
    for (key, value) in fragment {
        match (key.as_str(), value, &mut into[key]) {
            ("containers", Value::Array(new), Value::Array(old)) => {
                for container in new {
                    match old.iter_mut().find(|c| c["name"] == container["name"]) {
                        Some(old) => merge(old, container),
                        None => old.push(container.clone()),
                    }
                }
            }
            (_, Value::Object(_), into) if into.is_object() => put(into, value),
            (_, value, into) => *into = value.clone(),
        }
    }
}

/// A pod with a part of an example in it, for Windows unless the rule is about who says so; or a
/// Service.
fn example(rule: &Value, part: &str) -> Value {
    let fragment = rule["example"][part].as_str().unwrap();
    let fragment: Value = serde_saphyr::from_str(fragment)
        .unwrap_or_else(|error| panic!("{} {part}: {error}", rule["code"]));
    let mut object = match rule["family"].as_str().unwrap() {
        "Services" => json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"ports": [{"port": 80}]},
        }),
        _ => common::pod(json!({})),
    };
    if object["kind"] == "Pod" && !["WIN604", "WIN608"].contains(&rule["code"].as_str().unwrap()) {
        object["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
    }
    put(&mut object, &fragment);
    object
}

/// A cluster whose Windows nodes are of one build, and a registry that knows the images.
fn facts() -> Facts {
    let windows = Platform {
        os: Some(Os::Windows),
        build: Some("10.0.20348".to_owned()),
    };
    let linux = Platform {
        os: Some(Os::Linux),
        build: None,
    };
    let images = [
        ("registry.example/app:1-ltsc2022", &windows),
        ("registry.example/sidecar:1-ltsc2022", &windows),
        ("registry.example/sidecar:1-alpine", &linux),
    ];
    let image = |platform: &Platform| ImageFacts {
        platforms: vec![platform.clone()],
    };
    let node = NodeFacts {
        os: windows.os,
        build: windows.build.clone(),
        ..NodeFacts::default()
    };
    Facts {
        nodes: [("win-1".to_owned(), node)].into_iter().collect(),
        runtime_classes: [(
            "windows-hyperv".to_owned(),
            RuntimeClassFacts::new("runhcs-wcow-hypervisor", BTreeMap::new()),
        )]
        .into_iter()
        .collect(),
        images: images
            .into_iter()
            .map(|(name, platform)| (name.to_owned(), image(platform)))
            .collect(),
        ..Facts::default()
    }
}

#[test]
fn the_examples_are_a_finding_and_none() {
    let mut failures = Vec::new();
    for rule in parsed(&["rules", "-o", "json"]) {
        let code = rule["code"].as_str().unwrap();
        let policy = policy(&format!("rules: {{{code}: deny}}"));
        // The image of WIN605 has no node in that cluster either.
        let facts = if code == "WIN605" {
            Facts::default()
        } else {
            facts()
        };
        let found = |part| {
            let review = create(&example(&rule, part));
            let answer = ask_with(Endpoint::Validate, &review, &policy, &facts);
            assert!(
                !answer.message().contains("nobody can tell"),
                "{}",
                answer.message()
            );
            let findings = answer.findings().into_iter();
            findings
                .map(|f| f.split(' ').nth(1).unwrap().to_owned())
                .collect::<BTreeSet<_>>()
        };
        let (bad, good) = (found("bad"), found("good"));
        if bad != [code.to_owned()].into() || !good.is_empty() {
            failures.push(format!("{code}: bad {bad:?}, good {good:?}"));
        }
    }
    assert_none(&failures);
}

#[test]
fn every_example_belongs_to_a_rule() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules/examples");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let want: Vec<_> = all_codes()
        .into_iter()
        .map(|code| format!("{code}.yaml"))
        .collect();
    assert_eq!(files, want);
}
