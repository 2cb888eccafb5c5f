//! Handshakes that fail: each is counted, and at most one a second is told.
//!
//! Whoever reaches the port can make handshakes fail, as often as he likes; the log must survive that.
//! What is told is why, and where to look.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::{Metrics, Stage};

const SILENCE: Duration = Duration::from_secs(1);

/// Counts and tells failed handshakes.
pub(in crate::server) struct Failures {
    metrics: Arc<Metrics>,
    told: Mutex<Told>,
}

/// When a line was written last, and how many were not written since.
#[derive(Default)]
struct Told {
    last: Option<Instant>,
    untold: u64,
}

impl Failures {
    pub(in crate::server) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            told: Mutex::default(),
        }
    }

    /// One more, unless nothing was said: a probe of the port, not a client.
    pub(super) fn handshake(&self, peer: SocketAddr, error: &io::Error) {
        let silent = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
        );
        if silent {
            return;
        }
        self.metrics.error(Stage::TlsHandshake);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(untold) = told.tell(Instant::now()) {
            tracing::warn!(%peer, %error, untold, "a TLS handshake failed; {}", advice(error));
        }
    }
}

impl Told {
    /// How many were not told, if this one is to be told.
    fn tell(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now < last + SILENCE) {
            self.untold += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

/// Where to look. A client's certificate is asked for only if there is a CA to hold it against.
fn advice(error: &io::Error) -> &'static str {
    let error = error.get_ref().and_then(|error| error.downcast_ref());
    match error {
        Some(rustls::Error::NoCertificatesPresented) => {
            "with --tls-client-ca-file only clients with a certificate get in, and an API server \
             presents one only if its admission configuration names it"
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            "the client's certificate must be valid, for client authentication, and chain to a CA in \
             --tls-client-ca-file"
        }
        _ => "if the client is an API server, look at the webhook's caBundle",
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError};

    use super::*;

    #[test]
    fn at_most_one_a_second_is_told_and_the_others_with_the_next() {
        let mut told = Told::default();
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(told.tell(at(0)), Some(0));
        for milliseconds in [0, 1, 500, 999] {
            assert_eq!(told.tell(at(milliseconds)), None);
        }
        assert_eq!(told.tell(at(1000)), Some(4));
        assert_eq!(told.tell(at(1999)), None);
        assert_eq!(told.tell(at(60_000)), Some(1));
        assert_eq!(told.tell(at(62_000)), Some(0));
    }

    #[test]
    fn each_failure_is_counted_told_or_not() {
        let metrics = Arc::new(Metrics::new());
        let failures = Failures::new(Arc::clone(&metrics));
        let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
        for _ in 0..5 {
            failures.handshake(peer, &io::ErrorKind::TimedOut.into());
            failures.handshake(peer, &io::ErrorKind::UnexpectedEof.into());
        }
        let counted = "transom_errors_total{stage=\"tls_handshake\"} 5\n";
        assert!(metrics.render().contains(counted));
    }

    #[test]
    fn the_advice_is_for_whoever_can_help() {
        let advice = |error: rustls::Error| advice(&io::Error::other(error));
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for ours in [rustls::Error::NoCertificatesPresented, unknown] {
            assert!(advice(ours).contains("--tls-client-ca-file"));
        }
        let theirs = rustls::Error::AlertReceived(AlertDescription::UnknownCA);
        assert!(advice(theirs).contains("caBundle"));
    }
}
