//! The flags that say which cluster, of all commands that look into one as a user.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// How a cluster is found: as kubectl finds it.
#[derive(Args, Debug)]
pub struct KubeArgs {
    /// The kubeconfig; without it KUBECONFIG or ~/.kube/config, or in a pod its ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "The cluster")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME", help_heading = "The cluster")]
    pub context: Option<String>,
}
