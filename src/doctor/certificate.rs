//! When certificates end. Not here: whether one is signed by the other, which a connection shows.

use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

const DAY: i64 = 24 * 60 * 60;

/// When each certificate in PEM ends, in seconds since 1970; what is no certificate is passed over.
pub(super) fn ends_of_pem(pem: &[u8]) -> Vec<i64> {
    let pems = Pem::iter_from_buffer(pem).filter_map(Result::ok);
    pems.filter_map(|pem| end_of_der(&pem.contents)).collect()
}

/// When a certificate ends, in seconds since 1970; nothing if it is none.
pub(super) fn end_of_der(der: &[u8]) -> Option<i64> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// How long something is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Not at all.
    Nothing,
    /// For so many whole days.
    Days(i64),
}

impl Left {
    pub(super) fn until(end: i64, now: i64) -> Self {
        match end - now {
            ..=0 => Self::Nothing,
            left => Self::Days(left / DAY),
        }
    }
}
