//! The two paths of the webhook, and everything that is said before a review is looked at.
//!
//! Method, path, Content-Type, size and time are checked here, each with one sentence for whoever reads
//! it; what is in the body is [`webhook::answer`]'s. Tests call [`router`] in process.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderMap};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tower_http::catch_panic::CatchPanicLayer;

use super::Limits;
use super::body::{self, BodyError};
use crate::metrics::{Metrics, Stage};
use crate::webhook::{self, Endpoint, WebhookState};

/// What handlers share.
#[derive(Clone, Debug)]
pub struct AppState {
    /// The webhook's own: policy, facts.
    pub webhook: Arc<WebhookState>,
    /// Where failures are counted.
    pub metrics: Arc<Metrics>,
    /// What a body is bounded by.
    pub limits: Limits,
}

/// `POST /mutate` and `POST /validate`.
pub fn router(state: AppState) -> Router {
    let mutate = |State(state), request| review(Endpoint::Mutate, state, request);
    let validate = |State(state), request| review(Endpoint::Validate, state, request);
    let metrics = Arc::clone(&state.metrics);
    Router::new()
        .route("/mutate", post(mutate))
        .route("/validate", post(validate))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(state)
        .layer(CatchPanicLayer::custom(
            move |_: Box<dyn Any + Send + 'static>| panicked(&metrics),
        ))
}

async fn review(endpoint: Endpoint, state: AppState, request: Request) -> Response {
    let AppState {
        webhook,
        metrics,
        limits,
    } = state;
    let (parts, mut body) = request.into_parts();
    if !is_json(&parts.headers) {
        metrics.error(Stage::ContentType);
        return unsupported_media_type(&parts.headers);
    }
    match body::read(&mut body, limits.body_bytes, limits.body).await {
        Ok(bytes) => webhook::answer(endpoint, &bytes, &webhook),
        Err(BodyError::TooLarge) => {
            metrics.error(Stage::BodyTooLarge);
            // Who expects a `100 Continue` sends nothing until it comes.
            if !parts.headers.contains_key(EXPECT) {
                tokio::spawn(body::discard(body, 8 * limits.body_bytes, limits.body));
            }
            too_large(limits)
        }
        Err(BodyError::TooSlow) => {
            metrics.error(Stage::BodyTimeout);
            too_slow(limits)
        }
        Err(BodyError::Broken) => {
            metrics.error(Stage::Malformed);
            sentence(
                StatusCode::BAD_REQUEST,
                "the body ended before its announced length: send the whole AdmissionReview",
            )
        }
    }
}

/// Parameters such as `; charset=utf-8` change nothing: JSON is UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn unsupported_media_type(headers: &HeaderMap) -> Response {
    let given = match headers.get(CONTENT_TYPE) {
        Some(value) => format!("Content-Type {value:?} is not understood"),
        None => "there is no Content-Type".to_owned(),
    };
    sentence(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!("{given}: send an AdmissionReview as application/json"),
    )
}

fn too_large(limits: Limits) -> Response {
    last_sentence(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "the body is larger than {} bytes: send a smaller object, or raise --max-body-bytes",
            limits.body_bytes
        ),
    )
}

fn too_slow(limits: Limits) -> Response {
    last_sentence(
        StatusCode::REQUEST_TIMEOUT,
        format!(
            "the body did not arrive within {} s: send all of it, in the length that was announced",
            limits.body.as_secs_f32()
        ),
    )
}

async fn not_found(uri: Uri) -> Response {
    sentence(
        StatusCode::NOT_FOUND,
        format!(
            "there is nothing at {}: reviews are answered at /mutate and /validate",
            uri.path()
        ),
    )
}

async fn method_not_allowed(method: Method) -> Response {
    sentence(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{method} is not understood here: send an AdmissionReview with POST"),
    )
}

/// No Retry-After: the API server would retry, and the same object would do the same again. What was said
/// in the panic is in the log, and stays there.
fn panicked(metrics: &Metrics) -> Response {
    metrics.error(Stage::Panic);
    sentence(
        StatusCode::INTERNAL_SERVER_ERROR,
        "this review met a bug in Transom: please report the line with \"panic\" in its log",
    )
}

fn sentence(status: StatusCode, sentence: impl Into<String>) -> Response {
    let mut text = sentence.into();
    text.push('\n');
    (status, text).into_response()
}

/// A sentence after which the connection closes, since the request's body was not read to its end.
fn last_sentence(status: StatusCode, text: impl Into<String>) -> Response {
    ([(CONNECTION, "close")], sentence(status, text)).into_response()
}
