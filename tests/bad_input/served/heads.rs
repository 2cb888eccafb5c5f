//! The head of a request: methods, paths, and lines that are too many, too long or none. What it says of the body
//! is in `content`.

use super::{Bad, ENDPOINTS, Then, Want};
use crate::client::REVIEW;

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| [methods(endpoint), paths(endpoint), lines(endpoint)])
        .flatten()
        .collect()
}

/// A good review behind this first line and these others.
pub(super) fn request(first: &str, lines: &str) -> Vec<u8> {
    let length = REVIEW.len();
    format!("{first}\r\nHost: a\r\n{lines}Content-Length: {length}\r\n\r\n{REVIEW}").into_bytes()
}

pub(super) const JSON: &str = "Content-Type: application/json\r\n";

pub(super) fn good() -> Want {
    Want::Allowed("4e1e8a5c".to_owned())
}

fn methods(endpoint: &'static str) -> Vec<Bad> {
    let methods = [
        "GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "REVIEW", "M-SEARCH",
    ];
    let mut rows: Vec<_> = methods
        .into_iter()
        .map(|method| {
            let bytes =
                move || format!("{method} /{endpoint} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
            let want = Want::says(405, format!("{method} is not understood here"));
            Bad::bytes(
                &format!("method: {method}"),
                endpoint,
                bytes,
                vec![want],
                Then::Serves,
            )
        })
        .collect();
    let with_body = move || request(&format!("PUT /{endpoint} HTTP/1.1"), JSON);
    let want = vec![Want::says(405, "PUT is not understood here")];
    rows.push(Bad::bytes(
        "method: PUT with a body",
        endpoint,
        with_body,
        want,
        Then::Closes,
    ));
    let head = move || format!("HEAD /{endpoint} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    rows.push(Bad::bytes(
        "method: HEAD",
        endpoint,
        head,
        vec![Want::Status(405)],
        Then::Serves,
    ));
    let long = move || {
        format!(
            "{} /{endpoint} HTTP/1.1\r\nHost: a\r\n\r\n",
            "A".repeat(2_000)
        )
        .into_bytes()
    };
    let want = vec![Want::says(405, "AAAA is not understood here")];
    rows.push(Bad::bytes(
        "method: 2,000 letters",
        endpoint,
        long,
        want,
        Then::Serves,
    ));
    for (what, method) in [
        ("none", ""),
        ("not ASCII", "PÖST"),
        ("with a bracket", "PO(ST"),
    ] {
        let bytes = move || request(&format!("{method} /{endpoint} HTTP/1.1"), JSON);
        let name = format!("method: {what}");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![Want::Status(400)],
            Then::Closes,
        ));
    }
    rows
}

fn paths(endpoint: &'static str) -> Vec<Bad> {
    let upper = endpoint.to_uppercase();
    let list = [
        "/".to_owned(),
        format!("/{endpoint}/"),
        format!("//{endpoint}"),
        format!("/{upper}"),
        format!("/{endpoint}/a"),
        format!("/{endpoint}%00"),
        format!("/a/../{endpoint}"),
        format!("/.%2f{endpoint}"),
        "/%".to_owned(),
        "/metrics".to_owned(),
        "/healthz".to_owned(),
    ];
    let mut rows: Vec<_> = list
        .into_iter()
        .map(|path| {
            let name = format!("path: {path}");
            let want = Want::says(404, format!("there is nothing at {path}: "));
            let bytes = move || request(&format!("POST {path} HTTP/1.1"), JSON);
            Bad::bytes(
                &format!("{name} for"),
                endpoint,
                bytes,
                vec![want],
                Then::Closes,
            )
        })
        .collect();
    let refused = [
        ("none", "POST  HTTP/1.1".to_owned()),
        ("with a blank", format!("POST /{endpoint} a HTTP/1.1")),
        ("without a slash", format!("POST {endpoint}{{}} HTTP/1.1")),
    ];
    for (what, first) in refused {
        let bytes = move || request(&first, JSON);
        let name = format!("path: {what}");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![Want::Status(400)],
            Then::Closes,
        ));
    }
    let long = move || {
        request(
            &format!("POST /{endpoint}/{} HTTP/1.1", "a".repeat(70_000)),
            JSON,
        )
    };
    let wants = vec![Want::Status(431)];
    rows.push(Bad::bytes(
        "path: 70 kB",
        endpoint,
        long,
        wants,
        Then::Closes,
    ));
    rows
}

