//! WIN6xx: what the evidence itself says of a pod. These rows have no checks: `os` finds
//! the first ones, and builds are read off the images.

use super::Action::{Deny, Off, Warn};
use super::guide::guide;
use super::{Found, KEP, Rule, tier};
use crate::os::build;
use crate::workload::Pod;

const ASSIGN: &str = "https://kubernetes.io/docs/concepts/windows/user-guide/#ensuring-os-specific-workloads-land-on-the-appropriate-container-host";

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

const NAMES_A_BUILD: &str =
    "is tagged for another Windows build (ltsc2019, 1809, ltsc2022, ltsc2025)";

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
            tier("spec.os.name and node selectors disagree", Deny, Deny),
            tier("other evidence disagrees", Warn, Warn),
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
        code: "WIN604",
        name: "unplaced",
        brief: "looks like a Windows pod, but nothing says so",
        reason: "Only hints speak for Windows, so the pod is left as it is and may land on a Linux node.",
        remedy: "Add nodeSelector {kubernetes.io/os: windows}, or linux if it is not for Windows.",
        references: &[ASSIGN],
        tiers: &[tier("", Warn, Warn)],
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
        brief: "the image is for another Windows build",
        reason: "With process isolation a Windows container runs only on a node of the same Windows release as its base image.",
        remedy: "Use an image for the build that the pod selects, or select the build of the image (node.kubernetes.io/windows-build).",
        references: &[
            KEP,
            "https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility",
        ],
        tiers: &[
            tier(
                "another build than the pod's or another container's",
                Deny,
                Deny,
            ),
            tier("any build but 10.0.17763", Off, Deny),
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
                    "is another build",
                ),
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                    "requires another build",
                ),
            ])
            .never(&["HostProcess pods", "images whose tag names no build"]),
    },
];

/// The only build that KEP-116 knows: Windows Server 2019.
const KEP_BUILD: &str = "10.0.17763";

fn other_builds(pod: &Pod<'_, '_>, report: &mut dyn FnMut(Found)) {
    if pod.has_host_process() {
        return;
    }
    let mut expected = build::selected(pod);
    for container in &pod.containers {
        let build = container.image.and_then(|at| {
            let image = pod.tape.text(at)?;
            Some((at, build::of_image(image)?))
        });
        let Some((at, build)) = build else { continue };
        let tier = match expected {
            Some(expected) if expected != build => 0,
            _ if build != KEP_BUILD => 1,
            _ => {
                expected = Some(build);
                continue;
            }
        };
        expected = expected.or(Some(build));
        report(Found {
            at,
            missing: &[],
            tier,
        });
    }
}
