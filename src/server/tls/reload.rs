//! What TLS reads from files: the serving pair, and the CA of the clients.
//!
//! Each is loaded once, before anything is served, and again whenever its files change (`watch`). What does
//! not load is refused and the old one stays. Started by `Server::bind`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{ClientCa, Identity, Tls};
use crate::authority;
use crate::metrics::Metrics;
use crate::server::watch::{Look, Watched};

/// Where a chain and its key are.
#[derive(Clone, Debug)]
pub struct PairFiles {
    /// The certificate chain, PEM, leaf first.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// Loads the pair for the first time.
///
/// # Errors
/// The files cannot be read or are not a pair: without a certificate there is nothing to serve.
pub(in crate::server) fn load_pair(
    files: PairFiles,
    metrics: &Metrics,
) -> Result<(Identity, Watched<2>)> {
    let PairFiles { cert, key } = files;
    let advice = format!(
        "cannot serve with --tls-cert-file {} and --tls-private-key-file {} \
         (both must be PEM and belong together)",
        cert.display(),
        key.display()
    );
    let (identity, pair) = load("certificate", [cert, key], identity).context(advice)?;
    announce(identity.not_after(), metrics);
    Ok((identity, pair))
}

/// Loads the CA of the clients for the first time.
///
/// # Errors
/// The file cannot be read or has something else in it than CAs: who gets in would be anybody's guess.
pub(in crate::server) fn load_client_ca(file: PathBuf) -> Result<(ClientCa, Watched<1>)> {
    let advice = format!(
        "cannot tell clients by --tls-client-ca-file {} \
         (it must hold the CA certificates that have signed theirs, PEM)",
        file.display()
    );
    load("client CA", [file], client_ca).context(advice)
}

fn load<const N: usize, T>(
    name: &'static str,
    files: [PathBuf; N],
    parse: impl Fn(&[Vec<u8>; N]) -> Result<T>,
) -> Result<(T, Watched<N>)> {
    let watched = Watched::read(name, files)?;
    Ok((parse(watched.contents())?, watched))
}

/// Keeps the certificate up to date, forever.
pub(in crate::server) async fn keep_pair(
    pair: Watched<2>,
    poll: Duration,
    tls: Arc<Tls>,
    metrics: Arc<Metrics>,
) {
    // Only this number matters: no order is needed.
    let shown =
        AtomicI64::new(identity(pair.contents()).map_or(i64::MIN, |first| first.not_after()));
    let take = |contents: &[Vec<u8>; 2]| {
        let identity = identity(contents)?;
        let not_after = identity.not_after();
        lasts(not_after, shown.load(Ordering::Relaxed), authority::now())?;
        tls.show(identity);
        shown.store(not_after, Ordering::Relaxed);
        announce(not_after, &metrics);
        Ok(())
    };
    let count = |look: Look| {
        if let Some(taken) = look.taken() {
            metrics.certificate_reload(taken);
        }
    };
    pair.run(poll, take, count).await;
}

/// Keeps the CA of the clients up to date, forever.
pub(in crate::server) async fn keep_client_ca(
    ca: Watched<1>,
    poll: Duration,
    tls: Arc<Tls>,
    metrics: Arc<Metrics>,
) {
    let take = |contents: &[Vec<u8>; 1]| {
        tls.admit(&client_ca(contents)?)?;
        Ok(())
    };
    let count = |look: Look| {
        if let Some(taken) = look.taken() {
            metrics.client_ca_reload(taken);
        }
    };
    ca.run(poll, take, count).await;
}

/// Refuses a certificate that has expired in exchange for one that lasts longer. Both may look expired to a clock
/// that is wrong: then the one that lasts longer is the new one.
fn lasts(not_after: i64, shown: i64, now: i64) -> Result<()> {
    ensure!(
        not_after >= now || not_after >= shown,
        "it has expired, on {}, and API servers would refuse it",
        authority::date(not_after)
    );
    Ok(())
}

fn identity([cert, key]: &[Vec<u8>; 2]) -> Result<Identity> {
    Ok(Identity::from_pem(cert, key)?)
}

fn client_ca([bundle]: &[Vec<u8>; 1]) -> Result<ClientCa> {
    let ca = ClientCa::from_pem(bundle)?;
    let certificates = ca.certificates();
    tracing::info!(certificates, "client CA loaded");
    Ok(ca)
}

/// Tells the log and the metrics until when the certificate is good.
fn announce(not_after: i64, metrics: &Metrics) {
    metrics.certificate_expiry(not_after);
    let expiry = authority::date(not_after);
    if not_after < authority::now() {
        tracing::warn!(%expiry, "the certificate being served has expired: API servers refuse it");
    } else {
        tracing::info!(%expiry, "certificate loaded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_pair_that_does_not_load_says_which_flags_to_look_at() {
        let files = PairFiles {
            cert: "no/such.crt".into(),
            key: "no/such.key".into(),
        };
        let error = format!("{:#}", load_pair(files, &Metrics::new()).unwrap_err());
        for part in ["--tls-cert-file no/such.crt", "cannot read no/such.crt"] {
            assert!(error.contains(part), "no {part} in {error}");
        }
    }

    #[test]
    fn what_has_expired_takes_no_better_ones_place() {
        let [past, now, future] = [1, 2, 3];
        for (new, shown, is_taken) in [
            (future, past, true),
            (future, future, true),
            (now, future, true),
            (past, now, false),
            (past, future, false),
            // All that there is has expired, or the clock is wrong.
            (past, past, true),
            (past, i64::MIN, true),
        ] {
            assert_eq!(
                lasts(new, shown, now).is_ok(),
                is_taken,
                "{new} for {shown}"
            );
        }
        let error = lasts(0, future, now).unwrap_err().to_string();
        assert!(error.starts_with("it has expired, on Jan  1"), "{error}");
    }

    #[test]
    fn a_first_client_ca_that_does_not_load_says_what_the_file_should_hold() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), "no/such.crt".into()] {
            let error = format!("{:#}", load_client_ca(path).unwrap_err());
            for part in ["--tls-client-ca-file", "CA certificates", "PEM"] {
                assert!(error.contains(part), "no {part} in {error}");
            }
        }
    }
}
