//! The plain listener: is it alive, is it ready, what has it counted, which version is it.
//!
//! It knows nothing of reviews. Probed by the kubelet, scraped by Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    parts: Mutex<BTreeMap<&'static str, Condition>>,
}

/// How a part of the server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As it should be.
    Good,
    /// Reviews are answered, though something is wrong: it is told, and that is all.
    Degraded(String),
    /// Reviews cannot be answered.
    Failing(String),
}

/// One line of `?verbose`: its name and how it stands.
type Check = (&'static str, Condition);

impl Health {
    /// Everything that a review needs is there.
    pub fn ready(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// The end has begun.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// How a part stands from now on. A part that nobody has spoken of is not asked for.
    pub fn set(&self, part: &'static str, condition: Condition) {
        self.parts().insert(part, condition);
    }

    /// Says no more of a part.
    pub fn forget(&self, part: &'static str) {
        self.parts().remove(part);
    }

    /// Whether the end has begun.
    #[must_use]
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<&'static str, Condition>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts first: their reasons say more than that it is starting.
    fn checks(&self) -> Vec<Check> {
        let check = |good: bool, reason: &str| match good {
            true => Condition::Good,
            false => Condition::Failing(reason.to_owned()),
        };
        let started = self.started.load(Ordering::Relaxed);
        let parts = self.parts().clone().into_iter();
        let own = [
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
        ];
        parts.chain(own).collect()
    }
}

/// `/livez`, `/readyz`, `/metrics`, `/version`.
pub fn router(health: Arc<Health>, metrics: Arc<Metrics>) -> Router {
    let livez = |query| async { report("livez", &[("ping", Condition::Good)], query) };
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
    let failed = checks.iter().find_map(|(_, condition)| match condition {
        Condition::Failing(reason) => Some(reason),
        _ => None,
    });
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
    for (check, condition) in checks {
        text += &match condition {
            Condition::Good => format!("[+]{check} ok\n"),
            Condition::Degraded(flaw) => format!("[+]{check} ok, but: {flaw}\n"),
            Condition::Failing(reason) => format!("[-]{check} failed: {reason}\n"),
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
    async fn a_part_that_fails_is_the_reason_and_one_that_limps_is_told() {
        let health = Arc::new(Health::default());
        health.set(
            "certificate",
            Condition::Failing("no certificate yet".into()),
        );
        let (status, text) = get(&health, "GET", "/readyz").await;
        assert_eq!((status, text.as_str()), (503, "no certificate yet\n"));
        health.set(
            "certificate",
            Condition::Degraded("the Secret is gone".into()),
        );
        health.ready();
        assert_eq!(get(&health, "GET", "/readyz").await, (200, "ok".into()));
        let (status, text) = get(&health, "GET", "/readyz?verbose").await;
        assert_eq!(status, 200);
        assert!(
            text.starts_with("[+]certificate ok, but: the Secret is gone\n[+]startup ok\n"),
            "{text}"
        );
        assert_eq!(get(&health, "GET", "/livez").await, (200, "ok".into()));
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
