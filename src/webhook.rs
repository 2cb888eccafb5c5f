//! One review: bytes in, answer out, counted and logged. Between the server and the core.
//!
//! Not here: HTTP beyond the answer's status (`server::router`), and any decision (`admit`).
//! Which policy is in force is in `configuration`.

mod configuration;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::admit::{self, Verdict};
use crate::config::ProfileName;
use crate::decision::Effect;
use crate::facts::Facts;
use crate::metrics::{Metrics, Stage};
use crate::policy::Policy;
use crate::review;

pub use crate::decision::Endpoint;

/// What an answer needs besides the body. Reading it takes no lock.
pub struct WebhookState {
    policy: ArcSwap<Policy>,
    facts: ArcSwap<Facts>,
    metrics: Arc<Metrics>,
    /// Wins over the configuration's.
    profile: Option<ProfileName>,
}

impl WebhookState {
    /// A webhook with this policy that knows nothing of a cluster.
    pub fn new(policy: Policy, metrics: Arc<Metrics>) -> Self {
        Self {
            policy: ArcSwap::from_pointee(policy),
            facts: ArcSwap::default(),
            metrics,
            profile: None,
        }
    }

    /// What the cluster knows from now on.
    pub fn set_facts(&self, facts: Facts) {
        self.facts.store(Arc::new(facts));
    }
}

impl fmt::Debug for WebhookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookState").finish_non_exhaustive()
    }
}

/// Answers one review. A body that is none gets status 400 and a sentence.
pub fn answer(endpoint: Endpoint, body: &[u8], state: &WebhookState) -> Response {
    let start = Instant::now();
    let policy = state.policy.load();
    let facts = state.facts.load();
    let request = match review::decode(body, &policy) {
        Ok(request) => request,
        Err(malformed) => {
            state.metrics.error(Stage::Malformed);
            tracing::debug!(%malformed, "a body that is no review");
            return (StatusCode::BAD_REQUEST, format!("{malformed}\n")).into_response();
        }
    };
    let verdict = admit::admit(endpoint, &request, &policy, &facts);
    let answer = review::encode(&verdict);
    state.metrics.verdict(&verdict);
    log(&verdict);
    let response = ([(header::CONTENT_TYPE, "application/json")], answer).into_response();
    state.metrics.duration(endpoint, start.elapsed());
    response
}

/// One line for each denial, and for each object that could not be read. Never what is in it.
fn log(verdict: &Verdict<'_, '_>) {
    let request = verdict.request();
    if let Some(problem) = verdict.unreadable() {
        tracing::warn!(
            uid = request.uid(),
            kind = request.kind_name(),
            namespace = request.namespace(),
            name = request.name(),
            webhook = verdict.endpoint().name(),
            allowed = verdict.allowed(),
            problem,
            "an object that cannot be read"
        );
    } else if !verdict.allowed() {
        tracing::info!(
            uid = request.uid(),
            kind = request.kind_name(),
            namespace = request.namespace(),
            name = request.name(),
            user = request.username(),
            webhook = verdict.endpoint().name(),
            dry_run = request.is_dry_run(),
            rules = rules(verdict),
            "denied"
        );
    }
}

/// The codes of the rules that a denial is for, each once.
fn rules(verdict: &Verdict<'_, '_>) -> String {
    let denied = verdict
        .findings()
        .iter()
        .filter(|f| f.effect() == Effect::Deny);
    let mut codes: Vec<_> = denied.map(|finding| finding.rule().code).collect();
    // Findings are sorted by rule.
    codes.dedup();
    codes.join(",")
}
