//! All rows in one table, made once: by code, by name, by place, and the words of messages.

use std::sync::LazyLock;

use super::check::Check;
use super::evaluate::ByPod;
use super::{FAMILIES, Rule};
use crate::workload::Kind;

/// A rule's place in the table.
pub(crate) type RuleId = u16;

pub(super) struct Table {
    pub(super) rules: Vec<&'static Rule>,
    pub(super) checks: Vec<(RuleId, &'static Check)>,
    /// With the number of the rule's tiers.
    pub(super) by_pod: Vec<(RuleId, u8, ByPod)>,
    pub(super) told: Vec<Told>,
}

/// What messages say of a rule, put together once.
pub(crate) struct Told {
    /// Behind field and value, in a denial: for each tier.
    full: Vec<String>,
    /// In one line.
    pub(crate) brief: String,
}

impl Told {
    fn new(rule: &Rule) -> Self {
        let Rule {
            code, name, brief, ..
        } = rule;
        let full = |tier| {
            let (reason, remedy) = rule.words(tier);
            format!(" [{code} {name}] {reason} {remedy}")
        };
        // Fewer tiers than 256.
        let tiers = 0..rule.tiers.len() as u8;
        Self {
            full: tiers.map(full).collect(),
            brief: format!("{code} {name}: {brief}"),
        }
    }

    /// Reason and remedy for a tier.
    pub(crate) fn full(&self, tier: u8) -> &str {
        self.full.get(usize::from(tier)).map_or("", String::as_str)
    }
}

/// All rows, sorted by code.
pub(super) fn unchanged() -> Vec<&'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules).collect()
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rules = unchanged();
    #[cfg(feature = "mutants")]
    let rules = super::mutants::change(rules);
    let checks = rules
        .iter()
        .enumerate()
        // Fewer rules than 65,536.
        .flat_map(|(id, rule)| rule.checks.iter().map(move |check| (id as RuleId, check)))
        .collect();
    let by_pod = rules.iter().zip(0..);
    let by_pod = by_pod
        // Fewer tiers than 256.
        .filter_map(|(rule, id)| Some((id, rule.tiers.len() as u8, rule.by_pod?)))
        .collect();
    let told = rules.iter().map(|rule| Told::new(rule)).collect();
    Table {
        rules,
        checks,
        by_pod,
        told,
    }
});

/// The whole table, sorted by code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    TABLE.rules.iter().copied()
}

/// The rule's place in the table.
pub(crate) fn id(code: &str) -> Option<RuleId> {
    let at = TABLE.rules.iter().position(|rule| rule.code == code)?;
    RuleId::try_from(at).ok()
}

/// The rules that are about Services.
pub(crate) fn of_services() -> impl Iterator<Item = RuleId> {
    let checks = TABLE.checks.iter();
    let checks = checks.filter(|(_, check)| check.is_for(Kind::Service));
    checks.map(|(rule, _)| *rule)
}

/// The rule at a place of the table.
pub(crate) fn by_id(id: RuleId) -> &'static Rule {
    TABLE.rules[usize::from(id)]
}

/// The place of the rule with this code or name.
pub(crate) fn find(name: &str) -> Option<RuleId> {
    id(Rule::find(name)?.code)
}

/// The places of the rules that the evidence itself makes findings of.
pub(crate) static OS_CONFLICT: LazyLock<RuleId> =
    LazyLock::new(|| id("WIN601").unwrap_or_default());
pub(crate) static MIXED_OS: LazyLock<RuleId> = LazyLock::new(|| id("WIN602").unwrap_or_default());
pub(crate) static UNPLACED: LazyLock<RuleId> = LazyLock::new(|| id("WIN604").unwrap_or_default());
pub(crate) static MISSING_OS_SELECTOR: LazyLock<RuleId> =
    LazyLock::new(|| id("WIN608").unwrap_or_default());
