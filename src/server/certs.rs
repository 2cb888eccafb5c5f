//! The throw-away CA: what makes `transom serve` work without a cluster and without any file.
//!
//! It lives for one run. Its key, and the leaf's, stay in memory; only the CA's certificate is written,
//! for clients. Called by `Server::bind`. How a CA is made is `authority`; reading certificates from files is `tls`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::tls::Identity;
use crate::authority::{self, Authority};

/// Thirty days: longer than anybody tries something out.
const LIFETIME: i64 = 30 * 24 * 60 * 60;

/// A new CA's certificate (PEM) and a leaf that it has signed for this machine's own names.
///
/// # Errors
/// The random number generator fails.
pub fn throw_away() -> Result<(String, Identity)> {
    let now = authority::now();
    let ca = Authority::new("Transom throw-away CA", now, LIFETIME)?;
    let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
    let identity = ca.leaf(&names, now, LIFETIME)?;
    Ok((ca.certificate().pem().to_owned(), identity))
}

/// Writes the CA's certificate, with the directory it belongs in.
///
/// # Errors
/// The directory or the file cannot be written.
pub fn write_ca(file: &Path, pem: &str) -> Result<()> {
    let directory = file.parent().unwrap_or_else(|| Path::new(""));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(file, pem))
        .with_context(|| {
            format!(
                "cannot write the throw-away CA to {}: run in a directory that can be written, or give \
                 --tls-cert-file and --tls-private-key-file",
                file.display()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_ca_and_makes_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("certs/ca.crt");
        write_ca(&file, "a certificate").unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "a certificate");
    }

    #[test]
    fn a_ca_that_cannot_be_written_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("certs"), "not a directory").unwrap();
        let error = write_ca(&directory.path().join("certs/ca.crt"), "").unwrap_err();
        assert!(error.to_string().contains("--tls-cert-file"), "{error}");
    }
}
