//! WIN6xx: what the evidence itself says of a pod, and what the cluster knows of its images. These
//! rows have no checks: `os` finds contradictions and hints; builds and architectures are compared here.

use super::Action::{Deny, Off, Warn};
use super::guide::guide;
use super::{Context, Found, KEP, Rule, fails, runs};
use crate::facts::Facts;
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::os::selection::{Selection, widened};
use crate::os::{Build, Os, build, runs_on};

const ASSIGN: &str = "https://kubernetes.io/docs/concepts/windows/user-guide/#ensuring-os-specific-workloads-land-on-the-appropriate-container-host";

const CONTAINERD: &str =
    "https://github.com/containerd/platforms/blob/v1.0.0-rc.5/platform_windows_compat.go";

const DAEMONSET_TOLERATIONS: &str =
    "https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations";

const VERSIONS: &str = "https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility";

const HINTS: &[(&str, &str)] = &[
    (
        "spec.securityContext.windowsOptions",
        "is empty, or a container's is",
    ),
    (
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[*]",
        "prefers Windows nodes",
    ),
    (r#"metadata.labels["kubernetes.io/os"]"#, "is windows"),
    (
        "spec.containers[*].image",
        "is probably for Windows by its name",
    ),
    ("spec.containers[*].command[*]", WINDOWS_TEXT),
    ("spec.containers[*].args[*]", WINDOWS_TEXT),
    ("spec.containers[*].workingDir", WINDOWS_TEXT),
    ("spec.containers[*].volumeMounts[*].mountPath", WINDOWS_TEXT),
    ("spec.volumes[*].hostPath.path", WINDOWS_TEXT),
    (
        "spec.tolerations[*]",
        "names a taint of Windows nodes by key and value",
    ),
];

const WINDOWS_TEXT: &str = r"has C:\, \\.\pipe\, powershell.exe or cmd.exe in it";

const IMAGES_BY_REGISTRY: &[(&str, &str)] = &[
    ("spec.containers[*].image", OTHER_SYSTEM),
    ("spec.initContainers[*].image", OTHER_SYSTEM),
    ("spec.ephemeralContainers[*].image", OTHER_SYSTEM),
];

const OTHER_SYSTEM: &str = "is for Windows alone, while another one is for Linux alone";

const IMAGES_WITHOUT_NODE: &[(&str, &str)] = &[
    ("spec.containers[*].image", NO_NODE),
    ("spec.initContainers[*].image", NO_NODE),
    ("spec.ephemeralContainers[*].image", NO_NODE),
];

const NO_NODE: &str = "is for Windows builds that no node of the cluster runs";

const NAMES_A_BUILD: &str =
    "is tagged for another Windows build (such as ltsc2022 or 10.0.20348.2527)";

const DISAGREES: &str = "disagrees with spec.os.name or another of these";

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN601",
        name: "os-conflict",
        brief: "signals for Windows and for Linux contradict each other",
        reason: "Part of the pod says Windows and part of it says Linux (or names no operating system at all), so no node can run it as it was meant.",
        remedy: "Make spec.os.name, the node selector, node affinity and the images agree; the values are linux and windows, in lower case.",
        references: &[ASSIGN],
        tiers: &[
            fails("spec.os.name and node selectors disagree", Deny, Deny),
            runs("other evidence disagrees", Warn, Warn),
        ],
        checks: &[],
        by_pod: None,
        guide: guide(include_str!("examples/WIN601.yaml"))
            .fields(&[
                (
                    "spec.os.name",
                    "is neither linux nor windows, or disagrees with one of these",
                ),
                (r#"spec.nodeSelector["kubernetes.io/os"]"#, DISAGREES),
                (r#"spec.nodeSelector["beta.kubernetes.io/os"]"#, DISAGREES),
                (
                    r#"spec.nodeSelector["node.kubernetes.io/windows-build"]"#,
                    DISAGREES,
                ),
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                    DISAGREES,
                ),
                ("spec.securityContext.windowsOptions", DISAGREES),
                (
                    "spec.containers[*].securityContext.windowsOptions",
                    DISAGREES,
                ),
                ("spec.containers[*].image", DISAGREES),
            ])
            .never(&["an annotation or label transom.dev/os, which yields to the pod's fields"])
            .note(
                "Such a pod is not patched, and the rest of it is judged only if the stronger side \
                 says Windows.",
            ),
    },
    Rule {
        code: "WIN602",
        name: "mixed-os",
        brief: "images of one pod are for different operating systems",
        reason: "All containers of a pod run on one node, and no node runs both Windows and Linux images.",
        remedy: "Split the pod in two, or use images for the same operating system.",
        references: &[KEP, ASSIGN],
        tiers: &[fails("", Deny, Deny)],
        checks: &[],
        by_pod: None,
        guide: guide(include_str!("examples/WIN602.yaml"))
            .fields(IMAGES_BY_REGISTRY)
            .never(&["images that a registry offers for both systems"])
            .note(
                "The rule takes what a registry says of the images; of images that nothing is known of \
                 there is no finding.",
            ),
    },
    Rule {
        code: "WIN603",
        name: "no-matching-node",
        brief: "no Windows node of the cluster runs images of this build",
        reason: "A container runs on a node of its own Windows release; since Windows Server 2022 also on the next one (2022 images on 2025 nodes). The cluster has no such node now.",
        remedy: "Use an image for a build that the cluster's nodes run, or add such nodes.",
        references: &[KEP, VERSIONS, CONTAINERD],
        tiers: &[fails("", Warn, Warn)],
        checks: &[],
        by_pod: Some(no_matching_node),
        guide: guide(include_str!("examples/WIN603.yaml"))
            .fields(IMAGES_WITHOUT_NODE)
            .never(&["HostProcess pods", "images of which no build is known"])
            .note(
                "The rule takes the nodes of the cluster, and what a registry says of the image or its \
                 tag; as long as the build of a Windows node is not known there is no finding.",
            ),
    },
    Rule {
        code: "WIN604",
        name: "unplaced",
        brief: "looks like a Windows pod, but nothing says so",
        reason: "Only hints speak for Windows, so the pod is left as it is and may land on a Linux node.",
        remedy: "Add nodeSelector {kubernetes.io/os: windows}, or linux if it is not for Windows.",
        references: &[ASSIGN],
        tiers: &[runs("", Warn, Warn)],
        checks: &[],
        by_pod: None,
        guide: guide(include_str!("examples/WIN604.yaml"))
            .fields(HINTS)
            .never(&[
                "pods with evidence that is more than a hint",
                "pods that ask for what only Linux has: a hostPath below /proc or /sys, \
                 capabilities.add, huge pages",
            ])
            .note(
                "Hints never refuse: with the action deny it warns as well. evidence.acting in the \
                 configuration makes evidence of a hint.",
            ),
    },
    Rule {
        code: "WIN605",
        name: "build-mismatch",
        brief: "no node that the pod selects runs images of this Windows build",
        reason: "A container runs on a node of its own Windows release; since Windows Server 2022 also on the next one (2022 images on 2025 nodes).",
        remedy: "Use images that run on one Windows release, and select that release (node.kubernetes.io/windows-build).",
        references: &[KEP, VERSIONS, CONTAINERD],
        tiers: &[
            fails(
                "a build that no selected node runs with the others",
                Deny,
                Deny,
            ),
            runs("any build but 10.0.17763", Off, Deny),
        ],
        checks: &[],
        by_pod: Some(other_builds),
        guide: guide(include_str!("examples/WIN605.yaml"))
            .fields(&[
                ("spec.containers[*].image", NAMES_A_BUILD),
                ("spec.initContainers[*].image", NAMES_A_BUILD),
                ("spec.ephemeralContainers[*].image", NAMES_A_BUILD),
                (
                    r#"spec.nodeSelector["node.kubernetes.io/windows-build"]"#,
                    "is a build that does not run the image",
                ),
                (
                    r#"spec.nodeSelector["kubernetes.azure.com/os-sku"]"#,
                    "is a release that does not run the image",
                ),
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                    "allows only builds that do not run the image",
                ),
            ])
            .never(&["HostProcess pods", "images whose tag names no build"])
            .note(
                "containerd decides it so on the node. KEP-116, which requires the same release, is older: \
                 the profile kep-116 also denies every build but that of Windows Server 2019. Of several \
                 images that no node runs together, the later ones are reported.",
            ),
    },
    Rule {
        code: "WIN606",
        name: "foreign-architecture",
        brief: "Windows nodes are amd64 only",
        reason: "The kubelet is built for Windows on amd64 only, so no Windows node has the architecture that the pod selects.",
        remedy: "Select amd64, or no architecture.",
        references: &[
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/hack/lib/golang.sh",
            "https://kubernetes.io/releases/download/",
        ],
        tiers: &[fails("", Warn, Off)],
        checks: &[],
        by_pod: Some(foreign_architecture),
        guide: guide(include_str!("examples/WIN606.yaml")).fields(&[
            (
                r#"spec.nodeSelector["kubernetes.io/arch"]"#,
                "is not amd64; also beta.kubernetes.io/arch",
            ),
            (
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                "does not allow amd64 in any of its terms",
            ),
        ]),
    },
    Rule {
        code: "WIN608",
        name: "missing-os-selector-linux",
        brief: "tolerates Windows taints, but selects no operating system",
        reason: "Without an operating system in the node selector, the pod can be scheduled to Windows nodes, which cannot run Linux images.",
        remedy: "Add nodeSelector {kubernetes.io/os: linux}, or tolerate only the taints of Linux nodes.",
        references: &[ASSIGN, DAEMONSET_TOLERATIONS],
        tiers: &[runs("", Off, Off)],
        checks: &[],
        by_pod: None,
        guide: guide(include_str!("examples/WIN608.yaml"))
            .fields(&[(
                "spec.tolerations[*]",
                "tolerates NoSchedule taints of Windows nodes, by key or as any taint",
            )])
            .never(&[
                "pods with evidence of Windows or a hint at it",
                "pods that select an operating system or a node, or that have spec.nodeName",
                "templates with a RuntimeClass, which may select nodes",
            ])
            .note(
                "Off by default; `transom check --mixed-cluster` turns it on, for manifests and charts that are \
                 installed in clusters with Windows nodes. The rule never denies: with the action deny it warns as \
                 well. In a cluster, `transom scan` and `transom doctor` report pods and DaemonSets that are on \
                 nodes of the wrong operating system.",
            ),
    },
];

