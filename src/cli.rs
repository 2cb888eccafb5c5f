//! The command line: clap's types and the help that they carry, a file for each command.
//!
//! Nothing here does anything: `command` does.

mod check;
mod cluster;
mod config;
mod doctor;
mod explain;
mod kube;
mod man;
mod probe;
mod profile;
mod report;
mod rules;
mod scan;
mod serve;

use std::path::Path;

use clap::builder::StyledStr;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

pub use check::{CheckArgs, MinSeverity};
pub use cluster::ClusterArgs;
pub use config::{ConditionsArgs, ConfigCheckArgs, ConfigCommand, ConfigFormat, ShowArgs};
pub use doctor::{DoctorArgs, DoctorFormat, FailOnStatus};
pub use explain::ExplainArgs;
pub use kube::KubeArgs;
pub use man::ManArgs;
pub use probe::ProbeArgs;
pub use profile::ProfileArg;
pub use report::{FailOn, JudgeArgs, ReportArgs};
pub use rules::{OutputFormat, RulesArgs};
pub use scan::ScanArgs;
pub use serve::{LogFormat, ServeArgs};

/// A Kubernetes admission webhook for clusters that mix Linux and Windows nodes.
///
/// Exit codes: 0 done, 1 something is wrong with what was looked at, 2 the job could not be done (the reason is on stderr).
#[derive(Debug, Parser)]
#[command(name = "transom", version, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line; help and mistakes end the program here.
    pub fn read() -> Self {
        let matches = Self::command().bin_name(program()).try_get_matches();
        let matches = matches.unwrap_or_else(|error| suggested(error).exit());
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The short help of a command.
    pub fn help(name: &str) -> StyledStr {
        let mut command = Self::command().bin_name(program());
        command.build();
        let found = command.find_subcommand_mut(name);
        found.map(|found| found.render_help()).unwrap_or_default()
    }
}

/// Flags of other linters, and what they are called here.
const ELSEWHERE: [(&str, &str); 9] = [
    ("--severity", "--min-severity"),
    ("--level", "--min-severity"),
    ("--format", "--output"),
    ("--output-format", "--output"),
    ("--rules", "--select"),
    ("--include", "--select"),
    ("--skip", "--ignore"),
    ("--do-not-auto-add-defaults", "--select"),
    ("--dry-run", "--diff"),
];

/// The error, with the flag that was probably meant.
fn suggested(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let known = ELSEWHERE.iter().find(|(other, _)| wrong == other);
    let is_check = std::env::args()
        .nth(1)
        .is_some_and(|command| command == "check");
    if let Some((_, meant)) =
        known.filter(|_| is_check && error.kind() == clap::error::ErrorKind::UnknownArgument)
    {
        let meant = ContextValue::String((*meant).to_owned());
        error.insert(ContextKind::SuggestedArg, meant);
        error.remove(ContextKind::TrailingArg);
    }
    error
}

