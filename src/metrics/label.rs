//! Labels whose values are known to nobody else: what went wrong, and what came of a question.
//!
//! The families that have them are in `metrics`.

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
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 8] = [
        Self::Panic,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::ContentType,
        Self::Malformed,
        Self::Unreadable,
        Self::TlsHandshake,
        Self::Overload,
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
