//! WIN2xx: namespaces of the node, and the network.

use super::Action::{Deny, Off, Repair, Warn};
use super::check::{Case, Skip, TRUE, Test, case, container, pod};
use super::guide::guide;
use super::{Context, Found, KEP, Rule, Tier, fails, ignored, runs};
use crate::object::demand::Shape;
use crate::object::{At, Value};

const INTRO: &str = "https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod";
const NETWORK: &str = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/";
const DNS: &str =
    "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows";
pub(super) const SCTP: &str =
    "https://kubernetes.io/docs/reference/networking/service-protocols/#protocol-sctp";
const VALIDATION: &str = "https://kubernetes.io/docs/concepts/workloads/pods/#pod-os";

const ORDINARY_OR_HOST_PROCESS: &[Tier] = &[
    ignored("outside of HostProcess pods", Deny, Deny),
    runs("in a HostProcess pod", Repair, Deny),
];
const TRUE_HERE: &[Case] = &[
    case(Test::InHostProcess(&Test::Is(true)), 1),
    case(Test::Is(true), 0),
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN201",
        name: "host-network",
        brief: "only HostProcess pods share the node's network, and they must",
        reason: "Other Windows pods get a network of their own, but the DNS servers of the node, so they cannot resolve cluster names; HostProcess containers run in the network of the node and cannot leave it.",
        remedy: "Remove hostNetwork and publish ports with a Service; in a HostProcess pod set it to true.",
        references: &[
            KEP,
            NETWORK,
            "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/3503-host-network-support-for-windows-pods",
        ],
        tiers: &[fails("", Deny, Deny)],
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
        brief: "Windows has no process namespace to share with the node",
        reason: "Windows has no process namespace that a container could share with its node; only HostProcess containers see the processes of the node, and they do without hostPID.",
        remedy: "Remove hostPID; if the pod needs the node's processes, make it a HostProcess pod.",
        references: &[KEP, INTRO],
        tiers: ORDINARY_OR_HOST_PROCESS,
        checks: &[pod("hostPID", TRUE_HERE).refused()],
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
        tiers: ORDINARY_OR_HOST_PROCESS,
        checks: &[pod("hostIPC", TRUE_HERE).refused()],
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
        tiers: &[ignored("true", Deny, Deny), runs("false", Repair, Repair)],
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
        tiers: &[ignored("false", Deny, Deny), runs("true", Repair, Repair)],
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
        brief: "outside of the host network this is the same as ClusterFirst",
        reason: "ClusterFirstWithHostNet is for pods in the network of the node. Windows pods other than HostProcess pods have a network of their own, and the kubelet treats the policy as ClusterFirst there.",
        remedy: "Use dnsPolicy: ClusterFirst.",
        references: &[KEP, NETWORK, DNS],
        tiers: &[ignored("", Warn, Deny)],
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
        reason: "Windows pods use the first DNS suffix only. The kubelet puts dnsConfig.searches after the suffixes of the cluster or the node, unless dnsPolicy is None.",
        remedy: "Use fully qualified names in the application; with dnsPolicy: None, keep one search domain.",
        references: &[NETWORK, DNS],
        tiers: &[ignored("", Warn, Warn)],
        checks: &[pod("dnsConfig.searches", SEARCHES), pod("dnsPolicy", READ)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN207.yaml")).fields(&[(
            "spec.dnsPolicy",
            "is None, which lets the first element be used",
        )]),
    },
    Rule {
        code: "WIN208",
        name: "sctp-port",
        brief: "Windows has no SCTP",
        reason: "Neither Windows nor its network for containers has SCTP.",
        remedy: "Use TCP or UDP.",
        references: &[SCTP],
        tiers: &[ignored("", Warn, Off)],
        checks: &[container(
            "ports[*].protocol",
            &[case(Test::OneOf(&["SCTP"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN208.yaml")),
    },
];

/// Read for the function below; never a finding by itself.
const READ: &[Case] = &[];

const SEARCHES: &[Case] = &[case(
    Test::By(
        Shape::List,
        has_unused_search,
        "is not empty; with dnsPolicy None: has more than one element",
    ),
    0,
)];

/// Windows uses the first suffix only. With any other policy than None the kubelet puts the
/// cluster's or the node's suffixes first.
fn has_unused_search(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    let policy = pod.spec.and_then(|spec| pod.tape.named(spec, "dnsPolicy"));
    let is_none = policy.and_then(|at| pod.tape.text(at)) == Some("None");
    matches!(pod.tape.entry(at).value, Value::List(len) if len > u32::from(is_none))
}

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
