//! The fields that a rule looks at and the values that are findings, in words.
//!
//! The words come from the checks, which are data; a row's guide adds what no check says. Not
//! here: how a message names the field that it found (`field`).

use std::borrow::Cow;

use super::Rule;
use super::check::{Check, Skip, Test};
use crate::object::demand::Anchor;

/// A field that a rule looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Where it is in a pod, such as `spec.containers[*].securityContext.privileged`.
    pub path: String,
    /// What it belongs to.
    pub of: Owner,
    /// What makes its value a finding, such as `is true`.
    pub when: String,
}

/// What a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A pod, or the template of a workload.
    Pod,
    /// A container; the path names those in `containers`, but the field is looked at in
    /// `initContainers` and `ephemeralContainers`, too.
    Container,
    /// A Service.
    Service,
}

impl Field {
    /// Its paths in all lists of containers.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let others: &[&str] = match self.of {
            Owner::Container => &["initContainers", "ephemeralContainers"],
            Owner::Pod | Owner::Service => &[],
        };
        let others = others.iter();
        let others = others.map(|list| self.path.replacen("containers", list, 1));
        std::iter::once(self.path.clone()).chain(others)
    }
}

impl Rule {
    /// The fields that it looks at.
    pub fn fields(&self) -> Vec<Field> {
        let skip = self.skip();
        let checked = self.deciding_checks().map(|check| Field {
            path: path(check),
            of: match check.anchor {
                Anchor::Container => Owner::Container,
                Anchor::Service => Owner::Service,
                _ => Owner::Pod,
            },
            when: when(check, skip.is_none()),
        });
        let others = self.guide.fields.iter();
        let others = others.map(|(path, when)| Field {
            path: (*path).to_owned(),
            of: Owner::Pod,
            when: (*when).to_owned(),
        });
        checked.chain(others).collect()
    }

    /// What it never fires on, in a few words each.
    pub fn never(&self) -> Vec<&'static str> {
        let pods = match self.skip() {
            Some(Skip::HostProcess) => {
                Some("HostProcess pods (securityContext.windowsOptions.hostProcess: true)")
            }
            Some(Skip::Ordinary) => Some("pods that are not HostProcess pods"),
            _ => None,
        };
        let skips = |skip| self.deciding_checks().any(|check| check.skip == skip);
        let volume = skips(Skip::ServiceAccountVolume).then_some(
            "the volume kube-api-access-…, which the API server adds for the service account",
        );
        let others = self.guide.never.iter().copied();
        pods.into_iter().chain(volume).chain(others).collect()
    }

    /// The API server itself refuses some of its fields beside `spec.os.name: windows`.
    pub fn is_refused(&self) -> bool {
        self.checks.iter().any(|check| check.refused)
    }

    /// The checks that make findings; others only read for the functions beside the rows.
    fn deciding_checks(&self) -> impl Iterator<Item = &'static Check> {
        self.checks.iter().filter(|check| !check.cases.is_empty())
    }

    /// What all of its checks skip alike.
    fn skip(&self) -> Option<Skip> {
        let mut checks = self.deciding_checks();
        let skip = checks.next()?.skip;
        checks.all(|check| check.skip == skip).then_some(skip)
    }
}

/// The path of a check as messages write it, from the pod on.
fn path(check: &Check) -> String {
    let start = match check.anchor {
        Anchor::Review => "",
        Anchor::Metadata => "metadata.",
        Anchor::Spec | Anchor::Service => "spec.",
        Anchor::Container => "spec.containers[*].",
    };
    let field = check.field.replace('{', "[\"").replace('}', "\"]");
    format!("{start}{field}")
}

/// What makes a value a finding. `mixed`: the rule's checks skip different pods.
fn when(check: &Check, mixed: bool) -> String {
    let tests = || check.cases.iter().map(|case| &case.test);
    let is_any = |test: &Test| matches!(test, Test::Set | Test::Present);
    let mut all: Vec<_> = match tests().any(is_any) {
        // What the other cases tell apart is in the rule's tiers.
        true => vec![Cow::Borrowed("is set")],
        false => tests().map(words).collect(),
    };
    all.dedup();
    // "is true or false" instead of "is true or is false".
    let nouns: Option<Vec<_>> = all.iter().map(|words| words.strip_prefix("is ")).collect();
    let all = match nouns {
        Some(nouns) => format!("is {}", nouns.join(" or ")),
        None => all.join(" or "),
    };
    match check.skip {
        Skip::HostProcess if mixed => format!("{all}, outside of HostProcess pods"),
        Skip::Ordinary if mixed => format!("{all}, in HostProcess pods"),
        _ => all,
    }
}

fn words(test: &Test) -> Cow<'static, str> {
    Cow::Owned(match test {
        Test::Set | Test::Present => return Cow::Borrowed("is set"),
        Test::Is(wanted) => format!("is {wanted}"),
        Test::OneOf(values) => format!("is {}", list(values)),
        Test::NoneOf(values) => format!("is set, and not to {}", list(values)),
        Test::StartsWith(prefix) => format!("starts with {prefix}"),
        Test::Under(roots, []) => format!("is or lies below {}", list(roots)),
        Test::Under(roots, others) => {
            format!("is or lies below {}, but not {}", list(roots), list(others))
        }
        Test::NonEmpty | Test::NotBlank => return Cow::Borrowed("is not empty"),
        Test::Empty => return Cow::Borrowed("is empty"),
        Test::NumberOtherThan(usual) => format!("is another number than {usual}"),
        Test::ModeWithout(bits) => format!("lacks one of the bits 0{bits:o}"),
        // The rule's tiers tell the pods apart.
        Test::InHostProcess(test) => return words(test),
        Test::Child(path, test) => {
            let name = path.rsplit_once('.').map_or(*path, |(_, name)| name);
            format!("has {name}, which {}", words(test))
        }
        Test::By(_, _, words) => return Cow::Borrowed(words),
    })
}

/// `a, b or c`, without what is empty.
fn list(values: &[&str]) -> String {
    let values: Vec<_> = values.iter().copied().filter(|v| !v.is_empty()).collect();
    match values.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
