//! What the rooms of the core ask of a review: fields, by their paths, and what the code calls
//! them by. Not here: how the demands are compiled (`trie`) and followed (`parse`).

use super::{At, Tape};

/// What the code calls a field by. Fields that only rules look at have [`Role::None`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    None,
    // the review
    ApiVersion,
    Kind,
    Request,
    Uid,
    GroupKind,
    Group,
    SubResource,
    Name,
    Namespace,
    Operation,
    UserInfo,
    Username,
    Groups,
    DryRun,
    Object,
    OldObject,
    // metadata
    Metadata,
    GenerateName,
    DeletionTimestamp,
    OwnerReferences,
    Annotations,
    Controller,
    Mirror,
    TransomOs,
    Scc,
    Ignore,
    OsLabel,
    // where pod templates are
    Spec,
    Template,
    JobTemplate,
    // the pod
    PodOs,
    OsName,
    NodeSelector,
    NodeName,
    RuntimeClass,
    RequiredTerms,
    PreferredTerms,
    Preference,
    MatchExpressions,
    MatchFields,
    Key,
    Operator,
    Values,
    Value,
    Effect,
    Tolerations,
    WindowsOptions,
    HostProcess,
    RunAsUserName,
    RunAsNonRoot,
    HostNetwork,
    Container,
    Image,
    Volume,
    HostPath,
    Text,
    CapabilitiesAdd,
    HugePages,
    Privileged,
    LinuxIdentity,
    // the Service
    ServiceSelector,
}

/// Whether a field of the object at this place can be skipped.
pub(crate) type Spare = fn(&Tape<'_>, At) -> bool;

/// What a field has to be. Another type is an error that names the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Any type will do; the value is told in messages.
    Any,
    /// Any type will do and nobody looks inside: skipped at full speed.
    Presence,
    Bool,
    Number,
    Text,
    List,
    Map,
}

impl Shape {
    /// The type in the words of an error message.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Any | Self::Presence => "a value",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "a string",
            Self::List => "a list",
            Self::Map => "an object",
        }
    }
}

/// Where the path of a [`Demand`] starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The AdmissionReview.
    Review,
    /// `metadata` of the object and of every pod template.
    Metadata,
    /// `spec` of a pod and of every pod template.
    Spec,
    /// An element of containers, initContainers or ephemeralContainers.
    Container,
    /// `spec` of a Service.
    Service,
}

/// One field that somebody asks for.
///
/// The path is written as `securityContext.runAsUser`, with `[*]` for every element of a list,
/// `[0]` for its first, `{key}` for a key of a map and `{prefix*}` for all keys that start so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) anchor: Anchor,
    pub(crate) path: &'static str,
    pub(crate) role: Role,
    pub(crate) shape: Shape,
    pub(crate) spare: Option<Spare>,
    /// Keep a string only if this says so; everything is kept where any demand has no filter.
    pub(crate) filter: Option<fn(&str) -> bool>,
    /// The check of the rule table that looks at this field.
    pub(crate) check: Option<u16>,
}

impl Demand {
    pub(crate) const fn new(anchor: Anchor, path: &'static str, role: Role, shape: Shape) -> Self {
        Self {
            anchor,
            path,
            role,
            shape,
            spare: None,
            filter: None,
            check: None,
        }
    }

    pub(crate) const fn text(anchor: Anchor, path: &'static str, role: Role) -> Self {
        Self::new(anchor, path, role, Shape::Text)
    }

    pub(crate) const fn bool(anchor: Anchor, path: &'static str, role: Role) -> Self {
        Self::new(anchor, path, role, Shape::Bool)
    }

    pub(crate) const fn list(anchor: Anchor, path: &'static str, role: Role) -> Self {
        Self::new(anchor, path, role, Shape::List)
    }

    pub(crate) const fn map(anchor: Anchor, path: &'static str, role: Role) -> Self {
        Self::new(anchor, path, role, Shape::Map)
    }

    pub(crate) const fn present(anchor: Anchor, path: &'static str, role: Role) -> Self {
        Self::new(anchor, path, role, Shape::Presence)
    }

    pub(crate) const fn only(mut self, filter: fn(&str) -> bool) -> Self {
        self.filter = Some(filter);
        self
    }
}
