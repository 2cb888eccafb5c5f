//! One review: bytes in, answer out, counted and logged. Between the server and the core.
//!
//! Not here: HTTP beyond the answer's status (`server::router`), and any decision (`admit`).
//! Which policy is in force is in `configuration`; where a request is evaluated, in `evaluation`.

mod configuration;
mod evaluation;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::admit::{self, Labels, Verdict};
use crate::cluster::events::Owners;
use crate::cluster::namespaces::Namespaces;
use crate::config::ProfileName;
use crate::facts::{Facts, NamespaceFacts};
use crate::metrics::{Metrics, Stage};
use crate::policy::Policy;
use crate::review;
use evaluation::{Busy, Evaluations};

pub use crate::decision::Endpoint;

/// What an answer needs besides the body. Reading it takes no lock.
pub struct WebhookState {
    policy: ArcSwap<Policy>,
    facts: ArcSwap<Facts>,
    namespaces: OnceLock<Arc<Namespaces>>,
    owners: OnceLock<Owners>,
    /// Tolerations that were told of as learnt. No review looks at it.
    told: Mutex<Vec<String>>,
    evaluations: Evaluations,
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
            namespaces: OnceLock::new(),
            owners: OnceLock::new(),
            told: Mutex::default(),
            evaluations: Evaluations::default(),
            metrics,
            profile: None,
        }
    }

    /// What the cluster knows.
    pub fn facts(&self) -> Arc<Facts> {
        self.facts.load_full()
    }

    /// Changes what the cluster knows from now on. All of it is copied: a change that changes nothing is better
    /// left out. `change` may be called again if somebody else changes something meanwhile.
    pub fn learn(&self, change: impl Fn(&mut Facts)) {
        self.facts.rcu(|facts| {
            let mut facts = Facts::clone(facts);
            change(&mut facts);
            facts
        });
        self.tell_what_is_learnt();
    }

    /// Whether tolerations are learnt from the nodes' taints, once nodes are known.
    pub fn learns_taints(&self) -> bool {
        self.policy.load().learns_taints()
    }

    /// Metric and, if it is something else than before, log.
    fn tell_what_is_learnt(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let learnt = self.policy.load().learnt(&self.facts.load());
        self.metrics.learnt_tolerations(learnt.len());
        if learnt == *told {
            return;
        }
        match learnt.join(", ") {
            none if none.is_empty() => {
                tracing::info!(
                    "no taint is learnt any more: Windows nodes share none that names Windows"
                );
            }
            tolerations => {
                tracing::info!(
                    tolerations,
                    "learnt from the taints that all Windows nodes share"
                );
            }
        }
        *told = learnt;
    }

    /// Where the labels of namespaces are looked up from now on. The first call counts.
    pub fn look_up_namespaces(&self, namespaces: Arc<Namespaces>) {
        let _ = self.namespaces.set(namespaces);
    }

    /// Where notices for owners go from now on. The first call counts.
    pub fn tell_owners(&self, owners: Owners) {
        let _ = self.owners.set(owners);
    }
}

impl fmt::Debug for WebhookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookState").finish_non_exhaustive()
    }
}

/// Answers one review, for which somebody waits until `deadline`. A body that is none gets status 400 and a
/// sentence; one that nobody evaluated in time 503.
pub async fn answer(
    endpoint: Endpoint,
    body: Bytes,
    deadline: tokio::time::Instant,
    state: &Arc<WebhookState>,
) -> Response {
    let start = Instant::now();
    let evaluate = |labels| {
        let (body, state) = (body.clone(), Arc::clone(state));
        move || answer_by(endpoint, &body, &state, start, &labels)
    };
    let evaluations = &state.evaluations;
    let namespaces = state.namespaces.get();
    let labels = match namespaces {
        None => Source::Facts,
        Some(namespaces) => Source::Cached(Arc::clone(namespaces)),
    };
    let first = evaluations
        .run(body.len(), deadline, evaluate(labels))
        .await;
    let answer = match (first, namespaces) {
        (Ok(Err(unknown)), Some(namespaces)) => {
            // As seldom as namespaces are made; to read the review again costs less than to keep it meanwhile.
            let found = namespaces.ask(&unknown.0, deadline).await;
            let again = evaluate(Source::Asked(found));
            evaluations.run(body.len(), deadline, again).await
        }
        (first, _) => first,
    };
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(Unknown(_))) | Err(Busy) => {
            state.metrics.error(Stage::Overload);
            let sentence = "overloaded: the evaluation did not start before the client's timeout; retry in 1s\n";
            (
                StatusCode::SERVICE_UNAVAILABLE,
                [(header::RETRY_AFTER, "1")],
                sentence,
            )
                .into_response()
        }
    }
}

