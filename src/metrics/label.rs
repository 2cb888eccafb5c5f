//! The labels: their values, each at the place of its variant, and those that are known to nobody else.
//!
//! The families that have them are in `metrics`.

use crate::admit::Verdict;
use crate::cluster::{events, watching};
use crate::decision::{Effect, Endpoint};
use crate::os::Source;
use crate::review::Operation;
use crate::workload::Kind;

/// What went wrong with a request or connection, as the label `stage` of `transom_errors_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A handler panicked.
    Panic,
    /// The body is larger than `--max-body-bytes`.
    BodyTooLarge,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The Content-Type is not `application/json`.
    ContentType,
    /// The body is broken: it ended early, or it is not an AdmissionReview.
    Malformed,
    /// The object in a readable review is not what its kind says.
    Unreadable,
    /// A TLS handshake failed or did not end.
    TlsHandshake,
    /// More bytes were in flight than `--max-inflight-bytes`.
    Overload,
    /// A connection that was stuck or idle was closed for a new one: there were `--max-connections`.
    Evicted,
    /// The same on the port of health and metrics.
    EvictedAdmin,
    /// A connection with a slow body or an unread response was closed, for its bytes of `--max-inflight-bytes`.
    EvictedBytes,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 11] = [
        Self::Panic,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::ContentType,
        Self::Malformed,
        Self::Unreadable,
        Self::TlsHandshake,
        Self::Overload,
        Self::Evicted,
        Self::EvictedAdmin,
        Self::EvictedBytes,
    ];

    /// The label's value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTimeout => "body_timeout",
            Self::ContentType => "content_type",
            Self::Malformed => "malformed",
            Self::Unreadable => "unreadable",
            Self::TlsHandshake => "tls_handshake",
            Self::Overload => "overload",
            Self::Evicted => "evicted",
            Self::EvictedAdmin => "evicted_admin",
            Self::EvictedBytes => "evicted_bytes",
        }
    }
}

/// What came of asking for a namespace, as the label `result` of `transom_namespace_lookups_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is there.
    Found,
    /// There is none of that name.
    Missing,
    /// Nobody could tell in time.
    Failed,
}

impl Lookup {
    /// Every result.
    pub const ALL: [Self; 3] = [Self::Found, Self::Missing, Self::Failed];

    /// The label's value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Failed => "failed",
        }
    }
}

/// What came of telling an owner by an event, as the label `result` of `transom_events_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// An event was made, or one that is there was counted up.
    Sent,
    /// Too much was waiting already.
    Dropped,
    /// The API server does not take it.
    Failed,
}

impl Telling {
    /// Every result.
    pub const ALL: [Self; 3] = [Self::Sent, Self::Dropped, Self::Failed];

    /// The label's value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        }
    }
}

pub(super) const ENDPOINTS: [Endpoint; 2] = [Endpoint::Mutate, Endpoint::Validate];
pub(super) const OPERATIONS: [Operation; 3] =
    [Operation::Create, Operation::Update, Operation::Other];
pub(super) const EFFECTS: [Effect; 4] =
    [Effect::Deny, Effect::Warn, Effect::Repair, Effect::Ignore];
/// What the Kubernetes API is asked for.
pub(super) const PARTS: [&str; 5] = [
    "certificate",
    events::PART,
    watching::Kind::Namespaces.name(),
    watching::Kind::RuntimeClasses.name(),
    watching::Kind::Nodes.name(),
];
pub(super) const OSES: [&str; 3] = ["linux", "windows", "unknown"];
pub(super) const DECISIONS: [&str; 4] = ["allow", "warn", "patch", "deny"];

pub(super) fn decision(verdict: &Verdict<'_, '_>) -> usize {
    if !verdict.allowed() {
        3
    } else if verdict.changes().next().is_some() {
        2
    } else if verdict.warns() {
        1
    } else {
        0
    }
}

pub(super) fn kinds() -> Vec<&'static str> {
    let kinds = Kind::ALL.into_iter().map(Kind::name);
    kinds.chain(["other"]).collect()
}

pub(super) fn evidence() -> Vec<&'static str> {
    Source::ALL.into_iter().map(Source::name).collect()
}
