//! `transom doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::KubeArgs;

/// Flags of `transom doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// How the cluster is found.
    #[command(flatten)]
    pub kube: KubeArgs,

    /// The name of the webhook configurations, where Transom is installed more than once
    #[arg(long, value_name = "NAME", help_heading = "The cluster")]
    pub webhook_configuration: Option<String>,

    /// Where to look at the certificate, such as the end of a port-forward; in a pod, the Service itself
    ///
    /// The certificate must be for the Service all the same. From outside of the cluster it is not looked at without
    /// this flag.
    #[arg(long, value_name = "HOST:PORT", help_heading = "The cluster")]
    pub connect_to: Option<String>,

    /// The configuration; without it, that of the installation's ConfigMap, or else the defaults
    #[arg(long, env = "TRANSOM_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// What makes the exit code 1
    #[arg(long, value_name = "STATUS", value_enum, default_value_t)]
    pub fail_on: FailOnStatus,

    /// How it is written; never changes the exit code
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: DoctorFormat,

    /// Tell nothing of what is in order, and no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// The least that makes the exit code 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOnStatus {
    /// What does not work
    #[default]
    Fail,
    /// That, and what will not go as somebody expects
    Warn,
}

/// How the lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// For people: a line a check, and below it what to do
    #[default]
    Text,
    /// For programs
    Json,
}
