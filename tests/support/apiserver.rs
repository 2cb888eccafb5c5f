//! As much of an API server as the tests of `cluster` need, in process: objects with resourceVersions,
//! conflicts, strategic merge of webhooks, lists in pages, and watches. It checks nothing and knows no permissions but
//! those that a test takes away.

// Outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request, Response};
use futures_util::stream;
use http_body_util::BodyExt;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) const SECRETS: &str = "/api/v1/namespaces/transom/secrets";
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/transom/configmaps";
pub(crate) const SERVICES: &str = "/api/v1/namespaces/transom/services";
pub(crate) const NAMESPACES: &str = "/api/v1/namespaces";
pub(crate) const NODES: &str = "/api/v1/nodes";
pub(crate) const RUNTIME_CLASSES: &str = "/apis/node.k8s.io/v1/runtimeclasses";
pub(crate) const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/shop/events";
pub(crate) const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
pub(crate) const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// How a list goes on whose snapshot is gone.
#[derive(Clone, Copy)]
pub(crate) enum Expiry {
    /// With the objects as they are now, behind the last one.
    GoOn,
    /// It does not.
    StartAgain,
}

/// What a client can do with it.
#[derive(Clone)]
pub(crate) struct ApiServer {
    state: Arc<Mutex<State>>,
    /// Changes with every event, and with every cut.
    news: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    version: u64,
    /// By collection and name.
    objects: BTreeMap<(String, String), Value>,
    events: Vec<(u64, String, Value)>,
    forbidden: BTreeSet<(Method, String)>,
    down: bool,
    /// How often all watches were cut.
    cuts: u64,
    /// What the next pages but the first are answered with, in place of themselves.
    expiries: Vec<Expiry>,
    requests: Vec<String>,
}

