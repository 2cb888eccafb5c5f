//! The serving certificate from two files, again and again.
//!
//! A mounted Secret changes by a symlink swap, which a watch on the file does not see, so both files are
//! read every few seconds and their bytes compared. What does not load is refused and the old pair stays;
//! a pair that is half written heals at a later look. Started by `Server::run`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use anyhow::{Context, Result};
use thiserror::Error;
use tokio::time::MissedTickBehavior;
use x509_parser::time::ASN1Time;

use super::{Identity, IdentityError, Tls};
use crate::metrics::Metrics;

/// Where a chain and its key are.
#[derive(Clone, Debug)]
pub struct PairFiles {
    /// The certificate chain, PEM, leaf first.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// Looks at the files and keeps a [`Tls`] up to date.
pub struct Reloader {
    files: PairFiles,
    poll: Duration,
    metrics: Arc<Metrics>,
    tls: Arc<Tls>,
    served: Pair,
    /// What was refused last, so that it is counted and told once.
    refused: Option<Seen>,
}

/// The bytes of both files.
#[derive(PartialEq, Eq)]
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

/// What one look found and could not use.
#[derive(PartialEq, Eq)]
enum Seen {
    Pair(Pair),
    Unreadable(PathBuf, io::ErrorKind),
}

#[derive(Debug, Error)]
#[error("cannot read {}: {source}", file.display())]
struct Unreadable {
    file: PathBuf,
    source: io::Error,
}

impl Reloader {
    /// Loads the pair for the first time.
    ///
    /// # Errors
    /// The files cannot be read or are not a pair: without a certificate there is nothing to serve.
    pub async fn load(
        files: PairFiles,
        poll: Duration,
        metrics: Arc<Metrics>,
    ) -> Result<(Arc<Tls>, Self)> {
        let advice = || {
            let (cert, key) = (files.cert.display(), files.key.display());
            format!(
                "cannot serve with --tls-cert-file {cert} and --tls-private-key-file {key} \
                 (both must be PEM and belong together)"
            )
        };
        let served = files.read().await.with_context(advice)?;
        let identity = served.identity().with_context(advice)?;
        announce(identity.not_after(), &metrics);
        let tls = Arc::new(Tls::new(identity)?);
        let reloader = Self {
            files,
            poll,
            metrics,
            tls: Arc::clone(&tls),
            served,
            refused: None,
        };
        Ok((tls, reloader))
    }

    /// Looks at the files forever.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(self.poll);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.look().await;
        }
    }

    /// One look: nothing new, a pair that is taken, or one that is refused.
    async fn look(&mut self) {
        let pair = match self.files.read().await {
            Ok(pair) => pair,
            Err(error) => {
                let seen = Seen::Unreadable(error.file.clone(), error.source.kind());
                return self.refuse(seen, &error.into());
            }
        };
        if pair == self.served {
            // What was wrong in between is over, and would be news if it came back.
            self.refused = None;
            return;
        }
        match self.serve(&pair) {
            Ok(()) => {
                self.served = pair;
                self.refused = None;
            }
            Err(error) => self.refuse(Seen::Pair(pair), &error),
        }
    }

    fn serve(&self, pair: &Pair) -> Result<()> {
        let identity = pair.identity()?;
        let not_after = identity.not_after();
        self.tls.replace(identity)?;
        announce(not_after, &self.metrics);
        self.metrics.certificate_reload(true);
        Ok(())
    }

    fn refuse(&mut self, seen: Seen, error: &anyhow::Error) {
        if self.refused.as_ref() == Some(&seen) {
            return;
        }
        self.metrics.certificate_reload(false);
        tracing::warn!(
            cert = %self.files.cert.display(),
            key = %self.files.key.display(),
            "the changed certificate is refused and the old one kept, until the files are a pair: {error:#}"
        );
        self.refused = Some(seen);
    }
}

impl fmt::Debug for Reloader {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader")
            .field("files", &self.files)
            .field("poll", &self.poll)
            .finish_non_exhaustive()
    }
}

impl PairFiles {
    async fn read(&self) -> Result<Pair, Unreadable> {
        Ok(Pair {
            cert: read(&self.cert).await?,
            key: read(&self.key).await?,
        })
    }
}

impl Pair {
    fn identity(&self) -> Result<Identity, IdentityError> {
        Identity::from_pem(&self.cert, &self.key)
    }
}

