//! The flags that `transom check` and `transom scan` share.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};

use super::ProfileArg;
use crate::check::output::Format;

/// What objects are held against, and which findings are told.
#[derive(Args, Debug)]
pub struct JudgeArgs {
    /// The cluster's configuration; without it, .transom.yaml here or above, else the defaults
    ///
    /// Looked for upwards from the current directory, as far as the one that holds .git.
    #[arg(long, env = "TRANSOM_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// The profile.
    #[command(flatten)]
    pub profile: ProfileArg,

    /// Tell of these rules only: codes (WIN101), names (run-as-user), beginnings of codes (WIN3)
    ///
    /// May be repeated, or hold several, separated by commas. It chooses among the findings and changes no
    /// decision: a rule that is off in the configuration stays off, and the webhook repairs all the same.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub select: Vec<String>,

    /// Do not tell of these rules; wins over --select
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub ignore: Vec<String>,
}

/// How findings are told, and what the exit code is.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Which findings make the exit code 1
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t)]
    pub fail_on: FailOn,

    /// Exit with 0 whatever is found; 2 stays 2
    #[arg(long)]
    pub exit_zero: bool,

    /// How findings are written; never changes the exit code
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: Format,

    /// Write them to this file and not to stdout; it is replaced at once, when all is done
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_file: Option<PathBuf>,

    /// Tell with each finding, not once an object, why it is taken for one that is for Windows
    #[arg(long)]
    pub show_evidence: bool,

    /// No summary and no progress
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Tell which configuration is in force, and what was passed over
    #[arg(short, long)]
    pub verbose: bool,
}

/// The least that makes the exit code 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// What the cluster would refuse
    #[default]
    Deny,
    /// That, what it would warn of or repair, and misplaced workloads
    Warn,
    /// That, and Windows objects without a node selector, which only the webhook keeps off Linux nodes
    Place,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Text => "For people: the lines, what is wrong with them, what to write instead",
            Self::Concise => "A line a finding: file:line:column: severity CODE …",
            Self::Json => "For programs",
            Self::Sarif => "SARIF 2.1.0, for code scanning",
            Self::Github => "Workflow commands of GitHub Actions, which annotate a pull request",
            Self::Markdown => "A table, for a comment or a job summary",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}
