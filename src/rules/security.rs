//! WIN1xx: the security context.

use super::Action::{Deny, Off, Repair, Warn};
use super::check::{Case, NON_EMPTY, SET, Skip, Test, case, container, metadata, pod};
use super::guide::guide;
use super::image::is_nano_server;
use super::{Context, Found, KEP, Rule, Tier, fails, ignored, runs, unprotected};
use crate::object::At;
use crate::object::demand::{Role, Shape};
use crate::workload::{Container, Kind, Pod};

const INTRO: &str = "https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod-spec-containers-securitycontext";
const VALIDATION: &str = "https://kubernetes.io/docs/concepts/workloads/pods/#pod-os";
const USER_NAME: &str =
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername/";
const HOST_PROCESS: &str =
    "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/";

const IGNORED: &[Tier] = &[ignored("", Deny, Deny)];
const TRUE_OR_FALSE: &[Case] = &[case(Test::Is(true), 0), case(Test::Is(false), 1)];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN101",
        name: "run-as-user",
        brief: "Windows has no numeric user IDs",
        reason: "Windows identifies accounts by name and SID; a numeric user ID means nothing there.",
        remedy: "Remove it; to choose the account, set securityContext.windowsOptions.runAsUserName.",
        references: &[KEP, INTRO, USER_NAME],
        tiers: IGNORED,
        checks: &[
            pod("securityContext.runAsUser", SET).refused(),
            container("securityContext.runAsUser", SET).refused().by_scc(),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN101.yaml")),
    },
    Rule {
        code: "WIN102",
        name: "run-as-group",
        brief: "Windows has no numeric group IDs",
        reason: "Windows has no primary group with a numeric ID for a process.",
        remedy: "Remove it; grant access through the account in windowsOptions.runAsUserName or a gMSA.",
        references: &[KEP, INTRO],
        tiers: IGNORED,
        checks: &[
            pod("securityContext.runAsGroup", SET).refused(),
            container("securityContext.runAsGroup", SET).refused(),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN102.yaml")),
    },
    Rule {
        code: "WIN103",
        name: "run-as-non-root",
        brief: "the container cannot start as ContainerAdministrator",
        reason: "On Windows the kubelet treats ContainerAdministrator as root and does not start a container that runs as it when runAsNonRoot is true.",
        remedy: "Set windowsOptions.runAsUserName to ContainerUser, or remove runAsNonRoot.",
        references: &[
            "https://github.com/kubernetes/kubernetes/issues/91414",
            "https://github.com/kubernetes/kubernetes/pull/91482",
            "https://github.com/kubernetes/kubernetes/issues/112469",
        ],
        tiers: &[
            fails(
                "true for a container that runs as ContainerAdministrator",
                Deny,
                Deny,
            ),
            unprotected("true otherwise", Off, Deny),
        ],
        checks: &[
            pod("securityContext.runAsNonRoot", NON_ROOT),
            container("securityContext.runAsNonRoot", NON_ROOT),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN103.yaml")).fields(&[(
            "spec.securityContext.windowsOptions.runAsUserName",
            "is ContainerAdministrator beside it; a container's own name comes before the pod's",
        )])
        .note(
            "The kubelet takes the account from runAsUserName, or else from the user that the \
             image names. Server Core images name none and run as ContainerAdministrator, so \
             they start although runAsNonRoot is true; Nano Server images name ContainerUser. \
             Releases before 1.19 ignored the field.",
        ),
    },
    Rule {
        code: "WIN104",
        name: "supplemental-groups",
        brief: "Windows has no supplemental groups",
        reason: "Windows has no numeric groups that a process could be given.",
        remedy: "Remove it; grant access through the account in windowsOptions.runAsUserName or a gMSA.",
        references: &[KEP, INTRO],
        tiers: &[
            ignored("one or more groups", Deny, Deny),
            runs("an empty list", Repair, Repair),
        ],
        checks: &[pod(
            "securityContext.supplementalGroups",
            &[case(Test::Empty, 1), case(Test::Set, 0)],
        )
        .refused()
        .by_scc()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN104.yaml")),
    },
    Rule {
        code: "WIN105",
        name: "supplemental-groups-policy",
        brief: "Windows has no supplemental groups",
        reason: "Windows has no numeric groups to merge; the kubelet rejects pods with the policy Strict since Kubernetes 1.33.",
        remedy: "Remove it.",
        references: &[VALIDATION],
        tiers: &[fails("Strict", Deny, Deny), runs("Merge", Repair, Repair)],
        checks: &[pod(
            "securityContext.supplementalGroupsPolicy",
            &[case(Test::OneOf(&["Merge"]), 1), case(Test::Set, 0)],
        )
        .refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN105.yaml")),
    },
    Rule {
        code: "WIN106",
        name: "fs-group",
        brief: "Windows does not set group ownership of volumes",
        reason: "Files on Windows have access control lists, not a numeric group that a volume could be handed to.",
        remedy: "Remove it; grant the container's account access to the files instead.",
        references: &[KEP, INTRO],
        tiers: IGNORED,
        checks: &[
            pod("securityContext.fsGroup", SET).refused().by_scc(),
            pod("securityContext.fsGroupChangePolicy", SET).refused(),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN106.yaml")),
    },
    Rule {
        code: "WIN107",
        name: "sysctls",
        brief: "Windows has no sysctls",
        reason: "Sysctls are an interface of the Linux kernel; the kubelet of a Windows node rejects the pod.",
        remedy: "Remove them; tune the Windows image or its node.",
        references: &[KEP, INTRO],
        tiers: &[fails("", Deny, Deny)],
        checks: &[pod("securityContext.sysctls", NON_EMPTY).refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN107.yaml")),
    },
    Rule {
        code: "WIN108",
        name: "se-linux",
        brief: "Windows has no SELinux",
        reason: "SELinux is a module of the Linux kernel.",
        remedy: "Remove it; give the container a less privileged account with windowsOptions.runAsUserName.",
        references: &[KEP, INTRO],
        tiers: &[
            ignored("an option or a change policy", Deny, Deny),
            runs("seLinuxOptions without an option", Repair, Repair),
        ],
        checks: &[
            pod("securityContext.seLinuxOptions", OPTIONS).refused().by_scc(),
            pod("securityContext.seLinuxChangePolicy", SET).refused(),
            container("securityContext.seLinuxOptions", OPTIONS).refused(),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN108.yaml")),
    },
    Rule {
        code: "WIN109",
        name: "app-armor",
        brief: "Windows has no AppArmor",
        reason: "AppArmor is a module of the Linux kernel.",
        remedy: "Remove the profile; give the container a less privileged account with windowsOptions.runAsUserName.",
        references: &[KEP, INTRO],
        tiers: &[
            ignored("a profile", Deny, Deny),
            runs("Unconfined", Repair, Repair),
            ignored(
                "an annotation that asks for a profile of the node",
                Warn,
                Warn,
            ),
        ],
        checks: &[
            pod("securityContext.appArmorProfile", APP_ARMOR).refused(),
            container("securityContext.appArmorProfile", APP_ARMOR).refused(),
            metadata(
                "annotations{container.apparmor.security.beta.kubernetes.io/*}",
                &[case(Test::NoneOf(&["unconfined", "runtime/default"]), 2)],
            ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN109.yaml")),
    },
    Rule {
        code: "WIN110",
        name: "seccomp",
        brief: "Windows has no seccomp",
        reason: "Seccomp filters system calls of the Linux kernel.",
        remedy: "Remove the profile; give the container a less privileged account with windowsOptions.runAsUserName.",
        references: &[KEP, INTRO],
        tiers: &[
            ignored("Localhost", Deny, Deny),
            runs("RuntimeDefault, Unconfined", Repair, Repair),
            ignored(
                "an annotation that asks for a profile of the node",
                Warn,
                Warn,
            ),
        ],
        checks: &[
            pod("securityContext.seccompProfile", SECCOMP).refused().by_scc(),
            container("securityContext.seccompProfile", SECCOMP).refused(),
            metadata(
                "annotations{seccomp.security.alpha.kubernetes.io/*}",
                SECCOMP_ANNOTATION,
            ),
            metadata(
                "annotations{container.seccomp.security.alpha.kubernetes.io/*}",
                SECCOMP_ANNOTATION,
            ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN110.yaml")),
    },
    Rule {
        code: "WIN111",
        name: "capabilities",
        brief: "Windows has no POSIX capabilities",
        reason: "POSIX capabilities divide the powers of the Linux superuser; Windows has no such thing.",
        remedy: "Remove them; if the pod needs the node itself, make it a HostProcess pod (windowsOptions.hostProcess and hostNetwork: true).",
        references: &[KEP, INTRO, HOST_PROCESS],
        tiers: &[
            ignored("add", Deny, Deny),
            runs("drop alone, nothing, or in a HostProcess pod", Repair, Deny),
        ],
        checks: &[container(
            "securityContext.capabilities",
            &[
                case(Test::InHostProcess(&Test::Set), 1),
                case(
                    Test::Child("securityContext.capabilities.add", &Test::NonEmpty),
                    0,
                ),
                case(Test::Set, 1),
            ],
        )
        .refused()
.by_scc()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN111.yaml")),
    },
    Rule {
        code: "WIN112",
        name: "allow-privilege-escalation",
        brief: "Windows cannot control privilege escalation",
        reason: "The field sets no_new_privs of the Linux kernel; Windows has no such switch.",
        remedy: "Remove it.",
        references: &[KEP, INTRO],
        tiers: &[ignored("true", Deny, Deny), runs("false", Repair, Deny)],
        checks: &[container("securityContext.allowPrivilegeEscalation", TRUE_OR_FALSE).refused().by_scc()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN112.yaml")),
    },
    Rule {
        code: "WIN113",
        name: "privileged",
        brief: "Windows has no privileged containers",
        reason: "Windows cannot lift a container's isolation; what comes closest is a HostProcess container.",
        remedy: "Remove it; if the pod needs the node itself, make it a HostProcess pod (windowsOptions.hostProcess and hostNetwork: true).",
        references: &[KEP, INTRO, HOST_PROCESS],
        tiers: &[
            ignored("true", Deny, Deny),
            runs("false, or in a HostProcess pod", Repair, Repair),
        ],
        checks: &[container(
            "securityContext.privileged",
            &[
                case(Test::InHostProcess(&Test::Is(true)), 1),
                case(Test::Is(true), 0),
                case(Test::Is(false), 1),
            ],
        )
        .refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN113.yaml")),
    },
    Rule {
        code: "WIN114",
        name: "proc-mount",
        brief: "Windows has no /proc",
        reason: "The field is about what of Linux's /proc a container sees; Windows has no /proc.",
        remedy: "Remove it.",
        references: &[KEP, INTRO],
        tiers: &[ignored("Unmasked", Deny, Deny), runs("Default", Repair, Deny)],
        checks: &[container(
            "securityContext.procMount",
            &[case(Test::OneOf(&["Default"]), 1), case(Test::Set, 0)],
        )
        .refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN114.yaml")),
    },
    Rule {
        code: "WIN115",
        name: "read-only-root-filesystem",
        brief: "the root filesystem of Windows stays writable",
        reason: "Windows needs to write its registry and system files inside the container, so the root filesystem stays writable.",
        remedy: "Remove it, and do not rely on it: give the container a less privileged account (windowsOptions.runAsUserName: ContainerUser).",
        references: &[KEP, INTRO],
        tiers: &[
            unprotected("true", Deny, Deny),
            runs("false", Repair, Repair),
        ],
        checks: &[container("securityContext.readOnlyRootFilesystem", TRUE_OR_FALSE).refused()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN115.yaml")),
    },
    Rule {
        code: "WIN116",
        name: "container-administrator",
        brief: "the container runs as administrator",
        reason: "ContainerAdministrator may change everything inside the container, which is more than most applications need and makes an escape from it easier.",
        remedy: "Set windowsOptions.runAsUserName to ContainerUser.",
        references: &[USER_NAME],
        tiers: &[runs("", Off, Off)],
        checks: &[
            pod(
                "securityContext.windowsOptions.runAsUserName",
                ADMINISTRATOR,
            ),
            container(
                "securityContext.windowsOptions.runAsUserName",
                ADMINISTRATOR,
            ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN116.yaml"))
            .never(&["containers that are HostProcess containers"]),
    },
    Rule {
        code: "WIN117",
        name: "host-process",
        brief: "HostProcess is not allowed in this namespace",
        reason: "A HostProcess container runs on the node itself, with the powers of its account there.",
        remedy: "Run it as an ordinary container, or in a namespace that the configuration lists under hostProcess.namespaces.",
        references: &[HOST_PROCESS],
        tiers: &[runs("", Off, Deny)],
        checks: &[
            pod(
                "securityContext.windowsOptions.hostProcess",
                HOST_PROCESS_HERE,
            ),
            container(
                "securityContext.windowsOptions.hostProcess",
                HOST_PROCESS_HERE,
            ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN117.yaml"))
            .never(&["the namespaces that the configuration lists under hostProcess.namespaces"]),
    },
    Rule {
        code: "WIN118",
        name: "non-root-unproven",
        brief: "runAsNonRoot does not stop images that name no user",
        reason: "The kubelet compares the account in runAsUserName, or else that of the image, with ContainerAdministrator; Server Core images name none and run as ContainerAdministrator although runAsNonRoot is true.",
        remedy: "Set windowsOptions.runAsUserName, for example to ContainerUser.",
        references: &[
            "https://github.com/kubernetes/kubernetes/issues/112469",
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kuberuntime/security_context_windows.go",
            USER_NAME,
        ],
        tiers: &[unprotected("", Warn, Off)],
        checks: &[
            pod("securityContext.runAsNonRoot", UNPROVEN).skip(Skip::HostProcess),
            container("securityContext.runAsNonRoot", UNPROVEN).skip(Skip::HostProcess),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN118.yaml"))
            .fields(&[(
                "spec.securityContext.windowsOptions.runAsUserName",
                "is not set for a container, neither here nor in the container",
            )])
            .never(&["containers whose image is named nanoserver, which runs as ContainerUser"])
            .note(
                "Pod Security `restricted` requires runAsNonRoot of Windows pods, too. An image whose \
                 Dockerfile ends with another USER than ContainerAdministrator runs as that user; the \
                 object does not show it, so the rule warns.",
            ),
    },
    Rule {
        code: "WIN119",
        name: "host-process-account",
        brief: "HostProcess containers need an account of the node",
        reason: "A HostProcess container runs as an account of the node; ContainerUser and ContainerAdministrator exist in other containers only, and runAsNonRoot restricts none of the node's accounts.",
        remedy: r"Set windowsOptions.runAsUserName to an account or a local group of the node, such as NT AUTHORITY\SYSTEM or NT AUTHORITY\Local service, and remove runAsNonRoot.",
        references: &[
            HOST_PROCESS,
            "https://github.com/microsoft/hcsshim/blob/main/internal/jobcontainers/logon.go",
        ],
        tiers: &[
            fails("ContainerUser or ContainerAdministrator", Warn, Off),
            runs("no runAsUserName", Warn, Off),
            unprotected("runAsNonRoot", Warn, Off),
        ],
        checks: &[
            pod("securityContext.runAsNonRoot", NON_ROOT_HOST_PROCESS).skip(Skip::Ordinary),
            container("securityContext.runAsNonRoot", NON_ROOT_HOST_PROCESS).skip(Skip::Ordinary),
            metadata("annotations{microsoft.com/hostprocess-inherit-user}", READ),
        ],
        by_pod: Some(host_process_account),
        guide: guide(include_str!("examples/WIN119.yaml"))
            .fields(&[
                (
                    "spec.securityContext.windowsOptions.runAsUserName",
                    "is ContainerUser or ContainerAdministrator, or is not set for a container, neither \
                     here nor in the container",
                ),
                (
                    "spec.containers[*].securityContext.windowsOptions.runAsUserName",
                    "is ContainerUser or ContainerAdministrator",
                ),
            ])
            .never(&[
                "runAsUserName in pods with the annotation microsoft.com/hostprocess-inherit-user: \
                 \"true\"",
            ])
            .note(
                "Without runAsUserName the container runs as the user that the image names; most images \
                 name none, and then the container does not start.",
            ),
    },
    Rule {
        code: "WIN120",
        name: "gmsa-not-expanded",
        brief: "nothing has filled in gmsaCredentialSpec",
        reason: "The kubelet uses only gmsaCredentialSpec. The webhook windows-gmsa fills it in by the name; without that webhook the container runs without the account.",
        remedy: "Install the webhook windows-gmsa, or check that its webhook configuration matches this namespace.",
        references: &[
            "https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/",
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kuberuntime/kuberuntime_container_windows.go",
            "https://github.com/kubernetes-sigs/windows-gmsa",
        ],
        tiers: &[ignored("", Warn, Off)],
        checks: &[
            pod(
                "securityContext.windowsOptions.gmsaCredentialSpecName",
                UNEXPANDED,
            ),
            container(
                "securityContext.windowsOptions.gmsaCredentialSpecName",
                UNEXPANDED,
            ),
            pod("securityContext.windowsOptions.gmsaCredentialSpec", READ),
            container("securityContext.windowsOptions.gmsaCredentialSpec", READ),
            metadata("uid", READ),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN120.yaml"))
            .never(&["templates and manifests, which the webhook windows-gmsa does not change"])
            .note(
                "The rule reports pods on their way through the API server, and live pods in transom \
                 scan. It knows them by metadata.uid.",
            ),
    },
];

/// Read for the functions below; never a finding by itself.
const READ: &[Case] = &[];

const NON_ROOT_HOST_PROCESS: &[Case] = &[case(Test::Is(true), 2)];

const UNEXPANDED: &[Case] = &[case(
    Test::By(
        Shape::Text,
        is_unexpanded_gmsa,
        "is set without gmsaCredentialSpec, in a pod",
    ),
    0,
)];

const OPTIONS: &[Case] = &[case(Test::Empty, 1), case(Test::Present, 0)];

const APP_ARMOR: &[Case] = &[
    case(
        Test::Child(
            "securityContext.appArmorProfile.type",
            &Test::OneOf(&["Unconfined"]),
        ),
        1,
    ),
    case(Test::Set, 0),
];

const SECCOMP: &[Case] = &[
    case(
        Test::Child(
            "securityContext.seccompProfile.type",
            &Test::OneOf(&["RuntimeDefault", "Unconfined"]),
        ),
        1,
    ),
    case(Test::Set, 0),
];

const SECCOMP_ANNOTATION: &[Case] = &[case(Test::StartsWith("localhost/"), 2)];

const NON_ROOT: &[Case] = &[
    case(
        Test::By(Shape::Bool, is_non_root_administrator, "is true"),
        0,
    ),
    case(Test::Is(true), 1),
];

const UNPROVEN: &[Case] = &[case(
    Test::By(Shape::Bool, is_unproven_non_root, "is true"),
    0,
)];

const ADMINISTRATOR: &[Case] = &[case(
    Test::By(
        Shape::Text,
        is_administrator_here,
        "is ContainerAdministrator, in upper or lower case",
    ),
    0,
)];

const HOST_PROCESS_HERE: &[Case] = &[case(
    Test::By(Shape::Bool, is_forbidden_host_process, "is true"),
    0,
)];

/// Windows compares account names without regard to case.
fn is_administrator(user: Option<&str>) -> bool {
    user.is_some_and(|user| user.eq_ignore_ascii_case("ContainerAdministrator"))
}

/// runAsNonRoot is true at this place, and holds for a container that runs as administrator.
fn is_non_root_administrator(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    if pod.tape.bool(at) != Some(true) {
        return false;
    }
    match pod.container_of(at) {
        Some(container) => is_administrator(pod.run_as_user_name(container)),
        None => pod
            .containers
            .iter()
            .filter(|container| container.windows.run_as_non_root.is_none())
            .any(|container| is_administrator(pod.run_as_user_name(container))),
    }
}

/// runAsNonRoot is true at this place, and holds for a container whose account nothing names.
fn is_unproven_non_root(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    let is_unproven = |container: &Container| {
        let image = container.image.and_then(|at| pod.tape.text(at));
        pod.run_as_user_name(container).is_none() && !image.is_some_and(is_nano_server)
    };
    if pod.tape.bool(at) != Some(true) {
        return false;
    }
    match pod.container_of(at) {
        Some(container) => is_unproven(container),
        None => pod
            .containers
            .iter()
            .filter(|container| container.windows.run_as_non_root.is_none())
            .any(is_unproven),
    }
}

/// WIN119. An account that the pod names, or lacks, is reported once.
fn host_process_account(context: &Context<'_, '_, '_>, report: &mut dyn FnMut(Found)) {
    const MISSING: &[&str] = &["securityContext", "windowsOptions", "runAsUserName"];
    let pod = context.pod;
    if !context.host_process || inherits_user(pod) {
        return;
    }
    let is_containers = |at: At| {
        let user = pod.tape.text(at);
        is_administrator(user)
            || user.is_some_and(|user| user.eq_ignore_ascii_case("ContainerUser"))
    };
    let (mut named, mut missing) = (false, false);
    for container in pod.containers.iter().filter(|c| pod.is_host_process(c)) {
        let own = container.windows.run_as_user_name;
        let is_by_pod = container.windows.host_process.is_none();
        let (at, rest, tier) = match own.or(pod.windows.run_as_user_name) {
            Some(at) if is_containers(at) => {
                if own.is_none() && std::mem::replace(&mut named, true) {
                    continue;
                }
                (at, &[][..], 0)
            }
            Some(_) => continue,
            None if is_by_pod && std::mem::replace(&mut missing, true) => continue,
            None if is_by_pod => (pod.spec.unwrap_or(pod.at), MISSING, 1),
            None => (container.at, MISSING, 1),
        };
        report(Found {
            at,
            missing: rest,
            tier,
        });
    }
}

/// containerd runs the containers of such a pod as its own user.
fn inherits_user(pod: &Pod<'_, '_>) -> bool {
    let tape = pod.tape;
    let annotations = tape
        .child(pod.at, Role::Metadata)
        .and_then(|metadata| tape.child(metadata, Role::Annotations));
    let inherits = annotations
        .and_then(|at| tape.named(at, "microsoft.com/hostprocess-inherit-user"))
        .and_then(|at| tape.text(at));
    inherits == Some("true")
}

/// The API server gives a pod its uid before /validate; by then the webhook windows-gmsa has changed it.
fn is_unexpanded_gmsa(context: &Context<'_, '_, '_>, at: At) -> bool {
    let Pod { tape, kind, .. } = context.pod;
    let metadata = tape.child(context.pod.at, Role::Metadata);
    let is_stored = metadata.is_some_and(|metadata| tape.named(metadata, "uid").is_some());
    let has_spec = |options: At| {
        let spec = tape.named(options, "gmsaCredentialSpec");
        spec.and_then(|at| tape.text(at))
            .is_some_and(|s| !s.is_empty())
    };
    let own = |container: &Container| container.windows.at.is_some_and(has_spec);
    // Containers with a spec of their own do not use that of the pod.
    let is_used = match context.pod.container_of(at) {
        Some(_) => true,
        None => !context.pod.containers.iter().all(own),
    };
    *kind == Kind::Pod
        && is_stored
        && is_used
        && !tape.up(at).is_some_and(has_spec)
        && tape.text(at).is_some_and(|s| !s.is_empty())
}

/// The user name at this place is the administrator's, and some container that is not a
/// HostProcess container runs by it.
fn is_administrator_here(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    if !is_administrator(pod.tape.text(at)) {
        return false;
    }
    match pod.container_of(at) {
        Some(container) => !pod.is_host_process(container),
        None => pod.containers.iter().any(|container| {
            container.windows.run_as_user_name.is_none() && !pod.is_host_process(container)
        }),
    }
}

fn is_forbidden_host_process(context: &Context<'_, '_, '_>, at: At) -> bool {
    !context.host_process_allowed && context.pod.tape.bool(at) == Some(true)
}