fn lines(endpoint: &'static str) -> Vec<Bad> {
    let first = move || format!("POST /{endpoint} HTTP/1.1");
    let refused: [(&str, &str); 8] = [
        ("without a colon", "Nothing\r\n"),
        ("without a name", ": a\r\n"),
        ("with a blank before the colon", "A : b\r\n"),
        ("with a blank in its name", "A b: c\r\n"),
        ("with a zero in its value", "A: b\0c\r\n"),
        ("with a carriage return in its value", "A: b\rc\r\n"),
        ("that goes on in the next", "A: b\r\n c\r\n"),
        ("whose name is not ASCII", "Ä: b\r\n"),
    ];
    let mut rows: Vec<_> = refused
        .into_iter()
        .map(|(what, line)| {
            let bytes = move || request(&first(), &format!("{JSON}{line}"));
            let name = format!("head: a line {what}");
            Bad::bytes(
                &name,
                endpoint,
                bytes,
                vec![Want::Status(400)],
                Then::Closes,
            )
        })
        .collect();
    let too_large = [
        ("a line of 100 kB", "A: ", "b", 100_000, 1),
        ("a name of 100 kB", "", "A", 100_000, 1),
        ("5,000 lines", "A: ", "b", 1, 5_000),
        ("200 lines of 1 kB", "A: ", "b", 1_000, 200),
    ];
    for (what, start, letter, length, count) in too_large {
        let bytes = move || {
            let line = format!("{start}{}:\r\n", letter.repeat(length));
            request(&first(), &format!("{JSON}{}", line.repeat(count)))
        };
        let name = format!("head: {what}");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![Want::Status(431)],
            Then::Closes,
        ));
    }
    let versions = [
        ("HTTP/2.0", 400),
        ("HTTP/0.9", 400),
        ("HTTP/1.2", 400),
        ("HTTP/11", 400),
        ("http/1.1", 400),
        ("", 400),
    ];
    for (version, status) in versions {
        let bytes = move || request(&format!("POST /{endpoint} {version}"), JSON);
        let name = format!("head: version {version:?}");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![Want::Status(status)],
            Then::Closes,
        ));
    }
    let length = REVIEW.len();
    let no_host = move || {
        format!("POST /{endpoint} HTTP/1.1\r\n{JSON}Content-Length: {length}\r\n\r\n{REVIEW}")
            .into_bytes()
    };
    rows.push(Bad::bytes(
        "head: no Host",
        endpoint,
        no_host,
        vec![good()],
        Then::Serves,
    ));
    let feeds = move || {
        String::from_utf8(request(&first(), JSON))
            .unwrap()
            .replace("\r\n", "\n")
            .into_bytes()
    };
    rows.push(Bad::bytes(
        "head: line feeds alone",
        endpoint,
        feeds,
        vec![good()],
        Then::Serves,
    ));
    let odd = move || {
        request(
            &first(),
            &format!(
                "{JSON}Host: b\r\nHost: c\r\nUpgrade: h2c\r\nConnection: upgrade, http2-settings\r\nHTTP2-Settings: AAAA\r\n"
            ),
        )
    };
    rows.push(Bad::bytes(
        "head: an upgrade to HTTP/2, and three hosts",
        endpoint,
        odd,
        vec![good()],
        Then::Serves,
    ));
    rows
}
