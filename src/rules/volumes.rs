//! WIN3xx: volumes and their mounts.

use super::Action::{Deny, Off, Warn};
use super::check::{Case, NON_EMPTY, NOT_BLANK, PRESENT, Skip, Test, case, container, pod};
use super::guide::guide;
use super::{Context, KEP, Rule, Tier, fails, ignored, runs, unprotected};
use crate::object::demand::Shape;
use crate::object::{At, Value};

const STORAGE: &str = "https://kubernetes.io/docs/concepts/storage/windows-storage/";
const HOST_PROCESS: &str =
    "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/";

const FAILS: &[Tier] = &[fails("", Deny, Deny)];
const FAILS_SINCE_KEP: &[Tier] = &[fails("", Deny, Off)];

/// The rights to read a file.
const READABLE: i64 = 0o444;
const SECRET_MODE: &[Case] = &[
    case(Test::ModeWithout(READABLE), 0),
    case(Test::NumberOtherThan(0o644), 1),
];
const SECRET_ITEM_MODE: &[Case] = &[case(Test::ModeWithout(READABLE), 0), case(Test::Set, 1)];
const OTHER_MODE: &[Case] = &[case(Test::NumberOtherThan(0o644), 1)];
const OTHER_ITEM_MODE: &[Case] = &[case(Test::Set, 1)];
const PROJECTED_MODE: &[Case] = &[
    case(
        Test::By(
            Shape::Number,
            hides_projected_secret,
            "lacks one of the bits 0444 and the volume has a secret",
        ),
        0,
    ),
    case(Test::NumberOtherThan(0o644), 1),
];
/// The pipes of a Windows node.
const PIPES: &str = r"\\.\pipe\";

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN301",
        name: "sub-path",
        brief: "subPath is documented as unsupported on Windows",
        reason: "With containerd, files and directories of a volume can be mounted on Windows, but the Kubernetes documentation lists subPath as unsupported there. With Docker it did not work.",
        remedy: "Mount the whole volume in a directory of its own.",
        references: &[
            KEP,
            STORAGE,
            "https://github.com/kubernetes/kubernetes/blob/master/test/e2e/storage/testsuites/subpath.go",
        ],
        tiers: &[runs("", Off, Deny)],
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
        reason: "Windows does not propagate mounts; the kubelet makes the mount private.",
        remedy: "Remove mountPropagation, or set it to None.",
        references: &[KEP, STORAGE],
        tiers: &[ignored("", Warn, Deny)],
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
        tiers: FAILS,
        checks: &[container("volumeDevices", NON_EMPTY)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN303.yaml")),
    },
    Rule {
        code: "WIN304",
        name: "memory-medium",
        brief: "Windows has no memory-backed volumes",
        reason: "Windows has no tmpfs; the kubelet creates an ordinary directory, and the data is written to the disk of the node.",
        remedy: "Remove medium: Memory, or keep the data in the process.",
        references: &[KEP, STORAGE],
        tiers: &[unprotected("", Deny, Deny)],
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
        tiers: FAILS,
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
        reason: "Files on Windows have access control lists. Of the mode only a missing write bit of the owner counts, as the read-only attribute; every account in the container can read the file.",
        remedy: "Remove the mode, and mount the secret only in containers whose accounts may all read it.",
        references: &[KEP, STORAGE],
        tiers: &[
            unprotected("a secret that some account may not read", Warn, Deny),
            ignored("any other mode", Off, Deny),
        ],
        checks: &[
            pod("volumes[*].secret.defaultMode", SECRET_MODE),
            pod("volumes[*].secret.items[*].mode", SECRET_ITEM_MODE),
            pod("volumes[*].configMap.defaultMode", OTHER_MODE),
            pod("volumes[*].configMap.items[*].mode", OTHER_ITEM_MODE),
            pod("volumes[*].downwardAPI.defaultMode", OTHER_MODE),
            pod("volumes[*].downwardAPI.items[*].mode", OTHER_ITEM_MODE),
            pod("volumes[*].projected.defaultMode", PROJECTED_MODE)
                .skip(Skip::ServiceAccountVolume),
            pod(
                "volumes[*].projected.sources[*].secret.items[*].mode",
                SECRET_ITEM_MODE,
            )
            .skip(Skip::ServiceAccountVolume),
            pod(
                "volumes[*].projected.sources[*].configMap.items[*].mode",
                OTHER_ITEM_MODE,
            )
            .skip(Skip::ServiceAccountVolume),
            pod(
                "volumes[*].projected.sources[*].downwardAPI.items[*].mode",
                OTHER_ITEM_MODE,
            )
            .skip(Skip::ServiceAccountVolume),
            pod("volumes[*].projected.sources[*].secret", READ),
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
        tiers: FAILS,
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
            fails("types for Linux only", Deny, Deny),
            runs("flexVolume", Warn, Off),
            runs("csi", Off, Deny),
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
            pod("volumes[*].iscsi", PRESENT),
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
        tiers: FAILS_SINCE_KEP,
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
        tiers: FAILS_SINCE_KEP,
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
        reason: "The directory belongs to Linux nodes; on a Windows node it is missing, or an empty one is created in its place.",
        remedy: r"Use a path of the Windows node such as C:\ProgramData, or a named pipe such as \\.\pipe\docker_engine.",
        references: &[KEP, STORAGE],
        tiers: &[runs("", Warn, Warn)],
        checks: &[pod(
            "volumes[*].hostPath.path",
            &[case(Test::Under(LINUX_DIRECTORIES, WINDOWS_DIRECTORIES), 0)],
        )
        .skip(Skip::HostProcess)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN311.yaml")).note(
            "Windows resolves a path without a drive on the drive of the kubelet, mostly C:. The \
             kubelet uses /var/log and /var/lib/kubelet there as on Linux, and installers put \
             /etc/kubernetes, /etc/cni and /run/flannel there.",
        ),
    },
    Rule {
        code: "WIN312",
        name: "named-pipe-host-process",
        brief: "HostProcess containers cannot mount named pipes",
        reason: "Named pipe mounts are not supported in HostProcess containers, which see the node's pipes anyway.",
        remedy: r"Remove the volume and open the pipe by its path (\\.\pipe\…) directly.",
        references: &[HOST_PROCESS],
        tiers: FAILS_SINCE_KEP,
        checks: &[pod(
            "volumes[*].hostPath.path",
            &[case(Test::StartsWith(PIPES), 0)],
        )
        .skip(Skip::Ordinary)],
        by_pod: None,
        guide: guide(include_str!("examples/WIN312.yaml")),
    },
    Rule {
        code: "WIN313",
        name: "mount-c-drive",
        brief: "a volume cannot be mounted as drive C:",
        reason: "Drive C: is the root filesystem of the container; containerd does not create a container with a mount there.",
        remedy: r"Mount the volume in a directory such as C:\data, or as another drive.",
        references: &[
            "https://github.com/containerd/containerd/blob/v2.0.4/internal/cri/opts/spec_windows_opts.go",
        ],
        tiers: FAILS_SINCE_KEP,
        checks: &[container(
            "volumeMounts[*].mountPath",
            &[case(Test::OneOf(&["C:", "c:"]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN313.yaml")),
    },
];

/// Directories of Linux nodes.
const LINUX_DIRECTORIES: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/var/run",
    "/etc",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/boot",
    "/lib/modules",
    "/usr",
];

/// Directories below them that installers create on Windows nodes, too.
const WINDOWS_DIRECTORIES: &[&str] = &["/run/flannel", "/etc/kubernetes", "/etc/cni"];

/// Read for the function below; never a finding by itself.
const READ: &[Case] = &[];

/// The default mode of a projected volume that projects a secret.
fn hides_projected_secret(context: &Context<'_, '_, '_>, at: At) -> bool {
    let tape = context.pod.tape;
    let sources = tape.up(at).and_then(|volume| tape.named(volume, "sources"));
    let mut sources = sources.into_iter().flat_map(|list| tape.children(list));
    matches!(tape.entry(at).value, Value::Int(mode) if mode & READABLE != READABLE)
        && sources.any(|source| tape.named(source, "secret").is_some())
}
