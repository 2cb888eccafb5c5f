//! A PLACEHOLDER for the admission side: it lets everything through, so that the server can be built and
//! tested before the engine is there.
//!
//! It is not the engine: it reads the whole review into a `Value` only to find the uid. Called by
//! `server::router` with a complete body.

use std::path::Path;

use anyhow::{Result, bail};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Which of the two webhooks was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /mutate`
    Mutate,
    /// `POST /validate`
    Validate,
}

/// What an answer needs besides the body.
#[derive(Debug, Default)]
pub struct WebhookState {}

impl WebhookState {
    /// Reads the configuration file, if there is one.
    ///
    /// # Errors
    /// Always, when a file is given: nothing here reads it yet, and to ignore it would be a lie.
    pub fn load(config: Option<&Path>) -> Result<Self> {
        if let Some(file) = config {
            bail!(
                "this build does not read a configuration yet: leave out --config {}",
                file.display()
            );
        }
        Ok(Self {})
    }
}

/// Answers one review: allowed, with the uid that was asked.
pub fn answer(_endpoint: Endpoint, body: &[u8], _state: &WebhookState) -> Response {
    let Some(uid) = uid(body) else {
        return (
            StatusCode::BAD_REQUEST,
            "the body is not an AdmissionReview with a request.uid\n",
        )
            .into_response();
    };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": { "uid": uid, "allowed": true },
    });
    (
        [(header::CONTENT_TYPE, "application/json")],
        review.to_string(),
    )
        .into_response()
}

fn uid(body: &[u8]) -> Option<String> {
    let review: Value = serde_json::from_slice(body).ok()?;
    Some(review.pointer("/request/uid")?.as_str()?.to_owned())
}
