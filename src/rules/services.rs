//! WIN7xx: Services in front of Windows pods. Off unless switched on.

use super::Action::{Off, Warn};
use super::check::{Case, Test, case, service};
use super::guide::guide;
use super::network::SCTP;
use super::{Context, KEP, Rule, Tier, ignored, runs};
use crate::object::At;
use crate::object::demand::Shape;

const NETWORK: &str =
    "https://kubernetes.io/docs/concepts/services-networking/windows-networking/#limitations";

const NOT_WINDOWS: &[&str] = &[
    "Services that nothing marks as being for Windows pods, as the annotation transom.dev/os: \
     windows does; transom scan sees which pods they select, the webhook does not",
];

const OFF_OR_WARN: &[Tier] = &[runs("", Off, Warn)];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN701",
        name: "session-affinity-timeout",
        brief: "Windows nodes do not know this timeout",
        reason: "On Windows nodes the timeout of session affinity by client IP cannot be set.",
        remedy: "Leave timeoutSeconds at its default, 10800.",
        references: &[NETWORK],
        tiers: &[ignored("", Off, Warn)],
        checks: &[service(
            "sessionAffinityConfig.clientIP.timeoutSeconds",
            &[case(Test::NumberOtherThan(10_800), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN701.yaml")).never(NOT_WINDOWS),
    },
    Rule {
        code: "WIN702",
        name: "external-traffic-policy-local",
        brief: "Windows nodes need more than Kubernetes for this policy",
        reason: "Local needs direct server return and a network plugin that preserves the client's address; KEP-116 had neither on Windows.",
        remedy: "Use externalTrafficPolicy: Cluster, or make sure that kube-proxy and the network plugin of the Windows nodes do direct server return.",
        references: &[
            KEP,
            NETWORK,
            "https://github.com/kubernetes/kubernetes/issues/62046",
        ],
        tiers: OFF_OR_WARN,
        checks: &[service(
            "externalTrafficPolicy",
            &[case(Test::OneOf(&["Local"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN702.yaml")).never(NOT_WINDOWS),
    },
    Rule {
        code: "WIN703",
        name: "ipv6-single-stack",
        brief: "Windows pods have no addresses of IPv6 alone",
        reason: "Networking on Windows is IPv4 alone or dual stack; there is no IPv6 alone.",
        remedy: "Add IPv4 to ipFamilies, or leave the field out.",
        references: &[
            "https://kubernetes.io/docs/concepts/services-networking/dual-stack/#windows-support",
        ],
        tiers: OFF_OR_WARN,
        checks: &[
            service(
                "ipFamilies",
                &[case(
                    Test::By(Shape::List, is_only_ipv6, "is IPv6 alone"),
                    0,
                )],
            ),
            service("ipFamilies[*]", READ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN703.yaml")).never(NOT_WINDOWS),
    },
    Rule {
        code: "WIN704",
        name: "sctp-service",
        brief: "Windows has no SCTP",
        reason: "Neither Windows nor its network for containers has SCTP, so no Windows pod receives what the Service forwards.",
        remedy: "Use TCP or UDP.",
        references: &[SCTP],
        tiers: &[ignored("", Off, Off)],
        checks: &[service(
            "ports[*].protocol",
            &[case(Test::OneOf(&["SCTP"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN704.yaml")).never(NOT_WINDOWS),
    },
];

/// Read for the function below; never a finding by itself.
const READ: &[Case] = &[];

fn is_only_ipv6(context: &Context<'_, '_, '_>, at: At) -> bool {
    let tape = context.pod.tape;
    let mut families = tape.children(at).peekable();
    families.peek().is_some() && families.all(|family| tape.text(family) == Some("IPv6"))
}
