//! One review: bytes in, answer out, counted and logged. Between the server and the core.
//!
//! Not here: HTTP beyond the answer's status (`server::router`), and any decision (`admit`).

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use arc_swap::ArcSwap;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ring::digest::{SHA256, digest};

use crate::admit::{self, Verdict};
use crate::config::{ConfigError, ProfileName, Written};
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
    /// The configuration's name in messages.
    file: String,
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
            file: "the configuration".to_owned(),
            profile: None,
        }
    }

    /// Reads the configuration file, if there is one; else the defaults are in force. A profile
    /// wins over the file's, now and whenever it is read again.
    ///
    /// # Errors
    /// When the file cannot be read, or is not understood to the letter.
    pub fn load(
        config: Option<&Path>,
        profile: Option<ProfileName>,
        metrics: Arc<Metrics>,
    ) -> Result<Self> {
        let file = config.map_or_else(String::new, |path| path.display().to_string());
        let policy = match config {
            None => {
                let mut written = Written::default();
                written.config.profile = profile.unwrap_or_default();
                Policy::of(&written)?
            }
            Some(path) => {
                let bytes = std::fs::read(path)
                    .with_context(|| format!("cannot read the configuration {file}"))?;
                let policy = policy(&bytes, profile).map_err(|error| {
                    let report = error.report(&file, &String::from_utf8_lossy(&bytes));
                    anyhow!("the configuration cannot be used\n{}", report.trim_end())
                })?;
                metrics.config_in_force(&hash(&bytes));
                policy
            }
        };
        Ok(Self {
            file,
            profile,
            ..Self::new(policy, metrics)
        })
    }

    /// Takes what the configuration file holds now. What is not understood is refused, and the
    /// old policy stays. Whoever watches the file calls this when its bytes have changed; it is
    /// logged and counted here.
    ///
    /// # Errors
    /// Why it was refused, in one line.
    pub fn reload(&self, bytes: &[u8]) -> Result<()> {
        let file = self.file.as_str();
        let policy = policy(bytes, self.profile);
        self.metrics.config_reload(policy.is_ok());
        match policy {
            Ok(policy) => {
                let hash = hash(bytes);
                self.policy.store(Arc::new(policy));
                self.metrics.config_in_force(&hash);
                tracing::info!(file, hash, "the configuration has changed and is in force");
                Ok(())
            }
            Err(error) => {
                let problems = error.problems().iter().map(ToString::to_string);
                let error = problems.collect::<Vec<_>>().join("; ");
                tracing::warn!(
                    file,
                    error,
                    "the configuration has changed and is refused; the old one stays in force"
                );
                Err(anyhow!("{file}: {error}"))
            }
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

/// What a configuration file's bytes come to.
fn policy(bytes: &[u8], profile: Option<ProfileName>) -> Result<Policy, ConfigError> {
    let mut written = Written::from_bytes(bytes)?;
    written.config.profile = profile.unwrap_or(written.config.profile);
    Policy::of(&written)
}

/// Enough of SHA-256 to tell two configurations apart; what `sha256sum` prints starts with it.
fn hash(bytes: &[u8]) -> String {
    let hash = digest(&SHA256, bytes);
    let start = hash.as_ref().iter().take(6);
    start.map(|byte| format!("{byte:02x}")).collect()
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

#[cfg(test)]
mod tests;
