//! The CA's Secret and what it means. Pure: nothing is fetched or sent here, see `certs`.
//!
//! ```text
//! ca.crt, ca.key            the CA that signs
//! next-ca.crt, next-ca.key  during a rotation: the one that will
//! previous-ca.crt           those that have signed and have not expired: certificates, no keys
//! ```

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::rotation::Contents;
use crate::authority::{Authority, AuthorityError, Certificate};

const CA: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const PREVIOUS: &str = "previous-ca.crt";

/// Where one PEM block ends and the next begins.
const END: &str = "-----END CERTIFICATE-----";

/// What was found in the Secret.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The CA and what comes with it, if there is one that can be used.
    pub contents: Option<Contents>,
    /// What is not understood, without a word of any key.
    pub flaw: Option<String>,
}

/// Understands a Secret. One without any of our keys is empty, and that is no flaw.
#[must_use]
pub fn read(secret: &Secret) -> Reading {
    let empty = BTreeMap::new();
    let data = secret.data.as_ref().unwrap_or(&empty);
    let mut flaw = None;
    let mut keep = |name: &str, error: AuthorityError| {
        flaw.get_or_insert_with(|| format!("{name}: {error}"));
    };
    let mut authority = |names| match authority(data, names) {
        Ok(found) => found,
        Err(error) => {
            keep(names[0], error);
            None
        }
    };
    let (ca, next) = (authority(CA), authority(NEXT));
    let mut previous = Vec::new();
    for pem in text(data, PREVIOUS).split_inclusive(END) {
        match Certificate::read(pem) {
            _ if pem.trim().is_empty() => {}
            Ok(certificate) => previous.push(certificate),
            Err(error) => keep(PREVIOUS, error),
        }
    }
    Reading {
        contents: ca.map(|ca| Contents { ca, next, previous }),
        flaw,
    }
}

/// Writes contents into a Secret. Keys that are not ours stay as they are.
pub fn write(contents: &Contents, secret: &mut Secret) {
    let data = secret.data.get_or_insert_default();
    let mut put = |name: &str, value: Option<String>| match value {
        Some(value) => data.insert(name.to_owned(), ByteString(value.into_bytes())),
        None => data.remove(name),
    };
    let pairs = [(CA, Some(&contents.ca)), (NEXT, contents.next.as_ref())];
    for ([certificate, key], authority) in pairs {
        let pem = authority.map(|authority| authority.certificate().pem().to_owned());
        put(certificate, pem);
        put(key, authority.map(|authority| authority.key().to_owned()));
    }
    let previous: String = contents.previous.iter().map(Certificate::pem).collect();
    put(PREVIOUS, (!previous.is_empty()).then_some(previous));
}

fn authority(
    data: &BTreeMap<String, ByteString>,
    [certificate, key]: [&str; 2],
) -> Result<Option<Authority>, AuthorityError> {
    let (certificate, key) = (text(data, certificate), text(data, key));
    if certificate.is_empty() && key.is_empty() {
        return Ok(None);
    }
    Authority::from_pem(&certificate, &key).map(Some)
}

fn text(data: &BTreeMap<String, ByteString>, name: &str) -> String {
    let bytes = data.get(name).map_or(&[][..], |bytes| &bytes.0);
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(name: &str) -> Authority {
        Authority::new(name, 1_900_000_000, 1000).unwrap()
    }

    fn set(secret: &mut Secret, name: &str, value: &str) {
        let data = secret.data.get_or_insert_default();
        data.insert(name.to_owned(), ByteString(value.as_bytes().to_vec()));
    }

    #[test]
    fn what_is_written_is_read() {
        let full = Contents {
            ca: authority("one"),
            next: Some(authority("two")),
            previous: vec![
                authority("three").certificate().clone(),
                authority("four").certificate().clone(),
            ],
        };
        let mut secret = Secret::default();
        set(&mut secret, "tls.crt", "somebody's");
        for contents in [full, Contents::of(authority("five"))] {
            write(&contents, &mut secret);
            let want = Reading {
                contents: Some(contents),
                flaw: None,
            };
            assert_eq!(read(&secret), want);
        }
        let names: Vec<_> = secret.data.unwrap().into_keys().collect();
        assert_eq!(names, ["ca.crt", "ca.key", "tls.crt"]);
    }

    #[test]
    fn nothing_is_no_flaw() {
        let mut secret = Secret::default();
        assert_eq!(read(&secret), Reading::default());
        set(&mut secret, "ca.crt", "");
        set(&mut secret, "other", "thing");
        assert_eq!(read(&secret), Reading::default());
    }

    #[test]
    fn tells_what_is_damaged() {
        let (one, two) = (authority("one"), authority("two"));
        let mut whole = Secret::default();
        write(&Contents::of(one), &mut whole);
        let cases = [
            ("ca.crt", "garbage", "ca.crt: there must be one certificate"),
            (
                "ca.crt",
                two.certificate().pem(),
                "ca.crt: the private key is not the",
            ),
            ("ca.key", two.key(), "ca.crt: the private key is not the"),
            ("ca.key", "", "ca.crt: the private key is no PKCS#8"),
            ("ca.crt", "", "ca.crt: there must be one certificate"),
        ];
        for (name, value, want) in cases {
            let mut secret = whole.clone();
            set(&mut secret, name, value);
            let reading = read(&secret);
            assert_eq!(reading.contents, None, "{name}");
            let flaw = reading.flaw.unwrap();
            assert!(flaw.starts_with(want), "{flaw}");
        }
    }

    #[test]
    fn a_flaw_beside_the_ca_does_not_cost_the_ca() {
        let one = authority("one");
        let mut whole = Secret::default();
        write(&Contents::of(one.clone()), &mut whole);
        for name in ["next-ca.crt", "next-ca.key", "previous-ca.crt"] {
            let mut secret = whole.clone();
            set(&mut secret, name, "garbage");
            let reading = read(&secret);
            assert_eq!(reading.contents, Some(Contents::of(one.clone())), "{name}");
            let flaw = reading.flaw.unwrap();
            assert!(flaw.starts_with(&name[..4]), "{flaw}");
        }
    }
}
