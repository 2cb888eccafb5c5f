//! The throw-away CA: what makes `transom serve` work without a cluster and without any file.
//!
//! It lives for one run. Its key, and the leaf's, stay in memory; only the CA's certificate is written,
//! for clients. Called by `Server::bind`. Reading certificates from files is `tls`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use x509_parser::time::ASN1Time;

use super::tls::Identity;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const LEAF_LIFE: Duration = Duration::from_secs(30 * DAY.as_secs());

/// For clients whose clock is behind ours.
const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// A new CA's certificate (PEM) and a leaf that it has signed for this machine's own names.
///
/// # Errors
/// The random number generator fails.
pub fn throw_away() -> Result<(String, Identity)> {
    let ca =
        CertifiedIssuer::self_signed(ca_params(), KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let leaf = leaf_params()?.signed_by(&key, &ca)?;
    let identity = Identity::from_pem(leaf.pem().as_bytes(), key.serialize_pem().as_bytes())?;
    Ok((ca.pem(), identity))
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

fn ca_params() -> CertificateParams {
    let mut params = valid_for_a_leafs_life();
    params
        .distinguished_name
        .push(DnType::CommonName, "Transom throw-away CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn leaf_params() -> Result<CertificateParams> {
    let mut params = valid_for_a_leafs_life();
    let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
    params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    params
        .distinguished_name
        .push(DnType::CommonName, "transom");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn valid_for_a_leafs_life() -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = ASN1Time::now().to_datetime();
    params.not_before = now - BACKDATED;
    params.not_after = now + LEAF_LIFE;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ca_says_that_it_is_one_and_the_leaf_that_it_is_not() {
        let (ca, identity) = throw_away().unwrap();
        let (_, ca) = x509_parser::pem::parse_x509_pem(ca.as_bytes()).unwrap();
        let ca = ca.parse_x509().unwrap();
        assert!(ca.is_ca());
        assert!(ca.key_usage().unwrap().unwrap().value.key_cert_sign());

        let (_, leaf) = x509_parser::parse_x509_certificate(identity.leaf()).unwrap();
        assert!(!leaf.is_ca());
        let usage = leaf.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.server_auth && !usage.client_auth);
        let names = &leaf
            .subject_alternative_name()
            .unwrap()
            .unwrap()
            .value
            .general_names;
        assert_eq!(names.len(), 3);
        assert_eq!(leaf.issuer(), ca.subject());
    }

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
