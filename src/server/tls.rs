//! TLS as this server speaks it, and the certificate it shows.
//!
//! One certificate for every client (an API server that was given an IP address sends no server name),
//! TLS 1.2 and 1.3, HTTP/1.1 only. Where certificates come from is `certs` and `reload`, which clients get
//! in `clients`; `connection` asks for the current configuration at each accept.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use thiserror::Error;

mod clients;
pub mod reload;

pub use clients::{ClientCa, ClientCaError};

/// The configuration for the next handshake; connections that are already up keep theirs.
#[derive(Debug)]
pub struct Tls(ArcSwap<ServerConfig>);

impl Tls {
    /// Serves this identity, to clients of this CA if there is one, else to everybody. Without an identity,
    /// handshakes fail until one is shown.
    ///
    /// # Errors
    /// Never with the provider that is compiled in.
    pub fn new(
        identity: Option<Identity>,
        clients: Option<&ClientCa>,
    ) -> Result<Self, rustls::Error> {
        let resolver = identity.map_or_else(|| Arc::new(Nothing) as _, resolver);
        let config = server_config(resolver, clients)?;
        Ok(Self(ArcSwap::from_pointee(config)))
    }

    /// What the next handshake uses.
    #[must_use]
    pub fn current(&self) -> Arc<ServerConfig> {
        self.0.load_full()
    }

    /// Shows another identity from the next handshake on.
    pub fn show(&self, identity: Identity) {
        let resolver = resolver(identity);
        self.0.rcu(|current| with_resolver(current, &resolver));
    }

    /// Lets the clients of another CA in from the next handshake on, and no others.
    ///
    /// # Errors
    /// Never with the provider that is compiled in.
    pub fn admit(&self, clients: &ClientCa) -> Result<(), rustls::Error> {
        let config = server_config(self.current().cert_resolver.clone(), Some(clients))?;
        // The identity may have changed in between.
        self.0
            .rcu(|current| with_resolver(&config, &current.cert_resolver));
        Ok(())
    }
}

/// A certificate chain with the key that belongs to it, parsed and checked.
#[derive(Clone, Debug)]
pub struct Identity {
    key: CertifiedKey,
    not_before: i64,
    not_after: i64,
}

/// Why two PEM files are not an identity.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// The certificate file is not PEM.
    #[error("the certificate is not valid PEM: {0}")]
    CertificatePem(pem::Error),
    /// The certificate file has no certificate in it.
    #[error("there is no CERTIFICATE block in the certificate file")]
    NoCertificate,
    /// The leaf is not an X.509 certificate.
    #[error("the first certificate is not valid X.509: {0}")]
    Leaf(x509_parser::error::X509Error),
    /// The key file is not PEM, or has no key in it.
    #[error("the private key is not valid PEM: {0}")]
    KeyPem(pem::Error),
    /// The key is of no use, or is not this certificate's.
    #[error("the private key does not work with the certificate: {0}")]
    Pair(rustls::Error),
}

impl Identity {
    /// Reads a chain (leaf first) and its key; both must be there and belong together.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub fn from_pem(cert: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(cert)
            .collect::<Result<_, _>>()
            .map_err(IdentityError::CertificatePem)?;
        let leaf = chain.first().ok_or(IdentityError::NoCertificate)?;
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf)
            .map_err(|error| IdentityError::Leaf(error.into()))?;
        let validity = parsed.validity();
        let not_before = validity.not_before.timestamp();
        let not_after = validity.not_after.timestamp();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(IdentityError::KeyPem)?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(IdentityError::Pair)?;
        sign(&key).map_err(IdentityError::Pair)?;
        Ok(Self {
            key,
            not_before,
            not_after,
        })
    }

    /// Since when the leaf is valid, in seconds since 1970.
    #[must_use]
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// When the leaf expires, in seconds since 1970.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// The leaf certificate (DER).
    #[must_use]
    pub fn leaf(&self) -> &[u8] {
        self.key.cert.first().map_or(&[], |leaf| leaf.as_ref())
    }
}

