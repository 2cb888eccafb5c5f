//! Who gets in: clients that present a certificate of a CA that we trust.
//!
//! Mandatory or not asked for at all; nobody is let in without a certificate once there is a CA. Whom a
//! certificate names is no matter: the CA decides. Where the CA is read from is `reload`.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use thiserror::Error;

/// The CAs whose clients get in, parsed and checked.
#[derive(Clone)]
pub struct ClientCa {
    pub(super) verifier: Arc<dyn ClientCertVerifier>,
    certificates: usize,
}

/// Why a file is no bundle of CA certificates.
#[derive(Debug, Error)]
pub enum ClientCaError {
    /// The file is not PEM.
    #[error("it is not valid PEM: {0}")]
    Pem(pem::Error),
    /// The file has no certificate in it.
    #[error("there is no CERTIFICATE block in it")]
    NoCertificate,
    /// One of the certificates is not X.509.
    #[error("certificate {0} in it is not valid X.509: {1}")]
    X509(usize, x509_parser::error::X509Error),
    /// One of the certificates belongs to a client or a server.
    #[error("certificate {0} in it is not a CA's, so no client certificate can chain to it")]
    NotCa(usize),
    /// One of the certificates has a key or a name that rustls does not understand.
    #[error("certificate {0} in it is of no use: {1}")]
    Unusable(usize, rustls::Error),
    /// Never with at least one certificate and without revocation lists.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
}

impl ClientCa {
    /// Reads a bundle of at least one CA certificate, and of nothing but usable ones.
    ///
    /// # Errors
    /// See [`ClientCaError`].
    pub fn from_pem(bundle: &[u8]) -> Result<Self, ClientCaError> {
        let mut roots = RootCertStore::empty();
        for (place, certificate) in (1..).zip(CertificateDer::pem_slice_iter(bundle)) {
            let certificate = certificate.map_err(ClientCaError::Pem)?;
            let (_, parsed) = x509_parser::parse_x509_certificate(&certificate)
                .map_err(|error| ClientCaError::X509(place, error.into()))?;
            if !parsed.is_ca() {
                return Err(ClientCaError::NotCa(place));
            }
            roots
                .add(certificate)
                .map_err(|error| ClientCaError::Unusable(place, error))?;
        }
        if roots.is_empty() {
            return Err(ClientCaError::NoCertificate);
        }
        let certificates = roots.len();
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Self {
            verifier,
            certificates,
        })
    }

    /// How many certificates there are in the bundle.
    #[must_use]
    pub fn certificates(&self) -> usize {
        self.certificates
    }
}

impl fmt::Debug for ClientCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCa")
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    #[test]
    fn accepts_one_ca_or_several() {
        let (one, two) = (pem(IsCa::Ca(BasicConstraints::Unconstrained)), ca());
        assert_eq!(parse(&one).unwrap().certificates(), 1);
        let bundle = format!("# the old one\n{one}# the new one\n{two}");
        assert_eq!(parse(&bundle).unwrap().certificates(), 2);
    }

    #[test]
    fn rejects_what_is_not_a_bundle_of_cas() {
        for empty in ["", "nothing of the kind"] {
            assert!(matches!(parse(empty), Err(ClientCaError::NoCertificate)));
        }
        let key = KeyPair::generate().unwrap().serialize_pem();
        assert!(matches!(parse(&key), Err(ClientCaError::NoCertificate)));
        let half = &ca()[..100];
        assert!(matches!(parse(half), Err(ClientCaError::Pem(_))));
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let second = format!("{}{nonsense}", ca());
        assert!(matches!(parse(&second), Err(ClientCaError::X509(2, _))));
    }

    #[test]
    fn rejects_a_certificate_that_can_sign_nothing() {
        for leaf in [IsCa::ExplicitNoCa, IsCa::NoCa] {
            let bundle = format!("{}{}", ca(), pem(leaf));
            assert!(matches!(parse(&bundle), Err(ClientCaError::NotCa(2))));
        }
    }

    fn parse(bundle: &str) -> Result<ClientCa, ClientCaError> {
        ClientCa::from_pem(bundle.as_bytes())
    }

    fn ca() -> String {
        pem(IsCa::Ca(BasicConstraints::Constrained(0)))
    }

    fn pem(is_ca: IsCa) -> String {
        let mut params = CertificateParams::default();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().pem()
    }
}
