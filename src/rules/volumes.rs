//! WIN3xx: volumes and their mounts.

use super::Action::{Deny, Off, Warn};
use super::check::{Case, NON_EMPTY, NOT_BLANK, PRESENT, SET, Skip, Test, case, container, pod};
use super::guide::guide;
use super::{KEP, Rule, Tier, tier};

const STORAGE: &str = "https://kubernetes.io/docs/concepts/storage/windows-storage/";
const HOST_PROCESS: &str =
    "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/";

const DENY: &[Tier] = &[tier("", Deny, Deny)];
const WARN: &[Tier] = &[tier("", Warn, Warn)];
const WARN_OR_DENY: &[Tier] = &[tier("", Warn, Deny)];
const DENY_OR_OFF: &[Tier] = &[tier("", Deny, Off)];

const FILE_MODE: &[Case] = &[case(Test::NumberOtherThan(0o644), 0)];
/// The pipes of a Windows node.
const PIPES: &str = r"\\.\pipe\";

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN301",
        name: "sub-path",
        brief: "subPath does not work everywhere on Windows",
        reason: "Mounting a single file or a subdirectory of a volume works with containerd only, is documented as unsupported, and was the way of CVE-2023-3676, CVE-2023-3955 and CVE-2023-5528.",
        remedy: "Mount the whole volume in a directory of its own.",
        references: &[
            KEP,
            STORAGE,
            "https://github.com/kubernetes/kubernetes/issues/119339",
        ],
        tiers: WARN_OR_DENY,
        checks: &[
            container("volumeMounts[*].subPath", NOT_BLANK),
            container("volumeMounts[*].subPathExpr", NOT_BLANK),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN301.yaml")),
    },
    Rule {
        code: "WIN302",
        name: "mount-propagation",
        brief: "Windows mounts are always private",
        reason: "Windows does not propagate mounts; the kubelet makes the mount private without a word.",
        remedy: "Remove mountPropagation, or set it to None.",
        references: &[KEP, STORAGE],
        tiers: WARN_OR_DENY,
        checks: &[container(
            "volumeMounts[*].mountPropagation",
            &[case(Test::OneOf(&["HostToContainer", "Bidirectional"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN302.yaml")),
    },
    Rule {
        code: "WIN303",
        name: "volume-devices",
        brief: "Windows has no block volumes",
        reason: "Windows containers cannot be given raw block devices.",
        remedy: "Mount the volume with volumeMounts and volumeMode: Filesystem.",
        references: &[KEP, STORAGE],
        tiers: DENY,
        checks: &[container("volumeDevices", NON_EMPTY)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN303.yaml")),
    },
    Rule {
        code: "WIN304",
        name: "memory-medium",
        brief: "Windows has no memory-backed volumes",
        reason: "Windows has no tmpfs: the data lands on the node's disk, where it was not meant to be.",
        remedy: "Remove medium: Memory, or keep the data in the process.",
        references: &[KEP, STORAGE],
        tiers: DENY,
        checks: &[pod(
            "volumes[*].emptyDir.medium",
            &[case(Test::OneOf(&["Memory"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN304.yaml")),
    },
    Rule {
        code: "WIN305",
        name: "huge-pages-medium",
        brief: "Windows has no huge pages",
        reason: "Kubernetes offers no huge pages on Windows nodes.",
        remedy: "Use an emptyDir without a medium.",
        references: &[KEP, STORAGE],
        tiers: DENY,
        checks: &[pod(
            "volumes[*].emptyDir.medium",
            &[case(Test::StartsWith("HugePages"), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN305.yaml")),
    },
    Rule {
        code: "WIN306",
        name: "file-mode",
        brief: "Windows ignores file modes",
        reason: "Files on Windows have access control lists; the mode bits are ignored and every account in the container can read the file.",
        remedy: "Remove the mode; keep the secret from accounts in other ways, such as a container of its own.",
        references: &[KEP, STORAGE],
        tiers: WARN_OR_DENY,
        checks: &[
            pod("volumes[*].secret.defaultMode", FILE_MODE),
            pod("volumes[*].secret.items[*].mode", SET),
            pod("volumes[*].configMap.defaultMode", FILE_MODE),
            pod("volumes[*].configMap.items[*].mode", SET),
            pod("volumes[*].downwardAPI.defaultMode", FILE_MODE),
            pod("volumes[*].downwardAPI.items[*].mode", SET),
            pod("volumes[*].projected.defaultMode", FILE_MODE).skip(Skip::ServiceAccountVolume),
            pod("volumes[*].projected.sources[*].secret.items[*].mode", SET)
                .skip(Skip::ServiceAccountVolume),
            pod(
                "volumes[*].projected.sources[*].configMap.items[*].mode",
                SET,
            )
            .skip(Skip::ServiceAccountVolume),
            pod(
                "volumes[*].projected.sources[*].downwardAPI.items[*].mode",
                SET,
            )
            .skip(Skip::ServiceAccountVolume),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN306.yaml"))
            .never(&["a defaultMode of 0644 (420), which the API server fills in by itself"]),
    },
    Rule {
        code: "WIN307",
        name: "nfs",
        brief: "Windows nodes cannot mount NFS volumes",
        reason: "The kubelet has no NFS client on Windows.",
        remedy: "Use an SMB share through its CSI driver, or another volume that Windows supports.",
        references: &[
            KEP,
            STORAGE,
            "https://github.com/kubernetes/kubernetes/issues/56188",
        ],
        tiers: DENY,
        checks: &[pod("volumes[*].nfs", PRESENT)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN307.yaml")),
    },
    Rule {
        code: "WIN308",
        name: "linux-volume-type",
        brief: "this type of volume does not work on Windows",
        reason: "The volume is mounted by a driver that runs on Linux nodes only.",
        remedy: "Use a persistentVolumeClaim of a storage class whose CSI driver supports Windows.",
        references: &[KEP, STORAGE],
        tiers: &[
            tier("types for Linux only", Deny, Deny),
            tier("iscsi, flexVolume", Warn, Off),
            tier("csi", Off, Deny),
        ],
        checks: &[
            pod("volumes[*].cephfs", PRESENT),
            pod("volumes[*].rbd", PRESENT),
            pod("volumes[*].glusterfs", PRESENT),
            pod("volumes[*].fc", PRESENT),
            pod("volumes[*].quobyte", PRESENT),
            pod("volumes[*].storageos", PRESENT),
            pod("volumes[*].scaleIO", PRESENT),
            pod("volumes[*].flocker", PRESENT),
            pod("volumes[*].portworxVolume", PRESENT),
            pod("volumes[*].photonPersistentDisk", PRESENT),
            pod("volumes[*].cinder", PRESENT),
            pod("volumes[*].iscsi", &[case(Test::Present, 1)]),
            pod("volumes[*].flexVolume", &[case(Test::Present, 1)]),
            pod("volumes[*].csi", &[case(Test::Present, 2)]),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN308.yaml")),
    },
    Rule {
        code: "WIN309",
        name: "image-volume",
        brief: "image volumes do not work on Windows",
        reason: "The container runtime cannot mount images as volumes on Windows.",
        remedy: "Copy the files into the container's image, or fetch them in an init container.",
        references: &["https://github.com/containerd/containerd/issues/11903"],
        tiers: DENY_OR_OFF,
        checks: &[pod("volumes[*].image", PRESENT)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN309.yaml")),
    },
    Rule {
        code: "WIN310",
        name: "recursive-read-only",
        brief: "Windows has no recursive read-only mounts",
        reason: "Recursive read-only mounts are a feature of the Linux kernel; with Enabled the container is not started.",
        remedy: "Set recursiveReadOnly to IfPossible, or remove it; readOnly alone works.",
        references: &[
            "https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts",
        ],
        tiers: DENY_OR_OFF,
        checks: &[container(
            "volumeMounts[*].recursiveReadOnly",
            &[case(Test::OneOf(&["Enabled"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN310.yaml")),
    },
    Rule {
        code: "WIN311",
        name: "linux-host-path",
        brief: "Windows nodes do not have this directory",
        reason: "The path is one of Linux nodes; on a Windows node it is missing, or an empty directory is made in its place.",
        remedy: r"Use a path of the Windows node such as C:\ProgramData, or a named pipe such as \\.\pipe\docker_engine.",
        references: &[KEP, STORAGE],
        tiers: WARN,
        checks: &[pod(
            "volumes[*].hostPath.path",
            &[case(
                Test::Under(&[
                    "/proc",
                    "/sys",
                    "/dev",
                    "/run",
                    "/var/run",
                    "/etc",
                    "/var/lib/kubelet",
                    "/var/lib/docker",
                    "/var/lib/containerd",
                    "/var/log",
                    "/boot",
                    "/lib/modules",
                    "/usr",
                ]),
                0,
            )],
        )
        .skip(Skip::HostProcess)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN311.yaml")),
    },
    Rule {
        code: "WIN312",
        name: "named-pipe-host-process",
        brief: "HostProcess containers cannot mount named pipes",
        reason: "Named pipe mounts are not supported in HostProcess containers, which see the node's pipes anyway.",
        remedy: r"Remove the volume and open the pipe by its path (\\.\pipe\…) directly.",
        references: &[HOST_PROCESS],
        tiers: DENY_OR_OFF,
        checks: &[pod(
            "volumes[*].hostPath.path",
            &[case(Test::StartsWith(PIPES), 0)],
        )
        .skip(Skip::Ordinary)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN312.yaml")),
    },
];
