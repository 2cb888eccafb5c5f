//! The checks of Windows nodes, and of the RuntimeClasses that lead to them.

use std::collections::BTreeMap;

use super::objects::Node;
use super::selector::is_part_of;
use super::snapshot::{asking, class_facts, facts_of, known};
use super::{Check, Cluster, Few, Part, Told, Unasked, count, fail, ok, or_ok, quantity, warn};
use crate::facts::{NodeFacts, Taint};
use crate::os::{Condition, Os, class_os};
use crate::placement::Toleration;

pub(super) const WINDOWS_NODES: Check = Check {
    name: "windows-nodes",
    looks_at: "there are Windows nodes; their builds and taints",
    helps: "[nodes](windows-on-kubernetes.md#deploying-windows-nodes); a pool may be scaled to none",
    needs: &[Part::Nodes],
    run: windows_nodes,
};

pub(super) const TOLERATIONS: Check = Check {
    name: "tolerations",
    looks_at: "what Windows pods are given tolerates the taints of Windows nodes, as the webhook itself decides it",
    helps: "`placement.tolerations`, `placement.learnTaints`, `placement.learnTaintKeys`",
    needs: &[Part::Nodes, Part::ConfigMap],
    run: tolerations,
};

pub(super) const UNTAINTED_NODES: Check = Check {
    name: "untainted-nodes",
    looks_at: "Windows nodes keep away pods that do not say where they belong",
    helps: "a taint, or `linuxGuard: true`",
    needs: &[Part::Nodes, Part::ConfigMap],
    run: untainted_nodes,
};

pub(super) const RESERVED_MEMORY: Check = Check {
    name: "reserved-memory",
    looks_at: "Windows nodes offer less memory than they have, by more than the kubelet's default of 500 MiB",
    helps: "[memory reservation](windows-on-kubernetes.md#memory-reservation)",
    needs: &[Part::Nodes],
    run: reserved_memory,
};

pub(super) const RUNTIME_CLASSES: Check = Check {
    name: "runtime-classes",
    looks_at: "each RuntimeClass for Windows has a node that its `scheduling.nodeSelector` fits",
    helps: "mend its labels, or delete it",
    needs: &[Part::Nodes, Part::RuntimeClasses, Part::ConfigMap],
    run: runtime_classes,
};

/// The Windows nodes, with what the webhook knows of each.
fn windows(cluster: &Cluster) -> Result<Vec<(&Node, NodeFacts)>, Unasked> {
    let nodes = known(&cluster.nodes)?.iter();
    let nodes = nodes.map(|node| (node, facts_of(node)));
    Ok(nodes
        .filter(|(_, facts)| facts.os == Some(Os::Windows))
        .collect())
}

/// The same, where without one there is nothing to say.
fn some_windows(cluster: &Cluster) -> Result<Vec<(&Node, NodeFacts)>, Unasked> {
    let nodes = windows(cluster)?;
    match nodes.is_empty() {
        true => Err(Unasked::Nothing),
        false => Ok(nodes),
    }
}

/// Nodes by what they have in common.
fn grouped<'n>(
    nodes: impl IntoIterator<Item = (&'n Node, String)>,
) -> BTreeMap<String, Vec<&'n str>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for (node, key) in nodes {
        groups
            .entry(key)
            .or_default()
            .push(node.metadata.name.as_str());
    }
    groups
}

fn taint(taint: &Taint) -> String {
    Toleration::of_taint(taint).taint()
}

/// Set and taken away by Kubernetes itself and by autoscalers, when a node is not to be used for a while.
fn is_passing(taint: &Taint) -> bool {
    const CONDITIONS: [&str; 8] = [
        "not-ready",
        "unreachable",
        "unschedulable",
        "memory-pressure",
        "disk-pressure",
        "pid-pressure",
        "network-unavailable",
        "out-of-service",
    ];
    let key = taint.key.as_str();
    let condition = key.strip_prefix("node.kubernetes.io/");
    condition.is_some_and(|condition| CONDITIONS.contains(&condition))
        || key.starts_with("node.cloudprovider.kubernetes.io/")
        || key.starts_with("karpenter.sh/")
        || [
            "ToBeDeletedByClusterAutoscaler",
            "DeletionCandidateOfClusterAutoscaler",
        ]
        .contains(&key)
}

