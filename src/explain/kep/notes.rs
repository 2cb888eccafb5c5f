//! What was written beside the KEP's last version: earlier versions, and notes.

use super::{CLUSTER, Chapter, Document, WORKS, by, none};

pub(super) const EARLIER: Document = Document {
    title: "Earlier versions and notes on APIs",
    about: "What the versions of November 2018 to January 2019, and the notes \"Windows & Kubernetes APIs\" that became the API \
            reference, say otherwise or beyond it.",
    chapters: &[
        Chapter {
            title: "The proposal",
            statements: &[
                by(
                    "Single files and subpaths can never be mounted.",
                    &["WIN301"],
                ),
                by(
                    "Termination messages can never work, since they are single files.",
                    &["WIN501"],
                ),
                none(
                    "Taints and node selectors burden Windows users only, in the best case.",
                    "what the patch takes off them",
                ),
                none("Calico is among the network plugins that work.", CLUSTER),
            ],
        },
        Chapter {
            title: "Volumes",
            statements: &[
                none("emptyDir, secret and hostPath should work.", WORKS),
                none(
                    "Symbolic links are broken on Windows Server 2016 and 1709.",
                    "works since; these releases are not supported any more",
                ),
                none(
                    "A volume cannot be mounted in some containers of a pod and not in others.",
                    "works since Windows Server 2019",
                ),
                by("FlexVolumes do not work.", &["WIN308: flexVolume"]),
                none(
                    "A volume plugin for SMB is proposed.",
                    "works: persistent volumes of the CSI driver smb.csi.k8s.io",
                ),
                by("NFS is asked for.", &["WIN307"]),
            ],
        },
        Chapter {
            title: "Resources",
            statements: &[
                none(
                    "resources.limits: CPUs are counted and given in per cent; the count cannot change later.",
                    WORKS,
                ),
                by(
                    "resources.requests are not supported; overprovisioning is left to eviction.",
                    &["WIN404", "WIN405"],
                ),
                none("NUMA topology may be shown or hidden.", CLUSTER),
                none(
                    "The container runtime interface knows no Windows settings.",
                    "works since; a matter of the kubelet and the runtime",
                ),
            ],
        },
        Chapter {
            title: "Networking, IPC and PID",
            statements: &[
                by("dnsPolicy: perhaps only ClusterFirst works.", &["WIN206"]),
                by("hostNetwork is not feasible.", &["WIN201"]),
                by(
                    "hostIPC and hostPID are not implemented.",
                    &["WIN202", "WIN203"],
                ),
                none(
                    "A named pipe, mounted as a volume, could take the place of the runtime's socket.",
                    "works; WIN203 points to it",
                ),
            ],
        },
        Chapter {
            title: "Security and users",
            statements: &[
                by(
                    "capabilities and seLinuxOptions have no equivalent.",
                    &["WIN108", "WIN111"],
                ),
                by(
                    "readOnlyRootFilesystem would be possible, but is not there.",
                    &["WIN115: true"],
                ),
                none(
                    "Fields for numeric IDs need others beside them for names and security identifiers.",
                    "works: windowsOptions.runAsUserName",
                ),
                by(
                    "runAsUser and supplementalGroups are numeric.",
                    &["WIN101", "WIN104"],
                ),
            ],
        },
    ],
};

