//! `transom scan`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::num::NonZeroUsize;

use super::{JudgeArgs, KubeArgs, ReportArgs};

/// Flags of `transom scan`.
#[derive(Args, Debug)]
pub struct ScanArgs {
    /// How the cluster is found.
    #[command(flatten)]
    pub kube: KubeArgs,

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