impl ApiServer {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            news: watch::Sender::new(()),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request| {
            let server = server.clone();
            async move {
                let (parts, body) = Request::<kube::client::Body>::into_parts(request);
                let body = body.collect().await.unwrap().to_bytes();
                server.answer(&parts, &body)
            }
        });
        Client::new(service, "transom")
    }

    /// Over a socket, for a program of its own: its URL.
    pub(crate) async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        let router = Router::new().fallback(async move |request: Request<Body>| {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            server.answer(&parts, &body).unwrap()
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    /// As the chart leaves it: an empty Secret for the CA, two webhook configurations without a caBundle.
    pub(crate) fn installed(secret: &str, webhooks: &str) -> Self {
        let cluster = Self::new();
        let labels = json!({"labels": {"app.kubernetes.io/name": "transom"}});
        cluster.put(
            SECRETS,
            secret,
            json!({"type": "Opaque", "metadata": labels}),
        );
        let entry = |name: &str| {
            let service = json!({"name": "transom", "namespace": "transom", "path": "/"});
            json!({"name": name, "clientConfig": {"service": service}, "sideEffects": "None"})
        };
        for collection in [MUTATING, VALIDATING] {
            let entries = json!({"webhooks": [entry("a"), entry("b")]});
            cluster.put(collection, webhooks, entries);
        }
        cluster
    }

    /// Makes or replaces an object, as somebody else would.
    pub(crate) fn put(&self, collection: &str, name: &str, mut object: Value) {
        object["metadata"]["name"] = name.into();
        self.store(&mut self.lock(), collection, name, object);
    }

    /// Makes an object of a namespace, where all namespaces are listed together.
    pub(crate) fn put_in(&self, collection: &str, namespace: &str, name: &str, mut object: Value) {
        object["metadata"]["name"] = name.into();
        object["metadata"]["namespace"] = namespace.into();
        let key = format!("{namespace}/{name}");
        self.store(&mut self.lock(), collection, &key, object);
    }

    /// Answers the next pages but the first, one for each of these, as if the snapshot of the list were gone.
    pub(crate) fn expire(&self, expiries: &[Expiry]) {
        self.lock().expiries = expiries.to_vec();
    }

    pub(crate) fn get(&self, collection: &str, name: &str) -> Option<Value> {
        let key = (collection.to_owned(), name.to_owned());
        self.lock().objects.get(&key).cloned()
    }

    /// All of a collection, by name.
    pub(crate) fn all(&self, collection: &str) -> Vec<Value> {
        let state = self.lock();
        let all = state.objects.iter().filter(|((at, _), _)| at == collection);
        all.map(|(_, object)| object.clone()).collect()
    }

    /// Changes an object under everybody's hands.
    pub(crate) fn change(&self, collection: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.get(collection, name).unwrap();
        change(&mut object);
        self.put(collection, name, object);
    }

    pub(crate) fn delete(&self, collection: &str, name: &str) {
        let mut state = self.lock();
        let key = (collection.to_owned(), name.to_owned());
        let mut object = state.objects.remove(&key).unwrap();
        state.version += 1;
        object["metadata"]["resourceVersion"] = state.version.to_string().into();
        self.tell(&mut state, collection, "DELETED", &object);
    }

    /// Answers this method on a collection, and on what is in it, with 403 from now on.
    pub(crate) fn forbid(&self, method: Method, collection: &str) {
        self.lock()
            .forbidden
            .insert((method, collection.to_owned()));
    }

    pub(crate) fn allow_all(&self) {
        self.lock().forbidden.clear();
    }

    /// Takes no requests, and cuts the watches, or comes back.
    pub(crate) fn down(&self, down: bool) {
        self.lock().down = down;
        self.cut();
    }

    /// Ends all watches.
    pub(crate) fn cut(&self) {
        self.lock().cuts += 1;
        self.news.send_replace(());
    }

    /// All requests so far: method and path.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn store(&self, state: &mut State, collection: &str, name: &str, mut object: Value) -> Value {
        state.version += 1;
        object["metadata"]["resourceVersion"] = state.version.to_string().into();
        let key = (collection.to_owned(), name.to_owned());
        let old = state.objects.insert(key, object.clone());
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.tell(state, collection, kind, &object);
        object
    }

    fn tell(&self, state: &mut State, collection: &str, kind: &str, object: &Value) {
        let event = json!({"type": kind, "object": object});
        let version = state.version;
        state.events.push((version, collection.to_owned(), event));
        self.news.send_replace(());
    }

    fn answer(&self, parts: &Parts, body: &[u8]) -> Result<Response<Body>, io::Error> {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
        let mut state = self.lock();
        if state.down {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "it is down",
            ));
        }
        state.requests.push(format!("{} {path}", parts.method));
        if path == "/version" {
            let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
                "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
            return Ok(answer(&version));
        }
        if path == "/apis" {
            let group =
                json!({"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]});
            return Ok(answer(
                &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}),
            ));
        }
        let collections = [
            SECRETS,
            CONFIG_MAPS,
            SERVICES,
            MUTATING,
            VALIDATING,
            NAMESPACES,
            NODES,
            RUNTIME_CLASSES,
            EVENTS,
        ];
        let single = |known: &&str| {
            let rest = path.strip_prefix(known)?;
            let name = rest.trim_start_matches('/');
            (!name.contains('/')).then_some(name)
        };
        let known = collections
            .into_iter()
            .find(|known| single(known).is_some());
        // All others are only listed.
        let collection = known.unwrap_or(path);
        let name = single(&collection).unwrap_or_default().to_owned();
        if state
            .forbidden
            .contains(&(parts.method.clone(), collection.to_owned()))
        {
            return Ok(status(403, "you may not"));
        }
        let key = (collection.to_owned(), name.clone());
        let current = state.objects.get(&key).cloned();
        if name.is_empty() && parts.method == Method::GET {
            let only = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("fieldSelector="));
            let only = only.map(|selector| selector.rsplit(['=', 'D']).next().unwrap().to_owned());
            return Ok(match query.contains("watch=true") {
                true => self.watch(collection.to_owned(), only, query, state.cuts),
                false => list(&mut state, collection, only.as_deref(), query),
            });
        }
        if name.is_empty() && parts.method == Method::POST {
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            return Ok(answer(&self.store(&mut state, collection, &name, body)));
        }
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let is_stale = |current: &Value| {
            let sent = version(&body);
            !sent.is_null() && sent != version(current)
        };
        Ok(match (parts.method.clone(), current) {
            // A server-side apply makes what is not there, for those who may create.
            (Method::PATCH, None) if is_apply(parts) => {
                match state
                    .forbidden
                    .contains(&(Method::POST, collection.to_owned()))
                {
                    true => status(403, "you may not"),
                    false => answer(&self.store(&mut state, collection, &name, body)),
                }
            }
            (_, None) => status(404, "there is none"),
            (Method::GET, Some(current)) => answer(&current),
            (_, Some(current)) if is_stale(&current) => status(409, "it has been modified"),
            (Method::PUT, Some(_)) => answer(&self.store(&mut state, collection, &name, body)),
            (Method::PATCH, Some(_)) if is_apply(parts) => status(409, "somebody else owns it"),
            (Method::PATCH, Some(mut current)) => {
                merge(&mut current, &body);
                answer(&self.store(&mut state, collection, &name, current))
            }
            (method, _) => panic!("nobody should {method} {path}"),
        })
    }

    fn watch(
        &self,
        collection: String,
        only: Option<String>,
        query: &str,
        born: u64,
    ) -> Response<Body> {
        let from = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("resourceVersion="));
        let seen: u64 = from.unwrap().parse().unwrap();
        let start = (self.clone(), self.news.subscribe(), seen, only, collection);
        let events = stream::unfold(
            start,
            move |(server, mut news, seen, only, collection)| async move {
                loop {
                    let next = {
                        let state = server.lock();
                        if state.cuts != born {
                            return None;
                        }
                        let mut events = state.events.iter();
                        events
                            .find(|(version, at, event)| {
                                let name = event["object"]["metadata"]["name"].as_str();
                                let is_asked_for = only.is_none() || only.as_deref() == name;
                                *version > seen && *at == collection && is_asked_for
                            })
                            .cloned()
                    };
                    if let Some((version, _, event)) = next {
                        let line = format!("{event}\n");
                        return Some((
                            Ok::<_, Infallible>(line),
                            (server, news, version, only, collection),
                        ));
                    }
                    news.changed().await.ok()?;
                }
            },
        );
        Response::new(Body::from_stream(events))
    }
}