pub(super) const LIMITATIONS: Document = Document {
    title: "Notes on Kubernetes 1.19",
    about: "Notes on what was supported a year and a half later. What they repeat of the KEP's concepts and fields is above.",
    chapters: &[
        Chapter {
            title: "Control plane, nodes, compatibility",
            statements: &[
                none(
                    "The control plane is Linux; workers are Linux or Windows Server 2019; servicing channels, licences.",
                    CLUSTER,
                ),
                by(
                    "Windows containers go to Windows nodes, Linux containers to Linux nodes.",
                    &["WIN601", "WIN602", "WIN604"],
                ),
                by(
                    "Process isolation wants the same version of node and base image; only Windows Server 2019 (no longer true: see above).",
                    &["WIN603", "WIN605"],
                ),
                by("Hyper-V isolation is planned.", &["WIN506"]),
            ],
        },
        Chapter {
            title: "Compute",
            statements: &[
                by(
                    "Privileged containers do not exist; none takes the node's identity.",
                    &["WIN113: true"],
                ),
                by(
                    "The termination grace period is not implemented.",
                    &["WIN502"],
                ),
                by("Single files cannot be mounted yet.", &["WIN301"]),
                by("Termination messages do not work yet.", &["WIN501"]),
                by("Huge pages.", &["WIN305", "WIN401"]),
                by(
                    "Not all shared namespaces are supported.",
                    &["WIN202", "WIN203", "WIN204"],
                ),
                none("The node problem detector runs on Linux only.", CLUSTER),
                by(
                    "There is no out-of-memory killer; a node without memory pages and becomes slow.",
                    &["WIN403"],
                ),
                by(
                    "Set limits alone, or limits that equal requests.",
                    &["WIN403", "WIN404"],
                ),
                none(
                    "Reserve 2 GiB and more for the system; reserves change what can be allocated and limit nothing.",
                    CLUSTER,
                ),
                none(
                    "Eviction, MemoryPressure and --enforce-node-allocatable are not implemented.",
                    CLUSTER,
                ),
            ],
        },
        Chapter {
            title: "Storage",
            statements: &[
                by(
                    "Volumes are mounted whole: no single files, no subpaths, of Secrets neither.",
                    &["WIN301"],
                ),
                by("Mounts do not reach back to the node.", &["WIN302"]),
                by("No read-only root filesystem.", &["WIN115: true"]),
                none("Read-only volumes work.", WORKS),
                by(
                    "No masks, modes or permissions for single users.",
                    &["WIN101", "WIN102", "WIN106", "WIN306"],
                ),
                by("No block devices.", &["WIN303"]),
                by("No memory as medium.", &["WIN304"]),
                by("No NFS.", &["WIN307"]),
                none(
                    "Mounted volumes do not grow.",
                    "a matter of the volume's claim and driver; no field of a pod asks for it",
                ),
            ],
        },
        Chapter {
            title: "Networking",
            statements: &[
                by("The node's network is not available to pods.", &["WIN201"]),
                none("A node cannot reach its own NodePorts.", CLUSTER),
                none("Nodes cannot reach service addresses.", CLUSTER),
                none("Overlay networks in kube-proxy are alpha.", CLUSTER),
                by(
                    "Local traffic policy and direct server return do not work.",
                    &["WIN702"],
                ),
                by(
                    "Pods on l2bridge, l2tunnel and overlay networks do not speak IPv6.",
                    &["WIN703"],
                ),
                none("ICMP does not leave the network; TCP and UDP do.", CLUSTER),
                none("`kubectl port-forward` works since 1.15.", WORKS),
                none("Limits of win-bridge, win-overlay and Flannel.", CLUSTER),
            ],
        },
        Chapter {
            title: "DNS, IPv6, session affinity",
            statements: &[
                by("dnsPolicy ClusterFirstWithHostNet.", &["WIN206"]),
                by(
                    "There is one DNS suffix, the pod's namespace; names between short and fully qualified are not found.",
                    &["WIN207"],
                ),
                none(
                    "There are several resolvers, which differ.",
                    "a matter of the application",
                ),
                by("Services with IPv6 alone.", &["WIN703"]),
                none("Dual-stack networking with Services of one family.", WORKS),
                by(
                    "sessionAffinityConfig.clientIP.timeoutSeconds.",
                    &["WIN701"],
                ),
            ],
        },
        Chapter {
            title: "Security",
            statements: &[
                none(
                    "Secrets lie on the node's disk in clear text: protect them with access lists and BitLocker.",
                    CLUSTER,
                ),
                by("runAsUser is not supported.", &["WIN101"]),
                none(
                    "runAsUserName is planned.",
                    "works: windowsOptions.runAsUserName, stable since 1.18",
                ),
                by(
                    "SELinux, AppArmor, seccomp, capabilities and others.",
                    &["WIN107", "WIN108", "WIN109", "WIN110", "WIN111"],
                ),
            ],
        },
        Chapter {
            title: "Rollouts",
            statements: &[none(
                "Images are replaced with `kubectl set image`, and rolled back.",
                "works; an UPDATE is judged, and what the object had already is warned of at most",
            )],
        },
    ],
};
