//! Beneath HTTP: other protocols on the port, TLS of long ago, records that are none, clients that are not let in.

use super::{Bad, Certificate, Connection, ENDPOINTS, Then, Want};
use crate::client::{REVIEW, post};

pub(super) fn rows() -> Vec<Bad> {
    let mut rows = Vec::new();
    for endpoint in ENDPOINTS {
        let plain = move || post(&format!("/{endpoint}"), REVIEW).into_bytes();
        let name = "plain: HTTP where TLS is spoken";
        rows.push(
            Bad::bytes(name, endpoint, plain, Vec::new(), Then::Closes).over(Connection::Tcp),
        );
        for (who, certificate) in [
            ("no certificate", Certificate::None),
            ("a certificate of another CA", Certificate::OfAnotherCa),
            ("a certificate whose time is over", Certificate::Expired),
            ("the certificate of a server", Certificate::OfAServer),
        ] {
            let name = format!("client: with {who}");
            let row = Bad::bytes(&name, endpoint, plain, Vec::new(), Then::Closes);
            rows.push(row.over(Connection::Mutual(certificate)));
        }
    }
    rows.extend(
        PROTOCOLS
            .iter()
            .map(|(name, bytes)| raw(&format!("plain: {name}"), bytes.to_vec())),
    );
    for (name, version, offered) in HELLOS {
        rows.push(raw(&format!("TLS: {name}"), hello(*version, *offered)));
    }
    rows.extend(
        records()
            .into_iter()
            .map(|(name, bytes)| raw(&format!("TLS: {name}"), bytes)),
    );
    for (name, preface) in [
        (
            "the preface of HTTP/2",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        ),
        ("the hello of SSH", "SSH-2.0-OpenSSH_9.9\r\n\r\n"),
        ("zeros", "\0\0\0\0\0\0\0\0"),
    ] {
        // hyper knows the preface, and has nothing to say to it.
        let wants = match name.contains("HTTP/2") {
            true => Vec::new(),
            false => vec![Want::Status(400)],
        };
        let bytes = move || preface.as_bytes().to_vec();
        let name = format!("inside TLS: {name}");
        rows.push(Bad::bytes(&name, "", bytes, wants, Then::Closes));
    }
    let nothing = Bad::bytes(
        "inside TLS: nothing",
        "",
        Vec::new,
        Vec::new(),
        Then::Closes,
    );
    rows.push(nothing.over(Connection::HttpsThenEnd));
    for protocol in ["h2", "http/1.0", "spdy/3"] {
        let name = format!("TLS: an offer of {protocol} alone");
        let row = Bad::bytes(&name, "", Vec::new, Vec::new(), Then::Closes);
        rows.push(row.over(Connection::Offering(protocol)));
    }
    rows
}

/// Bytes on the port, then the end; what comes is an alert at most.
fn raw(name: &str, bytes: Vec<u8>) -> Bad {
    let row = Bad::bytes(name, "", move || bytes.clone(), Vec::new(), Then::Closes);
    row.over(Connection::TcpThenEnd)
}

const PROTOCOLS: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("one byte", b"\x16"),
    ("zeros", &[0; 64]),
    ("bytes of 0xff", &[0xff; 64]),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("SSH", b"SSH-2.0-OpenSSH_9.9\r\n"),
    ("SMTP", b"EHLO localhost\r\n"),
    (
        "a header of the PROXY protocol",
        b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n",
    ),
    ("SOCKS 5", b"\x05\x01\x00"),
    (
        "SSL 2",
        b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\x01\x00\x80",
    ),
];

/// What a ClientHello says of its versions: that of the hello, and those that are offered in an extension.
type Hello = (&'static str, u16, Option<u16>);

const HELLOS: &[Hello] = &[
    ("SSL 3", 0x0300, None),
    ("TLS 1.0", 0x0301, None),
    ("TLS 1.1", 0x0302, None),
    ("TLS 1.0 in an extension", 0x0303, Some(0x0301)),
    ("TLS 1.1 in an extension", 0x0303, Some(0x0302)),
    ("a version to come, alone", 0x0303, Some(0x0305)),
    ("TLS 1.3 without a key share", 0x0303, Some(0x0304)),
    ("TLS 1.2 with ciphers of long ago", 0x0303, None),
];

/// A ClientHello with two ciphers of long ago.
fn hello(version: u16, offered: Option<u16>) -> Vec<u8> {
    let extensions = offered.map_or_else(Vec::new, |offered| {
        let [high, low] = offered.to_be_bytes();
        vec![0, 43, 0, 3, 2, high, low]
    });
    let body = [
        &version.to_be_bytes()[..],
        &[7; 32],
        &[0],
        &[0, 4, 0, 0x2f, 0, 0x35],
        &[1, 0],
        &u16::try_from(extensions.len()).unwrap().to_be_bytes(),
        &extensions,
    ]
    .concat();
    record(
        0x16,
        version.min(0x0301),
        &[&[1, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat(),
    )
}

fn record(kind: u8, version: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    [
        &[kind][..],
        &version.to_be_bytes(),
        &length.to_be_bytes(),
        content,
    ]
    .concat()
}

/// Records that are no ClientHello.
fn records() -> Vec<(&'static str, Vec<u8>)> {
    let whole = hello(0x0303, Some(0x0304));
    vec![
        ("an empty record", record(0x16, 0x0303, b"")),
        (
            "a hundred empty records",
            record(0x16, 0x0303, b"").repeat(100),
        ),
        (
            "a record of 65,535 bytes",
            record(0x16, 0x0301, &[1; 65_535]),
        ),
        (
            "a record of a kind that nobody knows",
            record(0x63, 0x0303, b"abc"),
        ),
        (
            "a record of another major version",
            record(0x16, 0x0505, &whole[5..]),
        ),
        ("data before any handshake", record(0x17, 0x0303, b"abc")),
        ("an alert", record(0x15, 0x0303, &[2, 40])),
        (
            "a heartbeat that asks for more than it sends",
            record(0x18, 0x0303, &[1, 0x40, 0]),
        ),
        ("a change of ciphers", record(0x14, 0x0303, &[1])),
        ("a ServerHello", record(0x16, 0x0303, &[2, 0, 0, 2, 3, 3])),
        (
            "a hello of 16 MB",
            record(0x16, 0x0301, &[1, 0xff, 0xff, 0xff, 3, 3]),
        ),
        (
            "a hello that ends early",
            record(0x16, 0x0301, &[1, 0, 0, 2, 3, 3]),
        ),
        ("half a hello", whole[..whole.len() / 2].to_vec()),
        (
            "a hello in records of one byte",
            whole[5..]
                .iter()
                .flat_map(|byte| record(0x16, 0x0301, &[*byte]))
                .collect(),
        ),
    ]
}
