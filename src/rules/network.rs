//! WIN2xx: namespaces of the node, and the network.

use super::Action::{Deny, Repair, Warn};
use super::check::{Case, Skip, TRUE, Test, case, pod};
use super::guide::guide;
use super::{Context, Found, KEP, Rule, Tier, tier};

const INTRO: &str = "https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod";
const NETWORK: &str = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/";
const VALIDATION: &str = "https://kubernetes.io/docs/concepts/workloads/pods/#pod-os";

const DENY: &[Tier] = &[tier("", Deny, Deny)];
const WARN: &[Tier] = &[tier("", Warn, Warn)];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN201",
        name: "host-network",
        brief: "only HostProcess pods share the node's network, and they must",
        reason: "Windows containers cannot join the network of their node; HostProcess containers run in it and cannot leave it.",
        remedy: "Remove hostNetwork and publish ports with a Service; in a HostProcess pod set it to true.",
        references: &[
            KEP,
            NETWORK,
            "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/3503-host-network-support-for-windows-pods",
        ],
        tiers: DENY,
        checks: &[
            pod("hostNetwork", TRUE).skip(Skip::HostProcess),
            pod("hostNetwork", &[case(Test::Is(false), 0)]).skip(Skip::Ordinary),
        ],
        by_pod: Some(host_process_without_host_network),
        guide: guide(include_str!("examples/WIN201.yaml"))
            .fields(&[("spec.hostNetwork", "is not set, in HostProcess pods")]),
    },
    Rule {
        code: "WIN202",
        name: "host-pid",
        brief: "Windows containers cannot see the node's processes",
        reason: "Windows has no process namespace that a container could share with its node.",
        remedy: "Remove hostPID; what needs the node's processes is a HostProcess pod.",
        references: &[KEP, INTRO],
        tiers: DENY,
        checks: &[pod("hostPID", TRUE).refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN202.yaml")),
    },
    Rule {
        code: "WIN203",
        name: "host-ipc",
        brief: "Windows containers cannot share the node's IPC",
        reason: "Windows has no IPC namespace that a container could share with its node.",
        remedy: "Remove hostIPC; to talk to a service of the node, mount its named pipe.",
        references: &[KEP, INTRO],
        tiers: DENY,
        checks: &[pod("hostIPC", TRUE).refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN203.yaml")),
    },
    Rule {
        code: "WIN204",
        name: "share-process-namespace",
        brief: "Windows containers cannot share processes",
        reason: "Windows has no process namespace that the containers of a pod could share.",
        remedy: "Remove it; let the containers talk over localhost or a shared volume.",
        references: &[KEP, INTRO],
        tiers: &[tier("true", Deny, Deny), tier("false", Repair, Repair)],
        checks: &[pod(
            "shareProcessNamespace",
            &[case(Test::Is(true), 0), case(Test::Is(false), 1)],
        )
        .refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN204.yaml")),
    },
    Rule {
        code: "WIN205",
        name: "host-users",
        brief: "Windows has no user namespaces",
        reason: "User namespaces are a feature of the Linux kernel.",
        remedy: "Remove hostUsers.",
        references: &[VALIDATION],
        tiers: &[tier("false", Deny, Deny), tier("true", Repair, Repair)],
        checks: &[pod(
            "hostUsers",
            &[case(Test::Is(false), 0), case(Test::Is(true), 1)],
        )
        .refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN205.yaml")),
    },
    Rule {
        code: "WIN206",
        name: "dns-policy",
        brief: "Windows pods have no host network to resolve names with",
        reason: "ClusterFirstWithHostNet is for pods on the node's network, which ordinary Windows pods cannot join.",
        remedy: "Use dnsPolicy: ClusterFirst.",
        references: &[KEP, NETWORK],
        tiers: DENY,
        checks: &[pod(
            "dnsPolicy",
            &[case(Test::OneOf(&["ClusterFirstWithHostNet"]), 0)],
        )
        .skip(Skip::HostProcess)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN206.yaml")),
    },
    Rule {
        code: "WIN207",
        name: "dns-search",
        brief: "Windows uses one DNS suffix only",
        reason: "The resolver of Windows pods knows a single DNS suffix, that of the pod's namespace; further search domains are not tried.",
        remedy: "Write fully qualified names in the application, or keep one search domain.",
        references: &[NETWORK],
        tiers: WARN,
        checks: &[pod("dnsConfig.searches", SEVERAL)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN207.yaml")),
    },
];

const SEVERAL: &[Case] = &[case(Test::Several, 0)];

/// The API server refuses it whatever spec.os says.
fn host_process_without_host_network(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let pod = context.pod;
    if let (true, None, Some(spec)) = (pod.has_host_process(), pod.host_network, pod.spec) {
        report(Found {
            at: spec,
            missing: &["hostNetwork"],
            tier: 0,
        });
    }
}
