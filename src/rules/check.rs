//! One field that a rule looks at, and when its value is a finding. All of it is data.

use super::Context;
use crate::object::demand::{Anchor, Demand, Role, Shape};
use crate::object::{At, Tape, Value};
use crate::os::text::is_under;
use crate::workload::Kind;

/// One field that a rule looks at. The first case whose test holds makes the finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(super) anchor: Anchor,
    pub(super) field: &'static str,
    pub(super) cases: &'static [Case],
    pub(super) skip: Skip,
    pub(super) refused: bool,
    pub(super) by_scc: bool,
    pub(super) validate_only: bool,
}

impl Check {
    /// validateWindows refuses this value, too, as soon as `spec.os.name` is `windows`.
    pub(super) const fn refused(mut self) -> Self {
        self.refused = true;
        self
    }

    /// OpenShift's admission plugin for SecurityContextConstraints writes this field into pods.
    /// Source: `AssignSecurityContext` in
    /// <https://github.com/openshift/apiserver-library-go/blob/a8019f39f670/pkg/securitycontextconstraints/sccmatching/provider.go>.
    pub(super) const fn by_scc(mut self) -> Self {
        self.by_scc = true;
        self
    }

    /// Left to /validate: the API server may drop the field after the mutating webhooks.
    pub(super) const fn validate_only(mut self) -> Self {
        self.validate_only = true;
        self
    }

    /// Whether it is about objects of this kind.
    pub(super) fn is_for(&self, kind: Kind) -> bool {
        (self.anchor == Anchor::Service) == (kind == Kind::Service)
    }

    pub(super) const fn skip(mut self, skip: Skip) -> Self {
        self.skip = skip;
        self
    }

    pub(super) fn is_repairable(&self) -> bool {
        self.refused && !self.validate_only
    }

    /// The fields to read for this check, which is the `id`th of all.
    pub(super) fn demands(&self, id: u16) -> impl Iterator<Item = Demand> + '_ {
        let shape = self
            .cases
            .iter()
            .map(|case| case.test.shape())
            .find(|shape| *shape != Shape::Any)
            .unwrap_or(Shape::Any);
        let own = Demand {
            check: Some(id),
            ..Demand::new(self.anchor, self.field, Role::None, shape)
        };
        let below = self.cases.iter().filter_map(|case| match case.test {
            Test::Child(path, test) => {
                Some(Demand::new(self.anchor, path, Role::None, test.shape()))
            }
            _ => None,
        });
        std::iter::once(own).chain(below)
    }
}

/// A field of the pod spec.
pub(super) const fn pod(field: &'static str, cases: &'static [Case]) -> Check {
    check(Anchor::Spec, field, cases)
}

/// A field of containers, initContainers and ephemeralContainers.
pub(super) const fn container(field: &'static str, cases: &'static [Case]) -> Check {
    check(Anchor::Container, field, cases)
}

/// A field of the spec of a Service.
pub(super) const fn service(field: &'static str, cases: &'static [Case]) -> Check {
    check(Anchor::Service, field, cases)
}

/// A field of the pod's or the template's metadata.
pub(super) const fn metadata(field: &'static str, cases: &'static [Case]) -> Check {
    check(Anchor::Metadata, field, cases)
}

pub(super) const fn check(anchor: Anchor, field: &'static str, cases: &'static [Case]) -> Check {
    Check {
        anchor,
        field,
        cases,
        skip: Skip::Nothing,
        refused: false,
        by_scc: false,
        validate_only: false,
    }
}

/// What a check is not about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    Nothing,
    /// HostProcess pods.
    HostProcess,
    /// Pods that are not HostProcess pods.
    Ordinary,
    /// The volume that the API server adds for the service account.
    ServiceAccountVolume,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(super) test: Test,
    /// Which of the rule's tiers this is.
    pub(super) tier: u8,
}

pub(super) const fn case(test: Test, tier: u8) -> Case {
    Case { test, tier }
}

