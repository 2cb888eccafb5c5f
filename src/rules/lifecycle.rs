//! WIN5xx: how containers start, stop and are watched.

use super::Action::{Deny, Off, Warn};
use super::check::{Case, Skip, Test, case, container, metadata, pod};
use super::guide::guide;
use super::image::is_nano_server;
use super::{Context, KEP, Rule, Tier, fails, ignored, runs};
use crate::object::At;
use crate::object::demand::Shape;

const INTRO: &str =
    "https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod-spec-containers";

const OFF_OR_WARN: &[Tier] = &[runs("", Off, Warn)];

const LINUX_SHELL: Case = case(
    Test::By(
        Shape::Text,
        is_linux_shell,
        "starts with /bin/ or /usr/bin/, or is sh or bash",
    ),
    0,
);
const ENTRYPOINT: &[Case] = &[LINUX_SHELL];
const PROBE_OR_HOOK: &[Case] = &[
    LINUX_SHELL,
    case(
        Test::By(
            Shape::Text,
            is_linux_program,
            "is cat, cp, ls, nc, pgrep, rm, sleep, test, touch, true or wget",
        ),
        1,
    ),
];

/// Programs that probes and hooks of Linux containers call. Windows has a curl.
const LINUX_PROGRAMS: &[&str] = &[
    "cat", "cp", "ls", "nc", "pgrep", "rm", "sleep", "test", "touch", "true", "wget",
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "WIN501",
        name: "termination-message-path",
        brief: "single files cannot be mounted on Windows with Docker",
        reason: "The termination message is mounted as a single file, which Windows containers did not support when KEP-116 was written.",
        remedy: "Leave terminationMessagePath at its default.",
        references: &[KEP, INTRO],
        tiers: OFF_OR_WARN,
        checks: &[container(
            "terminationMessagePath",
            &[case(Test::NoneOf(&["/dev/termination-log", ""]), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN501.yaml")),
    },
    Rule {
        code: "WIN502",
        name: "termination-grace-period",
        brief: "Windows did not honour the grace period",
        reason: "Windows containers were ended without waiting when KEP-116 was written.",
        remedy: "Leave terminationGracePeriodSeconds at 30, and do not rely on it.",
        references: &[KEP, INTRO],
        tiers: OFF_OR_WARN,
        checks: &[pod(
            "terminationGracePeriodSeconds",
            &[case(Test::NumberOtherThan(30), 0)],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN502.yaml")),
    },
    Rule {
        code: "WIN503",
        name: "stop-signal",
        brief: "the API allows SIGTERM and SIGKILL only for Windows pods",
        reason: "The API server rejects every other stopSignal of a Windows pod; the signals of Windows itself, such as CTRL_SHUTDOWN_EVENT, have no name in the API.",
        remedy: "Remove stopSignal or set it to SIGTERM; an image can name a signal of Windows with STOPSIGNAL, such as CTRLSHUTDOWN.",
        references: &[
            "https://github.com/kubernetes/kubernetes/pull/130556",
            "https://github.com/microsoft/hcsshim/blob/main/internal/signals/signal.go",
        ],
        tiers: &[fails("", Deny, Off)],
        checks: &[container(
            "lifecycle.stopSignal",
            &[case(Test::NoneOf(&["SIGTERM", "SIGKILL"]), 0)],
        )
        .refused()
        .validate_only()],
        by_pod: None,
        guide: guide(include_str!("examples/WIN503.yaml")).note(
            "In a cluster the API server itself rejects such a pod before /validate, or drops the field if \
             the feature gate ContainerStopSignals is off, as it is by default. So the rule reports \
             manifests, in transom check.",
        ),
    },
    Rule {
        code: "WIN504",
        name: "linux-shell",
        brief: "Windows images do not have this program",
        reason: "Windows images have no sh, no bash, no /bin directory and no programs such as sleep or cat, so the container, its probe or its hook fails.",
        remedy: "Call cmd /c, powershell or pwsh; Windows images have no /bin, so call a program of the image by its path there. To wait in a hook, use its sleep action.",
        references: &[
            KEP,
            INTRO,
            "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-implementations",
        ],
        tiers: &[
            fails("a shell, or a program in /bin or /usr/bin", Warn, Warn),
            fails("another program of Linux in a probe or hook", Warn, Off),
        ],
        checks: &[
            container("command[0]", ENTRYPOINT),
            container("args[0]", ENTRYPOINT),
            container("livenessProbe.exec.command[0]", PROBE_OR_HOOK),
            container("readinessProbe.exec.command[0]", PROBE_OR_HOOK),
            container("startupProbe.exec.command[0]", PROBE_OR_HOOK),
            container("lifecycle.postStart.exec.command[0]", PROBE_OR_HOOK),
            container("lifecycle.preStop.exec.command[0]", PROBE_OR_HOOK),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN504.yaml")),
    },
    Rule {
        code: "WIN505",
        name: "restart-all-containers",
        brief: "the pod fails instead, with Hyper-V isolation",
        reason: "With process isolation all containers are restarted; with Hyper-V isolation the virtual machine of the pod goes away with them, and the pod ends as Failed.",
        remedy: "Use the action Restart for the container itself, or process isolation.",
        references: &[
            "https://github.com/kubernetes/kubernetes/issues/140187",
            "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules",
        ],
        tiers: &[fails("", Warn, Off)],
        checks: &[container(
            "restartPolicyRules[*].action",
            &[case(
                Test::By(
                    Shape::Text,
                    restarts_all_in_hyper_v,
                    "is RestartAllContainers",
                ),
                0,
            )],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN505.yaml"))
            .fields(&[(
                "spec.runtimeClassName",
                "names a RuntimeClass of the cluster whose handler is for Hyper-V isolation, such as \
                 runhcs-wcow-hypervisor",
            )])
            .never(&["pods whose RuntimeClass is not known, as in transom check"]),
    },
    Rule {
        code: "WIN506",
        name: "hyper-v-isolation",
        brief: "the annotation for Hyper-V isolation does nothing any more",
        reason: "The experimental annotation was removed from the kubelet; while it lasted, a pod with it could hold one container only.",
        remedy: "Remove the annotation; choose Hyper-V isolation with a RuntimeClass.",
        references: &[
            KEP,
            "https://kubernetes.io/docs/concepts/containers/runtime-class/",
        ],
        tiers: &[
            ignored("with several containers", Warn, Deny),
            ignored("with one container", Warn, Off),
        ],
        checks: &[metadata(
            "annotations{experimental.windows.kubernetes.io/isolation-type}",
            &[
                case(Test::By(Shape::Text, is_crowded_hyper_v, "is hyperv"), 0),
                case(Test::OneOf(&["hyperv"]), 1),
            ],
        )],
        by_pod: None,
        guide: guide(include_str!("examples/WIN506.yaml")),
    },
    Rule {
        code: "WIN507",
        name: "powershell-nano-server",
        brief: "Nano Server images have no Windows PowerShell",
        reason: "Windows PowerShell is not part of Nano Server, so the container, its probe or its hook fails.",
        remedy: "Use an image with PowerShell and call pwsh, or call cmd /c.",
        references: &[
            "https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images",
        ],
        tiers: &[fails("", Warn, Off)],
        checks: &[
            container("command[0]", POWERSHELL).skip(Skip::HostProcess),
            container("args[0]", POWERSHELL).skip(Skip::HostProcess),
            container("livenessProbe.exec.command[0]", POWERSHELL).skip(Skip::HostProcess),
            container("readinessProbe.exec.command[0]", POWERSHELL).skip(Skip::HostProcess),
            container("startupProbe.exec.command[0]", POWERSHELL).skip(Skip::HostProcess),
            container("lifecycle.postStart.exec.command[0]", POWERSHELL).skip(Skip::HostProcess),
            container("lifecycle.preStop.exec.command[0]", POWERSHELL).skip(Skip::HostProcess),
        ],
        by_pod: None,
        guide: guide(include_str!("examples/WIN507.yaml")).fields(&[(
            "spec.containers[*].image",
            "has nanoserver in its name or tag",
        )]),
    },
];

const POWERSHELL: &[Case] = &[case(
    Test::By(
        Shape::Text,
        is_powershell_on_nano_server,
        "is powershell or powershell.exe, with or without a directory",
    ),
    0,
)];

fn is_powershell_on_nano_server(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    let is_nano = || {
        let image = pod.container_of(at).and_then(|container| container.image);
        image
            .and_then(|at| pod.tape.text(at))
            .is_some_and(is_nano_server)
    };
    program(context, at).is_some_and(|word| {
        let name = word.rsplit(['\\', '/']).next().unwrap_or_default();
        ["powershell", "powershell.exe"]
            .iter()
            .any(|powershell| name.eq_ignore_ascii_case(powershell))
    }) && is_nano()
}

/// The first word of a command.
fn program<'p>(context: &Context<'p, '_, '_>, at: At) -> Option<&'p str> {
    context.pod.tape.text(at)?.split_whitespace().next()
}

fn is_linux_shell(context: &Context<'_, '_, '_>, at: At) -> bool {
    program(context, at).is_some_and(|word| {
        word.starts_with("/bin/") || word.starts_with("/usr/bin/") || word == "sh" || word == "bash"
    })
}

fn is_linux_program(context: &Context<'_, '_, '_>, at: At) -> bool {
    program(context, at).is_some_and(|word| LINUX_PROGRAMS.contains(&word))
}

/// A RuntimeClass that is known for Hyper-V isolation: its pods are utility VMs, which do not
/// survive the restart of all containers.
fn restarts_all_in_hyper_v(context: &Context<'_, '_, '_>, at: At) -> bool {
    let Context { pod, facts, .. } = context;
    let class = pod.runtime_class.and_then(|at| pod.tape.text(at));
    let class = class.and_then(|class| facts.runtime_classes.get(class));
    pod.tape.text(at) == Some("RestartAllContainers") && class.is_some_and(|c| c.hyper_v)
}

fn is_crowded_hyper_v(context: &Context<'_, '_, '_>, at: At) -> bool {
    let pod = context.pod;
    let containers = pod.spec.and_then(|spec| pod.tape.named(spec, "containers"));
    pod.tape.text(at) == Some("hyperv")
        && containers.is_some_and(|list| pod.tape.children(list).count() > 1)
}
