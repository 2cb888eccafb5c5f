//! docs/rules.md and docs/kep-116.md are what the rule table makes of them, and the chart's conditions what the
//! table of evidence makes of them.
//!
//! `just docs`, or `UPDATE_DOCS=1 cargo test --test docs`, writes them anew.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::collections::HashSet;
use std::path::Path;

use transom::explain::kep::{self, Answer, Statement};
use transom::explain::markdown;
use transom::rules::{self, Rule};

fn assert_current(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = written.lines().zip(page.lines()).enumerate();
    let different = lines.into_iter().find(|(_, (old, new))| old != new);
    assert!(
        written == page,
        "{name} is stale: `just docs`, or `UPDATE_DOCS=1 cargo test --test docs`, renews it{}",
        different.map_or_else(String::new, |(i, (old, new))| {
            format!("\nline {}:\n- {old}\n+ {new}", i + 1)
        })
    );
}

#[test]
fn the_page_of_the_rules_is_current() {
    assert_current("docs/rules.md", &markdown::rules_page());
}

#[test]
fn the_page_of_the_kep_is_current() {
    assert_current("docs/kep-116.md", &kep::page());
}

#[test]
fn the_conditions_of_the_chart_are_current() {
    let name = "charts/transom/templates/_conditions.tpl";
    assert_current(name, &transom::os::chart_template());
}

#[test]
fn every_link_within_the_pages_leads_to_a_rule() {
    let page = markdown::rules_page();
    let anchors: HashSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|heading| heading.to_lowercase().replace(' ', "-"))
        .collect();
    assert_eq!(anchors.len(), rules::all().count());
    let kep = kep::page();
    let targets = page.split("](#").skip(1);
    let targets = targets.chain(kep.split("](rules.md#").skip(1));
    let targets: HashSet<_> = targets
        .map(|rest| rest.split(')').next().unwrap())
        .collect();
    assert!(targets.len() > 40);
    for target in targets {
        assert!(anchors.contains(target), "{target}");
    }
}

fn statements() -> impl Iterator<Item = &'static Statement> {
    let chapters = kep::DOCUMENTS.iter().flat_map(|document| document.chapters);
    chapters.flat_map(|chapter| chapter.statements)
}

#[test]
fn every_rule_that_a_statement_names_exists() {
    for statement in statements() {
        let named: Vec<&str> = match statement.answer {
            Answer::Rules(codes) => codes.to_vec(),
            Answer::None(reason) => reason
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.starts_with("WIN"))
                .collect(),
        };
        for name in named {
            let (code, case) = name.split_once(": ").unwrap_or((name, ""));
            let rule = Rule::find(code);
            assert!(rule.is_some(), "{name}: {}", statement.text);
            let has_case = |rule: &Rule| rule.tiers.iter().any(|tier| tier.when == case);
            assert!(case.is_empty() || rule.is_some_and(has_case), "{name}");
        }
    }
}

#[test]
fn every_statement_has_rules_or_a_reason_and_every_chapter_statements() {
    for statement in statements() {
        let text = statement.text;
        assert!(!text.is_empty() && !text.contains('|'), "{text}");
        match statement.answer {
            Answer::Rules(codes) => {
                assert!(!codes.is_empty(), "{text}");
                assert!(codes.is_sorted_by(|a, b| a < b), "{text}: {codes:?}");
            }
            Answer::None(reason) => {
                assert!(!reason.is_empty() && !reason.contains('|'), "{text}");
            }
        }
    }
    for document in &kep::DOCUMENTS {
        let mut titles = HashSet::new();
        for chapter in document.chapters {
            assert!(!chapter.statements.is_empty(), "{}", chapter.title);
            assert!(titles.insert(chapter.title), "{}", chapter.title);
            let texts: HashSet<_> = chapter.statements.iter().map(|s| s.text).collect();
            assert_eq!(texts.len(), chapter.statements.len(), "{}", chapter.title);
        }
    }
}

#[test]
fn every_rule_that_refers_to_the_kep_holds_a_statement_of_it() {
    let held: HashSet<_> = statements()
        .flat_map(|statement| match statement.answer {
            Answer::Rules(codes) => codes,
            Answer::None(_) => &[],
        })
        .map(|name| name.split(':').next().unwrap())
        .collect();
    let mut of_the_kep = 0;
    for rule in rules::all() {
        if rule
            .references
            .iter()
            .any(|r| r.contains("/116-windows-node-support"))
        {
            of_the_kep += 1;
            assert!(held.contains(rule.code), "{}", rule.code);
        }
    }
    assert!(of_the_kep > 30, "{of_the_kep}");
}
