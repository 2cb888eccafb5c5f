//! What the tests of the server share: an authority to trust, and a client that shows every byte.
//!
//! It is no HTTP client: it sends what it is given and reads one answer with a Content-Length.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use transom::server::{Limits, Options, TlsSource};

/// Only keeps a test from hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const BOTH: &[&SupportedProtocolVersion] =
    &[&rustls::version::TLS12, &rustls::version::TLS13];

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A server on ports of its own that ends at once.
pub(crate) fn options(tls: TlsSource) -> Options {
    Options {
        bind: ANY_PORT,
        admin_bind: ANY_PORT,
        tls,
        client_ca: None,
        poll: Duration::from_secs(2),
        drain: Duration::ZERO,
        limits: Limits::default(),
    }
}

pub(crate) const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"4e1e8a5c","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","namespace":"default","userInfo":{"username":"admin"},"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#;

/// How this machine is called.
const LOCAL: &[&str] = &["localhost", "127.0.0.1"];

static NAMES: AtomicU32 = AtomicU32::new(0);

/// A CA that signs for this machine.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        // Clients are told the names of the CAs that are trusted: two of them must not have the same.
        let name = NAMES.fetch_add(1, Ordering::Relaxed).to_string();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// A new leaf for a server and its key, as PEM.
    pub(crate) fn leaf(&self) -> (String, String) {
        self.leaf_for(LOCAL)
    }

    /// A new leaf for a server that has these names.
    pub(crate) fn leaf_for(&self, names: &[&str]) -> (String, String) {
        self.sign(names, ExtendedKeyUsagePurpose::ServerAuth, 4096, &[])
    }

    /// As [`Authority::leaf`], with an RSA key, which is always the same one.
    pub(crate) fn rsa_leaf(&self) -> (String, String) {
        let key = KeyPair::from_pem(include_str!("rsa.key")).unwrap();
        self.sign_key(&key, LOCAL, ExtendedKeyUsagePurpose::ServerAuth, 4096, &[])
    }

    /// As [`Authority::leaf`]; its time is over.
    pub(crate) fn expired_leaf(&self) -> (String, String) {
        self.sign(LOCAL, ExtendedKeyUsagePurpose::ServerAuth, 2001, &[])
    }

    /// A new leaf for a client.
    pub(crate) fn client_leaf(&self) -> (String, String) {
        self.sign(&[], ExtendedKeyUsagePurpose::ClientAuth, 4096, &[])
    }

    /// A new leaf for a client that Kubernetes knows as this user, in this group.
    pub(crate) fn user(&self, user: &str, group: &str) -> (String, String) {
        let subject = [
            (DnType::CommonName, user),
            (DnType::OrganizationName, group),
        ];
        self.sign(&[], ExtendedKeyUsagePurpose::ClientAuth, 4096, &subject)
    }

    /// A leaf for a client whose time is over.
    pub(crate) fn expired_client_leaf(&self) -> (String, String) {
        self.sign(&[], ExtendedKeyUsagePurpose::ClientAuth, 2001, &[])
    }

    fn sign(
        &self,
        names: &[&str],
        purpose: ExtendedKeyUsagePurpose,
        until: i32,
        subject: &[(DnType, &str)],
    ) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        self.sign_key(&key, names, purpose, until, subject)
    }

    fn sign_key(
        &self,
        key: &KeyPair,
        names: &[&str],
        purpose: ExtendedKeyUsagePurpose,
        until: i32,
        subject: &[(DnType, &str)],
    ) -> (String, String) {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        for (part, value) in subject {
            params.distinguished_name.push(part.clone(), *value);
        }
        params.extended_key_usages = vec![purpose];
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let leaf = params.signed_by(key, &self.0).unwrap();
        (leaf.pem(), key.serialize_pem())
    }

    /// The CA's certificate.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn client(&self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        client(&self.0.pem(), versions)
    }

    /// A client that presents this pair.
    pub(crate) fn client_with(
        &self,
        pair: &(String, String),
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        client_with(&self.0.pem(), pair, versions)
    }
}

/// A client that trusts these CAs.
pub(crate) fn client(ca: &str, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    trusting(ca, versions).with_no_client_auth()
}

/// A client that trusts this CA and presents this pair, whosever certificate is asked for.
pub(crate) fn client_with(
    ca: &str,
    (cert, key): &(String, String),
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    trusting(ca, versions)
        .with_client_auth_cert(vec![cert], key)
        .unwrap()
}

fn trusting(
    ca: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
}

/// A handshake with `name`, which may be an IP address: then no SNI is sent.
pub(crate) async fn connect(
    address: SocketAddr,
    name: &'static str,
    config: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// What the operators' port tells at this path.
pub(crate) async fn admin(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    exchange(&mut stream, &get(path)).await.body
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends all of a request, then reads one answer.
pub(crate) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &str,
) -> Answer {
    tokio::time::timeout(PATIENCE, async {
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        answer(stream).await
    })
    .await
    .unwrap()
}

pub(crate) async fn answer<S: AsyncRead + Unpin>(stream: &mut S) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.split('\r').next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let body = String::from_utf8(body).unwrap();
    Answer { status, head, body }
}
