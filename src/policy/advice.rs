//! What is valid in a configuration and probably not what was meant; and the summary of one.
//!
//! Not here: what cannot be (`check`).

use super::Policy;
use super::show::is_changed;
use crate::config::{Config, IgnoredFields, Problem, Written};
use crate::rules::{self, Action, Profile, Rule};
use crate::yaml::Path;

/// What somebody should look at again, in the order of the file.
pub fn advice(written: &Written, policy: &Policy) -> Vec<Problem> {
    let config = &written.config;
    let mut problems = Vec::new();
    let exempt = &config.exemptions.namespaces;
    if !exempt.iter().any(|name| name == "kube-system") {
        let problem =
            "kube-system is not exempt: what the cluster needs to run can be refused; add it";
        problems.push(Problem::value("exemptions.namespaces", problem));
    }
    for name in config
        .namespaces
        .keys()
        .filter(|name| exempt.contains(name))
    {
        let path = Path::Key(&Path::Key(&Path::Root, "namespaces"), name).to_string();
        let problem = "changes nothing: the namespace is exempt (exemptions.namespaces)";
        problems.push(Problem::key(path, problem));
    }
    usual_rules(written, policy, &mut problems);
    let is_off = |rule: &Rule| {
        policy
            .actions(rule)
            .iter()
            .all(|action| *action == Action::Off)
    };
    if !config.host_process.namespaces.is_empty() && Rule::find("WIN117").is_some_and(is_off) {
        let problem = "changes nothing: rule WIN117 (host-process) is off";
        problems.push(Problem::value("hostProcess.namespaces", problem));
    }
    if !config.placement.learn_taint_keys.is_empty() && !config.placement.learn_taints {
        let problem = "changes nothing: nothing is learnt from taints (placement.learnTaints)";
        problems.push(Problem::value("placement.learnTaintKeys", problem));
    }
    ignored_fields(config, &mut problems);
    let mut problems = written.locate(problems);
    problems.sort_by_key(|problem| problem.place);
    problems
}

/// A switch without effect.
fn ignored_fields(config: &Config, problems: &mut Vec<Problem>) {
    let problem = match (config.ignored_fields, Profile::from(config.profile)) {
        (IgnoredFields::Deny, _) => return,
        (_, Profile::Kep116) => "changes nothing: profile kep-116 does not use it",
        (IgnoredFields::Repair, Profile::Current) if !config.placement.repair => {
            "has the effect of warn: placement.repair is false, so no field is removed"
        }
        _ => return,
    };
    problems.push(Problem::value("ignoredFields", problem));
}

/// More rules than this were written down for the record, as `transom config show` does.
const MAX_USUAL: usize = 3;

/// Rules that are set to what they are anyway.
fn usual_rules(written: &Written, policy: &Policy, problems: &mut Vec<Problem>) {
    let config = &written.config;
    let is_usual = |name: &str| {
        let rule = Rule::find(name);
        rule.is_some_and(|rule| !is_changed(policy, written, rule))
    };
    let usual: Vec<_> = config
        .rules
        .iter()
        .filter(|(name, _)| is_usual(name))
        .collect();
    let profile = Profile::from(config.profile).name();
    if usual.len() > MAX_USUAL {
        let (usual, all) = (usual.len(), config.rules.len());
        let problem = format!("{usual} of {all} change nothing: profile {profile} has the same");
        problems.push(Problem::key("rules", problem));
        return;
    }
    for (name, action) in usual {
        let set = Action::from(*action);
        let action = set.name();
        let default = Rule::find(name).map(|rule| rule.tiers[0].action(config.profile.into()));
        let problem = match default == Some(set) {
            true => format!("changes nothing: {action} is the default of profile {profile}"),
            false => format!("changes nothing: ignoredFields makes it {action} already"),
        };
        problems.push(Problem::value(format!("rules.{name}"), problem));
    }
}

/// Profile, mode, and how many rules are not as the profile has them.
pub fn summary(written: &Written, policy: &Policy) -> String {
    let changed = rules::all()
        .filter(|rule| is_changed(policy, written, rule))
        .count();
    let rules = match changed {
        0 => "no rule changed".to_owned(),
        1 => "1 rule changed".to_owned(),
        n => format!("{n} rules changed"),
    };
    let profile = Profile::from(written.config.profile).name();
    let ignored_fields = match written.config.ignored_fields {
        IgnoredFields::Deny => String::new(),
        other => format!("ignoredFields {}, ", other.name()),
    };
    format!(
        "profile {profile}, mode {}, {ignored_fields}{rules}",
        policy.mode.name()
    )
}
