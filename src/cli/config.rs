//! `transom config`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ProfileArg;

/// What is done with configurations.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Say whether configuration files are valid, and all that is wrong with them
    ///
    /// Mistakes and warnings go to stderr, each with file, line and column:
    ///
    ///   $ transom config check config.yaml
    ///   config.yaml:7:3: rules.WIN331: there is no such rule; did you mean WIN301 (sub-path)?
    ///
    /// A warning is about what is valid and probably not what was meant. Exit codes: 0 all are valid, with
    /// or without warnings; 1 one of them is not; 2 one of them could not be read.
    #[command(verbatim_doc_comment)]
    Check(ConfigCheckArgs),

    /// Print the configuration in force: every key and every rule, and where each value comes from
    ///
    /// The YAML is a configuration with the same meaning. Behind each value stands where it comes from:
    ///
    ///   default            nobody set it
    ///   config.yaml:7      line 7 of the file
    ///   profile kep-116    the profile, where it differs from current
    ///   --profile          the flag; or TRANSOM_PROFILE, the variable
    ///
    /// Behind a rule's action stand its name, and the cases with another action. The JSON has an entry for
    /// each path: {"mode": {"value": "warn", "origin": "config.yaml:7"}}, for a rule with "name" and
    /// "others", the cases with another action. Exit codes: 0 done, 1 the configuration is not valid, 2 it
    /// could not be read.
    #[command(verbatim_doc_comment)]
    Show(ShowArgs),

    /// Print the matchConditions that keep plain Linux pods from ever reaching the webhooks
    ///
    /// A list for both webhook configurations, where somebody writes them by hand; the Helm chart has the
    /// same. The API server evaluates the expression (CEL) itself, so that what it leaves out neither waits for
    /// Transom nor depends on it. It lets everything through in which this configuration sees evidence of
    /// Windows. Not in an object, and so not in the expression, is what namespaces' labels (transom.dev/os,
    /// transom.dev/linux-guard), nodes and registries know.
    ///
    ///   transom config conditions --config config.yaml
    ///
    /// Exit codes as those of show.
    #[command(verbatim_doc_comment)]
    Conditions(ConditionsArgs),
}

/// Flags of `transom config check`.
#[derive(Args, Debug)]
pub struct ConfigCheckArgs {
    /// Configuration files; - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Flags of `transom config show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Configuration file, - for stdin; without it, the defaults
    #[arg(long, env = "TRANSOM_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The profile.
    #[command(flatten)]
    pub profile: ProfileArg,

    /// How it is written
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: ConfigFormat,
}

/// Flags of `transom config conditions`.
#[derive(Args, Debug)]
pub struct ConditionsArgs {
    /// Configuration file, - for stdin; without it, the defaults
    #[arg(long, env = "TRANSOM_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Leave out only what plainly asks for Linux
    ///
    /// For linuxGuard: true, and wherever pods matter that do not say what they are for.
    #[arg(long)]
    pub not_linux: bool,
}

/// How a configuration is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// A configuration, with comments
    #[default]
    Yaml,
    /// An object for each path
    Json,
}
