//! A certificate and a key, or a bundle of CAs, as they are reloaded: what is taken can be served with, what is
//! refused is told in a line.
//!
//! The bytes: how to read them, how long the first part is, the first part, the second part.

use std::fmt::Display;
use std::io::{Read, Write};
use std::sync::{Arc, LazyLock};

use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConnection, SignatureScheme,
};
use transom::server::tls::{ClientCa, Identity, Tls};

pub fn run(data: &[u8]) {
    let [how, high, low, rest @ ..] = data else {
        return;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let (first, second) = rest.split_at(length.min(rest.len()));
    // As the files are, or as what is in their PEM blocks.
    let (certificate, key) = match how % 4 {
        0 => (first.to_vec(), second.to_vec()),
        1 => (pem("CERTIFICATE", first), pem("PRIVATE KEY", second)),
        2 => (pem("CERTIFICATE", first), pem("EC PRIVATE KEY", second)),
        _ => (pem("CERTIFICATE", first), pem("RSA PRIVATE KEY", second)),
    };
    match Identity::from_pem(&certificate, &key) {
        Ok(identity) => serve(identity),
        Err(error) => told(&error),
    }
    match ClientCa::from_pem(&certificate) {
        Ok(ca) => {
            assert!(ca.certificates() > 0);
            let tls = Tls::new(None, None).expect("the provider is compiled in");
            tls.admit(&ca).expect("the provider is compiled in");
        }
        Err(error) => told(&error),
    }
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    let base64 = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n").into_bytes()
}

fn told(error: &impl Display) {
    let told = error.to_string();
    assert!(!told.is_empty() && !told.contains('\n'), "{told:?}");
}

/// Shows the identity, and a client that takes any certificate gets a byte through.
fn serve(identity: Identity) {
    let leaf = identity.leaf().to_vec();
    let tls = Tls::new(None, None).expect("the provider is compiled in");
    tls.show(identity);
    // What webpki cannot read no client of this kind can verify a signature with.
    if rustls::server::ParsedCertificate::try_from(&CertificateDer::from(leaf)).is_err() {
        return;
    }
    let mut server = ServerConnection::new(tls.current()).expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(Arc::clone(&CLIENT), name).expect("a connection");
    client.writer().write_all(b"a").expect("memory");
    // TLS 1.3 takes two turns.
    for _ in 0..4 {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).expect("memory");
        let mut wire = wire.as_slice();
        while !wire.is_empty() {
            server.read_tls(&mut wire).expect("memory");
            server.process_new_packets().expect("the client's part");
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).expect("memory");
        }
        let mut wire = wire.as_slice();
        while !wire.is_empty() {
            client.read_tls(&mut wire).expect("memory");
            client.process_new_packets().expect("the server's part");
        }
    }
    let mut byte = [0];
    server.reader().read_exact(&mut byte).expect("the byte");
    assert_eq!(&byte, b"a");
}

static CLIENT: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let verifier = Anybody(provider.signature_verification_algorithms);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Arc::new(config)
});

/// Takes any certificate, if the server has the key to it.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
