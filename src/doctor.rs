//! Is a cluster in order, with its nodes, taints and namespaces, and is the installation in it?
//!
//! ```text
//! snapshot   what was read of the cluster, each part of it or why not
//!   objects  the API's objects, as far as anybody here looks
//!   quantity, selector, certificate   what is in some of their fields
//! version, webhooks, serving, nodes, misplaced, namespaces, policies, openshift, others   the checks
//! census     the pods that a check has to know the number of
//! output     their lines, as text and as JSON
//! ```
//!
//! Pure: a check is a function of a [`Cluster`]. Not here: asking the API server (`command::doctor`). What the webhook
//! would do is asked of the webhook's own `policy` and `facts`.

mod census;
mod certificate;
mod misplaced;
mod namespaces;
mod nodes;
pub mod objects;
mod openshift;
mod others;
mod output;
mod policies;
mod quantity;
mod selector;
mod serving;
mod snapshot;
mod version;
mod webhooks;

use crate::few::Few;

pub use census::Census;
pub use output::{json, text};
pub use selector::Labels;
pub use serving::{Source, watched_config};
pub use snapshot::{Asked, Cluster, Installation, Part, Served, Settings};

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// As it should be.
    Ok,
    /// It could not be looked at.
    Skip,
    /// Something will not go as somebody expects.
    Warn,
    /// Something does not work.
    Fail,
}

impl Status {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skip => "skip",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What a check has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name of the check.
    pub check: &'static str,
    /// How it stands.
    pub status: Status,
    /// What was seen.
    pub text: String,
    /// What to do, unless there is nothing to do.
    pub remedy: Option<String>,
}

/// One of the things that are looked at.
#[derive(Debug)]
pub struct Check {
    /// Its name, which stays.
    pub name: &'static str,
    /// What it looks at, in a sentence.
    pub looks_at: &'static str,
    /// What helps if that is not in order, in a sentence.
    pub helps: &'static str,
    /// What has to be read for it.
    pub needs: &'static [Part],
    run: fn(&Cluster) -> Told,
}

/// What a check found, or why it did not look.
type Told = Result<Vec<Said>, Unasked>;

/// One line of a check, still without its name.
struct Said {
    status: Status,
    text: String,
    remedy: Option<String>,
}

fn ok(text: impl Into<String>) -> Said {
    Said {
        status: Status::Ok,
        text: text.into(),
        remedy: None,
    }
}

fn warn(text: impl Into<String>, remedy: impl Into<String>) -> Said {
    Said {
        status: Status::Warn,
        text: text.into(),
        remedy: Some(remedy.into()),
    }
}

fn fail(text: impl Into<String>, remedy: impl Into<String>) -> Said {
    Said {
        status: Status::Fail,
        ..warn(text, remedy)
    }
}

/// What is not in order, or else that all is.
fn or_ok(found: Vec<Said>, ok_text: impl FnOnce() -> String) -> Told {
    Ok(match found.is_empty() {
        true => vec![ok(ok_text())],
        false => found,
    })
}

/// Why a check did not look.
#[derive(Debug)]
enum Unasked {
    /// What it needs could not be read.
    Unread(String),
    /// There is nothing to look at, and somebody else says so.
    Nothing,
}

/// All checks, in the order in which they are told.
pub static CHECKS: [Check; 24] = [
    version::KUBERNETES_VERSION,
    webhooks::INSTALLATION,
    webhooks::WEBHOOK_PAIR,
    webhooks::CA_BUNDLE,
    serving::CERTIFICATE,
    webhooks::TIMEOUT,
    webhooks::MATCH_CONDITIONS,
    webhooks::EXCLUSIONS,
    serving::CONFIGURATION,
    serving::ENDPOINTS,
    serving::FAILURE_POLICY,
    others::LATER_WEBHOOKS,
    nodes::WINDOWS_NODES,
    nodes::TOLERATIONS,
    nodes::UNTAINTED_NODES,
    nodes::RESERVED_MEMORY,
    nodes::RUNTIME_CLASSES,
    misplaced::MISPLACED_PODS,
    namespaces::NAMESPACE_LABELS,
    namespaces::POD_SECURITY,
    policies::KYVERNO,
    openshift::OPENSHIFT,
    namespaces::MODES,
    namespaces::COVERAGE,
];

/// Does all checks.
#[must_use]
pub fn examine(cluster: &Cluster) -> Vec<Line> {
    let lines = CHECKS.iter().flat_map(|check| {
        let said = match (check.run)(cluster) {
            Ok(said) => said,
            Err(Unasked::Nothing) => Vec::new(),
            Err(Unasked::Unread(why)) => vec![Said {
                status: Status::Skip,
                text: why,
                remedy: None,
            }],
        };
        said.into_iter().map(|said| Line {
            check: check.name,
            status: said.status,
            text: said.text,
            remedy: said.remedy,
        })
    });
    lines.collect()
}

/// The checks as the rows of a table in Markdown: name, what is looked at, what helps, which rights it takes.
#[must_use]
pub fn table() -> String {
    let rows = CHECKS.iter().map(|check| {
        let mut rights: Vec<_> = check.needs.iter().map(|part| part.right()).collect();
        rights.dedup();
        let Check {
            name,
            looks_at,
            helps,
            ..
        } = check;
        format!(
            "| `{name}` | {looks_at} | {helps} | {} |\n",
            rights.join(", ")
        )
    });
    let head = "| check | looks at | what helps | takes |\n|---|---|---|---|\n";
    [head.to_owned()].into_iter().chain(rows).collect()
}

/// `1 node`, `2 nodes`.
fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
