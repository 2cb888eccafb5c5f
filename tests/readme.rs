//! README's tables are those of the program: rules, flags, metrics, evidence.

#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::collections::BTreeMap;

use clap::CommandFactory;
use transom::admit::admit;
use transom::cli::Cli;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::metrics::Metrics;
use transom::os::Source;
use transom::policy::Policy;
use transom::review;
use transom::rules::{self, FAMILIES, Profile, Rule};

const README: &str = include_str!("../README.md");

/// The rows of README's tables that start with this.
fn rows(start: &str) -> Vec<&'static str> {
    README
        .lines()
        .filter(|line| line.starts_with(start))
        .collect()
}

/// A rule's row: its only action, or that of each case.
fn row(rule: &Rule) -> String {
    let actions = rule.tiers.iter().map(|tier| {
        let action = tier.action(Profile::Current).name();
        match tier.when {
            "" => action.to_owned(),
            when => format!("{when}: {action}"),
        }
    });
    let actions: Vec<_> = actions.collect();
    let actions = actions.join("; ");
    format!(
        "| {} | {} | {} | {actions} |",
        rule.code, rule.name, rule.brief
    )
}

#[test]
fn the_rules_are_all_there_with_their_defaults() {
    let want: Vec<_> = rules::all().map(row).collect();
    assert_eq!(
        rows("| WIN"),
        want,
        "README should have:\n{}\n",
        want.join("\n")
    );
}

#[test]
fn the_rules_stand_under_the_heading_of_their_family() {
    let mut above = "";
    for line in README.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            above = heading;
        } else if let Some(code) = line.strip_prefix("| ").and_then(|row| row.get(..6))
            && let Some(rule) = Rule::find(code)
        {
            assert_eq!(above, rule.family().unwrap().heading(), "{line}");
        }
    }
}

/// One example a family, that of `transom explain`.
#[test]
fn every_family_has_an_example_of_the_rules() {
    for family in &FAMILIES {
        let section = README.split(&format!("### {}\n", family.heading())).nth(1);
        let section = section.and_then(|rest| rest.split("\n##").next()).unwrap();
        let (_, code) = section.split_once("What is found (").unwrap();
        let code = &code[..6];
        assert!(code.starts_with(family.prefix), "{code}");
        let root = env!("CARGO_MANIFEST_DIR");
        let example = format!("{root}/src/rules/examples/{code}.yaml");
        let example = std::fs::read_to_string(example).unwrap();
        assert!(
            section.contains(&format!("```yaml\n{example}```\n")),
            "{code}"
        );
    }
}

#[test]
fn the_flags_are_all_there_with_variable_and_default() {
    let mut command = Cli::command();
    command.build();
    let serve = command.find_subcommand("serve").unwrap();
    let mut want = Vec::new();
    for flag in serve.get_arguments() {
        let (Some(long), Some(variable)) = (flag.get_long(), flag.get_env()) else {
            continue;
        };
        let default = flag.get_default_values().first();
        let default = default.map_or(String::new(), |value| {
            format!("`{}`", value.to_str().unwrap())
        });
        let variable = variable.to_str().unwrap();
        want.push(format!("| `--{long}` | `{variable}` | {default} |"));
    }
    assert!(want.len() > 5);
    let have: Vec<_> = rows("| `--")
        .into_iter()
        .map(|row| {
            let cells: Vec<_> = row.split('|').take(4).map(str::trim).collect();
            format!("| {} | {} | {} |", cells[1], cells[2], cells[3])
        })
        .collect();
    assert_eq!(have, want, "README should have:\n{}\n", want.join("\n"));
}

/// The families that the program itself counts, with their labels.
#[test]
fn the_metrics_are_all_there_with_their_labels() {
    let text = Metrics::new().render();
    let mut families = BTreeMap::new();
    for line in text.lines() {
        let Some(name) = line.strip_prefix("# TYPE ") else {
            continue;
        };
        let name = name.split(' ').next().unwrap();
        if name.starts_with("transom_") {
            let sample = text
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap_or_else(|| panic!("{name} has no sample"));
            let mut labels: Vec<_> = sample
                .split('"')
                .step_by(2)
                .filter_map(|text| text.strip_suffix('='))
                .map(|text| text.rsplit(['{', ',']).next().unwrap())
                .filter(|label| *label != "le")
                .collect();
            labels.sort_unstable();
            families.insert(name.to_owned(), labels);
        }
    }
    assert!(families.len() > 5);
    let have: BTreeMap<_, _> = rows("| `transom_")
        .into_iter()
        .map(|row| {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let name = cells[1].trim_matches('`').to_owned();
            let mut labels: Vec<_> = cells[2]
                .split(',')
                .map(|label| label.trim().trim_matches('`'))
                .filter(|label| !label.is_empty())
                .collect();
            labels.sort_unstable();
            (name, labels)
        })
        .collect();
    assert_eq!(have, families);
}

/// What the program can see for itself or in the cluster; registries are not asked.
#[test]
fn the_evidence_is_all_there() {
    let unasked = [Source::Registry];
    for source in Source::ALL {
        let row = format!("| `{}` |", source.name());
        assert_eq!(
            rows(&row).len(),
            usize::from(!unasked.contains(&source)),
            "{row}"
        );
    }
}

/// What the demonstration shows, asked of the engine.
#[test]
fn the_refusal_of_the_story_is_the_real_one() {
    let story = README
        .split("## In a cluster, before and after")
        .nth(1)
        .unwrap();
    let yaml = story.split("```yaml\n").nth(1).unwrap();
    let yaml = yaml.split("```").next().unwrap();
    let root = yaml.replace(
        "    spec:\n      containers",
        "    spec:\n      securityContext: {runAsUser: 1000}\n      containers",
    );
    assert_ne!(root, yaml);
    let object: serde_json::Value = serde_saphyr::from_str(&root).unwrap();
    let review = serde_json::json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "a",
            "kind": {"group": "apps", "kind": "Deployment"},
            "namespace": "shop",
            "operation": "CREATE",
            "object": object,
        },
    });
    let (policy, facts) = (Policy::default(), Facts::default());
    let body = review.to_string();
    let request = review::decode(body.as_bytes(), &policy).unwrap();
    let verdict = admit(Endpoint::Validate, &request, &policy, &facts);
    let answer: serde_json::Value = serde_json::from_slice(&review::encode(&verdict)).unwrap();
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(story.contains(message.trim()), "{message}");
}
