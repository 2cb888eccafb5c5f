//! What TLS reads from files: the serving pair, and the CA of the clients.
//!
//! Each is loaded once, before anything is served, and again whenever its files change (`watch`). What does
//! not load is refused and the old one stays. Started by `Server::bind`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use x509_parser::time::ASN1Time;

use super::{ClientCa, Identity, Tls};
use crate::metrics::Metrics;
use crate::server::watch::Watched;

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
    let take = |contents: &[Vec<u8>; 2]| {
        let identity = identity(contents)?;
        let not_after = identity.not_after();
        tls.show(identity);
        announce(not_after, &metrics);
        Ok(())
    };
    pair.run(poll, take, |taken| metrics.certificate_reload(taken))
        .await;
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
    ca.run(poll, take, |taken| metrics.client_ca_reload(taken))
        .await;
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
    let expiry = match ASN1Time::from_timestamp(not_after) {
        Ok(time) => time.to_string(),
        Err(_) => not_after.to_string(),
    };
    if not_after < ASN1Time::now().timestamp() {
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
