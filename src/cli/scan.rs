//! `transom scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};

use super::{JudgeArgs, ReportArgs};

/// Flags of `transom scan`.
#[derive(Args, Debug)]
pub struct ScanArgs {
    /// The kubeconfig; without it KUBECONFIG or ~/.kube/config, or in a pod its ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "The cluster")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME", help_heading = "The cluster")]
    pub context: Option<String>,

    /// Look into all namespaces
    #[arg(
        short = 'A',
        long,
        conflicts_with = "namespace",
        help_heading = "The cluster"
    )]
    pub all_namespaces: bool,

    /// Look into these namespaces, separated by commas; without it, into that of the context
    #[arg(
        short,
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "The cluster"
    )]
    pub namespace: Vec<String>,

    /// Only objects with these labels, as kubectl has it: app=web,tier!=cache
    ///
    /// What made an object counts for it only where it has the labels as well.
    #[arg(short = 'l', long, value_name = "LABELS", help_heading = "The cluster")]
    pub selector: Option<String>,

    /// How many lists are read at a time
    #[arg(
        long,
        value_name = "N",
        default_value = "4",
        help_heading = "The cluster"
    )]
    pub parallel: NonZeroUsize,

    /// Judge as if all namespaces were in mode enforce, but those that are off
    ///
    /// Whatever mode the configuration and the labels of namespaces have: what would break if it were enforce.
    #[arg(long)]
    pub enforce: bool,

    /// What objects are held against.
    #[command(flatten)]
    pub judge: JudgeArgs,

    /// How findings are told.
    #[command(flatten)]
    pub report: ReportArgs,
}
