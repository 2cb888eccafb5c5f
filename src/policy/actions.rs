//! The action of each case of each rule: the profile's, lowered by `ignoredFields`, replaced by
//! `rules`.
//!
//! Not here: what an action leads to for one object (`decision`).

use std::collections::HashSet;

use crate::config::{Config, IgnoredFields};
use crate::rules::{self, Action, Consequence, Profile, Rule, RuleId};

/// The actions of all rules.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    /// For each rule, the action of each tier.
    pub(super) all: Vec<Vec<Action>>,
    /// The tiers of which `ignoredFields: warn` makes warnings.
    lowered: HashSet<(RuleId, u8)>,
}

impl Actions {
    pub(super) fn of(config: &Config) -> Self {
        let mut all: Vec<_> = rules::all().map(|rule| defaults(config, rule)).collect();
        for (name, action) in &config.rules {
            if let Some(id) = rules::find(name) {
                set(&mut all[usize::from(id)], (*action).into());
            }
        }
        let mut lowered = HashSet::new();
        for (rule, actions) in rules::all().zip(&all) {
            // Fewer tiers than 256.
            for (tier, action) in (0u8..).zip(actions) {
                let is_warning =
                    *action == Action::Warn && config.ignored_fields == IgnoredFields::Warn;
                if is_warning && is_lowered(config, rule, tier) {
                    lowered.extend(rules::id(rule.code).map(|id| (id, tier)));
                }
            }
        }
        Self { all, lowered }
    }

    pub(super) fn get(&self, rule: RuleId, tier: u8) -> Action {
        self.all[usize::from(rule)][usize::from(tier)]
    }

    /// Warns of a rule that is off.
    pub(super) fn turn_on(&mut self, rule: RuleId) {
        for action in &mut self.all[usize::from(rule)] {
            *action = (*action).max(Action::Warn);
        }
    }

    pub(super) fn is_lowered(&self, rule: RuleId, tier: u8) -> bool {
        self.lowered.contains(&(rule, tier))
    }

    /// Whether no case of this rule has any effect.
    pub(super) fn is_silent(&self, rule: RuleId) -> bool {
        let mut actions = self.all[usize::from(rule)].iter();
        actions.all(|action| *action == Action::Off)
    }
}

/// The action that the configuration sets becomes that of the first tier, and no other tier
/// exceeds it. An action that the first tier has already changes nothing: lowered by
/// `ignoredFields`, it can be below that of later tiers, which repair harmless values.
fn set(actions: &mut [Action], action: Action) {
    if let [first, others @ ..] = actions
        && *first != action
    {
        *first = action;
        others
            .iter_mut()
            .for_each(|other| *other = action.min(*other));
    }
}

/// The actions of a rule that the configuration does not name.
pub(super) fn defaults(config: &Config, rule: &Rule) -> Vec<Action> {
    let profile = Profile::from(config.profile);
    // Fewer tiers than 256.
    let tiers = (0u8..).zip(rule.tiers);
    let defaults = tiers.map(|(i, tier)| {
        let action = tier.action(profile);
        match config.ignored_fields {
            _ if !is_lowered(config, rule, i) => action,
            IgnoredFields::Repair if rule.is_tier_repairable(i) => Action::Repair,
            _ => Action::Warn,
        }
    });
    defaults.collect()
}

/// Whether `ignoredFields` lowers the default action of this tier.
fn is_lowered(config: &Config, rule: &Rule, tier: u8) -> bool {
    let highest = match config.ignored_fields {
        IgnoredFields::Deny => return false,
        IgnoredFields::Warn => Action::Warn,
        IgnoredFields::Repair => Action::Repair,
    };
    Profile::from(config.profile) == Profile::Current
        && rule.tiers.get(usize::from(tier)).is_some_and(|tier| {
            tier.consequence == Some(Consequence::Ignored) && tier.current > highest
        })
}
