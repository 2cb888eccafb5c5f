//! What a request says of its body and of itself: content types, encodings, and queries behind the path.

use super::heads::{JSON, good, request};
use super::{Bad, ENDPOINTS, Then, Want};

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| [queries(endpoint), types(endpoint), encodings(endpoint)])
        .flatten()
        .collect()
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