/// What keeps pods away from a node as long as nobody changes the node.
fn lasting(facts: &NodeFacts) -> impl Iterator<Item = &Taint> {
    facts.taints.iter().filter(|taint| !is_passing(taint))
}

fn windows_nodes(cluster: &Cluster) -> Told {
    let nodes = windows(cluster)?;
    if nodes.is_empty() {
        return Ok(vec![warn(
            "there is no Windows node: Windows pods stay Pending",
            "add one, or let the autoscaler: docs/windows-on-kubernetes.md",
        )]);
    }
    let described = nodes.iter().map(|(node, facts)| {
        let taints: Vec<_> = facts.taints.iter().map(taint).collect();
        let taints = match taints.is_empty() {
            true => "no taint".to_owned(),
            false => Few(&taints).to_string(),
        };
        let build = facts.build.as_deref().unwrap_or("build unknown");
        (*node, format!("{build}, {taints}"))
    });
    let groups = grouped(described).into_iter();
    let groups: Vec<_> = groups
        .map(|(what, names)| format!("{} ({what})", Few(&names)))
        .collect();
    Ok(vec![ok(format!(
        "{}: {}",
        count(nodes.len(), "Windows node"),
        groups.join("; ")
    ))])
}

fn tolerations(cluster: &Cluster) -> Told {
    let placement = &cluster.settings()?.policy.placement;
    let nodes = some_windows(cluster)?;
    let facts = cluster.node_facts()?;
    // Who does not watch nodes learns nothing from them.
    let watches = cluster.watches("--watch-nodes");
    let shared = if watches { facts.shared() } else { &[] };
    let kept_away = nodes.iter().filter_map(|(node, facts)| {
        let build = facts.build.as_deref();
        let missing = lasting(facts).filter(|taint| !placement.tolerates(taint, build, shared));
        let missing: Vec<_> = missing.map(taint).collect();
        (!missing.is_empty()).then(|| (*node, Few(&missing).to_string()))
    });
    let kept_away = grouped(kept_away);
    let number: usize = kept_away.values().map(Vec::len).sum();
    let learns = placement.learning.is_some();
    let remedy = match (learns, watches) {
        (true, false) => "placement.learnTaints needs --watch-nodes: watchNodes=true in the chart",
        (true, true) => {
            "add them to placement.tolerations, or, if all Windows nodes have them, their keys to placement.learnTaintKeys; \
             leave them if they are for certain pods alone"
        }
        (false, _) => {
            "add them to placement.tolerations, or set placement.learnTaints: true; leave them if they are for certain pods \
             alone"
        }
    };
    let found = kept_away.into_iter().map(|(taints, names)| {
        if number == nodes.len() {
            let text = format!(
                "Windows pods are not given what tolerates {taints} of {}, and no other Windows node takes them",
                Few(&names)
            );
            return fail(text, remedy);
        }
        let text = format!(
            "Windows pods are not given what tolerates {taints} of {}",
            Few(&names)
        );
        warn(text, remedy)
    });
    or_ok(found.collect(), || {
        format!(
            "what Windows pods are given tolerates the taints of {}",
            count(nodes.len(), "Windows node")
        )
    })
}

