//! The KEP's API reference.

use super::{CLUSTER, Chapter, Document, WORKS, by, none};

pub(super) const REFERENCE: Document = Document {
    title: "The KEP's API reference",
    about: "The same version's list of concepts and fields that differ.",
    chapters: &[
        Chapter {
            title: "Concepts",
            statements: &[
                by(
                    "Identity: Windows has security identifiers and account names, no numeric IDs.",
                    &["WIN101", "WIN102", "WIN104"],
                ),
                by(
                    "File permissions: access control lists, no mode bits.",
                    &["WIN106", "WIN306"],
                ),
                by(
                    "Paths and command lines that the container interprets may need backslashes.",
                    &["WIN311", "WIN504"],
                ),
                by(
                    "Signals: Windows programs are told to end in other ways.",
                    &["WIN503"],
                ),
                none("Exit codes mean the same.", WORKS),
                by(
                    "Resources are held by a job object for each container, not by a cgroup for the pod.",
                    &["WIN402"],
                ),
                by(
                    "No container runs without isolation, so none has the node's privileges or identity.",
                    &["WIN113: true"],
                ),
                by(
                    "Mounts are directories, not single files.",
                    &["WIN301", "WIN501"],
                ),
                by("Mounts do not reach back to the node.", &["WIN302"]),
                by(
                    "The registry and the account database have to be writable: no read-only filesystems.",
                    &["WIN115: true"],
                ),
                none("Read-only volumes work.", WORKS),
                by(
                    "User masks and permissions of volumes do not exist.",
                    &["WIN106", "WIN306"],
                ),
                by(
                    "DNS and routes are in the container's registry: files such as /etc/resolv.conf, mounted from the node, do nothing.",
                    &["WIN311"],
                ),
                none(
                    "Network plugins have to call the host network service.",
                    CLUSTER,
                ),
            ],
        },
        Chapter {
            title: "V1.Container",
            statements: &[
                none(
                    "resources.limits.cpu and memory: CPU limits become shares, with Hyper-V isolation a number of cores.",
                    WORKS,
                ),
                by("Huge pages do not exist.", &["WIN401"]),
                by(
                    "resources.requests.cpu and memory count for scheduling but guarantee nothing; set them on all containers.",
                    &["WIN404", "WIN405"],
                ),
                by("securityContext.allowPrivilegeEscalation", &["WIN112"]),
                by("securityContext.capabilities", &["WIN111"]),
                by("securityContext.privileged", &["WIN113"]),
                by("securityContext.procMount", &["WIN114"]),
                by("securityContext.readOnlyRootFilesystem", &["WIN115"]),
                by("securityContext.runAsGroup", &["WIN102"]),
                by(
                    "securityContext.runAsNonRoot: there is no root; ContainerAdministrator comes closest.",
                    &["WIN103", "WIN118"],
                ),
                by("securityContext.runAsUser", &["WIN101"]),
                by("securityContext.seLinuxOptions", &["WIN108"]),
                by(
                    "terminationMessagePath works at its default only.",
                    &["WIN501"],
                ),
            ],
        },
        Chapter {
            title: "V1.Pod",
            statements: &[
                by("hostIPC and hostPID", &["WIN202", "WIN203"]),
                by("hostNetwork", &["WIN201"]),
                by("dnsPolicy ClusterFirstWithHostNet", &["WIN206"]),
                by("shareProcessNamespace", &["WIN204"]),
                none("The network is shared within a pod.", WORKS),
                by(
                    "terminationGracePeriodSeconds: Docker ends containers after 5 s, whatever it says.",
                    &["WIN502"],
                ),
                by("volumeDevices", &["WIN303"]),
                none("volumes: emptyDir, secret, configMap, hostPath", WORKS),
                by("emptyDir.medium Memory", &["WIN304"]),
                by("volumeMounts.mountPropagation", &["WIN302"]),
            ],
        },
        Chapter {
            title: "V1.PodSecurityContext",
            statements: &[
                by(
                    "None of its fields works; those that are not listed: fsGroup, seccomp.",
                    &["WIN106", "WIN110"],
                ),
                by("seLinuxOptions", &["WIN108"]),
                by("runAsUser", &["WIN101"]),
                by("runAsGroup", &["WIN102"]),
                by("runAsNonRoot", &["WIN103", "WIN118"]),
                by("supplementalGroups", &["WIN104"]),
                by("sysctls", &["WIN107"]),
            ],
        },
    ],
};
