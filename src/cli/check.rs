//! `transom check`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValue};
use clap::{Args, ValueEnum, ValueHint};
use ignore::overrides::OverrideBuilder;

use super::{JudgeArgs, ReportArgs};
use crate::facts::NamespaceFacts;
use crate::os::Os;

/// Flags of `transom check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Files, directories, - for stdin; without any, what is piped in
    ///
    /// A file that is named is read whatever its ending. In directories .yaml, .yml and .json are read, but
    /// not what .ignore or, in a git repository, .gitignore leaves out, nor hidden files, nor what holds no
    /// Kubernetes object.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// The same as PATH, as kubectl has it; may be repeated, or hold several, separated by commas
    #[arg(short, long, value_name = "PATH", value_delimiter = ',', value_hint = ValueHint::AnyPath)]
    pub filename: Vec<PathBuf>,

    /// Nothing: directories are read with all that is below them. For those who are used to kubectl
    #[arg(short = 'R', long)]
    pub recursive: bool,

    /// Leave out what matches this glob in directories, as .gitignore has it; may be repeated
    ///
    /// Files that are named are read all the same.
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub exclude: Vec<String>,

    /// The name of stdin in reports
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub stdin_filename: Option<String>,

    /// Render the Helm charts that are found in directories with helm template
    ///
    /// Runs helm from the PATH, which reads what the chart links to: only for charts that you trust. Places are those
    /// of the rendered text. Without it, a note names each chart.
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    pub helm: bool,

    /// A values file for --helm; may be repeated
    #[arg(long, value_name = "FILE", requires = "helm", value_hint = ValueHint::FilePath)]
    pub helm_values: Vec<PathBuf>,

    /// What manifests are held against.
    #[command(flatten)]
    pub judge: JudgeArgs,

    /// The operating system of pods that carry no evidence of one
    ///
    /// As the label transom.dev/os of a namespace does; wins over --namespace-labels.
    #[arg(long, value_name = "OS", value_enum)]
    pub assume_os: Option<Os>,

    /// Labels of the namespace that the manifests are for: KEY=VALUE, several separated by commas
    ///
    /// Transom looks at transom.dev/mode, transom.dev/os, transom.dev/set-pod-os, transom.dev/linux-guard and
    /// pod-security.kubernetes.io/enforce-version.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = label)]
    pub namespace_labels: Vec<(String, String)>,

    /// The namespace of manifests that name none [default: default]
    #[arg(short, long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub namespace: Option<String>,

    /// Evaluate objects that are exempt: kube-system, what the configuration exempts, mode off
    #[arg(long)]
    pub include_exempt: bool,

    /// Report Linux workloads that could be scheduled to Windows nodes (WIN608)
    ///
    /// For manifests and charts that are installed in clusters with Windows nodes: warns about workloads that
    /// tolerate the taints of Windows nodes and select no operating system.
    #[arg(long)]
    pub mixed_cluster: bool,

    /// Write repairs and placement into the files, then tell what is left
    ///
    /// Of all that is for Windows: what the webhook would take out of the pods and put into them, templates
    /// included; tolerations only if the configuration sets placement.tolerations. Comments and looks stay. YAML
    /// only; what is left alone is told with the reason. Findings that --select, --ignore or a comment silence are
    /// not repaired. What comes from stdin goes to stdout, and the findings to stderr. Exits by what is left.
    #[arg(long)]
    pub fix: bool,

    /// Write nothing and print what --fix would change, as a unified diff; exit with 1 if there is anything
    ///
    /// Findings are not told. With --exit-zero it exits with 0.
    #[arg(long, conflicts_with_all = ["output", "output_file", "show_evidence", "fail_on"])]
    pub diff: bool,

    /// How findings are told.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Report nothing below this severity; what is not reported does not change the exit code
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t)]
    pub min_severity: MinSeverity,

    /// Report how many findings each rule has, and not the findings
    #[arg(long, conflicts_with_all = ["output", "diff", "show_evidence"])]
    pub statistics: bool,

    /// How many files are looked at at a time [default: one for each CPU]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// The least that is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MinSeverity {
    /// Everything, with notes about exempt objects and placement
    #[default]
    Note,
    /// What the cluster would remove, warn of or deny
    Repair,
    /// What the cluster would warn of or deny
    Warn,
    /// What the cluster would deny
    Deny,
}

fn glob(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('!') {
        return Err("give a glob of what is left out, such as tests/ or '*.tmpl.yaml'".to_owned());
    }
    let mut builder = OverrideBuilder::new(".");
    let built = builder
        .add(&format!("!{text}"))
        .and_then(|builder| builder.build());
    built
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or("it has the form KEY=VALUE")?;
    match NamespaceFacts::flaw(key, value) {
        Some(flaw) => Err(flaw),
        None => Ok((key.to_owned(), value.to_owned())),
    }
}

impl ValueEnum for Os {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Windows, Self::Linux]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}
