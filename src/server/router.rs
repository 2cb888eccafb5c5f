//! The two paths of the webhook, and everything that is said before a review is looked at.
//!
//! Method, path, Content-Type, size and time are checked here, each with one sentence for whoever reads
//! it; what is in the body is [`webhook::answer`]'s. Tests call [`router`] in process.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderMap, RETRY_AFTER};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use super::Limits;
use super::body::{self, BodyError, DISCARD_TIME};
use super::budget::Budget;
use super::guard::Guard;
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
    let budget = Budget::new(state.limits.inflight_bytes, Arc::clone(&metrics));
    let routes = Router::new()
        .route("/mutate", post(mutate))
        .route("/validate", post(validate))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state((state, budget));
    catch_panics(routes, metrics)
}

/// No Retry-After: the API server would retry, and the same object would do the same again. What was said
/// in the panic is in the log, and stays there.
fn catch_panics(routes: Router, metrics: Arc<Metrics>) -> Router {
    routes.layer(CatchPanicLayer::custom(
        move |_: Box<dyn Any + Send + 'static>| {
            metrics.error(Stage::Panic);
            sentence(
                StatusCode::INTERNAL_SERVER_ERROR,
                "this review met a bug in Transom: please report the line with \"panic\" in its log",
            )
        },
    ))
}

async fn review(
    endpoint: Endpoint,
    (state, budget): (AppState, Budget),
    request: Request,
) -> Response {
    let AppState {
        webhook,
        metrics,
        limits,
    } = state;
    if !is_json(request.headers()) {
        metrics.error(Stage::ContentType);
        let answer = unsupported_media_type(request.headers());
        return unread(request, answer);
    }
    let (parts, mut body) = request.into_parts();
    let reserved = budget.reserve(parts.extensions.get::<Guard>().cloned());
    let patience = patience(&parts.uri);
    let start = Instant::now();
    let deadline = start + patience;
    let time = limits.body.min(patience);
    match body::read(&mut body, limits.body_bytes, time, reserved).await {
        Ok((bytes, reserved)) => {
            let answer = webhook::answer(endpoint, bytes, deadline, &webhook).await;
            body::hold(answer, reserved).await.unwrap_or_else(|_| {
                metrics.error(Stage::Overload);
                overloaded(limits)
            })
        }
        Err(BodyError::TooLarge) => {
            metrics.error(Stage::BodyTooLarge);
            unread(Request::from_parts(parts, body), too_large(limits))
        }
        Err(BodyError::TooSlow) => {
            metrics.error(Stage::BodyTimeout);
            closing(too_slow(time))
        }
        Err(BodyError::Overload) => {
            metrics.error(Stage::Overload);
            // To shake hands again costs more than to read what is left of this body for nothing.
            match body::discard(&mut body, time.saturating_sub(start.elapsed())).await {
                true => overloaded(limits),
                false => closing(overloaded(limits)),
            }
        }
        Err(BodyError::Broken) => {
            metrics.error(Stage::Malformed);
            sentence(
                StatusCode::BAD_REQUEST,
                "the body broke off before its end, or is in chunks that are none: send the whole AdmissionReview",
            )
        }
    }
}

/// Answers a request whose body was not read to its end.
///
/// It is thrown away while the client still sends, so that the client comes to read the answer: a socket
/// that is closed with bytes unread resets the connection, and the answer is lost with it.
fn unread(request: Request, answer: Response) -> Response {
    if request.body().is_end_stream() {
        return answer;
    }
    // Who expects a `100 Continue` sends nothing until it comes.
    if !request.headers().contains_key(EXPECT) {
        let mut body = request.into_body();
        tokio::spawn(async move { body::discard(&mut body, DISCARD_TIME).await });
    }
    closing(answer)
}

/// An answer that is its connection's last.
fn closing(answer: Response) -> Response {
    ([(CONNECTION, "close")], answer).into_response()
}

/// How long the client waits: the API server writes the webhook's timeoutSeconds, 1 to 30, as `?timeout=10s`.
/// Of others nothing is known, and 30 s is what Kubernetes allows at most.
fn patience(uri: &Uri) -> Duration {
    const MOST: u64 = 30;
    let pairs = uri.query().unwrap_or_default().split('&');
    let timeout = pairs
        .filter_map(|pair| pair.strip_prefix("timeout="))
        .next();
    let seconds = timeout.and_then(|timeout| timeout.strip_suffix('s')?.parse().ok());
    let seconds = seconds.filter(|seconds| *seconds > 0);
    Duration::from_secs(seconds.map_or(MOST, |seconds: u64| seconds.min(MOST)))
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
    sentence(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "the body is larger than {} bytes: send a smaller object, or raise --max-body-bytes",
            limits.body_bytes
        ),
    )
}

fn too_slow(time: Duration) -> Response {
    sentence(
        StatusCode::REQUEST_TIMEOUT,
        format!(
            "the body did not arrive within {} s: send all of it, in the length that was announced",
            time.as_secs_f32()
        ),
    )
}

/// With Retry-After: the API server tries again within the webhook's timeout, and without it not at all.
fn overloaded(limits: Limits) -> Response {
    let answer = sentence(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "the reviews in flight leave no room for this one in {} bytes (--max-inflight-bytes): send it \
             again in a second",
            limits.inflight_bytes
        ),
    );
    ([(RETRY_AFTER, "1")], answer).into_response()
}

async fn not_found(request: Request) -> Response {
    let text = format!(
        "there is nothing at {}: reviews are answered at /mutate and /validate",
        request.uri().path()
    );
    unread(request, sentence(StatusCode::NOT_FOUND, text))
}

async fn method_not_allowed(request: Request) -> Response {
    let text = format!(
        "{} is not understood here: send an AdmissionReview with POST",
        request.method()
    );
    unread(request, sentence(StatusCode::METHOD_NOT_ALLOWED, text))
}

fn sentence(status: StatusCode, sentence: impl Into<String>) -> Response {
    let mut text = sentence.into();
    text.push('\n');
    (status, text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer_that_nobody_retries() {
        let metrics = Arc::new(Metrics::new());
        let routes = Router::new().route("/", get(panics));
        let router = catch_panics(routes, Arc::clone(&metrics));
        let request = Request::get("/").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!response.headers().contains_key(RETRY_AFTER));
        let counted = "transom_errors_total{stage=\"panic\"} 1\n";
        assert!(metrics.render().contains(counted));
    }

    #[test]
    fn the_client_waits_as_long_as_it_says() {
        let patience = |uri: &'static str| patience(&Uri::from_static(uri)).as_secs();
        assert_eq!(patience("/mutate?timeout=10s"), 10);
        assert_eq!(patience("/mutate?a=b&timeout=1s"), 1);
        for uri in [
            "/mutate",
            "/mutate?timeout",
            "/mutate?timeout=",
            "/mutate?timeout=-5s",
            "/mutate?timeout=1m0s",
            "/mutate?timeout=5",
            "/mutate?timeout=99999999999999999999s",
            "/mutate?timeout=31s",
            "/mutate?timeout=0s",
        ] {
            assert_eq!(patience(uri), 30, "{uri}");
        }
    }

    async fn panics() -> &'static str {
        panic!("on purpose")
    }
}
