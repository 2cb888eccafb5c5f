//! `transom serve`, the program itself: its output, its files, its signals, its exit code.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[path = "support/client.rs"]
mod client;
#[path = "support/program.rs"]
mod program;
#[path = "support/serve.rs"]
mod serve;
use client::{Authority, BOTH, REVIEW, connect, exchange, get, post};
use program::run;
use serve::Serve;

#[tokio::test]
async fn the_first_run_needs_nothing() {
    let server = Serve::start(&["--drain-seconds", "0"]);
    let ca = fs::read_to_string(server.directory.path().join("certs/ca.crt")).unwrap();
    let mut stream = connect(server.address, "localhost", client::client(&ca, BOTH))
        .await
        .unwrap();
    let answer = exchange(&mut stream, &post("/mutate", REVIEW)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains(r#""uid":"4e1e8a5c""#), "{answer:?}");

    let port = server.address.port();
    let (code, stdout) = server.end("TERM");
    assert_eq!(code, Some(0));
    let curl = format!(
        "  curl --cacert certs/ca.crt -H 'Content-Type: application/json' \
         --data-binary @examples/review.json https://localhost:{port}/mutate\n"
    );
    assert!(stdout.contains(&curl), "{stdout}");
}

#[tokio::test]
async fn no_key_is_written() {
    let server = Serve::start(&[]);
    let written: Vec<_> = fs::read_dir(server.directory.path().join("certs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(written, ["ca.crt"]);
    let ca = fs::read_to_string(server.directory.path().join("certs/ca.crt")).unwrap();
    assert!(!ca.contains("PRIVATE"));
}

#[tokio::test]
async fn a_certificate_from_files_prints_no_banner() {
    let authority = Authority::new();
    let files = tempfile::tempdir().unwrap();
    let (cert, key) = authority.leaf();
    let (cert_file, key_file) = (files.path().join("tls.crt"), files.path().join("tls.key"));
    fs::write(&cert_file, cert).unwrap();
    fs::write(&key_file, key).unwrap();
    let server = Serve::start(&[
        "--tls-cert-file",
        cert_file.to_str().unwrap(),
        "--tls-private-key-file",
        key_file.to_str().unwrap(),
        "--drain-seconds",
        "0",
    ]);
    let config = authority.client(BOTH);
    connect(server.address, "127.0.0.1", config).await.unwrap();
    assert!(!server.directory.path().join("certs").exists());
    assert_eq!(server.end("INT"), (Some(0), String::new()));
}

#[tokio::test]
async fn tells_its_health_metrics_and_version() {
    let server = Serve::start(&[]);
    let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
    for path in ["/livez", "/readyz"] {
        let answer = exchange(&mut stream, &get(path)).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
    }
    let answer = exchange(&mut stream, &get("/metrics")).await;
    let content_type = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
    assert!(answer.head.contains(content_type), "{answer:?}");
    assert!(answer.body.contains("transom_build_info{version="));
    #[cfg(target_os = "linux")]
    assert!(answer.body.contains("process_resident_memory_bytes "));
    let answer = exchange(&mut stream, &get("/version")).await;
    let version: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn draining_answers_while_readiness_fails_and_a_second_signal_aborts() {
    let server = Serve::start(&["--drain-seconds", "3600"]);
    let ca = fs::read_to_string(server.directory.path().join("certs/ca.crt")).unwrap();
    server.signal("TERM");
    server.wait_for_log("/readyz fails now");
    let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
    let answer = exchange(&mut stream, &get("/readyz")).await;
    assert_eq!(answer.status, 503, "{answer:?}");

    let config = client::client(&ca, BOTH);
    let mut late = connect(server.address, "localhost", config).await.unwrap();
    let answer = exchange(&mut late, &post("/mutate", REVIEW)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("connection: close\r\n"), "{answer:?}");
    assert_eq!(server.end("TERM").0, Some(2));
}

#[tokio::test]
async fn closing_finishes_what_is_in_flight() {
    let server = Serve::start(&["--drain-seconds", "0"]);
    let ca = fs::read_to_string(server.directory.path().join("certs/ca.crt")).unwrap();
    let config = client::client(&ca, BOTH);
    let mut stream = connect(server.address, "localhost", config).await.unwrap();
    let head = format!(
        "POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        REVIEW.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // Once this comes, a handler is waiting for the body.
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut go_on).await.unwrap();

    server.signal("TERM");
    server.wait_for_log("closing:");
    let answer = exchange(&mut stream, REVIEW).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(server.wait().0, Some(0));
}

#[test]
fn a_port_that_is_taken_says_which_flag_to_change() {
    let server = Serve::start(&[]);
    let address = server.address.to_string();
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["serve", "--bind", &address]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        error.contains(&address) && error.contains("--bind"),
        "{error}"
    );
    assert!(!directory.path().join("certs").exists());
}

#[test]
fn a_certificate_that_cannot_be_read_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let flags = [
        "--tls-cert-file",
        "a.crt",
        "--tls-private-key-file",
        "a.key",
    ];
    let error = fails(directory.path(), &flags);
    assert!(error.contains("cannot read a.crt"), "{error}");
}

#[test]
fn a_client_ca_that_is_none_says_which_flag_and_what_the_file_should_hold() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("empty.crt"), "").unwrap();
    for (file, why) in [("a.crt", "cannot read a.crt"), ("empty.crt", "CERTIFICATE")] {
        let error = fails(directory.path(), &["--tls-client-ca-file", file]);
        let flag = format!("--tls-client-ca-file {file}");
        for part in [&flag, "CA certificates", "PEM", why] {
            assert!(error.contains(part), "no {part} in {error}");
        }
    }
    assert!(!directory.path().join("certs").exists());
}

#[test]
fn limits_that_could_never_be_met_say_which_flags_to_change() {
    let directory = tempfile::tempdir().unwrap();
    let error = fails(directory.path(), &["--max-inflight-bytes", "1000"]);
    for part in ["--max-inflight-bytes 1000", "--max-body-bytes 7340032"] {
        assert!(error.contains(part), "no {part} in {error}");
    }
    let error = fails(directory.path(), &["--max-connections", "0"]);
    assert!(error.contains("--max-connections"), "{error}");
    assert!(!directory.path().join("certs").exists());
}

#[test]
fn tells_its_version() {
    let output = run(Path::new("."), &["--version"]);
    let version = concat!("transom ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), version);
}

/// As the kubelet mounts a ConfigMap: the files are links into a directory that is a link, and a
/// change is another directory.
#[tokio::test]
async fn a_changed_configuration_is_taken_and_a_bad_one_is_not() {
    const HEAD: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";
    let mount = tempfile::tempdir().unwrap();
    let write = |version: &str, lines: &str| {
        let directory = mount.path().join(version);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("config.yaml"), format!("{HEAD}{lines}\n")).unwrap();
        symlink(version, mount.path().join("..new")).unwrap();
        fs::rename(mount.path().join("..new"), mount.path().join("..data")).unwrap();
    };
    write("..1", "mode: enforce");
    let file = mount.path().join("config.yaml");
    symlink("..data/config.yaml", &file).unwrap();
    let server = Serve::start(&["--config", file.to_str().unwrap()]);
    let denied = include_str!("../examples/deployment-denied.json");
    let allowed = async || {
        let ca = fs::read_to_string(server.directory.path().join("certs/ca.crt")).unwrap();
        let config = client::client(&ca, BOTH);
        let mut stream = connect(server.address, "localhost", config).await.unwrap();
        let answer = exchange(&mut stream, &post("/validate", denied)).await;
        let review: Value = serde_json::from_str(&answer.body).unwrap();
        review["response"]["allowed"].as_bool().unwrap()
    };
    // It is counted after it is logged.
    let metric = async |line: &str| {
        for _ in 0..500 {
            let mut stream = TcpStream::connect(server.admin_address).await.unwrap();
            let answer = exchange(&mut stream, &get("/metrics")).await;
            if answer.body.contains(line) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no {line}");
    };
    assert!(!allowed().await);

    write("..2", "mode: audit");
    server.wait_for_log("the configuration has changed and is in force");
    assert!(allowed().await);
    metric("transom_config_reloads_total{result=\"success\"} 1\n").await;

    write("..3", "mode: enforce\nmdoe: warn");
    server.wait_for_log("mdoe: unknown key; did you mean mode?");
    assert!(allowed().await, "the old one is in force");
    metric("transom_config_last_reload_successful 0\n").await;
    metric("transom_config_reloads_total{result=\"failure\"} 1\n").await;

    write("..4", "mode: enforce");
    server.wait_for_log("the configuration has changed and is in force");
    assert!(!allowed().await);
    metric("transom_config_last_reload_successful 1\n").await;
}

/// What `transom serve` says when it cannot serve with these flags.
fn fails(directory: &Path, flags: &[&str]) -> String {
    let ports = ["--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"];
    let output = run(directory, &[&["serve"], flags, &ports].concat());
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}