/// For somebody who asks the API server at this URL.
pub(crate) fn kubeconfig(url: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    });
    config.to_string()
}

fn is_apply(parts: &Parts) -> bool {
    let content_type = parts.headers.get("content-type");
    content_type.is_some_and(|value| value == "application/apply-patch+yaml")
}

fn list(state: &mut State, collection: &str, only: Option<&str>, query: &str) -> Response<Body> {
    let parameter = |name| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(key, value)| (key == name).then_some(value))
    };
    // A token is a letter for the snapshot that it belongs to, and the number of the next object.
    let from: usize = parameter("continue").map_or(0, |token| token[1..].parse().unwrap());
    if from > 0 && !state.expiries.is_empty() {
        let mut expired = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
            "reason": "Expired", "message": "The provided continue parameter is too old", "metadata": {}});
        if matches!(state.expiries.remove(0), Expiry::GoOn) {
            expired["metadata"]["continue"] = format!("b{from}").into();
        }
        let mut response = answer(&expired);
        *response.status_mut() = 410.try_into().unwrap();
        return response;
    }
    let all = state
        .objects
        .iter()
        .filter(|((at, name), _)| at == collection && only.is_none_or(|only| only == name));
    let all: Vec<_> = all.map(|(_, object)| object).collect();
    let limit = parameter("limit").map_or(all.len(), |limit| limit.parse().unwrap());
    let items: Vec<_> = all.iter().skip(from).take(limit).collect();
    let mut metadata = json!({"resourceVersion": state.version.to_string()});
    let next = from + items.len();
    if next < all.len() {
        metadata["continue"] = format!("a{next}").into();
        metadata["remainingItemCount"] = (all.len() - next).into();
    }
    answer(&json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items}))
}

/// Entries of `webhooks` by their names, everything else by key. Nobody may make half an entry.
fn merge(current: &mut Value, patch: &Value) {
    for (key, value) in patch.as_object().unwrap() {
        match (key.as_str(), value) {
            ("webhooks", Value::Array(entries)) => {
                for entry in entries {
                    let known = current["webhooks"].as_array_mut().unwrap();
                    let known = known
                        .iter_mut()
                        .find(|known| known["name"] == entry["name"]);
                    merge(known.unwrap(), entry);
                }
            }
            (_, Value::Object(_)) => merge(&mut current[key], value),
            _ => current[key] = value.clone(),
        }
    }
}

fn answer(object: &Value) -> Response<Body> {
    Response::new(Body::from(object.to_string()))
}

fn status(code: u16, message: &str) -> Response<Body> {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        _ => "Conflict",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message});
    let mut response = answer(&status);
    *response.status_mut() = code.try_into().unwrap();
    response
}
