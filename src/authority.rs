//! A certificate authority of our own: how it is made and read, and the leafs that it signs.
//!
//! Everything is ECDSA P-256. Times are seconds since 1970, and whoever calls says what time it is. Where an
//! authority is kept and when there has to be another one is not known here: see `server::certs` for one
//! that lives as long as the process, `cluster` for one that replicas share.

use std::fmt;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;
use x509_parser::error::X509Error;
use x509_parser::time::ASN1Time;

use crate::server::tls::{Identity, IdentityError};

/// How long before its making a certificate is valid already, in seconds: for clients whose clock is behind.
const BACKDATED: i64 = 60 * 60;

/// A CA: its certificate and the key that signs.
#[derive(Clone, PartialEq, Eq)]
pub struct Authority {
    certificate: Certificate,
    key: String,
}

/// A certificate that clients may trust.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificate {
    pem: String,
    not_after: i64,
    lifetime: i64,
}

/// Why there is no authority in two PEM texts, or no leaf from it.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// The certificate is not PEM, or there is another number of them.
    #[error("there must be one certificate in PEM, and there are {0}")]
    NotOne(usize),
    /// The certificate is not X.509.
    #[error("the certificate is not valid X.509: {0}")]
    NotX509(X509Error),
    /// The certificate is not that of a CA.
    #[error("the certificate is not that of a CA")]
    NotACa,
    /// The key cannot be read, which may be said without a part of it.
    #[error("the private key is no PKCS#8 key in PEM of a kind that can sign")]
    Key,
    /// The key is another certificate's.
    #[error("the private key is not the certificate's")]
    Pair,
    /// A certificate cannot be made, for want of randomness for instance.
    #[error("a certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
    /// A time is beyond what a certificate can say.
    #[error("{0} s since 1970 is beyond what a certificate can say")]
    Time(i64),
    /// The leaf is of no use to the server.
    #[error("the leaf cannot be served: {0}")]
    Leaf(#[from] IdentityError),
}

impl Authority {
    /// Makes a new one that is valid for `lifetime` seconds.
    ///
    /// # Errors
    /// There is no randomness, or the time is beyond all calendars.
    pub fn new(name: &str, now: i64, lifetime: i64) -> Result<Self, AuthorityError> {
        let not_after = now.saturating_add(lifetime);
        let mut params = valid(now, not_after)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            certificate: Certificate::read(&pem)?,
            key: key.serialize_pem(),
        })
    }

    /// Reads one; the key must belong to the certificate, and that to a CA. It may have expired.
    ///
    /// # Errors
    /// See [`AuthorityError`]; nothing of the key is told.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let certificate = Certificate::read(certificate)?;
        let pair = KeyPair::from_pem(key).map_err(|_| AuthorityError::Key)?;
        let der = certificate.der()?;
        let parsed = parse(&der)?;
        if parsed.public_key().subject_public_key.data != pair.der_bytes() {
            return Err(AuthorityError::Pair);
        }
        let key = key.to_owned();
        Ok(Self { certificate, key })
    }

    /// What clients are told to trust.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The private key, PEM. It goes into the CA's Secret and nowhere else.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Signs a serving certificate with these names for `lifetime` seconds, though no longer than the
    /// authority itself is valid. The key is new and exists nowhere but in what is returned.
    ///
    /// # Errors
    /// There is no randomness, or a name is none.
    pub fn leaf(
        &self,
        names: &[String],
        now: i64,
        lifetime: i64,
    ) -> Result<Identity, AuthorityError> {
        let not_after = now.saturating_add(lifetime).min(self.certificate.not_after);
        let mut params = valid(now, not_after)?;
        params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
        params
            .distinguished_name
            .push(DnType::CommonName, "transom");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let signer = KeyPair::from_pem(&self.key).map_err(|_| AuthorityError::Key)?;
        let issuer = Issuer::from_ca_cert_der(&self.certificate.der()?, signer)?;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let leaf = params.signed_by(&key, &issuer)?;
        let identity = Identity::from_pem(leaf.pem().as_bytes(), key.serialize_pem().as_bytes())?;
        Ok(identity)
    }
}