/// The labels for the architecture of a node.
const ARCH_LABELS: [&str; 2] = ["kubernetes.io/arch", "beta.kubernetes.io/arch"];
/// The only architecture of Windows nodes.
const AMD64: &str = "amd64";

/// WIN606. The terms of required affinity are alternatives.
fn foreign_architecture(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let pod = context.pod;
    let mut found = |at| {
        report(Found {
            at,
            missing: &[],
            tier: 0,
        });
    };
    let selected = ARCH_LABELS.into_iter().filter_map(|key| pod.selector(key));
    let foreign = selected.filter(|(_, value)| *value != AMD64);
    foreign.for_each(|(at, _)| found(at));
    let Some(terms) = pod.required_terms else {
        return;
    };
    let mut terms = pod.tape.children(terms);
    let first = terms
        .next()
        .and_then(|term| excluding_amd64(pod.tape, term));
    if let Some(at) = first
        && terms.all(|term| excluding_amd64(pod.tape, term).is_some())
    {
        found(at);
    }
}

/// The expression of a term that no amd64 node matches.
fn excluding_amd64(tape: &Tape<'_>, term: At) -> Option<At> {
    let expressions = tape.child(term, Role::MatchExpressions)?;
    tape.children(expressions).find(|expression| {
        let key = tape.child_text(*expression, Role::Key);
        let values = tape.child(*expression, Role::Values);
        let mut values = values.into_iter().flat_map(|at| tape.children(at));
        let mut has_amd64 = || values.any(|value| tape.text(value) == Some(AMD64));
        key.is_some_and(|key| ARCH_LABELS.contains(&key))
            && match tape.child_text(*expression, Role::Operator) {
                Some("In") => !has_amd64(),
                Some("NotIn") => has_amd64(),
                Some("DoesNotExist") => true,
                _ => false,
            }
    })
}

