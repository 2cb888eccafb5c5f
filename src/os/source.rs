//! The kinds of evidence, strongest first, and their names.

/// Where evidence comes from, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// `spec.os.name`
    OsField,
    /// `nodeSelector` with the OS label.
    NodeSelector,
    /// `windowsOptions` of the pod or a container.
    WindowsOptions,
    /// The Windows build or release (AKS), in the node selector or required affinity.
    Build,
    /// Required node affinity to the OS label.
    RequiredAffinity,
    /// A known node, by `nodeName` or by affinity.
    NodeName,
    /// The node selector of the RuntimeClass.
    RuntimeClass,
    /// What the registry says of an image.
    Registry,
    /// The pods that a Service selects.
    SelectedPods,
    /// The name of an image that runs on Windows only.
    CertainImage,
    /// The namespace's label or the object's annotation `transom.dev/os`.
    Declared,
    /// Preferred node affinity to the OS label.
    PreferredAffinity,
    /// The pod's label `kubernetes.io/os`.
    PodLabel,
    /// The name of an image that is probably for Windows.
    ImageHint,
    /// `C:\`, `\\.\pipe\`, powershell.exe or cmd.exe in a command or path.
    WindowsText,
    /// A toleration that names a Windows taint.
    Toleration,
}

impl Source {
    /// All of them, strongest first.
    pub const ALL: [Self; 16] = [
        Self::OsField,
        Self::NodeSelector,
        Self::WindowsOptions,
        Self::Build,
        Self::RequiredAffinity,
        Self::NodeName,
        Self::RuntimeClass,
        Self::Registry,
        Self::SelectedPods,
        Self::CertainImage,
        Self::Declared,
        Self::PreferredAffinity,
        Self::PodLabel,
        Self::ImageHint,
        Self::WindowsText,
        Self::Toleration,
    ];

    /// Its name in the configuration, metrics and audit annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::OsField => "os-field",
            Self::NodeSelector => "node-selector",
            Self::WindowsOptions => "windows-options",
            Self::Build => "build",
            Self::RequiredAffinity => "required-affinity",
            Self::NodeName => "node-name",
            Self::RuntimeClass => "runtime-class",
            Self::Registry => "registry",
            Self::SelectedPods => "selected-pods",
            Self::CertainImage => "certain-image",
            Self::Declared => "declared",
            Self::PreferredAffinity => "preferred-affinity",
            Self::PodLabel => "pod-label",
            Self::ImageHint => "image-hint",
            Self::WindowsText => "windows-text",
            Self::Toleration => "toleration",
        }
    }
}
