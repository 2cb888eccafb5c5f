//! The builds of the nodes that a pod selects, and whether such a node runs its images.
//!
//! Not here: what a build is, and which one an image is for (`build`).

use std::collections::BTreeSet;

use super::build::{self, Build, runs_on};
use super::{BUILD_LABEL, OS_SKU_LABEL};
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::workload::Pod;

/// A set of builds of nodes. Each operation is linear in the smaller set or in the new one, so that
/// many of them are linear in the object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Builds {
    Only(BTreeSet<Build>),
    Except(BTreeSet<Build>),
}

impl Builds {
    const ALL: Self = Self::Except(BTreeSet::new());

    fn contains(&self, build: Build) -> bool {
        match self {
            Self::Only(builds) => builds.contains(&build),
            Self::Except(builds) => !builds.contains(&build),
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(common(a, b)),
            (Self::Only(a), Self::Except(b)) | (Self::Except(b), Self::Only(a)) => {
                Self::Only(without(a, &b))
            }
            (Self::Except(a), Self::Except(b)) => Self::Except(united(a, b)),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(united(a, b)),
            (Self::Only(a), Self::Except(b)) | (Self::Except(b), Self::Only(a)) => {
                Self::Except(without(b, &a))
            }
            (Self::Except(a), Self::Except(b)) => Self::Except(common(a, b)),
        }
    }
}

