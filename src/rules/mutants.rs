//! One change to the rule table, chosen by an environment variable, to see whether a test notices.
//!
//! Part of the program only with the feature `mutants`, which `just mutants` alone turns on.

use super::check::{Case, Check, Skip, Test};
use super::{Action, Consequence, Rule, Tier};
use crate::object::demand::Anchor;

/// The number of the change; without it, there is none.
pub const VARIABLE: &str = "TRANSOM_MUTANT";

/// A change, in words, and the table's row after it.
pub struct Mutant {
    /// Such as `WIN113 check 0: refused`.
    pub name: String,
    row: usize,
    rule: Rule,
}

/// Every change to every row, one at a time.
pub fn all() -> Vec<Mutant> {
    let mut all = Vec::new();
    for (row, rule) in super::table::unchanged().into_iter().enumerate() {
        for (what, rule) in of_rule(rule) {
            let name = format!("{} {what}", rule.code);
            all.push(Mutant { name, row, rule });
        }
    }
    all
}

/// The table with the change that is asked for.
pub(super) fn change(mut rules: Vec<&'static Rule>) -> Vec<&'static Rule> {
    let asked = std::env::var(VARIABLE).ok().and_then(|n| n.parse().ok());
    if let Some(mutant) = asked.and_then(|n: usize| all().into_iter().nth(n)) {
        rules[mutant.row] = keep(mutant.rule);
    }
    rules
}

fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn list<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}

fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// Each list with one element replaced or, by `None`, taken out.
fn each<T: Clone + 'static>(
    values: &[T],
    change: impl Fn(&T) -> Vec<(String, Option<T>)>,
) -> Vec<(String, &'static [T])> {
    let mut all = Vec::new();
    for (i, value) in values.iter().enumerate() {
        for (what, changed) in change(value) {
            let mut changed_list = values.to_vec();
            changed_list.splice(i..=i, changed);
            all.push((format!("{i}: {what}"), list(changed_list)));
        }
    }
    all
}

fn of_rule(rule: &'static Rule) -> Vec<(String, Rule)> {
    let word = |words: &'static str| text(format!("{words} changed"));
    let mut all = vec![
        (
            "brief".to_owned(),
            Rule {
                brief: word(rule.brief),
                ..*rule
            },
        ),
        (
            "reason".to_owned(),
            Rule {
                reason: word(rule.reason),
                ..*rule
            },
        ),
        (
            "remedy".to_owned(),
            Rule {
                remedy: word(rule.remedy),
                ..*rule
            },
        ),
        (
            "name".to_owned(),
            Rule {
                name: text(format!("{}-changed", rule.name)),
                ..*rule
            },
        ),
        (
            "a reference less".to_owned(),
            Rule {
                references: &rule.references[1..],
                ..*rule
            },
        ),
    ];
    let tiers = each(rule.tiers, |tier| {
        let other = |action: Action| match action {
            Action::Off => Action::Warn,
            Action::Warn => Action::Deny,
            Action::Repair | Action::Deny => Action::Warn,
        };
        let when = text(format!("{} changed", tier.when));
        vec![
            (
                "current".to_owned(),
                Some(Tier {
                    current: other(tier.current),
                    ..*tier
                }),
            ),
            (
                "kep-116".to_owned(),
                Some(Tier {
                    kep_116: other(tier.kep_116),
                    ..*tier
                }),
            ),
            ("when".to_owned(), Some(Tier { when, ..*tier })),
            (
                "consequence".to_owned(),
                Some(Tier {
                    consequence: match tier.consequence {
                        Some(Consequence::Ignored) => Some(Consequence::Fails),
                        _ => Some(Consequence::Ignored),
                    },
                    ..*tier
                }),
            ),
        ]
    });
    all.extend(
        tiers
            .into_iter()
            .map(|(what, tiers)| (format!("tier {what}"), Rule { tiers, ..*rule })),
    );
    let tiers = rule.tiers.len();
    let checks = each(rule.checks, |check| of_check(check, tiers));
    all.extend(
        checks
            .into_iter()
            .map(|(what, checks)| (format!("check {what}"), Rule { checks, ..*rule })),
    );
    if rule.by_pod.is_some() {
        all.push((
            "by_pod: none".to_owned(),
            Rule {
                by_pod: None,
                ..*rule
            },
        ));
    }
    all
}

