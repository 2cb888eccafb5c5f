//! WIN4xx: resources.

use super::Action::{Deny, Off, Repair, Warn};
use super::check::{Case, NON_EMPTY, SET, Skip, Test, case, container, pod};
use super::guide::guide;
use super::{Context, Found, KEP, Rule, Tier, fails, runs};
use crate::object::demand::Shape;
use crate::object::{At, Tape, Value};

const RESOURCES: &str =
    "https://kubernetes.io/docs/concepts/configuration/windows-resource-management/";

const NO_RESOURCES: &[&str] = &["ephemeral containers, which cannot have resources"];
const WITHOUT_LIMIT: &str = "is not set, nor a limit, which the API server takes for it";

const OFF_OR_WARN: &[Tier] = &[runs("", Off, Warn)];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN401",
        name: "huge-pages",
        brief: "Windows has no huge pages",
        reason: "Kubernetes offers no huge pages on Windows nodes: no node will ever have room for the pod.",
        remedy: "Ask for memory instead.",
        references: &[KEP, RESOURCES],
        tiers: &[fails("", Deny, Deny)],
        checks: &[
            container("resources.limits{hugepages-*}", SET),
            container("resources.requests{hugepages-*}", SET),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN401.yaml")),
    },
    Rule {
        code: "WIN402",
        name: "pod-resources",
        brief: "Windows has no resources of a whole pod",
        reason: "Limits of a whole pod need a cgroup around its containers; Windows has none, and the kubelet rejects the pod.",
        remedy: "Set resources on the containers.",
        references: &["https://github.com/kubernetes/kubernetes/pull/133046"],
        tiers: &[
            fails("a request, a limit or a claim", Deny, Off),
            runs("nothing", Repair, Off),
        ],
        checks: &[pod("resources", &[case(Test::Empty, 1), case(Test::Present, 0)]).refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN402.yaml")),
    },
    Rule {
        code: "WIN403",
        name: "memory-limit",
        brief: "without a memory limit one container can starve the node",
        reason: "Windows has no out-of-memory killer: a node whose memory is used up pages and slows down for everybody.",
        remedy: "Set resources.limits.memory on every container.",
        references: &[KEP, RESOURCES],
        tiers: OFF_OR_WARN,
        checks: &[container("resources.limits.memory", READ)],
        by_pod: Some(no_memory_limit),
        guide: guide(include_str!("examples/WIN403.yaml"))
            .fields(&[
                ("spec.containers[*].resources.limits.memory", "is not set"),
                (
                    "spec.initContainers[*].resources.limits.memory",
                    "is not set",
                ),
            ])
            .never(NO_RESOURCES),
    },
    Rule {
        code: "WIN404",
        name: "requests-limits-mismatch",
        brief: "request and limit of memory differ",
        reason: "Windows does not enforce memory requests, so a node where limits exceed requests can be overcommitted.",
        remedy: "Set the memory request to the limit.",
        references: &[KEP, RESOURCES],
        tiers: OFF_OR_WARN,
        checks: &[
            container("resources.requests.memory", MISMATCH),
            container("resources.limits.memory", READ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN404.yaml"))
            .fields(&[(
                "spec.containers[*].resources.limits.memory",
                "is what it is compared with; without a limit there is no finding",
            )])
            .never(&["the same amount in another unit, such as 1Gi and 1024Mi"]),
    },
    Rule {
        code: "WIN405",
        name: "no-requests",
        brief: "without requests the scheduler overfills Windows nodes",
        reason: "The scheduler counts requests only; without them it puts more on a Windows node than its memory holds.",
        remedy: "Set resources.requests.cpu and resources.requests.memory on every container.",
        references: &[KEP, RESOURCES],
        tiers: OFF_OR_WARN,
        checks: &[
            container("resources.requests.cpu", READ),
            container("resources.requests.memory", READ),
            container("resources.limits.cpu", READ),
            container("resources.limits.memory", READ),
        ],
        by_pod: Some(no_requests),
        guide: guide(include_str!("examples/WIN405.yaml"))
            .fields(&[
                ("spec.containers[*].resources.requests.cpu", WITHOUT_LIMIT),
                (
                    "spec.containers[*].resources.requests.memory",
                    WITHOUT_LIMIT,
                ),
                (
                    "spec.initContainers[*].resources.requests.cpu",
                    WITHOUT_LIMIT,
                ),
                (
                    "spec.initContainers[*].resources.requests.memory",
                    WITHOUT_LIMIT,
                ),
            ])
            .never(NO_RESOURCES),
    },
    Rule {
        code: "WIN406",
        name: "dynamic-resources",
        brief: "Windows nodes cannot prepare claimed devices",
        reason: "The kubelet does not support dynamic resource allocation on Windows: no driver offers devices there, and a container starts without those that it claims.",
        remedy: "Remove the claims; request a device of a device plugin for Windows, such as microsoft.com/directx.",
        references: &[
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/cm/container_manager_windows.go",
            "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
        ],
        tiers: &[fails("", Deny, Off)],
        checks: &[
            pod("resourceClaims", NON_EMPTY),
            container("resources.claims", NON_EMPTY),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN406.yaml")),
    },
    Rule {
        code: "WIN407",
        name: "linux-device",
        brief: "Windows nodes do not have this device",
        reason: "The device plugins of these resources run on Linux nodes only; Windows nodes offer GPUs as microsoft.com/directx.",
        remedy: "Remove it; for a GPU, use microsoft.com/directx and the DirectX device plugin.",
        references: &[
            "https://learn.microsoft.com/azure/aks/use-windows-gpu",
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/test/e2e/windows/device_plugin.go",
        ],
        tiers: &[fails("", Warn, Off)],
        checks: &[
            container("resources.limits{nvidia.com/*}", SET),
            container("resources.limits{amd.com/*}", SET),
            container("resources.limits{gpu.intel.com/*}", SET),
            container("resources.limits{habana.ai/*}", SET),
            container("resources.limits{aws.amazon.com/neuron*}", SET),
            container("resources.limits{vpc.amazonaws.com/efa}", SET),
            container("resources.limits{google.com/tpu}", SET),
            container("resources.limits{devices.kubevirt.io/*}", SET),
            container("resources.limits{rdma/*}", SET),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN407.yaml")).note(
            "A device plugin of another vendor may offer such a resource, so the rule warns.",
        ),
    },
    Rule {
        code: "WIN408",
        name: "low-memory-limit",
        brief: "the limit is too low for most Windows containers",
        reason: "The system processes of a Windows container count against its limit; below about 50Mi most containers do not start, or hang.",
        remedy: "Set resources.limits.memory to at least 50Mi, better to what the application uses on Windows.",
        references: &[
            "https://github.com/kubernetes/kubernetes/issues/66561",
            "https://github.com/microsoft/Windows-Containers/issues/482",
            RESOURCES,
        ],
        tiers: &[runs("", Warn, Off)],
        checks: &[container("resources.limits.memory", LOW_LIMIT).skip(Skip::HostProcess)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN408.yaml"))
            .never(&["a limit of 0, which means none"]),
    },
];

/// What a Windows container needs for itself, in bytes.
const LOWEST_LIMIT: f64 = 50.0 * 1024.0 * 1024.0;

const LOW_LIMIT: &[Case] = &[case(Test::By(Shape::Any, is_low_limit, "is below 50Mi"), 0)];

const MISMATCH: &[Case] = &[case(
    Test::By(Shape::Any, differs_from_limit, "is not the limit"),
    0,
)];

/// Read for the functions below; never a finding by itself.
const READ: &[Case] = &[];

/// The place of `resources.<list>.<name>` of a container.
fn quantity(tape: &Tape<'_>, container: At, list: &str, name: &str) -> Option<At> {
    let resources = tape.named(container, "resources")?;
    let list = tape.named(resources, list)?;
    tape.named(list, name)
}

fn differs_from_limit(context: &Context<'_, '_, '_>, at: At) -> bool {
    let tape = context.pod.tape;
    let Some(container) = context.pod.container_of(at) else {
        return false;
    };
    quantity(tape, container.at, "limits", "memory").is_some_and(|limit| {
        bytes(&tape.entry(limit).value, tape.text(limit))
            != bytes(&tape.entry(at).value, tape.text(at))
    })
}

fn is_low_limit(context: &Context<'_, '_, '_>, at: At) -> bool {
    let tape = context.pod.tape;
    bytes(&tape.entry(at).value, tape.text(at))
        .is_some_and(|bytes| bytes > 0.0 && bytes < LOWEST_LIMIT)
}

/// A quantity in bytes; one that cannot be read is nobody's equal, but the API server has read
/// it already.
fn bytes(value: &Value<'_>, text: Option<&str>) -> Option<f64> {
    let Some(text) = text else {
        return match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
    };
    const UNITS: [(&str, f64); 14] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
        ("", 1.0),
    ];
    UNITS.iter().find_map(|(suffix, factor)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number * factor)
    })
}

fn no_memory_limit(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let pod = context.pod;
    for container in pod.containers.iter().filter(|c| !c.ephemeral) {
        if quantity(pod.tape, container.at, "limits", "memory").is_none() {
            report(Found {
                at: container.at,
                missing: &["resources", "limits", "memory"],
                tier: 0,
            });
        }
    }
}

/// In templates the API server has not filled the requests from the limits yet.
fn no_requests(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let pod = context.pod;
    const WANTED: [(&str, &[&str]); 2] = [
        ("cpu", &["resources", "requests", "cpu"]),
        ("memory", &["resources", "requests", "memory"]),
    ];
    for container in pod.containers.iter().filter(|c| !c.ephemeral) {
        for (name, missing) in WANTED {
            let has = |list| quantity(pod.tape, container.at, list, name).is_some();
            if !has("requests") && !has("limits") {
                report(Found {
                    at: container.at,
                    missing,
                    tier: 0,
                });
            }
        }
    }
}
