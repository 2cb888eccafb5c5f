//! The plain listener: is it alive, is it ready, what has it counted, which version is it.
//!
//! It knows nothing of reviews. Probed by the kubelet, scraped by Prometheus.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::metrics::Metrics;

/// Prometheus 3 refuses a scrape that says anything else.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether reviews should be sent here.
#[derive(Debug, Default)]
pub struct Health {
    started: AtomicBool,
    draining: AtomicBool,
}

/// One line of `?verbose`: its name, and why it fails if it does.
type Check = (&'static str, Result<(), &'static str>);

impl Health {
    /// Everything that a review needs is there.
    pub fn ready(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// The end has begun.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the end has begun.
    #[must_use]
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn checks(&self) -> [Check; 2] {
        let check = |good: bool, reason| if good { Ok(()) } else { Err(reason) };
        let started = self.started.load(Ordering::Relaxed);
        [
            (
                "startup",
                check(
                    started,
                    "starting: not everything that a review needs is there",
                ),
            ),
            (
                "shutdown",
                check(!self.draining(), "draining: the server was asked to end"),
            ),
        ]
    }
}

/// `/livez`, `/readyz`, `/metrics`, `/version`.
pub fn router(health: Arc<Health>, metrics: Arc<Metrics>) -> Router {
    let livez = |query| async { report("livez", &[("ping", Ok(()))], query) };
    let readyz = |State(health): State<Arc<Health>>, query| async move {
        report("readyz", &health.checks(), query)
    };
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/version", get(version))
        .with_state(health)
        .route("/metrics", get(render).with_state(metrics))
}

/// `ok`, or the first reason; with `?verbose` a line for each check, as Kubernetes' own components write it.
fn report(name: &str, checks: &[Check], RawQuery(query): RawQuery) -> Response {
    let failed = checks.iter().find_map(|(_, result)| result.err());
    let status = match failed {
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        None => StatusCode::OK,
    };
    let text = match failed {
        _ if is_verbose(query.as_deref()) => verbose(name, checks, failed.is_none()),
        Some(reason) => format!("{reason}\n"),
        None => "ok".to_owned(),
    };
    (status, text).into_response()
}

fn is_verbose(query: Option<&str>) -> bool {
    query.unwrap_or_default().split('&').any(|pair| {
        let key = pair.split('=').next();
        key == Some("verbose")
    })
}

fn verbose(name: &str, checks: &[Check], passed: bool) -> String {
    let mut text = String::new();
    for (check, result) in checks {
        text += &match result {
            Ok(()) => format!("[+]{check} ok\n"),
            Err(reason) => format!("[-]{check} failed: {reason}\n"),
        };
    }
    let outcome = if passed { "passed" } else { "failed" };
    text + &format!("{name} check {outcome}\n")
}

async fn version() -> Response {
    let mut version = serde_json::json!({ "version": env!("CARGO_PKG_VERSION") });
    if let Some(commit) = option_env!("TRANSOM_GIT_COMMIT") {
        version["gitCommit"] = commit.into();
    }
    ([(CONTENT_TYPE, "application/json")], format!("{version}\n")).into_response()
}

async fn render(State(metrics): State<Arc<Metrics>>) -> Response {
    ([(CONTENT_TYPE, METRICS_TYPE)], metrics.render()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn ready_is_what_lies_between_starting_and_draining() {
        let health = Arc::new(Health::default());
        let (status, text) = get(&health, "GET", "/readyz").await;
        assert_eq!(status, 503);
        assert!(text.starts_with("starting:"), "{text}");
        health.ready();
        assert_eq!(get(&health, "GET", "/readyz").await, (200, "ok".into()));
        health.drain();
        let (status, text) = get(&health, "GET", "/readyz").await;
        assert_eq!(status, 503);
        assert!(text.starts_with("draining:"), "{text}");
        assert_eq!(get(&health, "GET", "/livez").await, (200, "ok".into()));
    }

    #[tokio::test]
    async fn verbose_has_a_line_for_each_check() {
        let health = Arc::new(Health::default());
        health.ready();
        let ready = "[+]startup ok\n[+]shutdown ok\nreadyz check passed\n";
        assert_eq!(
            get(&health, "GET", "/readyz?verbose").await,
            (200, ready.into())
        );
        health.drain();
        let (status, text) = get(&health, "GET", "/readyz?timeout=1s&verbose=true").await;
        assert_eq!(status, 503);
        assert_eq!(
            text,
            "[+]startup ok\n[-]shutdown failed: draining: the server was asked to end\nreadyz check failed\n"
        );
        let alive = "[+]ping ok\nlivez check passed\n";
        assert_eq!(
            get(&health, "GET", "/livez?verbose").await,
            (200, alive.into())
        );
    }

    #[tokio::test]
    async fn head_works_wherever_get_does() {
        let health = Arc::new(Health::default());
        health.ready();
        for path in ["/livez", "/readyz", "/metrics", "/version"] {
            assert_eq!(get(&health, "HEAD", path).await, (200, String::new()));
        }
        assert_eq!(get(&health, "POST", "/livez").await.0, 405);
        assert_eq!(get(&health, "GET", "/healthz").await.0, 404);
    }

    #[tokio::test]
    async fn metrics_have_the_type_that_prometheus_asks_for() {
        let request = Request::get("/metrics").body(Body::empty()).unwrap();
        let router = router(Arc::default(), Arc::default());
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], METRICS_TYPE);
    }

    async fn get(health: &Arc<Health>, method: &str, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).unwrap();
        let router = router(Arc::clone(health), Arc::default());
        let response = router.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.into()).unwrap())
    }
}
