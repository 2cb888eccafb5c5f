//! What each object is taken for: its operating system and the evidence, why it is exempt, and what
//! the webhook adds to place it.
//!
//! Not here: findings (`judge`), and how this is written (`output`).

use std::fmt;

use super::creation::short;
use crate::admit::Verdict;
use crate::decision::Exemption;
use crate::os::{Os, Source};
use crate::yaml::Place;

/// An object of a kind that is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its kind.
    pub kind: &'static str,
    /// The namespace that it names.
    pub namespace: Option<String>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it starts.
    pub place: Place,
    /// The operating system that it targets; nothing if nothing says so, or if that is contradictory.
    pub os: Option<Os>,
    /// The strongest evidence of that, or a hint.
    pub evidence: Option<String>,
    /// Why it was not evaluated.
    pub exempt: Option<String>,
    /// What the webhook adds to its pods at admission.
    pub adds: Added,
    /// What it names that other manifests of the input can define.
    pub(super) refers: Refers,
}

/// What a note about an object is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It is exempt.
    Exempt,
    /// The webhook places it.
    Placement,
}

/// `Deployment shop/web`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            (_, None) => Ok(()),
        }
    }
}

/// What the webhook adds to place a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// `spec.os`
    pub os: bool,
    /// The node selector, without which nothing keeps the pod off Linux nodes.
    pub selector: bool,
    /// The pod has a node selector or the like for Windows already.
    pub(super) bound: bool,
}

/// What an object refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refers {
    pub(super) namespace: String,
    pub(super) runtime_class: Option<String>,
}

impl Subject {
    /// Of the verdict of /mutate.
    pub(super) fn of(
        verdict: &Verdict<'_, '_>,
        kind: &'static str,
        [namespace, name]: [Option<&str>; 2],
        place: Place,
    ) -> Self {
        let detection = verdict.detection();
        let source = detection.evidence.map(|evidence| evidence.source);
        let (os, selector) = verdict.misses_placement();
        let runtime_class = verdict.runtime_class().map(short);
        let exempt = verdict.exemption();
        Self {
            kind,
            namespace: namespace.map(short),
            name: name.map(short),
            place,
            os: detection.os,
            evidence: verdict.evidence(),
            exempt: exempt.map(|why| reason(why, verdict.namespace(), runtime_class.as_deref())),
            adds: Added {
                os,
                selector,
                bound: source.is_some_and(binds),
            },
            refers: Refers {
                namespace: short(verdict.namespace()),
                runtime_class,
            },
        }
    }

    /// Whether it targets Windows.
    pub fn is_windows(&self) -> bool {
        self.os == Some(Os::Windows)
    }

    /// What to report of it beside findings, and its case.
    pub(crate) fn note(&self) -> Option<(Note, String)> {
        let evidence = self.evidence.as_deref().unwrap_or_default();
        if let Some(why) = &self.exempt {
            return self.is_windows().then(|| {
                let text = format!(
                    "{self} is exempt ({why}) and was not evaluated; --include-exempt evaluates it"
                );
                (Note::Exempt, text)
            });
        }
        self.is_placed().then(|| {
            let adds = match self.adds.os {
                true => "spec.os and the node selector",
                false => "the node selector",
            };
            let text = format!(
                "{self} targets Windows but has no node selector for it; the webhook adds {adds} (see --diff), \
                 and tolerations, at admission; evidence: {evidence}"
            );
            (Note::Placement, text)
        })
    }

    /// Whether nothing but the webhook keeps it off Linux nodes.
    pub fn is_placed(&self) -> bool {
        self.adds.selector && !self.adds.bound
    }
}

/// Evidence that the scheduler goes by.
fn binds(source: Source) -> bool {
    matches!(
        source,
        Source::NodeSelector
            | Source::Build
            | Source::RequiredAffinity
            | Source::NodeName
            | Source::RuntimeClass
    )
}

fn reason(why: Exemption, namespace: &str, runtime_class: Option<&str>) -> String {
    match why {
        Exemption::Namespace => format!("namespace {}", short(namespace)),
        Exemption::Off => format!("mode off in namespace {}", short(namespace)),
        Exemption::RuntimeClass => {
            format!("runtimeClassName {}", runtime_class.unwrap_or_default())
        }
        Exemption::MirrorPod => "mirror pod".to_owned(),
        Exemption::User => "exempt user".to_owned(),
        Exemption::Unknown => "not a kind that is evaluated".to_owned(),
    }
}
