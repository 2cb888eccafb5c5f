//! `transom probe`, the program, against a server in process: what it tells and its exit codes.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

#[path = "support/apiserver.rs"]
mod apiserver;
#[path = "support/client.rs"]
mod client;
#[path = "support/ports.rs"]
mod ports;
#[path = "support/program.rs"]
mod program;
#[path = "support/server.rs"]
mod server;
use apiserver::{ApiServer, MUTATING, VALIDATING, kubeconfig};
use client::Authority;
use ports::Port;
use server::Test;

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_answers_well_is_told_so() {
    let server = Test::start().await;
    let url = format!("https://localhost:{}", server.address.port());
    let (code, out) = probe(server.directory.path(), &url, &server.authority).await;
    assert_eq!(
        out,
        "ok   /mutate: a Windows pod comes back patched: /spec/os, /spec/nodeSelector, /spec/tolerations\n\
         ok   /validate: a bad Windows pod is refused\n"
    );
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_ca_is_a_wrong_answer() {
    let server = Test::start().await;
    let url = format!("https://localhost:{}", server.address.port());
    let (code, out) = probe(server.directory.path(), &url, &Authority::new()).await;
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("fail /mutate: localhost:"), "{out}");
    assert!(out.contains("UnknownIssuer; the caBundle must be"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_than_ours_is_a_wrong_answer() {
    let server = Test::start().await;
    let url = format!("https://localhost:{}/elsewhere", server.address.port());
    let (code, out) = probe(server.directory.path(), &url, &server.authority).await;
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("answered 404"), "{out}");
}

/// A server with our certificate that answers each connection with these bytes, and stays.
async fn answering(authority: &Authority, answer: Vec<u8>) -> u16 {
    let (certificate, key) = authority.leaf();
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let _ = stream.read(&mut [0; 1 << 14]).await;
            let _ = stream.write_all(&answer).await;
            let _ = stream.flush().await;
            // Until the client goes.
            let _ = stream.read(&mut [0; 1 << 14]).await;
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn escapes_and_bounds_what_another_server_answers() {
    const HOSTILE: &str =
        "\x1b]0;owned\x07\x1b[2J\r\n::stop-commands::x ##[add-mask]y \u{9b}31m\u{202e}";
    let patch = json!([{"op": "add", "path": HOSTILE}, {"op": "add", "path": "a".repeat(1 << 16)}]);
    let patched = json!({"response": {
        "uid": "7b1f0c3e-2d54-4a8e-9a6b-70726f626531",
        "allowed": true,
        "patch": STANDARD.encode(patch.to_string()),
    }});
    for (status, body, told) in [
        ("500 Oops", HOSTILE.repeat(1000), "answered 500: "),
        ("200 OK", patched.to_string(), "comes back patched: "),
        ("404 No", "a".repeat(900 << 10), "answered 404: aaa"),
        (
            "200 OK",
            "a".repeat(3 << 20),
            "answered 200 with more than 1 MiB",
        ),
    ] {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let authority = Authority::new();
        let port = answering(&authority, [head, body].concat().into_bytes()).await;
        let directory = tempfile::tempdir().unwrap();
        let url = format!("https://localhost:{port}");
        let (_, out) = probe(directory.path(), &url, &authority).await;
        assert!(out.contains(told), "{told}: {out}");
        assert_eq!(out.lines().count(), 2, "{out}");
        let is_obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!out.contains(is_obeyed), "{out:?}");
        assert!(!out.contains("##["), "{out}");
        assert!(out.chars().count() < 2000, "{}", out.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_a_job_that_could_not_be_done() {
    let directory = tempfile::tempdir().unwrap();
    // Free a moment ago, and nobody else's since.
    let nobody = Port::take();
    let url = format!("https://{}", nobody.address());
    let (code, out) = probe(directory.path(), &url, &Authority::new()).await;
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("cannot connect to 127.0.0.1"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_certificate_has_to_be_turned_away_where_one_is_required() {
    let clients = tempfile::tempdir().unwrap();
    let file = clients.path().join("ca.crt");
    fs::write(&file, Authority::new().pem()).unwrap();
    let mutual = Test::start_mutual(file).await;
    let open = Test::start().await;
    for (server, code, told) in [
        (&mutual, 0, "ok   /validate: is trusted, and turns away"),
        (&open, 2, "fail /validate: localhost"),
    ] {
        fs::write(
            server.directory.path().join("ca.crt"),
            server.authority.pem(),
        )
        .unwrap();
        let url = format!("--url=https://localhost:{}", server.address.port());
        let args = ["--ca-file=ca.crt", "--client-certificate-required", &url];
        let args = args.map(str::to_owned).to_vec();
        let (ended, out) = run(server.directory.path(), args).await;
        assert!(out.contains(told), "{out}");
        assert_eq!(ended, code, "{out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_never_answers_is_not_waited_for_without_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    fs::write(directory.path().join("kubeconfig"), kubeconfig(&address)).unwrap();
    let mut program = program::transom(directory.path());
    program
        .args(["probe", "--webhook-configuration=transom"])
        .env("KUBECONFIG", directory.path().join("kubeconfig"));
    let output = tokio::task::spawn_blocking(move || program.output().unwrap());
    let output = output.await.unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    let words = "did not show MutatingWebhookConfiguration transom within";
    assert!(told.contains(words), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_entry_of_the_webhook_configurations_is_followed() {
    let server = Test::start().await;
    let port = server.address.port();
    let ca = STANDARD.encode(server.authority.pem());
    let url =
        |path: &str| json!({"url": format!("https://localhost:{port}/{path}"), "caBundle": ca});
    let cluster = ApiServer::new();
    let mutate =
        json!({"webhooks": [{"name": "mutate.transom.dev", "clientConfig": url("mutate")}]});
    cluster.put(MUTATING, "transom", mutate);
    let validate = |config: Value| {
        let entry = json!({"name": "validate.transom.dev", "clientConfig": config});
        cluster.put(VALIDATING, "transom", json!({"webhooks": [entry]}));
    };
    validate(url("validate"));
    let directory = server.directory.path();
    let kubeconfig = kubeconfig(&cluster.listen().await);
    fs::write(directory.join("kubeconfig"), kubeconfig).unwrap();
    let by_name = |name: &'static str, more: Vec<String>| async move {
        let mut args = vec!["--webhook-configuration".to_owned(), name.to_owned()];
        args.extend(more);
        run(directory, args).await
    };

    let (code, out) = by_name("transom", Vec::new()).await;
    let lines: Vec<_> = out.lines().collect();
    assert!(
        lines[0].starts_with("ok   mutate.transom.dev: a Windows pod comes back"),
        "{out}"
    );
    assert_eq!(
        lines[1],
        "ok   validate.transom.dev: a bad Windows pod is refused"
    );
    assert_eq!((code, lines.len()), (0, 2));

    let service = json!({"name": "a", "namespace": "b", "path": "/validate"});
    validate(json!({"service": service, "caBundle": ca}));
    let there = vec!["--connect-to".to_owned(), format!("localhost:{port}")];
    let (code, out) = by_name("transom", there).await;
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("is not trusted as a.b.svc: invalid peer certificate"),
        "{out}"
    );

    validate(json!({"service": service}));
    let (code, out) = by_name("transom", Vec::new()).await;
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("validate.transom.dev: there is no CA certificate to trust"),
        "{out}"
    );

    let (code, out) = by_name("another", Vec::new()).await;
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("there is no webhook configuration another"),
        "{out}"
    );
}

async fn probe(directory: &Path, url: &str, authority: &Authority) -> (i32, String) {
    fs::write(directory.join("ca.crt"), authority.pem()).unwrap();
    let args = ["--ca-file", "ca.crt", "--url", url];
    run(directory, args.map(String::from).to_vec()).await
}

async fn run(directory: &Path, args: Vec<String>) -> (i32, String) {
    let mut program = program::transom(directory);
    program
        .arg("probe")
        .args(args)
        .env("KUBECONFIG", directory.join("kubeconfig"));
    let output = tokio::task::spawn_blocking(move || program.output().unwrap());
    let output = output.await.unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}
