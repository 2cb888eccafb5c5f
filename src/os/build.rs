//! Windows builds: which one a pod selects, which one an image is for.
//!
//! Not here: whether they match (`rules/placement`), and which toleration a build needs
//! (`placement`).

use super::{BUILD_LABEL, image};
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::workload::Pod;

/// A Windows Server release that containers run on.
/// Source: <https://kubernetes.io/docs/concepts/windows/intro/#windows-os-version-support>.
struct Release {
    build: &'static str,
    /// Words of tags that name it with certainty.
    tags: &'static [&'static [u8]],
}

const RELEASES: [Release; 3] = [
    Release {
        build: "10.0.17763",
        tags: &[b"ltsc2019", b"1809"],
    },
    Release {
        build: "10.0.20348",
        tags: &[b"ltsc2022"],
    },
    Release {
        build: "10.0.26100",
        tags: &[b"ltsc2025"],
    },
];

/// The build that the words of an image's tag name; the first one, should there be several.
pub(crate) fn of_image(image: &str) -> Option<&'static str> {
    let (_, tag) = image::split(image);
    image::tag_words(tag).find_map(|word| {
        let release = RELEASES.iter().find(|release| {
            release
                .tags
                .iter()
                .any(|tag| tag.eq_ignore_ascii_case(word))
        })?;
        Some(release.build)
    })
}

/// The build that a pod selects: by its node selector, or by required affinity to a single one.
pub(crate) fn selected<'t>(pod: &Pod<'t, '_>) -> Option<&'t str> {
    let by_selector = pod.selector(BUILD_LABEL).map(|(_, build)| build);
    by_selector.or_else(|| required(pod))
}

/// The build that a pod is for: the one that it selects, or the one that its images' tags name
/// where they name but one.
pub(crate) fn of_pod<'t>(pod: &Pod<'t, '_>) -> Option<&'t str> {
    selected(pod).or_else(|| {
        let mut builds = pod
            .containers
            .iter()
            .filter_map(|container| of_image(pod.tape.text(container.image?)?));
        let first = builds.next()?;
        builds.all(|build| build == first).then_some(first)
    })
}

/// The builds of nodes that a pod excludes: by its node selector, or by every term of its required
/// affinity. Decided once for a pod: its terms and containers may both be many.
pub(crate) fn excluded(pod: &Pod<'_, '_>) -> Vec<&'static str> {
    let builds = RELEASES.iter().map(|release| release.build);
    let is_excluded = |build: &&str| {
        if let Some((_, selected)) = pod.selector(BUILD_LABEL) {
            return selected != *build;
        }
        let Some(terms) = pod.required_terms else {
            return false;
        };
        let mut terms = pod.tape.children(terms).peekable();
        terms.peek().is_some() && terms.all(|term| term_excludes(pod.tape, term, build))
    };
    builds.filter(is_excluded).collect()
}

/// All expressions of a term have to hold, so one is enough.
fn term_excludes(tape: &Tape<'_>, term: At, build: &str) -> bool {
    let expressions = tape.child(term, Role::MatchExpressions);
    let mut expressions = expressions.into_iter().flat_map(|at| tape.children(at));
    expressions.any(|expression| {
        let values = tape.child(expression, Role::Values);
        let mut values = values.into_iter().flat_map(|at| tape.children(at));
        let mut names_it = || values.any(|value| tape.text(value) == Some(build));
        tape.child_text(expression, Role::Key) == Some(BUILD_LABEL)
            && match tape.child_text(expression, Role::Operator) {
                Some("In") => !names_it(),
                Some("NotIn") => names_it(),
                _ => false,
            }
    })
}

fn required<'t>(pod: &Pod<'t, '_>) -> Option<&'t str> {
    let tape = pod.tape;
    let mut terms = tape.children(pod.required_terms?);
    // With several terms the pod may go to several builds.
    let (term, None) = (terms.next()?, terms.next()) else {
        return None;
    };
    let expressions = tape.child(term, Role::MatchExpressions)?;
    let expression = tape
        .children(expressions)
        .find(|expression| tape.child_text(*expression, Role::Key) == Some(BUILD_LABEL))?;
    let mut values = tape.children(tape.child(expression, Role::Values)?);
    match (
        tape.child_text(expression, Role::Operator)?,
        values.next()?,
        values.next(),
    ) {
        ("In", value, None) => tape.text(value),
        _ => None,
    }
}
