//! The operating systems, and the labels by which nodes tell theirs.

/// The label of nodes by which pods choose their operating system.
pub const OS_LABEL: &str = "kubernetes.io/os";
/// Its old name: evidence, but never written.
pub const BETA_OS_LABEL: &str = "beta.kubernetes.io/os";
/// The label that names a node.
pub(crate) const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// The label of Windows nodes that tells their build, such as `10.0.20348`.
pub const BUILD_LABEL: &str = "node.kubernetes.io/windows-build";

/// The label of AKS nodes that tells their release, such as `Windows2022`, or `Ubuntu`.
pub const OS_SKU_LABEL: &str = "kubernetes.azure.com/os-sku";

/// An operating system of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Os {
    /// `linux`
    Linux,
    /// `windows`
    Windows,
}

impl Os {
    /// As Kubernetes writes it; anything else, `Windows` included, is neither.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "linux" => Some(Self::Linux),
            "windows" => Some(Self::Windows),
            _ => None,
        }
    }

    /// As Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
        }
    }
}