/// What the program is called: `kubectl transom` where it is kubectl's plugin.
pub fn program() -> &'static str {
    let invoked = std::env::args_os().next().unwrap_or_default();
    match Path::new(&invoked)
        .file_stem()
        .and_then(|name| name.to_str())
    {
        Some("kubectl-transom" | "kubectl_transom") => "kubectl transom",
        _ => "transom",
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer admission reviews over HTTPS
    ///
    /// Without a certificate, a throw-away one is made in memory and its CA is written to certs/ca.crt,
    /// so that the first run needs nothing:
    ///
    ///   transom serve
    ///
    /// In a cluster, give the files of a mounted Secret; they are read again whenever they change:
    ///
    ///   transom serve --tls-cert-file /tls/tls.crt --tls-private-key-file /tls/tls.key
    ///
    /// Or let the replicas make their own, with a CA that they share in a Secret:
    ///
    ///   transom serve --ca-secret transom-ca --namespace transom --service transom --webhook-configuration transom
    ///
    /// With --tls-client-ca-file, only clients with a certificate of that CA get in:
    ///
    ///   transom serve --tls-client-ca-file certs/client-ca.crt
    ///
    /// SIGTERM drains: /readyz fails at once, reviews are answered for --drain-seconds more, then
    /// connections are closed. A second signal aborts.
    #[command(verbatim_doc_comment)]
    Serve(Box<ServeArgs>),

    /// Check manifests: what the webhook would refuse, repair or warn of, with line and column
    ///
    ///   transom check web.yaml deploy/        files, and directories with all that is below them
    ///   helm template shop | transom check -  what another program renders
    ///   kustomize build | transom check
    ///   kubectl transom check -f deploy/      as a plugin, with the flags of kubectl
    ///
    /// Each object is judged as /mutate and then /validate would at its creation, by the same configuration:
    /// deny is what the cluster would refuse, repair what it would take out, warn what it would warn of.
    /// Objects without a pod in them are skipped and counted. With --mixed-cluster, Linux workloads that could be
    /// scheduled to Windows nodes are reported as well. A comment silences rules, behind a field or above it:
    ///
    ///   runAsUser: 1000 # transom: ignore[WIN101] the image brings a user of that name
    ///
    /// Findings go to stdout, all else to stderr. Exit codes: 0 nothing at or above --fail-on; 1 findings;
    /// 2 something could not be read or done, whatever else was found.
    // ignore[WIN101] is what users write, and no link.
    #[allow(rustdoc::broken_intra_doc_links)]
    #[command(verbatim_doc_comment)]
    Check(Box<CheckArgs>),

    /// Scan a live cluster: what the webhook would refuse, repair or warn of in what runs there already
    ///
    ///   transom scan -A                       all namespaces, by the kubeconfig
    ///   transom scan -n shop -l app=web       as kubectl has it
    ///   transom scan -A --enforce             what would break if all namespaces were in mode enforce
    ///   transom scan -A -o json | jq .summary.byNamespace
    ///
    /// Nothing needs to be installed, and nothing is changed: it takes the right to list. Each object is judged
    /// as if it were created now, by the same configuration; labels of namespaces, RuntimeClasses and nodes count.
    /// A pod counts for the workload that made it, and is told only for what that has not. Pods that have ended
    /// are skipped. Workloads with pods on nodes of the wrong operating system are reported as misplaced.
    ///
    /// Scan first, then run the webhook in mode warn, then enforce. Exit codes: 0 nothing at or above --fail-on;
    /// 1 findings; 2 something may not be listed or could not be read, whatever else was found.
    #[command(verbatim_doc_comment)]
    Scan(Box<ScanArgs>),

    /// Look whether a cluster is in order, with its nodes, taints and namespaces, and the installation in it
    ///
    ///   transom doctor                        by the kubeconfig; nothing is changed
    ///   transom doctor --fail-on warn -q      for a job: silent, with exit code 0, where all is well
    ///   transom doctor -o json | jq '.checks[] | select(.status == "fail")'
    ///   transom doctor --config values/transom.yaml      another configuration than that of the cluster
    ///
    /// A line a check: ok, warn (something will not go as somebody expects), fail (something does not work), or
    /// skip, with the right that is missing; below it what to do. Nothing needs to be installed: nodes,
    /// namespaces and misplaced pods are checked all the same. In a pod the certificate is looked at by the Service's name; from
    /// outside, through a port-forward:
    ///
    ///   kubectl port-forward --namespace transom service/transom 8443:443 &
    ///   transom doctor --connect-to localhost:8443
    ///
    /// docs/doctor.md has all checks. Exit codes: 0 nothing failed (--fail-on); 1 something did; 2 the cluster
    /// could not be asked.
    #[command(verbatim_doc_comment)]
    Doctor(DoctorArgs),

    /// Ask a running webhook the way the API server does, and say whether it answers as it should
    ///
    ///   transom probe --webhook-configuration transom
    ///   transom probe --url https://localhost:8443 --ca-file certs/ca.crt
    ///
    /// With a webhook configuration, each of its entries is followed: to its Service by DNS name, with a
    /// certificate that its caBundle trusts. A Windows pod must come back patched from /mutate, a bad one
    /// must be refused by /validate; both are dry runs. `helm test` does this.
    ///
    /// Exit codes: 0 all answered well; 1 something answered wrongly; 2 something could not be asked.
    #[command(verbatim_doc_comment)]
    Probe(ProbeArgs),

    /// List the rules with their default actions
    ///
    ///   transom rules                   all of them
    ///   transom rules WIN3 run-as-user  those whose codes start with WIN3, and one by its name
    ///   transom rules --profile kep-116 what KEP-116 to the letter makes of them
    ///   transom rules -o json           everything that is known of them, for programs
    ///
    /// Where a rule tells cases apart, it has an action for each: deny/repair. REPAIR says whether the
    /// field may be taken out instead of refusing the object. transom explain says the rest.
    #[command(verbatim_doc_comment)]
    Rules(RulesArgs),

    /// Write a commented .transom.yaml with the defaults into the current directory
    ///
    /// transom check uses it in this directory and below. An existing file stays as it is. Exit codes: 0 written;
    /// 2 there is one, or it cannot be written.
    #[command(verbatim_doc_comment)]
    Init,

    /// Explain rules: what they look at, why it fails on Windows, what to write instead
    ///
    ///   transom explain WIN101
    ///   transom explain run-as-user sub-path
    #[command(verbatim_doc_comment, arg_required_else_help = true)]
    Explain(ExplainArgs),

    /// Check configuration files, or show what is in force
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Print the JSON Schema of the configuration (draft 2020-12)
    ///
    /// Editors with yaml-language-server complete and check a configuration that starts with
    ///
    ///   # yaml-language-server: $schema=config.schema.json
    ///
    /// once the schema is in a file:
    ///
    ///   transom schema > config.schema.json
    #[command(verbatim_doc_comment)]
    Schema,

    /// Print a script that completes commands and flags in a shell
    ///
    ///   transom completions bash > /etc/bash_completion.d/transom
    ///   transom completions zsh > ~/.zfunc/_transom             with ~/.zfunc in $fpath
    ///   transom completions fish > ~/.config/fish/completions/transom.fish
    ///   transom completions powershell >> $PROFILE
    #[command(verbatim_doc_comment)]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print the manual page of transom or of one of its commands
    ///
    ///   transom man check | man -l -
    ///   transom man --dir /usr/local/share/man/man1
    #[command(verbatim_doc_comment)]
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Limits;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rejects_a_certificate_without_its_key() {
        for flag in ["--tls-cert-file", "--tls-private-key-file"] {
            let parsed = Cli::try_parse_from(["transom", "serve", flag, "some.pem"]);
            assert_eq!(
                parsed.unwrap_err().kind(),
                clap::error::ErrorKind::MissingRequiredArgument
            );
        }
    }

    #[test]
    fn rejects_a_ca_of_our_own_that_nobody_could_trust() {
        let whole = [
            "--ca-secret=a",
            "--namespace=a",
            "--service=a",
            "--webhook-configuration=a",
        ];
        let parse = |flags: &[&str]| {
            let flags = ["transom", "serve"]
                .into_iter()
                .chain(flags.iter().copied());
            Cli::try_parse_from(flags)
        };
        assert!(parse(&whole).is_ok());
        for missing in 1..whole.len() {
            let mut flags = whole.to_vec();
            flags.remove(missing);
            let error = parse(&flags).unwrap_err();
            assert_eq!(
                error.kind(),
                clap::error::ErrorKind::MissingRequiredArgument
            );
        }
        let files = ["--tls-cert-file=a", "--tls-private-key-file=a"];
        let error = parse(&[&whole[..], &files].concat()).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
    }

    #[test]
    fn rejects_a_number_of_connections_that_answers_nobody() {
        for number in ["0", "-1", "many", ""] {
            let flag = format!("--max-connections={number}");
            let error = Cli::try_parse_from(["transom", "serve", &flag]).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("--max-connections"), "{error}");
            assert!(error.contains("; give "), "{error}");
        }
    }

    #[test]
    fn the_defaults_of_flags_are_those_of_the_server() {
        let Command::Serve(args) = Cli::parse_from(["transom", "serve"]).command else {
            panic!("another command");
        };
        let limits = Limits::default();
        assert_eq!(args.max_body_bytes, limits.body_bytes);
        assert_eq!(args.max_inflight_bytes, limits.inflight_bytes);
        assert_eq!(args.max_connections, limits.connections);
    }

    #[test]
    fn accepts_levels_by_module() {
        let parsed = Cli::try_parse_from(["transom", "serve", "--log-level", "info,transom=debug"]);
        assert!(parsed.is_ok());
    }
}