/// Any value, which is told in the message.
pub(super) const SET: &[Case] = &[case(Test::Set, 0)];
/// Anything at all, an object mostly.
pub(super) const PRESENT: &[Case] = &[case(Test::Present, 0)];
pub(super) const TRUE: &[Case] = &[case(Test::Is(true), 0)];
pub(super) const NON_EMPTY: &[Case] = &[case(Test::NonEmpty, 0)];
pub(super) const NOT_BLANK: &[Case] = &[case(Test::NotBlank, 0)];

/// When a value is a finding. A test whose type is not the value's does not hold; the walk has
/// named such a field already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    Set,
    Present,
    Is(bool),
    OneOf(&'static [&'static str]),
    NoneOf(&'static [&'static str]),
    StartsWith(&'static str),
    /// One of the first directories, or below one, but none of the second.
    Under(&'static [&'static str], &'static [&'static str]),
    /// A list that is not empty.
    NonEmpty,
    /// A string that is not empty.
    NotBlank,
    /// An object or list without anything in it.
    Empty,
    NumberOtherThan(i64),
    /// A file mode that lacks some of these bits.
    ModeWithout(i64),
    /// The pod is a HostProcess pod, and this test holds.
    InHostProcess(&'static Self),
    /// The field at this path, directly below, passes.
    Child(&'static str, &'static Self),
    /// Whatever this function says, and what it says in words.
    By(Shape, fn(&Context<'_, '_, '_>, At) -> bool, &'static str),
}

impl Test {
    fn shape(&self) -> Shape {
        match self {
            // `Empty` only tells apart what another case keeps.
            Self::Set | Self::Child(..) | Self::Empty => Shape::Any,
            Self::Present => Shape::Presence,
            Self::InHostProcess(test) => test.shape(),
            Self::Is(_) => Shape::Bool,
            Self::OneOf(_) | Self::NoneOf(_) | Self::StartsWith(_) | Self::Under(..) => Shape::Text,
            Self::NotBlank => Shape::Text,
            Self::NonEmpty => Shape::List,
            Self::NumberOtherThan(_) | Self::ModeWithout(_) => Shape::Number,
            Self::By(shape, _, _) => *shape,
        }
    }

    pub(super) fn holds(&self, context: &Context<'_, '_, '_>, at: At) -> bool {
        let tape = context.pod.tape;
        let text = || tape.text(at);
        match self {
            Self::Set | Self::Present => true,
            Self::Is(wanted) => tape.bool(at) == Some(*wanted),
            Self::OneOf(values) => text().is_some_and(|text| values.contains(&text)),
            Self::NoneOf(values) => text().is_some_and(|text| !values.contains(&text)),
            Self::StartsWith(prefix) => text().is_some_and(|text| text.starts_with(prefix)),
            Self::Under(roots, others) => text().is_some_and(|text| {
                let is_in = |roots: &[&str]| roots.iter().any(|root| is_under(text, root));
                is_in(roots) && !is_in(others)
            }),
            Self::NonEmpty => matches!(tape.entry(at).value, Value::List(1..)),
            Self::NotBlank => text().is_some_and(|text| !text.is_empty()),
            Self::Empty => tape.is_empty(at),
            Self::NumberOtherThan(usual) => match tape.entry(at).value {
                Value::Int(number) => number != *usual,
                Value::Uint(_) | Value::Float(_) => true,
                _ => false,
            },
            Self::ModeWithout(bits) => match tape.entry(at).value {
                Value::Int(mode @ 0..=0o777) => mode & bits != *bits,
                Value::Int(_) | Value::Uint(_) | Value::Float(_) => true,
                _ => false,
            },
            Self::InHostProcess(test) => context.host_process && test.holds(context, at),
            Self::Child(path, test) => {
                let name = path.rsplit_once('.').map_or(*path, |(_, name)| name);
                tape.named(at, name)
                    .is_some_and(|child| test.holds(context, child))
            }
            Self::By(_, test, _) => test(context, at),
        }
    }
}

/// The volume that the API server adds for the token of the service account.
pub(super) fn is_service_account_volume(tape: &Tape<'_>, volume: At) -> bool {
    let name = tape.child_text(volume, Role::Name);
    name.is_some_and(|name| name.starts_with("kube-api-access-"))
}