fn untainted_nodes(cluster: &Cluster) -> Told {
    let guard = cluster.settings()?.policy.linux_guard;
    let nodes = some_windows(cluster)?;
    // Where only evidence is asked about, the guard does not see the pods that it is for.
    let one = cluster.installation().ok().flatten();
    let is_blind = one.is_some_and(|one| {
        let mutating = one.mutating.into_iter().flat_map(asking);
        let mut conditions = mutating.flat_map(|entry| &entry.match_conditions);
        conditions.any(|condition| condition.name == Condition::Evidence.name())
    });
    let open = nodes.iter().filter(|(_, f)| lasting(f).next().is_none());
    let open: Vec<_> = open.map(|(node, _)| node.metadata.name.as_str()).collect();
    Ok(vec![match (open.is_empty(), guard) {
        (true, _) => ok("every Windows node has a taint"),
        (false, true) if is_blind => warn(
            format!(
                "no taint on {}, and the Linux guard is on and is not asked about the pods that it is for",
                Few(&open)
            ),
            "webhook.matchConditions=notLinux in the chart",
        ),
        (false, true) => ok(format!(
            "no taint on {}: the Linux guard keeps other pods away",
            Few(&open)
        )),
        (false, false) => warn(
            format!(
                "no taint on {}: pods that do not say where they belong are placed there",
                Few(&open)
            ),
            "kubectl taint nodes NAME os=windows:NoSchedule, and let the kubelet register new ones so; or linuxGuard: true in \
             the configuration, which needs webhook.matchConditions=notLinux",
        ),
    }])
}

/// What a kubelet for Windows subtracts since Kubernetes 1.31 without being asked: its default for
/// `evictionHard.memory.available`. <https://github.com/kubernetes/kubernetes/pull/122922>
const DEFAULT: u64 = 500 << 20;

fn reserved_memory(cluster: &Cluster) -> Told {
    let nodes = some_windows(cluster)?;
    let mut least = None;
    let little = nodes.iter().filter_map(|(node, _)| {
        let [capacity, allocatable] =
            [&node.status.capacity, &node.status.allocatable].map(|m| quantity::bytes(&m.memory));
        let reserved = capacity?.checked_sub(allocatable?)?;
        least = Some(least.map_or(reserved, |least: u64| least.min(reserved)));
        let what = match reserved {
            0 => "all memory is offered to pods: none is reserved for Windows, the runtime and the kubelet",
            1..=DEFAULT => {
                "at most 500 MiB are kept from pods, no more than the kubelet's default threshold of eviction: none is reserved \
                 for Windows, the runtime and the kubelet"
            }
            _ => return None,
        };
        Some((*node, what.to_owned()))
    });
    let little = grouped(little).into_iter().map(|(what, names)| {
        warn(
            format!("{}: {what}", Few(&names)),
            "systemReserved or kubeReserved of their kubelets: 2Gi of memory or more, since Windows has no out-of-memory \
             killer",
        )
    });
    let found: Vec<_> = little.collect();
    or_ok(found, || match least {
        Some(least) => format!("{} or more on every Windows node", quantity::shown(least)),
        None => "no Windows node tells its memory yet".to_owned(),
    })
}

fn runtime_classes(cluster: &Cluster) -> Told {
    let evidence = &cluster.settings()?.policy.evidence;
    let nodes = windows(cluster)?;
    let classes = known(&cluster.runtime_classes)?.iter();
    let classes: Vec<_> = classes
        .filter(|class| class_os(&class_facts(class), evidence) == Some(Os::Windows))
        .collect();
    let fits = |wanted| {
        let mut nodes = nodes.iter();
        nodes.any(|(node, _)| is_part_of(wanted, &node.metadata.labels))
    };
    let lost = classes
        .iter()
        .filter(|class| !fits(&class.scheduling.node_selector));
    let found = lost.map(|class| {
        let selector = class.scheduling.node_selector.iter();
        let selector: Vec<_> = selector.map(|(key, value)| format!("{key}={value}")).collect();
        warn(
            format!(
                "RuntimeClass {} leads to nodes with {}, and no Windows node is one: its pods stay Pending",
                class.metadata.name,
                Few(&selector)
            ),
            "mend its scheduling.nodeSelector or the labels of the nodes, or delete it",
        )
    });
    or_ok(found.collect(), || match classes.len() {
        0 => "none is for Windows".to_owned(),
        some => format!("{some} for Windows, each with a node"),
    })
}
