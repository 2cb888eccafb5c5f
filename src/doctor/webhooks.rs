//! The checks of our own webhook configurations: that they are there, and what is written in them.
//!
//! Not here: who answers (`serving`), and the webhooks of others (`others`).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::certificate::{Left, ends_of_pem};
use super::objects::{Entry, Labels};
use super::snapshot::{asking, known};
use super::{Check, Cluster, Few, Part, Said, Told, fail, ok, or_ok, warn};
use crate::os::Condition;

/// Both kinds.
const BOTH: &[Part] = &[Part::MutatingWebhooks, Part::ValidatingWebhooks];

pub(super) const INSTALLATION: Check = Check {
    name: "installation",
    looks_at: "there is one Transom: webhook configurations with entries `*.transom.dev`",
    helps: "[install it](install.md); of several, choose one with `--webhook-configuration`",
    needs: BOTH,
    run: installation,
};

pub(super) const WEBHOOK_PAIR: Check = Check {
    name: "webhook-pair",
    looks_at: "both webhook configurations are there and ask about something",
    helps: "`webhook.mutating.enabled` and `webhook.validating.enabled` of the chart",
    needs: BOTH,
    run: webhook_pair,
};

pub(super) const CA_BUNDLE: Check = Check {
    name: "ca-bundle",
    looks_at: "each entry that asks has a `caBundle`, of certificates that are valid for 14 days more",
    helps: "whoever fills it in: the log of `transom serve`, cert-manager, `webhook.caBundle`",
    needs: BOTH,
    run: ca_bundle,
};

pub(super) const TIMEOUT: Check = Check {
    name: "timeout",
    looks_at: "`timeoutSeconds` is 10 at most, since whoever creates an object waits for it",
    helps: "`webhook.*.timeoutSeconds` of the chart; 5 is its default",
    needs: BOTH,
    run: timeout,
};

pub(super) const MATCH_CONDITIONS: Check = Check {
    name: "match-conditions",
    looks_at: "the conditions are those that this version makes for the configuration in force",
    helps: "upgrade chart and program together; `transom config conditions`",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::ConfigMap,
    ],
    run: match_conditions,
};

pub(super) const EXCLUSIONS: Check = Check {
    name: "exclusions",
    looks_at: "no `namespaceSelector` lets in kube-system or Transom's own namespace",
    helps: "requirements on `kubernetes.io/metadata.name`, as the chart has them",
    needs: BOTH,
    run: exclusions,
};

fn installation(cluster: &Cluster) -> Told {
    let found = cluster.installations()?;
    if let Some(name) = cluster.chosen.as_ref().filter(|_| found.is_empty()) {
        let text = format!("there is no webhook configuration {name} with entries of Transom");
        let remedy = "give the name that kubectl get mutatingwebhookconfigurations shows";
        return Ok(vec![fail(text, remedy)]);
    }
    Ok(vec![match found.as_slice() {
        [] => warn(
            "Transom is not installed: no webhook configuration has an entry *.transom.dev",
            "transom scan -A shows what it would find; docs/install.md has the rest",
        ),
        [one] => {
            let sends = match one.service() {
                Some(service) => {
                    format!(
                        "reviews go to Service {}/{}",
                        service.namespace, service.name
                    )
                }
                None => "reviews go to a URL".to_owned(),
            };
            ok(format!("webhook configuration {}; {sends}", one.name))
        }
        several => {
            let names: Vec<_> = several.iter().map(|one| one.name).collect();
            warn(
                format!(
                    "Transom is installed {} times: {}",
                    names.len(),
                    Few(&names)
                ),
                "look at each with --webhook-configuration NAME, and remove what nobody needs",
            )
        }
    }])
}

fn webhook_pair(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    let name = one.name;
    let mut found = Vec::new();
    let sides = [
        (
            "Mutating",
            one.mutating,
            "Windows pods are not placed on Windows nodes",
        ),
        (
            "Validating",
            one.validating,
            "what Windows cannot honour is not refused",
        ),
    ];
    for (kind, side, loss) in sides {
        let what = match side {
            Some(side) if asking(side).next().is_some() => continue,
            Some(_) => format!("{kind}WebhookConfiguration {name} asks about nothing"),
            None => format!("there is no {kind}WebhookConfiguration {name}"),
        };
        let remedy = format!(
            "turn it on in the chart: webhook.{}.enabled=true",
            kind.to_lowercase()
        );
        found.push(warn(format!("{what}: {loss}"), remedy));
    }
    or_ok(found, || "objects are patched and judged".to_owned())
}

/// As long before its end a caBundle should have been replaced, whoever does that.
const SOON: i64 = 14;

