//! Where the pod is in each of the kinds, and a survey of it: the places that the rooms
//! behind this one look at, found in one pass over the pod's part of the tape.
//!
//! Not here: what any of it means (`os`, `rules`, `placement`).

use crate::object::demand::Anchor::{self, Metadata, Spec};
use crate::object::demand::{Demand, Role};
use crate::object::{At, Tape};
use crate::os::text::{is_linux_path, is_linux_program, is_windows_text};

/// A kind that is judged: one that is or makes pods, or a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `v1` Pod.
    Pod,
    /// `v1` ReplicationController.
    ReplicationController,
    /// `v1` PodTemplate.
    PodTemplate,
    /// `apps` Deployment.
    Deployment,
    /// `apps` ReplicaSet.
    ReplicaSet,
    /// `apps` StatefulSet.
    StatefulSet,
    /// `apps` DaemonSet.
    DaemonSet,
    /// `batch` Job.
    Job,
    /// `batch` CronJob.
    CronJob,
    /// `v1` Service. There is no pod in it; it is judged where a rule for Services is on.
    Service,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Pod,
        Self::ReplicationController,
        Self::PodTemplate,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::Service,
    ];

    /// The kind of this group and name, whatever its version: webhooks match equivalent versions.
    pub fn find(group: &str, name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name && kind.group() == group)
    }

    /// The kind as `kind:` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ReplicationController => "ReplicationController",
            Self::PodTemplate => "PodTemplate",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::Service => "Service",
        }
    }

    /// The API group; empty for the core group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Pod | Self::ReplicationController | Self::PodTemplate | Self::Service => "",
            Self::Deployment | Self::ReplicaSet | Self::StatefulSet | Self::DaemonSet => "apps",
            Self::Job | Self::CronJob => "batch",
        }
    }

    /// Whether a controller's object of kind `owner` makes objects of this kind, and is judged
    /// itself.
    pub(crate) fn is_made_by(self, owner: Self) -> bool {
        match self {
            Self::Pod => matches!(
                owner,
                Self::ReplicaSet
                    | Self::ReplicationController
                    | Self::StatefulSet
                    | Self::DaemonSet
                    | Self::Job
            ),
            Self::ReplicaSet => owner == Self::Deployment,
            Self::Job => owner == Self::CronJob,
            _ => false,
        }
    }

    /// The way from the object to the pod template; empty where it is the object itself.
    fn template(self) -> &'static [Role] {
        match self {
            Self::Pod | Self::Service => &[],
            Self::PodTemplate => &[Role::Template],
            Self::CronJob => &[Role::Spec, Role::JobTemplate, Role::Spec, Role::Template],
            _ => &[Role::Spec, Role::Template],
        }
    }
}

/// The fields that the survey finds.
pub(crate) const FIELDS: &[Demand] = &[
    Demand::text(Metadata, "name", Role::Name),
    Demand::text(Metadata, "generateName", Role::GenerateName),
    Demand::present(Metadata, "deletionTimestamp", Role::DeletionTimestamp),
    Demand::list(Metadata, "ownerReferences", Role::OwnerReferences),
    Demand::text(Metadata, "ownerReferences[*].apiVersion", Role::ApiVersion),
    Demand::text(Metadata, "ownerReferences[*].kind", Role::Kind),
    Demand::bool(Metadata, "ownerReferences[*].controller", Role::Controller),
    Demand::map(Metadata, "annotations", Role::Annotations),
    Demand::present(
        Metadata,
        "annotations{kubernetes.io/config.mirror}",
        Role::Mirror,
    ),
    Demand::text(Metadata, "annotations{openshift.io/scc}", Role::Scc),
    Demand::text(Metadata, "annotations{transom.dev/ignore.*}", Role::Ignore),
    Demand::text(Anchor::Container, "name", Role::Name),
    Demand::text(Anchor::Container, "image", Role::Image),
    Demand::map(
        Anchor::Container,
        "securityContext.windowsOptions",
        Role::WindowsOptions,
    ),
    Demand::bool(
        Anchor::Container,
        "securityContext.windowsOptions.hostProcess",
        Role::HostProcess,
    ),
    Demand::text(
        Anchor::Container,
        "securityContext.windowsOptions.runAsUserName",
        Role::RunAsUserName,
    ),
    Demand::bool(
        Anchor::Container,
        "securityContext.runAsNonRoot",
        Role::RunAsNonRoot,
    ),
    Demand::map(Spec, "securityContext.windowsOptions", Role::WindowsOptions),
    Demand::bool(
        Spec,
        "securityContext.windowsOptions.hostProcess",
        Role::HostProcess,
    ),
    Demand::text(
        Spec,
        "securityContext.windowsOptions.runAsUserName",
        Role::RunAsUserName,
    ),
    Demand::bool(Spec, "securityContext.runAsNonRoot", Role::RunAsNonRoot),
    Demand::bool(Spec, "hostNetwork", Role::HostNetwork),
    Demand::map(Spec, "volumes[*]", Role::Volume),
    Demand::text(Spec, "volumes[*].name", Role::Name),
    Demand::map(Spec, "os", Role::PodOs),
    Demand::text(Spec, "os.name", Role::OsName),
    Demand::map(Spec, "nodeSelector", Role::NodeSelector),
    Demand::text(Spec, "nodeSelector{*}", Role::None),
    Demand::list(Spec, "tolerations", Role::Tolerations),
    Demand::text(Spec, "runtimeClassName", Role::RuntimeClass),
];