async fn read(file: &Path) -> Result<Vec<u8>, Unreadable> {
    tokio::fs::read(file).await.map_err(|source| Unreadable {
        file: file.to_owned(),
        source,
    })
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
    use std::fs;

    use rcgen::{CertificateParams, KeyPair};
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn takes_a_changed_pair() {
        let mut test = Test::new().await;
        let before = test.served();
        test.write(&pem());
        test.reloader.look().await;
        assert!(!Arc::ptr_eq(&before, &test.served()));
        test.expect(1, 0);
    }

    #[tokio::test]
    async fn leaves_an_unchanged_pair_alone() {
        let mut test = Test::new().await;
        let before = test.served();
        test.reloader.look().await;
        assert!(Arc::ptr_eq(&before, &test.served()));
        test.expect(0, 0);
    }

    #[tokio::test]
    async fn refuses_a_half_written_pair_once_and_heals() {
        let mut test = Test::new().await;
        let before = test.served();
        let (cert, key) = pem();
        fs::write(&test.reloader.files.cert, &cert).unwrap();
        test.reloader.look().await;
        test.reloader.look().await;
        assert!(Arc::ptr_eq(&before, &test.served()));
        test.expect(0, 1);

        fs::write(&test.reloader.files.key, &key).unwrap();
        test.reloader.look().await;
        assert!(!Arc::ptr_eq(&before, &test.served()));
        test.expect(1, 1);
    }

    #[tokio::test]
    async fn counts_each_bad_content_once() {
        let mut test = Test::new().await;
        for bad in ["", "not PEM", "-----BEGIN CERTIFICATE-----\n"] {
            fs::write(&test.reloader.files.cert, bad).unwrap();
            test.reloader.look().await;
            test.reloader.look().await;
        }
        test.expect(0, 3);
    }

    #[tokio::test]
    async fn a_missing_file_is_a_bad_pair_and_its_return_heals() {
        let mut test = Test::new().await;
        let before = test.served();
        let key = fs::read(&test.reloader.files.key).unwrap();
        for _ in 0..2 {
            fs::remove_file(&test.reloader.files.key).unwrap();
            test.reloader.look().await;
            test.reloader.look().await;
            fs::write(&test.reloader.files.key, &key).unwrap();
            test.reloader.look().await;
        }
        assert!(Arc::ptr_eq(&before, &test.served()));
        test.expect(0, 2);
    }

    #[tokio::test]
    async fn a_first_pair_that_does_not_load_says_which_flags_to_look_at() {
        let files = PairFiles {
            cert: "no/such.crt".into(),
            key: "no/such.key".into(),
        };
        let metrics = Arc::new(Metrics::new());
        let error = Reloader::load(files, Duration::from_secs(2), metrics)
            .await
            .unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains("--tls-cert-file no/such.crt") && error.contains("cannot read"),
            "{error}"
        );
    }

    struct Test {
        _directory: TempDir,
        reloader: Reloader,
    }

    impl Test {
        async fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let files = PairFiles {
                cert: directory.path().join("tls.crt"),
                key: directory.path().join("tls.key"),
            };
            let (cert, key) = pem();
            fs::write(&files.cert, cert).unwrap();
            fs::write(&files.key, key).unwrap();
            let poll = Duration::from_secs(2);
            let (_, reloader) = Reloader::load(files, poll, Arc::new(Metrics::new()))
                .await
                .unwrap();
            Self {
                _directory: directory,
                reloader,
            }
        }

        fn write(&self, (cert, key): &(String, String)) {
            fs::write(&self.reloader.files.cert, cert).unwrap();
            fs::write(&self.reloader.files.key, key).unwrap();
        }

        fn served(&self) -> Arc<rustls::ServerConfig> {
            self.reloader.tls.current()
        }

        #[track_caller]
        fn expect(&self, success: u32, failure: u32) {
            let text = self.reloader.metrics.render();
            for (result, count) in [("success", success), ("failure", failure)] {
                let line =
                    format!("transom_certificate_reloads_total{{result=\"{result}\"}} {count}\n");
                assert!(text.contains(&line), "no {line} in\n{text}");
            }
        }
    }

    fn pem() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::default().self_signed(&key).unwrap();
        (cert.pem(), key.serialize_pem())
    }
}
