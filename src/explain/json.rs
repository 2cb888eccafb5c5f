//! The table as JSON, for programs. Keys are added, never renamed or taken away.

use serde::Serialize;

use crate::rules::{Consequence, Rule};

#[derive(Serialize)]
struct Record {
    code: &'static str,
    name: &'static str,
    family: &'static str,
    brief: &'static str,
    reason: &'static str,
    remedy: &'static str,
    note: &'static str,
    references: &'static [&'static str],
    fields: Vec<Field>,
    never: Vec<&'static str>,
    repairable: bool,
    tiers: Vec<Tier>,
    example: Example,
}

#[derive(Serialize)]
struct Field {
    path: String,
    when: String,
}

#[derive(Serialize)]
struct Tier {
    when: &'static str,
    /// What happens without Transom: `fails`, `ignored`, `unprotected` or null.
    consequence: Option<&'static str>,
    actions: Actions,
}

#[derive(Serialize)]
struct Actions {
    current: &'static str,
    #[serde(rename = "kep-116")]
    kep_116: &'static str,
}

#[derive(Serialize)]
struct Example {
    bad: &'static str,
    good: &'static str,
}

impl Record {
    fn new(rule: &'static Rule) -> Self {
        let fields = rule.fields().into_iter().flat_map(|field| {
            let when = field.when.clone();
            let with_when = move |path| Field {
                path,
                when: when.clone(),
            };
            field.paths().map(with_when).collect::<Vec<_>>()
        });
        let tiers = rule.tiers.iter().map(|tier| Tier {
            when: tier.when,
            consequence: tier.consequence.map(Consequence::name),
            actions: Actions {
                current: tier.current.name(),
                kep_116: tier.kep_116.name(),
            },
        });
        let (bad, good) = rule.guide.example();
        Self {
            code: rule.code,
            name: rule.name,
            family: rule.family().map_or("", |family| family.title),
            brief: rule.brief,
            reason: rule.reason,
            remedy: rule.remedy,
            note: rule.guide.note,
            references: rule.references,
            fields: fields.collect(),
            never: rule.never(),
            repairable: rule.is_repairable(),
            tiers: tiers.collect(),
            example: Example { bad, good },
        }
    }
}

/// These rules as an array of objects, indented.
pub fn json(rules: &[&'static Rule]) -> String {
    let records: Vec<_> = rules.iter().map(|rule| Record::new(rule)).collect();
    // Strings, lists and structs: nothing of them can fail.
    let mut text = serde_json::to_string_pretty(&records).unwrap_or_default();
    text.push('\n');
    text
}