/// One container of a pod, of whichever list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Container {
    pub(crate) at: At,
    pub(crate) ephemeral: bool,
    pub(crate) name: Option<At>,
    pub(crate) image: Option<At>,
    pub(crate) windows: WindowsOptions,
}

/// `securityContext.windowsOptions` of a pod or container, and what stands beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowsOptions {
    pub(crate) at: Option<At>,
    pub(crate) host_process: Option<bool>,
    pub(crate) run_as_user_name: Option<At>,
    pub(crate) run_as_non_root: Option<bool>,
}

/// A pod, or the pod template of a workload; of a Service, what it has in common with a pod.
pub(crate) struct Pod<'t, 'a> {
    pub(crate) tape: &'t Tape<'a>,
    /// What the object is that it is part of.
    pub(crate) kind: Kind,
    /// The object that it is part of.
    pub(crate) object: At,
    /// The pod or the template itself.
    pub(crate) at: At,
    pub(crate) spec: Option<At>,
    pub(crate) containers: Vec<Container>,
    pub(crate) windows: WindowsOptions,
    pub(crate) os: Option<At>,
    pub(crate) os_name: Option<At>,
    pub(crate) node_selector: Option<At>,
    pub(crate) node_name: Option<At>,
    pub(crate) runtime_class: Option<At>,
    pub(crate) required_terms: Option<At>,
    pub(crate) preferred_terms: Option<At>,
    pub(crate) tolerations: Option<At>,
    pub(crate) host_network: Option<At>,
    /// The pod's own or its template's labels and annotations that speak of the OS.
    pub(crate) os_label: Option<At>,
    pub(crate) transom_os: Option<At>,
    /// Its annotations that silence rules.
    pub(crate) ignores: Vec<At>,
    /// The first string that only Windows would understand.
    pub(crate) windows_text: Option<At>,
    /// Something that only Linux would understand.
    pub(crate) asks_for_linux: bool,
    /// A privileged container, or a program in a directory of Linux.
    has_linux_settings: bool,
    /// A user, a group or a label of SELinux.
    has_linux_identity: bool,
    /// The annotation by which OpenShift names the SecurityContextConstraints that it applied.
    pub(crate) scc: Option<At>,
}

/// What lies in a pod, but for a template that somebody wrote into it: API servers drop it.
fn entries(tape: &Tape<'_>, pod: At) -> impl Iterator<Item = At> {
    tape.within(pod, |role| {
        matches!(role, Role::Template | Role::JobTemplate)
    })
}

impl<'t, 'a> Pod<'t, 'a> {
    /// Surveys the pod in an object of this kind. An object without a template has none.
    pub(crate) fn find(tape: &'t Tape<'a>, object: At, kind: Kind) -> Option<Self> {
        let at = kind
            .template()
            .iter()
            .try_fold(object, |at, role| tape.child(at, *role))?;
        let mut pod = Self {
            tape,
            kind,
            object,
            at,
            spec: tape.child(at, Role::Spec),
            containers: Vec::with_capacity(4),
            windows: WindowsOptions::default(),
            os: None,
            os_name: None,
            node_selector: None,
            node_name: None,
            runtime_class: None,
            required_terms: None,
            preferred_terms: None,
            tolerations: None,
            host_network: None,
            os_label: None,
            transom_os: None,
            ignores: Vec::new(),
            windows_text: None,
            asks_for_linux: false,
            has_linux_settings: false,
            has_linux_identity: false,
            scc: None,
        };
        for here in entries(tape, at) {
            pod.note(here);
        }
        Some(pod)
    }

    /// All that was read of the pod.
    pub(crate) fn entries(&self) -> impl Iterator<Item = At> {
        entries(self.tape, self.at)
    }

