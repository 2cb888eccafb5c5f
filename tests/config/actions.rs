//! What the settings make of the rules' actions.

use serde_json::json;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::rules::Action::{Deny, Off, Repair, Warn};
use transom::rules::{self, Action, Consequence, Profile, Rule};

use super::common::{ask_with, create, object_of, policy};

/// An action that is set becomes the first tier's, and no other tier exceeds it.
#[test]
fn actions_bound_all_tiers() {
    const KEP: &str = "profile: kep-116\n";
    let kep = |rules: &str| format!("{KEP}{rules}");
    for (yaml, code, want) in [
        (
            "rules: {WIN113: deny}".to_owned(),
            "WIN113",
            vec![Deny, Repair],
        ),
        (
            "rules: {WIN113: repair}".to_owned(),
            "WIN113",
            vec![Repair, Repair],
        ),
        (
            "rules: {WIN113: warn}".to_owned(),
            "WIN113",
            vec![Warn, Warn],
        ),
        ("rules: {WIN113: off}".to_owned(), "WIN113", vec![Off, Off]),
        (
            "rules: {seccomp: repair}".to_owned(),
            "WIN110",
            vec![Repair, Repair, Warn],
        ),
        (
            "rules: {seccomp: warn}".to_owned(),
            "WIN110",
            vec![Warn, Warn, Warn],
        ),
        (
            "rules: {linux-volume-type: deny}".to_owned(),
            "WIN308",
            vec![Deny, Warn, Off],
        ),
        (
            "rules: {linux-volume-type: warn}".to_owned(),
            "WIN308",
            vec![Warn, Warn, Off],
        ),
        (
            "rules: {linux-volume-type: off}".to_owned(),
            "WIN308",
            vec![Off, Off, Off],
        ),
        ("rules: {WIN301: deny}".to_owned(), "WIN301", vec![Deny]),
        ("rules: {WIN116: deny}".to_owned(), "WIN116", vec![Deny]),
        (
            "rules: {WIN601: warn}".to_owned(),
            "WIN601",
            vec![Warn, Warn],
        ),
        ("rules: {WIN101: repair}".to_owned(), "WIN101", vec![Repair]),
        (
            kep("rules: {WIN111: repair}"),
            "WIN111",
            vec![Repair, Repair],
        ),
        (kep("rules: {WIN111: deny}"), "WIN111", vec![Deny, Deny]),
        (kep("rules: {WIN309: warn}"), "WIN309", vec![Warn]),
    ] {
        let policy = policy(&yaml);
        assert_eq!(policy.actions(Rule::find(code).unwrap()), want, "{yaml}");
        let profile = match yaml.starts_with(KEP) {
            true => Profile::Kep116,
            false => Profile::Current,
        };
        for rule in rules::all().filter(|rule| rule.code != code) {
            let default: Vec<_> = rule.tiers.iter().map(|t| t.action(profile)).collect();
            assert_eq!(policy.actions(rule), default, "{yaml}: {}", rule.code);
        }
    }
}

/// The switch lowers what Windows ignores, and nothing else.
#[test]
fn lowers_the_actions_of_ignored_fields_only() {
    for (value, lowered) in [("deny", Deny), ("warn", Warn), ("repair", Repair)] {
        let policy = policy(&format!("ignoredFields: {value}"));
        let mut count = 0;
        for rule in rules::all() {
            for (tier, action) in rule.tiers.iter().zip(policy.actions(rule)) {
                let is_ignored = tier.consequence == Some(Consequence::Ignored);
                let want = match tier.current {
                    Deny if is_ignored => {
                        count += 1;
                        lowered
                    }
                    current => current,
                };
                assert_eq!(*action, want, "{value}: {} {}", rule.code, tier.when);
            }
        }
        assert_eq!(count, 15, "{value}");
    }
}

#[test]
fn keeps_the_actions_of_kep_116_whatever_the_switch_says() {
    let want = policy("profile: kep-116");
    for value in ["deny", "warn", "repair"] {
        let policy = policy(&format!("profile: kep-116\nignoredFields: {value}"));
        for rule in rules::all() {
            assert_eq!(
                policy.actions(rule),
                want.actions(rule),
                "{value}: {}",
                rule.code
            );
        }
    }
}

/// An action set for a single rule takes precedence over the switch.
#[test]
fn keeps_the_action_of_a_rule_over_the_switch() {
    for (yaml, code, want) in [
        (
            "ignoredFields: warn\nrules: {WIN101: deny}",
            "WIN101",
            vec![Deny],
        ),
        (
            "ignoredFields: deny\nrules: {WIN101: warn}",
            "WIN101",
            vec![Warn],
        ),
        (
            "ignoredFields: warn\nrules: {run-as-user: repair}",
            "WIN101",
            vec![Repair],
        ),
        (
            "ignoredFields: warn\nrules: {WIN113: deny}",
            "WIN113",
            vec![Deny, Repair],
        ),
        (
            "ignoredFields: warn\nrules: {WIN113: \"off\"}",
            "WIN113",
            vec![Off, Off],
        ),
        // What the switch makes it anyway changes nothing.
        (
            "ignoredFields: warn\nrules: {WIN113: warn}",
            "WIN113",
            vec![Warn, Repair],
        ),
        (
            "ignoredFields: repair\nrules: {WIN113: warn}",
            "WIN113",
            vec![Warn, Warn],
        ),
        (
            "ignoredFields: repair\nrules: {WIN115: warn}",
            "WIN115",
            vec![Warn, Warn],
        ),
    ] {
        let policy = policy(yaml);
        assert_eq!(policy.actions(Rule::find(code).unwrap()), want, "{yaml}");
        let other = Rule::find("WIN106").unwrap();
        let switch = yaml.split_whitespace().nth(1).unwrap();
        let switch = Action::ALL
            .into_iter()
            .find(|action| action.name() == switch);
        assert_eq!(policy.actions(other).first().copied(), switch, "{yaml}");
    }
}

/// A rule that was off is read and judged once it is switched on, and the other way round.
#[test]
fn rules_are_switched_on_and_off() {
    let object = object_of(
        "Pod",
        json!({"os": {"name": "windows"}, "terminationGracePeriodSeconds": 5, "hostNetwork": true}),
    );
    for (yaml, deny) in [
        ("", vec!["WIN201 spec.hostNetwork"]),
        ("rules: {WIN201: 'off'}", vec![]),
        (
            "rules: {termination-grace-period: deny}",
            vec![
                "WIN201 spec.hostNetwork",
                "WIN502 spec.terminationGracePeriodSeconds",
            ],
        ),
    ] {
        let answer = ask_with(
            Endpoint::Validate,
            &create(&object),
            &policy(yaml),
            &Facts::default(),
        );
        assert_eq!(answer.deny, deny, "{yaml}");
    }
}
