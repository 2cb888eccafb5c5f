//! Another mutating webhook that comes after ours and injects a container made for Linux.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine;
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
use crate::transom::{LABEL, Options, Transom};
use crate::{Test, WINDOWS_IMAGE, eventually};

pub(crate) const TESTS: &[Test] = &[(
    "a_sidecar_that_is_injected_after_us_is_seen",
    a_sidecar_that_is_injected_after_us_is_seen,
)];

fn a_sidecar_that_is_injected_after_us_is_seen(cluster: &Cluster) {
    let transom = Transom::install(cluster, "sidecar", &Options::default());
    let namespace = transom.namespace("sidecar", &[]);
    let injector = Injector::start(cluster);
    let ca = base64::engine::general_purpose::STANDARD.encode(cluster.authority().pem());
    // Webhooks are called in the order of their configurations' names: this one comes after ours.
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "zz-sidecar"},
        "webhooks": [{
            "name": "inject.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {"caBundle": ca, "service": {
                "namespace": "transom", "name": "transom", "port": injector.address.port(),
            }},
            "namespaceSelector": {"matchLabels": {LABEL: "sidecar"}},
            "objectSelector": {"matchExpressions": [{"key": "inject", "operator": "Exists"}]},
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"],
            }],
        }],
    });
    namespace.create(&configuration.to_string());
    let pod = |name: &str, image: &str, inject: &str| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": image}]},
        });
        pod["metadata"]["labels"] = json!({"inject": inject});
        pod.to_string()
    };
    eventually("the injector is called", || {
        namespace.file("probe.yaml", &pod("probe", "nginx:1.29", "harmless"));
        let args = [
            "create",
            "--dry-run=server",
            "-o",
            "json",
            "-f",
            "probe.yaml",
        ];
        namespace.ok(&args).contains("\"mesh\"").then_some(())
    });

    let told = namespace.apply("pod.yaml", &pod("harmless", WINDOWS_IMAGE, "harmless"));
    assert!(told.succeeded(), "{told}");
    let harmless = namespace.get(&["pod", "harmless"]);
    assert_eq!(harmless["spec"]["os"]["name"], "windows");
    let mesh = &harmless["spec"]["containers"][1];
    assert_eq!(mesh["name"], "mesh");
    assert_eq!(mesh["securityContext"], json!({"runAsNonRoot": true}));

    let told = namespace.apply("pod.yaml", &pod("harmful", WINDOWS_IMAGE, "harmful"));
    assert!(!told.succeeded(), "{told}");
    insta::assert_snapshot!("sidecar", told);
}

/// A webhook that adds a container to every pod, as its label says.
struct Injector {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Injector {
    fn start(cluster: &Cluster) -> Self {
        let (cert, key) = cluster.authority().leaf_for(&["transom.transom.svc"]);
        let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
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
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let connection = hyper::server::conn::http1::Builder::new();
                    let service = service_fn(inject);
                    let _ = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            _runtime: runtime,
        }
    }
}

async fn inject(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let pod = &review["request"]["object"];
    let context = match pod["metadata"]["labels"]["inject"].as_str().unwrap() {
        "harmful" => json!({"runAsUser": 1337, "runAsNonRoot": true}),
        _ => json!({
            "runAsNonRoot": true,
            "privileged": false,
            "capabilities": {"drop": ["ALL"]},
        }),
    };
    let mesh = json!({"name": "mesh", "image": "example.com/mesh:1", "securityContext": context});
    let patch = json!([{"op": "add", "path": "/spec/containers/-", "value": mesh}]);
    let patch = base64::engine::general_purpose::STANDARD.encode(patch.to_string());
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": true,
            "patchType": "JSONPatch",
            "patch": patch,
        },
    });
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}