fn ca_bundle(cluster: &Cluster) -> Told {
    const FILLED_BY: &str = "it is filled in by transom serve (look at its log), by cert-manager (look at the annotation \
         cert-manager.io/inject-ca-from and at its log), or by webhook.caBundle of the chart";
    let one = cluster.the_installation()?;
    // Entries with the same trouble are one line.
    let mut troubles = BTreeMap::<String, Vec<&str>>::new();
    let mut least = i64::MAX;
    for entry in one.asking() {
        let bundle = entry.client_config.ca_bundle.as_deref();
        // The API server writes nothing else than base64.
        let pem = STANDARD.decode(bundle.unwrap_or_default());
        let last = ends_of_pem(&pem.unwrap_or_default()).into_iter().max();
        let trouble = match last.map(|end| Left::until(end, cluster.now)) {
            None => "there is no CA certificate".to_owned(),
            Some(Left::Nothing) => "there are only expired certificates".to_owned(),
            Some(Left::Days(days)) if days < SOON => format!("there are only {days} days left"),
            Some(Left::Days(days)) => {
                least = least.min(days);
                continue;
            }
        };
        troubles.entry(trouble).or_default().push(&entry.name);
    }
    let found = troubles.into_iter().map(|(trouble, names)| {
        let text = format!("{trouble} in the caBundle of {}", Few(&names));
        match trouble.ends_with(" left") {
            true => warn(text, FILLED_BY),
            false => fail(
                format!("{text}: API servers do not trust the webhook"),
                FILLED_BY,
            ),
        }
    });
    or_ok(found.collect(), || {
        format!("the caBundle has {least} days left")
    })
}

/// The default of the API.
const LONGEST: u32 = 10;

fn timeout(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    let found = one
        .asking()
        .filter(|entry| entry.timeout_seconds > LONGEST)
        .map(|entry| {
            let Entry {
                name,
                timeout_seconds,
                ..
            } = entry;
            warn(
                format!(
                    "{name} waits up to {timeout_seconds} s: so long does every object wait while nobody answers"
                ),
                "set webhook.mutating.timeoutSeconds and webhook.validating.timeoutSeconds to 5",
            )
        });
    or_ok(found.collect(), || {
        let longest = one.asking().map(|entry| entry.timeout_seconds).max();
        format!("{} s at most", longest.unwrap_or_default())
    })
}

fn match_conditions(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    let policy = &cluster.settings()?.policy;
    let mut stale = Vec::new();
    let mut used = Vec::new();
    for entry in one.asking() {
        for condition in &entry.match_conditions {
            let made = Condition::ALL
                .into_iter()
                .find(|made| made.name() == condition.name);
            let Some(made) = made else { continue };
            match policy.expression(made) == condition.expression.trim() {
                true => used.push(made.name()),
                false => stale.push(entry.name.as_str()),
            }
        }
    }
    used.dedup();
    stale.dedup();
    if !stale.is_empty() {
        let text = format!(
            "the matchConditions of {} are of another version or configuration: Windows pods may pass unseen",
            Few(&stale)
        );
        let remedy = "helm upgrade to the chart of the version that runs; by hand: transom config conditions --config FILE";
        return Ok(vec![warn(text, remedy)]);
    }
    let others = one.asking().flat_map(|entry| &entry.match_conditions);
    let others: BTreeSet<_> = others.map(|condition| &condition.name).collect();
    Ok(vec![ok(match used.as_slice() {
        [] if others.is_empty() => {
            "every object is asked about: there are no matchConditions".to_owned()
        }
        [] => format!(
            "none of this version; what is asked about is decided by {}",
            Few(&others.iter().collect::<Vec<_>>())
        ),
        used => format!("{}, for the configuration in force", Few(used)),
    })])
}

fn exclusions(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    let own = one.service().map(|service| service.namespace.as_str());
    let own = own.filter(|own| *own != "kube-system");
    let namespaces = known(&cluster.namespaces).ok();
    let mut found = Vec::<Said>::new();
    for name in ["kube-system"].into_iter().chain(own) {
        let labels = namespaces.and_then(|all| all.get(name));
        let labels = labels_of(name, labels.unwrap_or(&Labels::new()));
        let lets_in = |entry: &&Entry| entry.namespace_selector.matches(&labels);
        let entries: Vec<_> = one.asking().filter(lets_in).map(|e| &e.name).collect();
        if !entries.is_empty() {
            found.push(fail(
                format!(
                    "the namespaceSelector of {} lets in {name}: what the cluster, or Transom itself, needs to start can wait \
                     for Transom",
                    Few(&entries)
                ),
                format!(
                    "add {{key: kubernetes.io/metadata.name, operator: NotIn, values: [{name}]}} to its matchExpressions, as \
                     the chart does"
                ),
            ));
        }
    }
    or_ok(found, || {
        let names: Vec<_> = ["kube-system"].into_iter().chain(own).collect();
        format!("nothing in {} is asked about", Few(&names))
    })
}

/// The labels of a namespace as selectors see them: each has that of its name.
pub(super) fn labels_of(name: &str, labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    let key = "kubernetes.io/metadata.name";
    labels.insert(key.to_owned(), name.to_owned());
    labels
}
