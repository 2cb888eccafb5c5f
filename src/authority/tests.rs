//! What is made can be read again, and what is no authority is refused.

use super::*;

const DAY: i64 = 24 * 60 * 60;

#[test]
fn the_ca_says_that_it_is_one_and_the_leaf_that_it_is_not() {
    let now = now();
    let ca = Authority::new("a CA", now, 365 * DAY).unwrap();
    let names = ["localhost", "127.0.0.1", "::1", "a.b.svc"].map(String::from);
    let identity = ca.leaf(&names, now, 30 * DAY).unwrap();
    let der = ca.certificate().der().unwrap();
    let ca = parse(&der).unwrap();
    assert!(ca.is_ca());
    assert!(ca.key_usage().unwrap().unwrap().value.key_cert_sign());

    let (_, leaf) = x509_parser::parse_x509_certificate(identity.leaf()).unwrap();
    assert!(!leaf.is_ca());
    let usage = leaf.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && !usage.client_auth);
    let sans = leaf.subject_alternative_name().unwrap().unwrap();
    assert_eq!(sans.value.general_names.len(), 4);
    assert_eq!(leaf.issuer(), ca.subject());
    leaf.verify_signature(Some(ca.public_key())).unwrap();
    assert_eq!(identity.not_after(), now + 30 * DAY);
    assert_eq!(
        leaf.validity().not_before.timestamp(),
        now - BACKDATED,
        "clocks differ"
    );
}

#[test]
fn reads_what_it_has_made() {
    let ca = Authority::new("a CA", now(), DAY).unwrap();
    let pem = ca.certificate().pem();
    assert_eq!(Authority::from_pem(pem, ca.key()).unwrap(), ca);
    let indented = format!("\n  {}\r\n", pem.trim().replace('\n', "\r\n  "));
    assert_eq!(Authority::from_pem(&indented, ca.key()).unwrap(), ca);
    let names = ["localhost".to_owned()];
    let read = Authority::from_pem(pem, ca.key()).unwrap();
    assert!(read.leaf(&names, now(), DAY).is_ok());
}

#[test]
fn rejects_what_is_no_authority() {
    let now = now();
    let ca = Authority::new("a CA", now, DAY).unwrap();
    let other = Authority::new("a CA", now, DAY).unwrap();
    let pem = ca.certificate().pem();
    let refused = |certificate: &str, key: &str| {
        let error = Authority::from_pem(certificate, key).unwrap_err();
        let text = error.to_string();
        assert!(!text.contains("BEGIN"), "{text}");
        error
    };
    let two = format!("{pem}{}", other.certificate().pem());
    assert!(matches!(refused("", ca.key()), AuthorityError::NotOne(0)));
    assert!(matches!(
        refused("garbage", "garbage"),
        AuthorityError::NotOne(0)
    ));
    assert!(matches!(refused(&two, ca.key()), AuthorityError::NotOne(2)));
    assert!(matches!(refused(pem, ""), AuthorityError::Key));
    assert!(matches!(refused(pem, pem), AuthorityError::Key));
    assert!(matches!(refused(pem, other.key()), AuthorityError::Pair));
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(
        refused(nonsense, ca.key()),
        AuthorityError::NotX509(_)
    ));
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::default().self_signed(&key).unwrap();
    assert!(matches!(
        refused(&leaf.pem(), &key.serialize_pem()),
        AuthorityError::NotACa
    ));
}

#[test]
fn a_leaf_does_not_outlive_its_ca() {
    let now = now();
    let ca = Authority::new("a CA", now, DAY).unwrap();
    let leaf = ca.leaf(&["a".to_owned()], now, 30 * DAY).unwrap();
    assert_eq!(leaf.not_after(), ca.certificate().not_after());
}

#[test]
fn shows_no_key() {
    let ca = Authority::new("a CA", now(), DAY).unwrap();
    assert!(!format!("{ca:?}").contains("PRIVATE"));
}

/// It goes into webhook configurations, which many may read.
#[test]
fn what_stands_beside_a_certificate_is_left_out() {
    let ca = Authority::new("a CA", now(), 365 * DAY).unwrap();
    let pem = ca.certificate().pem();
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    for text in [
        format!("{key}{pem}"),
        format!("{pem}\n{key}"),
        format!("subject=a CA\n{pem}# end\n"),
    ] {
        let read = Certificate::read(&text).unwrap();
        assert_eq!(&read, ca.certificate());
        assert_eq!(read.pem(), pem);
    }
    assert!(Certificate::read(&key).is_err());
    assert!(Certificate::read(&format!("{pem}{pem}")).is_err());
}
