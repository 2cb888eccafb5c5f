//! A mutating webhook of the tests' own, beside Transom.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::cluster::Cluster;

/// From the path and the request of a review to a patch, if any; or to a message that denies, a string.
type Answer = dyn Fn(&str, &Value) -> Option<Value> + Send + Sync;

pub(crate) struct Webhook {
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl Webhook {
    /// Starts to answer; it ends with the value.
    pub(crate) fn start(
        cluster: &Cluster,
        answer: impl Fn(&str, &Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let answer: Arc<Answer> = Arc::new(answer);
        let acceptor = TlsAcceptor::from(Arc::new(tls(cluster)));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(|request| review(request, &*answer));
                    let connection = hyper::server::conn::http1::Builder::new();
                    // Who asks may go away at any time.
                    let _ = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            port: address.port(),
            _runtime: runtime,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

fn tls(cluster: &Cluster) -> ServerConfig {
    let (cert, key) = cluster.webhook_leaf();
    let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap()
}

async fn review(
    request: Request<Incoming>,
    answer: &Answer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let request = &review["request"];
    let mut response = json!({"uid": request["uid"], "allowed": true});
    match answer(&path, request) {
        None => {}
        Some(Value::String(message)) => {
            response["allowed"] = json!(false);
            response["status"] = json!({"code": 403, "message": message});
        }
        Some(patch) => {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch.to_string()));
        }
    }
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}