fn common(a: BTreeSet<Build>, b: BTreeSet<Build>) -> BTreeSet<Build> {
    let (mut small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    small.retain(|build| large.contains(build));
    small
}

fn united(a: BTreeSet<Build>, b: BTreeSet<Build>) -> BTreeSet<Build> {
    let (small, mut large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    large.extend(small);
    large
}

fn without(mut builds: BTreeSet<Build>, others: &BTreeSet<Build>) -> BTreeSet<Build> {
    if others.len() < builds.len() {
        for build in others {
            builds.remove(build);
        }
    } else {
        builds.retain(|build| !others.contains(build));
    }
    builds
}

/// The builds of the nodes that a pod may be scheduled to, by its node selector and required affinity.
#[derive(Clone, Debug)]
pub(crate) struct Selection(Builds);

impl Selection {
    pub(crate) fn of(pod: &Pod<'_, '_>) -> Self {
        let mut builds = Builds::ALL;
        for label in [BUILD_LABEL, OS_SKU_LABEL] {
            if let Some((_, value)) = pod.selector(label)
                && let Some(selected) = listed(label, "In", [value])
            {
                builds = builds.and(selected);
            }
        }
        if let Some(required) = required(pod) {
            builds = builds.and(required);
        }
        Self(builds)
    }

    /// Whether it says anything of builds.
    fn is_limited(&self) -> bool {
        self.0 != Builds::ALL
    }

    /// Whether a node of one build that it allows runs all images between these builds.
    pub(crate) fn runs(&self, lowest: Build, highest: Build) -> bool {
        let suits = |node: Build| runs_on(lowest, node) && runs_on(highest, node);
        match &self.0 {
            // A node runs images of no build above its own, and the more of older ones the older it is.
            Builds::Only(builds) => builds
                .range(highest..)
                .next()
                .is_some_and(|node| suits(*node)),
            Builds::Except(_) => {
                let mut nodes = std::iter::once(highest).chain(build::releases());
                nodes.any(|node| self.0.contains(node) && suits(node))
            }
        }
    }
}

/// The builds of nodes that a pod can run on.
pub(crate) struct Hosts {
    selection: Selection,
    /// The lowest and the highest build of its images.
    images: Option<(Build, Build)>,
}

impl Hosts {
    /// Nothing where nothing is known of the builds, or no node suits.
    pub(crate) fn of(pod: &Pod<'_, '_>) -> Option<Self> {
        let selection = Selection::of(pod);
        // HostProcess containers run on every build.
        let containers = match pod.has_host_process() {
            true => &[],
            false => pod.containers.as_slice(),
        };
        let images = containers.iter().filter_map(|container| container.image);
        let builds = images.filter_map(|at| build::of_image(pod.tape.text(at)?));
        let images = builds.fold(None, |range, build| Some(widened(range, build)));
        match images {
            Some((lowest, highest)) if !selection.runs(lowest, highest) => return None,
            None if !selection.is_limited() => return None,
            _ => {}
        }
        Some(Self { selection, images })
    }

    /// Whether it can run on a node of this build.
    pub(crate) fn contain(&self, node: Build) -> bool {
        let images = self.images;
        self.selection.0.contains(node)
            && images.is_none_or(|(low, high)| runs_on(low, node) && runs_on(high, node))
    }
}

/// A range of builds with one more in it.
pub(crate) fn widened(range: Option<(Build, Build)>, build: Build) -> (Build, Build) {
    range.map_or((build, build), |(low, high)| {
        (low.min(build), high.max(build))
    })
}

/// What an expression on one of the two labels allows; nothing for other labels and operators.
fn listed<'t>(
    label: &str,
    operator: &str,
    values: impl IntoIterator<Item = &'t str>,
) -> Option<Builds> {
    let build = match label {
        BUILD_LABEL => Build::of_label,
        OS_SKU_LABEL => build::of_sku,
        _ => return None,
    };
    let is_unknown = |value: &&str| label == OS_SKU_LABEL && build(value).is_none();
    let values: Vec<_> = values.into_iter().collect();
    match operator {
        // A release of AKS that is not known here may be any.
        "In" if values.iter().any(is_unknown) => None,
        "In" => Some(Builds::Only(values.into_iter().filter_map(build).collect())),
        "NotIn" => Some(Builds::Except(
            values.into_iter().filter_map(build).collect(),
        )),
        _ => None,
    }
}

/// What required affinity allows; its terms are alternatives.
fn required(pod: &Pod<'_, '_>) -> Option<Builds> {
    let tape = pod.tape;
    let terms = tape.children(pod.required_terms?);
    terms.map(|term| of_term(tape, term)).reduce(Builds::or)
}

/// All expressions of a term have to hold.
fn of_term(tape: &Tape<'_>, term: At) -> Builds {
    let expressions = tape.child(term, Role::MatchExpressions);
    let expressions = expressions.into_iter().flat_map(|at| tape.children(at));
    let builds = expressions.filter_map(|expression| {
        let values = tape.child(expression, Role::Values);
        let values = values.into_iter().flat_map(|at| tape.children(at));
        listed(
            tape.child_text(expression, Role::Key)?,
            tape.child_text(expression, Role::Operator)?,
            values.filter_map(|value| tape.text(value)),
        )
    });
    builds.fold(Builds::ALL, Builds::and)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(builds: &[u16]) -> BTreeSet<Build> {
        builds.iter().map(|build| Build::new(*build)).collect()
    }

    #[test]
    fn combines_sets_as_their_members_say() {
        let sets: Vec<_> = (0..8u16)
            .map(|bits| set(&[1, 2, 3].map(|i| if bits & 1 << (i - 1) == 0 { 9 } else { i })))
            .flat_map(|set| [Builds::Only(set.clone()), Builds::Except(set)])
            .collect();
        for a in &sets {
            for b in &sets {
                let (and, or) = (a.clone().and(b.clone()), a.clone().or(b.clone()));
                for build in [1, 2, 3, 4, 9].map(Build::new) {
                    let [in_a, in_b] = [a.contains(build), b.contains(build)];
                    assert_eq!(and.contains(build), in_a && in_b, "{a:?} {b:?}");
                    assert_eq!(or.contains(build), in_a || in_b, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn finds_a_node_for_all_images_of_a_range() {
        let runs = |builds: &Builds, lowest, highest| {
            Selection(builds.clone()).runs(Build::new(lowest), Build::new(highest))
        };
        let only = |builds: &[u16]| Builds::Only(set(builds));
        let except = |builds: &[u16]| Builds::Except(set(builds));
        for (builds, lowest, highest, expected) in [
            (Builds::ALL, 20348, 26100, true),
            (Builds::ALL, 17763, 20348, false),
            (Builds::ALL, 26200, 26200, true),
            (only(&[26100]), 20348, 20348, true),
            (only(&[26100]), 17763, 17763, false),
            (only(&[20348]), 26100, 26100, false),
            (only(&[17763, 26100]), 20348, 26100, true),
            (only(&[]), 20348, 20348, false),
            (except(&[20348]), 20348, 20348, true),
            (except(&[17763]), 17763, 17763, false),
            (except(&[20348, 26100]), 20348, 20348, false),
            (except(&[26100]), 20348, 26100, false),
        ] {
            assert_eq!(
                runs(&builds, lowest, highest),
                expected,
                "{builds:?} {lowest} {highest}"
            );
        }
    }
}