    fn note(&mut self, at: At) {
        let tape = self.tape;
        match tape.role(at) {
            Role::PodOs => self.os = Some(at),
            Role::OsName => self.os_name = Some(at),
            Role::NodeSelector => self.node_selector = Some(at),
            Role::NodeName => self.node_name = Some(at),
            Role::RuntimeClass => self.runtime_class = Some(at),
            Role::RequiredTerms => self.required_terms = Some(at),
            Role::PreferredTerms => self.preferred_terms = Some(at),
            Role::Tolerations => self.tolerations = Some(at),
            Role::HostNetwork => self.host_network = Some(at),
            Role::OsLabel => self.os_label = Some(at),
            Role::TransomOs => self.transom_os = Some(at),
            Role::Ignore => self.ignores.push(at),
            Role::Container => self.containers.push(Container {
                at,
                ephemeral: tape.up(at).and_then(|list| tape.name(list))
                    == Some("ephemeralContainers"),
                name: None,
                image: None,
                windows: WindowsOptions::default(),
            }),
            Role::Name => {
                let up = tape.up(at);
                if let Some(container) = self.containers.last_mut().filter(|c| Some(c.at) == up) {
                    container.name = Some(at);
                }
            }
            Role::Image => {
                if let Some(container) = self.containers.last_mut() {
                    container.image = Some(at);
                }
            }
            Role::WindowsOptions => self.options(at).at = Some(at),
            Role::HostProcess => self.options(at).host_process = tape.bool(at),
            Role::RunAsUserName => self.options(at).run_as_user_name = Some(at),
            Role::RunAsNonRoot => self.options(at).run_as_non_root = tape.bool(at),
            Role::HostPath => match tape.text(at) {
                Some(path) if is_windows_text(path) => _ = self.windows_text.get_or_insert(at),
                Some(path) if is_linux_path(path) => self.asks_for_linux = true,
                _ => {}
            },
            Role::Text => match tape.text(at) {
                Some(text) if is_windows_text(text) => _ = self.windows_text.get_or_insert(at),
                Some(text) if is_linux_program(text) && self.is_program(at) => {
                    self.has_linux_settings = true;
                }
                _ => {}
            },
            Role::Privileged => self.has_linux_settings |= tape.bool(at) == Some(true),
            Role::LinuxIdentity => self.has_linux_identity |= !tape.is_empty(at),
            Role::Scc => self.scc = Some(at),
            Role::CapabilitiesAdd => self.asks_for_linux |= tape.children(at).next().is_some(),
            Role::HugePages => self.asks_for_linux = true,
            _ => {}
        }
    }

    /// Whether this is the first string of a container's command.
    fn is_program(&self, at: At) -> bool {
        let command = self.tape.up(at).filter(|command| *command + 1 == at);
        command.is_some_and(|command| self.tape.name(command) == Some("command"))
    }

    /// Whether it looks like a pod for Linux, by settings that pods for Windows have by mistake.
    pub(crate) fn looks_like_linux(&self) -> bool {
        // OpenShift gives pods of any system an identity.
        self.has_linux_settings || self.has_linux_identity && self.scc.is_none()
    }

    /// The options of the container that this place lies in, or else the pod's.
    fn options(&mut self, at: At) -> &mut WindowsOptions {
        let tape = self.tape;
        match self.containers.last_mut() {
            Some(container) if at < tape.entry(container.at).end => &mut container.windows,
            _ => &mut self.windows,
        }
    }

    /// The container that this place lies in.
    pub(crate) fn container_of(&self, at: At) -> Option<&Container> {
        let after = self.containers.partition_point(|c| c.at <= at);
        let container = self.containers[..after].last()?;
        (at < self.tape.entry(container.at).end).then_some(container)
    }

    /// The volume that this place lies in.
    pub(crate) fn volume_of(&self, at: At) -> Option<At> {
        std::iter::successors(Some(at), |at| self.tape.up(*at))
            .find(|at| self.tape.role(*at) == Role::Volume)
    }

    /// The name of the container or volume that this place lies in.
    pub(crate) fn owner_name(&self, at: At) -> Option<&'t str> {
        let name = match self.container_of(at) {
            Some(container) => container.name,
            None => {
                let volume = self.volume_of(at)?;
                self.tape.child(volume, Role::Name)
            }
        };
        name.and_then(|name| self.tape.text(name))
    }

    /// Whether a node selector or required node affinity restricts the pod to some nodes.
    pub(crate) fn selects_nodes(&self) -> bool {
        let mut lists = [self.node_selector, self.required_terms]
            .into_iter()
            .flatten();
        lists.any(|at| self.tape.children(at).next().is_some())
    }

    /// The value of a key of the node selector, with its place.
    pub(crate) fn selector(&self, key: &str) -> Option<(At, &'t str)> {
        let at = self.node_selector?;
        self.tape
            .members(at)
            .find(|(k, _)| *k == key)
            .and_then(|(_, value)| Some((value, self.tape.text(value)?)))
    }

    /// Whether the container runs as a HostProcess container: its own word over the pod's.
    pub(crate) fn is_host_process(&self, container: &Container) -> bool {
        let host_process = container.windows.host_process.or(self.windows.host_process);
        host_process == Some(true)
    }

    /// Whether any container is a HostProcess container. The API server takes all or none.
    pub(crate) fn has_host_process(&self) -> bool {
        self.windows.host_process == Some(true) && self.containers.is_empty()
            || self.containers.iter().any(|c| self.is_host_process(c))
    }

    /// The user that a container's processes run as, if anybody said: its own word over the pod's.
    pub(crate) fn run_as_user_name(&self, container: &Container) -> Option<&'t str> {
        let name = container.windows.run_as_user_name;
        name.or(self.windows.run_as_user_name)
            .and_then(|at| self.tape.text(at))
    }

    /// Whether os=windows stands in the object.
    pub(crate) fn says_windows(&self) -> bool {
        self.os_name.and_then(|at| self.tape.text(at)) == Some("windows")
    }
}