/// Where the labels of a request's namespace come from.
enum Source {
    /// No cluster is watched.
    Facts,
    /// Namespaces are watched; one that was made a moment ago may not be there yet.
    Cached(Arc<Namespaces>),
    /// What the API server said, if it did.
    Asked(Option<NamespaceFacts>),
}

/// A namespace that is not in the cache.
struct Unknown(String);

impl Source {
    /// The labels of a namespace: `None` if nobody knows what they say.
    fn find(&self, name: &str, facts: &Facts) -> Result<Option<NamespaceFacts>, Unknown> {
        match self {
            Self::Facts => Ok(Some(
                facts.namespaces.get(name).copied().unwrap_or_default(),
            )),
            Self::Cached(namespaces) => match namespaces.find(name) {
                Some(found) => Ok(Some(found)),
                None => Err(Unknown(name.to_owned())),
            },
            Self::Asked(found) => Ok(*found),
        }
    }
}

/// Answers a review once the labels of its namespace are found.
///
/// # Errors
/// They are not in the cache; nothing is counted then.
fn answer_by(
    endpoint: Endpoint,
    body: &[u8],
    state: &WebhookState,
    start: Instant,
    labels: &Source,
) -> Result<Response, Unknown> {
    let policy = state.policy.load();
    let facts = state.facts.load();
    let request = match review::decode(body, &policy) {
        Ok(request) => request,
        Err(malformed) => {
            state.metrics.error(Stage::Malformed);
            tracing::debug!(%malformed, "a body that is no review");
            let sentence = format!("{malformed}\n");
            return Ok((StatusCode::BAD_REQUEST, sentence).into_response());
        }
    };
    let found = match request.namespace() {
        Some(name) => labels.find(name, &facts)?,
        None => Some(NamespaceFacts::default()),
    };
    let labels = match &found {
        Some(found) => Labels::Known(Some(found)),
        None => Labels::Unknown,
    };
    let verdict = admit::admit_in(endpoint, &request, &policy, &facts, labels);
    let answer = review::encode(&verdict);
    state.metrics.verdict(&verdict);
    log(&verdict);
    if let Some(owners) = state.owners.get()
        && let Some(notice) = verdict.notice()
    {
        owners.tell(notice);
    }
    let response = ([(header::CONTENT_TYPE, "application/json")], answer).into_response();
    state.metrics.duration(endpoint, start.elapsed());
    Ok(response)
}

/// One line for each denial, and for each object that could not be read. Never what is in it, and no more of a name than
/// names have: anybody who reaches the port can write one, and lines wait in memory.
fn log(verdict: &Verdict<'_, '_>) {
    let request = verdict.request();
    if let Some(problem) = verdict.unreadable() {
        tracing::warn!(
            uid = brief(request.uid()),
            kind = request.kind_name().map(brief),
            namespace = request.namespace().map(brief),
            name = request.name().map(brief),
            webhook = verdict.endpoint().name(),
            allowed = verdict.allowed(),
            problem = brief(problem),
            "an object that cannot be read"
        );
    } else if !verdict.allowed() {
        tracing::info!(
            uid = brief(request.uid()),
            kind = request.kind_name().map(brief),
            namespace = request.namespace().map(brief),
            name = request.name().map(brief),
            user = request.username().map(brief),
            webhook = verdict.endpoint().name(),
            dry_run = request.is_dry_run(),
            rules = verdict.denied_rules().join(","),
            "denied"
        );
    }
}

/// As much of a text as a line of the log has room for.
fn brief(text: &str) -> &str {
    const LONGEST: usize = 256;
    &text[..text.floor_char_boundary(LONGEST)]
}