impl fmt::Debug for Authority {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads the certificate of a CA. Blank space around its lines makes no other certificate of it.
    ///
    /// # Errors
    /// It is not exactly one, or not that of a CA.
    pub fn read(pem: &str) -> Result<Self, AuthorityError> {
        // Whatever stands beside it is nobody's business: files with a key in them are common, and this gets published.
        let mut inside = false;
        let lines = pem.lines().map(str::trim).filter(|line| {
            inside |= *line == "-----BEGIN CERTIFICATE-----";
            let kept = inside && !line.is_empty();
            inside &= *line != "-----END CERTIFICATE-----";
            kept
        });
        let mut certificate = Self {
            pem: lines.flat_map(|line| [line, "\n"]).collect(),
            not_after: 0,
            lifetime: 0,
        };
        let der = certificate.der()?;
        let parsed = parse(&der)?;
        if !parsed.is_ca() {
            return Err(AuthorityError::NotACa);
        }
        let validity = parsed.validity();
        certificate.not_after = validity.not_after.timestamp();
        certificate.lifetime = certificate.not_after - validity.not_before.timestamp();
        Ok(certificate)
    }

    /// PEM, ending with a newline.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// When it expires, in seconds since 1970.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// For how long it is valid in all, in seconds.
    #[must_use]
    pub fn lifetime(&self) -> i64 {
        self.lifetime
    }

    fn der(&self) -> Result<CertificateDer<'static>, AuthorityError> {
        let mut found = CertificateDer::pem_slice_iter(self.pem.as_bytes());
        let one = found.next().and_then(Result::ok);
        let more = found.count();
        match one {
            Some(one) if more == 0 => Ok(one),
            one => Err(AuthorityError::NotOne(more + usize::from(one.is_some()))),
        }
    }
}

/// What time it is, in seconds since 1970.
#[must_use]
pub fn now() -> i64 {
    ASN1Time::now().timestamp()
}

/// A time as people read it.
#[must_use]
pub fn date(time: i64) -> String {
    let date = ASN1Time::from_timestamp(time).ok();
    date.map_or_else(|| time.to_string(), |date| date.to_string())
}

fn parse<'d>(
    der: &'d CertificateDer<'_>,
) -> Result<x509_parser::certificate::X509Certificate<'d>, AuthorityError> {
    match x509_parser::parse_x509_certificate(der) {
        Ok((_, parsed)) => Ok(parsed),
        Err(error) => Err(AuthorityError::NotX509(error.into())),
    }
}

fn valid(now: i64, not_after: i64) -> Result<CertificateParams, AuthorityError> {
    let time = |at| match ASN1Time::from_timestamp(at) {
        Ok(time) => Ok(time.to_datetime()),
        Err(_) => Err(AuthorityError::Time(at)),
    };
    let mut params = CertificateParams::default();
    params.not_before = time(now.saturating_sub(BACKDATED))?;
    params.not_after = time(not_after)?;
    params.distinguished_name = DistinguishedName::new();
    Ok(params)
}

#[cfg(test)]
impl Authority {
    /// The same, valid for so long.
    pub(crate) fn living(self, lifetime: i64) -> Self {
        let certificate = self.certificate.living(lifetime);
        Self {
            certificate,
            ..self
        }
    }

    /// One that is nothing but its name and its end, for tests of what does not sign.
    pub(crate) fn sketch(name: &str, not_after: i64) -> Self {
        Self {
            certificate: Certificate::sketch(name, not_after),
            key: name.to_lowercase(),
        }
    }
}

#[cfg(test)]
impl Certificate {
    /// The same, valid for so long.
    pub(crate) fn living(self, lifetime: i64) -> Self {
        Self { lifetime, ..self }
    }

    pub(crate) fn sketch(name: &str, not_after: i64) -> Self {
        Self {
            pem: name.to_owned(),
            not_after,
            lifetime: i64::MAX,
        }
    }
}

#[cfg(test)]
mod tests;
