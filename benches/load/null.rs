//! The null server: the same runtime, TLS configuration, HTTP library and router as Transom's own, and a
//! handler that reads the body, finds the uid and allows. Nothing bounds it, nothing is counted.
//!
//! Run by `process` in a process of its own.

use std::path::Path;
use std::{fs, io};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, header};
use axum::response::IntoResponse;
use axum::routing::post;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::de::IgnoredAny;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service;
use transom::server::tls::{Identity, Tls};

/// Serves with the pair in this directory until it is killed; with `walk`, each body is read as JSON first.
pub(crate) fn serve(directory: &Path, walk: bool) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let read = |name| fs::read(directory.join(name)).unwrap();
    let identity = Identity::from_pem(&read("tls.crt"), &read("tls.key")).unwrap();
    let tls = Tls::new(Some(identity), None).unwrap();
    let review = move |body| allow(body, walk);
    let router = Router::new()
        .route("/mutate", post(review))
        .route("/validate", post(review))
        .layer(DefaultBodyLimit::disable());
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        eprintln!(r#"{{"message":"ready:","address":"{address}","admin_address":"{address}"}}"#);
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = TlsAcceptor::from(tls.current());
            tokio::spawn(connection(stream, acceptor, router.clone()));
        }
    });
}

async fn connection(stream: TcpStream, tls: TlsAcceptor, router: Router) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let stream = tls.accept(stream).await?;
    let service =
        service_fn(|request: Request<Incoming>| router.clone().call(request.map(Body::new)));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    connection.await.map_err(io::Error::other)
}

async fn allow(body: Bytes, walk: bool) -> impl IntoResponse {
    if walk {
        serde_json::from_slice::<IgnoredAny>(&body).unwrap();
    }
    const KEY: &[u8] = br#""uid":""#;
    let found = body.windows(KEY.len()).position(|bytes| bytes == KEY);
    let from = found.expect("a review has a uid") + KEY.len();
    let uid = body[from..].split(|byte| *byte == b'"').next().unwrap();
    let uid = String::from_utf8_lossy(uid);
    let answer = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{uid}","allowed":true}}}}"#
    );
    ([(header::CONTENT_TYPE, "application/json")], answer)
}
