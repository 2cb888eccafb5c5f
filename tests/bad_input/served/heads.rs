//! The head of a request: methods, paths, queries, content types, and lines that are too many, too long or none.

use super::{Bad, ENDPOINTS, Then, Want};
use crate::client::REVIEW;

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| {
        [
            methods(endpoint),
            paths(endpoint),
            queries(endpoint),
            types(endpoint),
            encodings(endpoint),
            lines(endpoint),
        ]
    })
    .flatten()
    .collect()
}

/// A good review behind this first line and these others.
fn request(first: &str, lines: &str) -> Vec<u8> {
    let length = REVIEW.len();
    format!("{first}\r\nHost: a\r\n{lines}Content-Length: {length}\r\n\r\n{REVIEW}").into_bytes()
}

const JSON: &str = "Content-Type: application/json\r\n";

fn good() -> Want {
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

/// What stands behind the path is the API server's; a deadline that cannot be read is none.
fn queries(endpoint: &'static str) -> Vec<Bad> {
    let list = [
        "",
        "timeout",
        "timeout=",
        "timeout=abc",
        "timeout=-5s",
        "timeout=10",
        "timeout=1e99s",
        "timeout=10s&timeout=x",
        "timeout=%zz",
        "timeout=%ff",
        "timeout=10s10s",
        "timeout=NaNs",
        "timeout=99999999999999999999h",
        "timeout=.s",
        "timeout=5%20s",
        "&&&=",
        "a=b",
        "timeout[]=1",
        "?",
    ];
    let rows = list.into_iter().map(|query| {
        let bytes = move || request(&format!("POST /{endpoint}?{query} HTTP/1.1"), JSON);
        Bad::bytes(
            &format!("query: {query:?}"),
            endpoint,
            bytes,
            vec![good()],
            Then::Serves,
        )
    });
    rows.collect()
}

fn types(endpoint: &'static str) -> Vec<Bad> {
    let list = [
        "text/plain",
        "text/json",
        "application/jsonx",
        "application/json-patch+json",
        "application/yaml",
        "application/xml",
        "application/vnd.kubernetes.protobuf",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
        "application/octet-stream",
        "application / json",
        "application/json, text/plain",
        "\"application/json\"",
        "json",
        "*/*",
        ";",
        "",
    ];
    let mut rows: Vec<_> = list
        .into_iter()
        .map(|given| {
            let first = format!("POST /{endpoint} HTTP/1.1");
            let bytes = move || request(&first, &format!("Content-Type: {given}\r\n"));
            let want = Want::says(
                415,
                "is not understood: send an AdmissionReview as application/json",
            );
            let name = format!("content type: {given:?}");
            Bad::bytes(&name, endpoint, bytes, vec![want], Then::Closes)
        })
        .collect();
    let first = move || format!("POST /{endpoint} HTTP/1.1");
    let none = move || request(&first(), "");
    let want = vec![Want::says(415, "there is no Content-Type")];
    rows.push(Bad::bytes(
        "content type: none",
        endpoint,
        none,
        want,
        Then::Closes,
    ));
    let bytes = move || {
        let text = request(&first(), "Content-Type: X\r\n");
        let at = text.windows(3).position(|three| three == b"X\r\n").unwrap();
        [&text[..at], b"\xff\xfe", &text[at + 1..]].concat()
    };
    let want = vec![Want::says(415, "is not understood")];
    rows.push(Bad::bytes(
        "content type: bytes",
        endpoint,
        bytes,
        want,
        Then::Closes,
    ));
    let two = move || request(&first(), &format!("Content-Type: text/plain\r\n{JSON}"));
    let want = vec![Want::says(415, "text/plain")];
    rows.push(Bad::bytes(
        "content type: two",
        endpoint,
        two,
        want,
        Then::Closes,
    ));
    // JSON is UTF-8, whatever is said of it.
    for given in ["; charset=utf-16", ";charset=\"latin1\"", ";", "; a", ";;;"] {
        let bytes = move || {
            request(
                &first(),
                &format!("Content-Type: application/json{given}\r\n"),
            )
        };
        let name = format!("content type: JSON with {given:?}");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![good()],
            Then::Serves,
        ));
    }
    rows
}

fn encodings(endpoint: &'static str) -> Vec<Bad> {
    let bodies: [(&str, &'static [u8], &str); 4] = [
        (
            "gzip",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xe6\x02\0\x3e\x5b\x9d\xd5\x02\0\0\0",
            "the body is not UTF-8 from byte 1",
        ),
        (
            "deflate",
            b"\x78\x9c\xab\xad\x05\0\x01\x75\0\xf9",
            "the body is not UTF-8 from byte 1",
        ),
        (
            "br",
            b"\x0b\x00\x80{}\x03",
            "the body is not UTF-8 from byte 2",
        ),
        (
            "zstd",
            b"\x28\xb5\x2f\xfd\x20\x02\x11\0\0{}",
            "the body is not UTF-8 from byte 1",
        ),
    ];
    let mut rows: Vec<_> = bodies
        .into_iter()
        .map(|(coding, body, says)| {
            let bytes = move || {
                let length = body.len();
                let head = format!("POST /{endpoint} HTTP/1.1\r\nHost: a\r\n{JSON}Content-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n");
                [head.as_bytes(), body].concat()
            };
            let name = format!("compressed: {coding}");
            Bad::bytes(&name, endpoint, bytes, vec![Want::says(400, says)], Then::Serves)
        })
        .collect();
    let named = move || {
        request(
            &format!("POST /{endpoint} HTTP/1.1"),
            &format!("{JSON}Content-Encoding: gzip\r\n"),
        )
    };
    let name = "compressed: by its name alone";
    rows.push(Bad::bytes(
        name,
        endpoint,
        named,
        vec![good()],
        Then::Serves,
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
    let too_large: [(&str, fn() -> String); 4] = [
        ("a line of 100 kB", || {
            format!("A: {}\r\n", "b".repeat(100_000))
        }),
        ("a name of 100 kB", || {
            format!("{}: b\r\n", "A".repeat(100_000))
        }),
        ("5,000 lines", || "A: b\r\n".repeat(5_000)),
        ("200 lines of 1 kB", || {
            format!("A: {}\r\n", "b".repeat(1_000)).repeat(200)
        }),
    ];
    for (what, large) in too_large {
        let bytes = move || request(&first(), &format!("{JSON}{}", large()));
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
