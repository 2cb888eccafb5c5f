//! The KEP itself, without its API reference.

use super::{CLUSTER, Chapter, Document, PROJECT, WORKS, by, none};

pub(super) const KEP: Document = Document {
    title: "The KEP",
    about: "\"Windows node support\" as of March 2019, when Windows nodes became stable in Kubernetes 1.14; its chapters \
            one after the other. Its API reference follows below.",
    chapters: &[
        Chapter {
            title: "Goals and non-goals",
            statements: &[
                none(
                    "Windows Server containers can be scheduled on Windows nodes.",
                    "what the patch is for: node selector, tolerations, `spec.os`",
                ),
                none(
                    "The differences to Linux are documented.",
                    "[windows-on-kubernetes.md](windows-on-kubernetes.md), [rules.md](rules.md) and this page",
                ),
                none("The control plane does not run on Windows.", CLUSTER),
                by(
                    "Linux containers do not run on Windows nodes (LCOW).",
                    &["WIN601", "WIN602"],
                ),
            ],
        },
        Chapter {
            title: "What works today",
            statements: &[
                by(
                    "A container can be created if the node's Windows version matches its base image (Windows Server 2025 also runs images of 2022).",
                    &["WIN603", "WIN605"],
                ),
                none("Microsoft provides the pause image.", CLUSTER),
                none(
                    "Pods have one or several containers with process isolation.",
                    WORKS,
                ),
                none("The status of pods is the same.", WORKS),
                none(
                    "Readiness and liveness probes.",
                    "works; what a probe calls has to exist on Windows (WIN504)",
                ),
                none(
                    "The lifecycle hooks postStart and preStop.",
                    "works; what a hook calls has to exist on Windows (WIN504)",
                ),
                none(
                    "ConfigMaps and Secrets as environment variables and volumes.",
                    WORKS,
                ),
                by("Subpaths of volumes do not work.", &["WIN301"]),
                none("emptyDir.", WORKS),
                none(
                    "Named pipes of the node as mounts.",
                    "works; not in HostProcess pods, which came later (WIN312)",
                ),
                none("Volumes shared between the containers of a pod.", WORKS),
                none("Resource limits.", WORKS),
                none(
                    "Services of all four types, headless ones, service environment variables, and \
                     traffic between the operating systems.",
                    WORKS,
                ),
                none(
                    "ReplicaSet, ReplicationController, Deployment, StatefulSet, DaemonSet, Job, CronJob.",
                    "works; all of them are judged at their templates",
                ),
                none(
                    "Preemption, metrics, horizontal autoscaling, `kubectl exec`, resource quotas.",
                    WORKS,
                ),
                by(
                    "Windows Server 2019 is the only release, for nodes and for containers.",
                    &["WIN605: any build but 10.0.17763"],
                ),
                by(
                    "Clusters mix Linux and Windows nodes; containers have to land on nodes of their own operating system.",
                    &["WIN601", "WIN602", "WIN604"],
                ),
                none(
                    "Network plugins (Azure CNI, OVN, Flannel, win-bridge, win-overlay), dockershim, kube-proxy's \
                     L2Bridge and overlay modes.",
                    CLUSTER,
                ),
                none("Conformance tests pass with Windows images.", PROJECT),
                by(
                    "Storage: flexVolume with the drivers for SMB and iSCSI, azureFile and azureDisk in the tree.",
                    &["WIN308: flexVolume"],
                ),
            ],
        },
        Chapter {
            title: "Windows Node Roadmap",
            statements: &[
                none(
                    "Group managed service accounts will come.",
                    "works: windowsOptions.gmsaCredentialSpecName, stable since 1.18; the field is evidence of Windows, and \
                     WIN120 reports pods in which nothing has filled in the spec",
                ),
                none(
                    "`kubectl port-forward` is missing.",
                    "works since 1.15; no field of a pod asks for it",
                ),
                none("Other container runtimes than Docker: containerd.", CLUSTER),
                none("kubeadm for Windows nodes.", CLUSTER),
                none("Calico as a network plugin.", CLUSTER),
                by(
                    "Hyper-V isolation is alpha, with one container a pod.",
                    &[
                        "WIN506: with one container",
                        "WIN506: with several containers",
                    ],
                ),
                none(
                    "Whether RuntimeClasses will simplify scheduling is not clear.",
                    "works: the API server merges the node selector of a RuntimeClass into pods, where it is evidence",
                ),
                by(
                    "terminationGracePeriodSeconds has to be implemented.",
                    &["WIN502"],
                ),
                by(
                    "Mounts of single files will work with containerd.",
                    &["WIN301"],
                ),
                by(
                    "Termination messages will work with containerd.",
                    &["WIN501"],
                ),
                none(
                    "The kubelet has to learn --enforce-node-allocatable, eviction and MemoryPressure.",
                    CLUSTER,
                ),
                none(
                    "A user name to run as has to be made to work.",
                    "works: windowsOptions.runAsUserName, stable since 1.18; WIN101 points to it",
                ),
                by(
                    "Local traffic policy of Services and direct server return are still to come.",
                    &["WIN702"],
                ),
            ],
        },
        Chapter {
            title: "Custom DNS updates for CNI plugins",
            statements: &[
                none(
                    "Custom DNS settings of pods wait for the network plugins.",
                    "works with today's plugins",
                ),
                none(
                    "dnsPolicy None, hostname, subdomain and dnsConfig.nameservers came out as the pod's spec says.",
                    WORKS,
                ),
                by("dnsConfig.searches is handed to the pod.", &["WIN207"]),
            ],
        },
        Chapter {
            title: "What will never work",
            statements: &[
                by("Privileged containers.", &["WIN113: true"]),
                by(
                    "Privilege and access control in security contexts: capabilities, SELinux, AppArmor, seccomp and others.",
                    &["WIN108", "WIN109", "WIN110", "WIN111", "WIN112"],
                ),
                by(
                    "Reservations are not enforced by the operating system.",
                    &["WIN404", "WIN405"],
                ),
                none(
                    "Overprovisioning could be stopped by the kubelet's --enforce-node-allocatable.",
                    CLUSTER,
                ),
                by("Subpath mounts, of Secrets also.", &["WIN301"]),
                by("Mounts projected back to the node.", &["WIN302"]),
                by("defaultMode, which needs user and group IDs.", &["WIN306"]),
                by("A read-only root filesystem.", &["WIN115: true"]),
                none("Read-only mounts of volumes work.", WORKS),
                by("Block devices.", &["WIN303"]),
                none(
                    "Growing a mounted volume (resizefs).",
                    "a matter of the volume's claim and driver; no field of a pod asks for it",
                ),
                by("Huge pages.", &["WIN305", "WIN401"]),
                by("Memory as the medium of a volume.", &["WIN304"]),
                by(
                    "CSI plugins, which need privileged containers.",
                    &["WIN308: csi"],
                ),
                by(
                    "User and group IDs of files, permissions for single Linux users.",
                    &["WIN101", "WIN102", "WIN104", "WIN106", "WIN306"],
                ),
                by("NFS volumes.", &["WIN307"]),
                by("The node's network.", &["WIN201"]),
                by("dnsPolicy ClusterFirstWithHostNet.", &["WIN206"]),
                by(
                    "A name with a dot counts as fully qualified; the search list is not tried.",
                    &["WIN207"],
                ),
                by(
                    "Shared namespaces, for the most part.",
                    &["WIN202", "WIN203", "WIN204"],
                ),
                none(
                    "The node problem detector runs on Linux only.",
                    "its DaemonSet belongs on Linux nodes; on Windows WIN113 refuses what it asks for",
                ),
                none("win-overlay on Windows Server 1803.", CLUSTER),
                none(
                    "ICMP to the outside; TCP and UDP work.",
                    "a matter of the network; no object says what it sends",
                ),
            ],
        },
        Chapter {
            title: "Windows Container Compatibility",
            statements: &[
                by(
                    "Node and container have to be of the same Windows version (no longer true: Windows Server 2025 also runs images of 2022).",
                    &["WIN603", "WIN605"],
                ),
                by(
                    "That is Windows Server 2019 (1809) and no other.",
                    &["WIN605: any build but 10.0.17763"],
                ),
                none(
                    "Which releases are supported for how long; version skew between kubelet and control plane.",
                    CLUSTER,
                ),
                none(
                    "Applications and nodes are upgraded together.",
                    "what `builds` of a toleration is for: the patch follows the image's build",
                ),
            ],
        },
        Chapter {
            title: "Risks and Mitigations: scheduling",
            statements: &[
                none(
                    "Users have to combine taints and node selectors.",
                    "what the patch does for them",
                ),
                none(
                    "Nodes carry the labels beta.kubernetes.io/os and beta.kubernetes.io/arch (kubernetes.io/os and kubernetes.io/arch later).",
                    "the OS labels are evidence; the patch writes kubernetes.io/os, which every kubelet sets today; \
                     selectors for another architecture than amd64 are reported (WIN606)",
                ),
                by(
                    "Without a node selector a pod may land on a node of the other operating system.",
                    &["WIN604"],
                ),
                none(
                    "Deployments and charts for Linux should not have to change.",
                    "they do not: Linux pods are not evaluated; only `linuxGuard`, off by default, adds a node selector to them",
                ),
                none(
                    "Windows nodes register with the taint os=Win1809:NoSchedule.",
                    CLUSTER,
                ),
                none(
                    "A Windows pod needs the node selector and a toleration of that taint.",
                    "what the patch adds; `placement` in the configuration has the key and the tolerations",
                ),
            ],
        },
        Chapter {
            title: "Memory Overprovisioning",
            statements: &[
                by(
                    "Windows pages where Linux kills: memory that is used up slows the node down.",
                    &["WIN403"],
                ),
                by(
                    "No memory can be reserved for a process; there are only limits.",
                    &["WIN403", "WIN404"],
                ),
                none(
                    "The kubelet's --kube-reserved and --system-reserved account for what runs outside of containers.",
                    CLUSTER,
                ),
                by(
                    "Limits and requests on all containers keep the scheduler from overfilling a node.",
                    &["WIN403", "WIN405"],
                ),
                none(
                    "--eviction-hard, --eviction-soft and --enforce-node-allocatable do not work; MemoryPressure may come.",
                    CLUSTER,
                ),
            ],
        },
        Chapter {
            title: "Graduation, history, testing plan",
            statements: &[
                none(
                    "What has to be documented and tested, and where the tests run.",
                    PROJECT,
                ),
                by(
                    "Tests differ where file access does: IDs against user names, octal permissions against access lists.",
                    &["WIN101", "WIN102", "WIN306"],
                ),
                none(
                    "Tests to come: dnsPolicy Default, ClusterFirst and None, hostname, subdomain.",
                    WORKS,
                ),
                by("Tests to come: dnsConfig.", &["WIN207"]),
                none(
                    "There are no cgroups, but node and kubelet reserves are implemented.",
                    CLUSTER,
                ),
                none(
                    "NodePorts and external ports are to be reachable from and on nodes of both operating systems.",
                    CLUSTER,
                ),
                none("imagePullPolicy.", WORKS),
                none(
                    "Statistics come from the kubelet instead of cAdvisor.",
                    CLUSTER,
                ),
                none("Windows clusters are not certified as conformant.", PROJECT),
            ],
        },
    ],
};
