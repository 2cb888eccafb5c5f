//! The check of the webhooks of others that change pods after ours.

use super::objects::{Configuration, Rule};
use super::snapshot::known;
use super::{Check, Cluster, Few, Part, Told, ok, warn};

pub(super) const LATER_WEBHOOKS: Check = Check {
    name: "later-webhooks",
    looks_at: "mutating webhooks that the API server calls after Transom's, in the order of names, and that may change pods",
    helps: "`reinvocationPolicy: IfNeeded`, or [another name](coexistence.md#order-of-webhooks)",
    needs: &[Part::MutatingWebhooks, Part::ValidatingWebhooks],
    run: later_webhooks,
};

fn later_webhooks(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    let Some(own) = one.mutating else {
        return Ok(Vec::new());
    };
    let all = known(&cluster.mutating)?.iter();
    let later = all.filter(|other| other.metadata.name > own.metadata.name);
    let later: Vec<_> = later
        .filter(|other| changes_pods(other))
        .map(|other| &other.metadata.name)
        .collect();
    if later.is_empty() {
        return Ok(vec![ok("nobody changes pods after Transom")]);
    }
    let mut asking = own.webhooks.iter().filter(|entry| !entry.rules.is_empty());
    Ok(vec![
        match asking.find(|entry| entry.reinvocation_policy != "IfNeeded") {
            None => ok(format!(
                "{} may change pods after Transom, which is asked again if so",
                Few(&later)
            )),
            Some(entry) => warn(
                format!(
                    "{} may change pods after Transom, and the reinvocationPolicy of {} is Never: what they add is not patched",
                    Few(&later),
                    entry.name
                ),
                "webhook.mutating.reinvocationPolicy=IfNeeded in the chart",
            ),
        },
    ])
}

fn changes_pods(other: &Configuration) -> bool {
    let has =
        |list: &[String], wanted: &[&str]| list.iter().any(|item| wanted.contains(&item.as_str()));
    let is_of_pods = |rule: &Rule| {
        has(&rule.api_groups, &["", "*"])
            && has(&rule.resources, &["pods", "*", "*/*"])
            && has(&rule.operations, &["CREATE", "*"])
    };
    let mut rules = other.webhooks.iter().flat_map(|entry| &entry.rules);
    rules.any(is_of_pods)
}
