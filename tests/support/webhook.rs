//! A webhook that `cluster::join` has given what it wants of an API server in process.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;
use transom::cluster::{self, Wishes};
use transom::metrics::Metrics;
use transom::policy::Policy;
use transom::server::{Server, TlsSource, admin};
use transom::webhook::{self, Endpoint, WebhookState};

use crate::apiserver::ApiServer;
use crate::client::{PATIENCE, options};

pub(crate) struct Webhook {
    pub(crate) cluster: ApiServer,
    pub(crate) metrics: Arc<Metrics>,
    state: Arc<WebhookState>,
    /// What it has started ends with it.
    server: Server,
}

impl Webhook {
    pub(crate) async fn join(cluster: &ApiServer, config: &str, wishes: Wishes) -> Self {
        let metrics = Arc::new(Metrics::new());
        let policy = Policy::parse(config).unwrap();
        let state = Arc::new(WebhookState::new(policy, Arc::clone(&metrics)));
        let tls = options(TlsSource::Later);
        let server = Server::bind(tls, Arc::clone(&state), Arc::clone(&metrics)).await;
        let server = cluster::join(server.unwrap(), wishes, cluster.client(), &state, &metrics);
        Self {
            cluster: cluster.clone(),
            metrics,
            state,
            server,
        }
    }

    /// The response to a review.
    pub(crate) async fn answer(&self, endpoint: Endpoint, review: &Value) -> Value {
        let body = review.to_string();
        let deadline = (Instant::now() + PATIENCE).into();
        let answer = webhook::answer(endpoint, body.into(), deadline, &self.state).await;
        let answer = answer.into_body().collect().await.unwrap().to_bytes();
        let mut answer: Value = serde_json::from_slice(&answer).unwrap();
        answer["response"].take()
    }

    pub(crate) async fn readyz(&self) -> String {
        let router = admin::router(self.server.health(), Arc::clone(&self.metrics));
        let request = Request::get("/readyz?verbose").body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.into()).unwrap()
    }

    pub(crate) async fn becomes(&self, condition: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !condition().await {
            assert!(began.elapsed() < PATIENCE, "it never came true");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The value of the line that starts so.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    }
}