/// The only build that KEP-116 knows: Windows Server 2019.
const KEP_BUILD: Build = Build::new(17763);

/// WIN605. Of images that no node can run together, those after the first ones are reported.
fn other_builds(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let pod = context.pod;
    if pod.has_host_process() {
        return;
    }
    let selection = Selection::of(pod);
    // The lowest and the highest build of the images that one node runs together.
    let mut range = None;
    for container in &pod.containers {
        let build = container.image.and_then(|at| {
            let image = pod.tape.text(at)?;
            Some((at, build::of_image(image)?))
        });
        let Some((at, build)) = build else { continue };
        let (lowest, highest) = widened(range, build);
        let tier = if selection.runs(build, build) && selection.runs(lowest, highest) {
            range = Some((lowest, highest));
            if build == KEP_BUILD {
                continue;
            }
            1
        } else {
            0
        };
        report(Found {
            at,
            missing: &[],
            tier,
        });
    }
}

/// The Windows builds that an image is for, by its registry or else by its tag; none where one of
/// them is not known.
fn image_builds(facts: &Facts, image: &str) -> Vec<Build> {
    match facts.images.get(image) {
        Some(known) => {
            let windows = known.platforms.iter().filter(|p| p.os == Some(Os::Windows));
            let builds = windows.map(|p| Build::parse(p.build.as_deref()?));
            builds.collect::<Option<_>>().unwrap_or_default()
        }
        None => build::of_image(image).into_iter().collect(),
    }
}

fn no_matching_node(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    let Context { pod, facts, .. } = context;
    let nodes: Option<Vec<_>> = facts
        .nodes
        .builds()
        .iter()
        .map(|b| Build::parse(b))
        .collect();
    let nodes = nodes.unwrap_or_default();
    if nodes.is_empty() || pod.has_host_process() {
        return;
    }
    for at in pod
        .containers
        .iter()
        .filter_map(|container| container.image)
    {
        let builds = image_builds(facts, pod.tape.text(at).unwrap_or_default());
        let is_run = |image: &Build| nodes.iter().any(|node| runs_on(*image, *node));
        if !builds.is_empty() && !builds.iter().any(is_run) {
            report(Found {
                at,
                missing: &[],
                tier: 0,
            });
        }
    }
}