fn of_check(check: &Check, tiers: usize) -> Vec<(String, Option<Check>)> {
    let mut all = vec![
        ("none".to_owned(), None),
        (
            "field".to_owned(),
            Some(Check {
                field: text(format!("{}X", check.field)),
                ..*check
            }),
        ),
        (
            "refused".to_owned(),
            Some(Check {
                refused: !check.refused,
                ..*check
            }),
        ),
    ];
    if check.by_scc {
        let changed = Check {
            by_scc: false,
            ..*check
        };
        all.push(("by_scc".to_owned(), Some(changed)));
    }
    // What the API server accepts is /validate's alone anyway.
    if check.refused {
        let validate_only = !check.validate_only;
        let changed = Check {
            validate_only,
            ..*check
        };
        all.push(("validate_only".to_owned(), Some(changed)));
    }
    // What is only read skips nothing, and a Service has no containers.
    if !check.cases.is_empty() && check.anchor != Anchor::Service {
        let skip = match check.skip {
            Skip::Nothing => Skip::HostProcess,
            _ => Skip::Nothing,
        };
        all.push((format!("skip {skip:?}"), Some(Check { skip, ..*check })));
    }
    // true and false exclude each other, so that their order is no matter.
    let exclusive = check
        .cases
        .iter()
        .all(|case| matches!(case.test, Test::Is(_)));
    if check.cases.len() > 1 && !exclusive {
        let reversed = list(check.cases.iter().rev().copied().collect());
        let changed = Check {
            cases: reversed,
            ..*check
        };
        all.push(("cases reversed".to_owned(), Some(changed)));
    }
    let cases = each(check.cases, |case| of_case(case, tiers));
    all.extend(
        cases
            .into_iter()
            .map(|(what, cases)| (format!("case {what}"), Some(Check { cases, ..*check }))),
    );
    all
}

fn of_case(case: &Case, tiers: usize) -> Vec<(String, Option<Case>)> {
    let mut all = vec![("none".to_owned(), None)];
    if tiers > 1 {
        let tier = (case.tier + 1) % tiers as u8;
        all.push((format!("tier {tier}"), Some(Case { tier, ..*case })));
    }
    let tests = of_test(&case.test);
    all.extend(
        tests
            .into_iter()
            .map(|test| (format!("{test:?}"), Some(Case { test, ..*case }))),
    );
    all
}

fn of_test(test: &Test) -> Vec<Test> {
    let less = |values: &[&'static str]| each(values, |_| vec![(String::new(), None)]);
    let less = |values| less(values).into_iter().map(|(_, values)| values);
    match test {
        Test::Is(wanted) => vec![Test::Is(!wanted)],
        Test::OneOf(values) => less(values).map(Test::OneOf).collect(),
        Test::NoneOf(values) => less(values).map(Test::NoneOf).collect(),
        Test::Under(roots, others) => {
            let less_roots = less(roots).map(|roots| Test::Under(roots, others));
            let less_others = less(others).map(|others| Test::Under(roots, others));
            less_roots.chain(less_others).collect()
        }
        Test::StartsWith(prefix) => vec![
            Test::StartsWith(&prefix[1..]),
            Test::StartsWith(&prefix[..prefix.len() - 1]),
        ],
        Test::NonEmpty => vec![Test::Set, Test::Empty],
        Test::NotBlank => vec![Test::Set],
        Test::NumberOtherThan(usual) => vec![Test::NumberOtherThan(usual + 1)],
        Test::ModeWithout(bits) => (0..9)
            .filter(|bit| bits & (1 << bit) != 0)
            .map(|bit| Test::ModeWithout(bits & !(1 << bit)))
            .collect(),
        Test::InHostProcess(inner) => vec![**inner],
        Test::Child(path, inner) => {
            let inner = of_test(inner).into_iter();
            inner.map(|inner| Test::Child(path, keep(inner))).collect()
        }
        Test::Set | Test::Present | Test::Empty | Test::By(..) => Vec::new(),
    }
}