/// Signs something, as each handshake will. Not all parts of an RSA key are held against each other when it is
/// read, and with one in which they disagree every handshake would fail.
fn sign(key: &CertifiedKey) -> Result<(), rustls::Error> {
    let provider = ring::default_provider();
    let schemes = provider
        .signature_verification_algorithms
        .supported_schemes();
    let signer = key.key.choose_scheme(&schemes);
    let signer = signer.ok_or_else(|| rustls::Error::General("it signs nothing".to_owned()))?;
    signer.sign(b"transom").map(drop)
}

/// In the place of a certificate that is still to come.
#[derive(Debug)]
struct Nothing;

impl ResolvesServerCert for Nothing {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

fn resolver(identity: Identity) -> Arc<dyn ResolvesServerCert> {
    Arc::new(SingleCertAndKey::from(identity.key))
}

fn with_resolver(config: &ServerConfig, resolver: &Arc<dyn ResolvesServerCert>) -> ServerConfig {
    let mut config = config.clone();
    config.cert_resolver = Arc::clone(resolver);
    config
}

fn server_config(
    resolver: Arc<dyn ResolvesServerCert>,
    clients: Option<&ClientCa>,
) -> Result<ServerConfig, rustls::Error> {
    let verifier = match clients {
        Some(ca) => Arc::clone(&ca.verifier),
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(resolver);
    // The API server would take h2 where the webhook is a loopback URL; nowhere else does it ask.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // The API server has no session cache, so tickets are work for nobody; and a session that is taken up
    // again would outlive the client CA that let it in.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn rejects_what_is_not_a_pair() {
        let (cert, key) = pair();
        let (other, _) = pair();
        let parse = |cert: &str, key: &str| Identity::from_pem(cert.as_bytes(), key.as_bytes());
        assert!(parse(&cert, &key).is_ok());
        assert!(matches!(parse("", &key), Err(IdentityError::NoCertificate)));
        assert!(matches!(
            parse(&key, &key),
            Err(IdentityError::NoCertificate)
        ));
        assert!(matches!(parse(&cert, ""), Err(IdentityError::KeyPem(_))));
        assert!(matches!(parse(&other, &key), Err(IdentityError::Pair(_))));
        let half = &cert[..cert.len() / 2];
        assert!(matches!(
            parse(half, &key),
            Err(IdentityError::CertificatePem(_))
        ));
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(parse(nonsense, &key), Err(IdentityError::Leaf(_))));
    }

    /// `openssl ecparam -genkey` writes SEC1. It is the last OCTET STRING's content in a PKCS#8 key.
    #[test]
    fn accepts_a_sec1_key() {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::default().self_signed(&key).unwrap();
        let sec1 = rcgen_sec1(&key);
        assert!(Identity::from_pem(cert.pem().as_bytes(), sec1.as_bytes()).is_ok());
    }

    #[test]
    fn a_chain_keeps_its_order() {
        let (cert, key) = pair();
        let (issuer, _) = pair();
        let identity =
            Identity::from_pem(format!("{cert}{issuer}").as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(identity.key.cert.len(), 2);
        let leaf = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
        assert_eq!(identity.leaf(), leaf.as_ref());
    }

    fn pair() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::default().self_signed(&key).unwrap();
        (cert.pem(), key.serialize_pem())
    }

    fn rcgen_sec1(key: &KeyPair) -> String {
        use base64::prelude::{BASE64_STANDARD, Engine};

        // SEQUENCE { INTEGER 0, SEQUENCE { two OIDs }, OCTET STRING { the SEC1 key } }, P-256 only.
        let pkcs8 = key.serialized_der();
        let octets = 3 + 3 + 21;
        assert_eq!(pkcs8[octets], 0x04);
        let sec1 = BASE64_STANDARD.encode(&pkcs8[octets + 2..]);
        format!("-----BEGIN EC PRIVATE KEY-----\n{sec1}\n-----END EC PRIVATE KEY-----\n")
    }
}
