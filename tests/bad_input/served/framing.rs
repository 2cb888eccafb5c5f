//! Where a body begins and ends: lengths that lie, chunks that are none, requests right behind each other.

use super::{Bad, Connection, ENDPOINTS, Then, Want, post};
use crate::client::REVIEW;

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| {
        [
            lengths(endpoint),
            chunks(endpoint),
            pipelines(endpoint),
            expectations(endpoint),
        ]
    })
    .flatten()
    .collect()
}

/// A request of JSON with these lines in its head, and this behind it.
fn request(endpoint: &str, lines: &str, body: &str) -> Vec<u8> {
    format!("POST /{endpoint} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{lines}\r\n{body}").into_bytes()
}

fn good() -> Want {
    Want::Allowed("4e1e8a5c".to_owned())
}

const NOT_JSON: &str = "the body is not JSON: ";

fn lengths(endpoint: &'static str) -> Vec<Bad> {
    let refused = || vec![Want::Status(400)];
    let no_length = [
        "abc",
        "-1",
        "+2",
        "2 2",
        "0x2",
        "2.0",
        "2;",
        "2,3",
        "18446744073709551616",
        "\u{662}",
        "",
    ];
    let mut rows: Vec<_> = no_length
        .into_iter()
        .map(|length| {
            let bytes = move || request(endpoint, &format!("Content-Length: {length}\r\n"), "{}");
            let name = format!("length: {length:?}");
            Bad::bytes(&name, endpoint, bytes, refused(), Then::Closes)
        })
        .collect();
    let length = |length: usize| format!("Content-Length: {length}\r\n");
    let short = move || request(endpoint, &length(REVIEW.len() - 10), REVIEW);
    rows.push(Bad::bytes(
        "length: ten bytes less than there are",
        endpoint,
        short,
        vec![Want::says(400, NOT_JSON), Want::Status(400)],
        Then::Closes,
    ));
    let none = move || request(endpoint, "", REVIEW);
    rows.push(Bad::bytes(
        "length: none, and a body",
        endpoint,
        none,
        vec![Want::says(400, NOT_JSON), Want::Status(400)],
        Then::Closes,
    ));
    let zero = move || request(endpoint, &length(0), "");
    let wants = vec![Want::says(400, NOT_JSON)];
    rows.push(Bad::bytes(
        "length: nothing",
        endpoint,
        zero,
        wants,
        Then::Serves,
    ));
    let long = move || request(endpoint, &length(REVIEW.len() + 10), REVIEW);
    let wants = vec![Want::says(400, "the body broke off before its end")];
    rows.push(
        Bad::bytes(
            "length: ten bytes more than there are",
            endpoint,
            long,
            wants,
            Then::Closes,
        )
        .over(Connection::HttpsThenEnd),
    );
    for (name, lines, wants, then) in [
        (
            "two that differ",
            "Content-Length: 2\r\nContent-Length: 3\r\n",
            refused(),
            Then::Closes,
        ),
        (
            "two that agree",
            "Content-Length: 2\r\nContent-Length: 2\r\n",
            vec![Want::says(400, "kind is \"\"")],
            Then::Serves,
        ),
        (
            "2^64 - 2",
            "Content-Length: 18446744073709551614\r\n",
            vec![Want::Status(431)],
            Then::Closes,
        ),
        (
            "twice in one line",
            "Content-Length: 2, 2\r\n",
            refused(),
            Then::Closes,
        ),
    ] {
        let bytes = move || request(endpoint, lines, "{}");
        rows.push(Bad::bytes(
            &format!("length: {name}"),
            endpoint,
            bytes,
            wants,
            then,
        ));
    }
    rows
}

fn chunks(endpoint: &'static str) -> Vec<Bad> {
    let broken = || vec![Want::says(400, "the body broke off before its end")];
    let chunked = "Transfer-Encoding: chunked\r\n";
    let long = "a".repeat(20_000);
    let list = [
        ("a size that is a word", "x\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("a negative size", "-2\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("a size with 0x", "0x2\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("no size", "\r\n{}\r\n0\r\n\r\n".to_owned()),
        (
            "a size of 17 digits",
            "FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n".to_owned(),
        ),
        (
            "a size less than there is",
            "1\r\n{}\r\n0\r\n\r\n".to_owned(),
        ),
        ("a size in quotes", "\"2\"\r\n{}\r\n0\r\n\r\n".to_owned()),
        (
            "a line feed alone behind the size",
            "2\n{}\r\n0\r\n\r\n".to_owned(),
        ),
        (
            "a carriage return alone behind the size",
            "2\r{}\r\n0\r\n\r\n".to_owned(),
        ),
        (
            "an extension of 20 kB",
            format!("2;{long}\r\n{{}}\r\n0\r\n\r\n"),
        ),
        (
            "a trailer of 20 kB",
            format!("2\r\n{{}}\r\n0\r\na: {long}\r\n\r\n"),
        ),
        (
            "2,000 trailers",
            format!("2\r\n{{}}\r\n0\r\n{}\r\n", "a: b\r\n".repeat(2_000)),
        ),
    ];
    let mut rows: Vec<_> = list
        .into_iter()
        .map(|(what, body)| {
            let bytes = move || request(endpoint, chunked, &body);
            let name = format!("chunks: {what}");
            Bad::bytes(&name, endpoint, bytes, broken(), Then::Closes)
        })
        .collect();
    let end = move || request(endpoint, chunked, "2\r\n{}\r\n");
    rows.push(
        Bad::bytes(
            "chunks: the end of the connection for the last",
            endpoint,
            end,
            broken(),
            Then::Closes,
        )
        .over(Connection::HttpsThenEnd),
    );
    let single = move || {
        let chunks: String = REVIEW.chars().map(|c| format!("1\r\n{c}\r\n")).collect();
        request(endpoint, chunked, &format!("{chunks}0\r\n\r\n"))
    };
    rows.push(Bad::bytes(
        "chunks: a byte each",
        endpoint,
        single,
        vec![good()],
        Then::Serves,
    ));
    let none = move || request(endpoint, chunked, "0\r\n\r\n");
    let wants = vec![Want::says(400, NOT_JSON)];
    rows.push(Bad::bytes(
        "chunks: none",
        endpoint,
        none,
        wants,
        Then::Serves,
    ));
    for (what, lines) in [
        ("gzip", "Transfer-Encoding: gzip\r\n"),
        ("chunked, then gzip", "Transfer-Encoding: chunked, gzip\r\n"),
        (
            "a word that nobody knows",
            "Transfer-Encoding: xchunked\r\n",
        ),
        ("identity", "Transfer-Encoding: identity\r\n"),
        ("nothing", "Transfer-Encoding:\r\n"),
    ] {
        let name = format!("chunks: encoded as {what}");
        let bytes = move || request(endpoint, lines, "2\r\n{}\r\n0\r\n\r\n");
        rows.push(Bad::bytes(
            &name,
            endpoint,
            bytes,
            vec![Want::Status(400)],
            Then::Closes,
        ));
    }
    let both = move || {
        request(
            endpoint,
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        )
    };
    let wants = vec![Want::says(400, "kind is \"\"")];
    rows.push(Bad::bytes(
        "chunks: beside a length",
        endpoint,
        both,
        wants,
        Then::Closes,
    ));
    let old = move || {
        let request = request(endpoint, chunked, "2\r\n{}\r\n0\r\n\r\n");
        String::from_utf8(request)
            .unwrap()
            .replace("HTTP/1.1", "HTTP/1.0")
            .into_bytes()
    };
    rows.push(Bad::bytes(
        "chunks: in HTTP/1.0",
        endpoint,
        old,
        vec![Want::Status(400)],
        Then::Closes,
    ));
    rows
}

fn pipelines(endpoint: &'static str) -> Vec<Bad> {
    let path = format!("/{endpoint}");
    let review = move || post(&path, REVIEW.as_bytes());
    let path = format!("/{endpoint}");
    let bad = move || post(&path, b"{]");
    let hundred = {
        let review = review.clone();
        move || review().repeat(100)
    };
    let mixed = {
        let review = review.clone();
        move || [review(), bad(), review(), bad()].concat()
    };
    let unread = {
        let review = review.clone();
        move || {
            let text = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
            [&text[..], &review()].concat()
        }
    };
    let nonsense = move || [&review()[..], b"\x16\x03\x01\x00\x05 HTTP\r\n\r\n"].concat();
    let refused = || Want::says(400, NOT_JSON);
    vec![
        Bad::bytes(
            "pipelined: a hundred",
            endpoint,
            hundred,
            vec![good(); 100],
            Then::Serves,
        ),
        Bad::bytes(
            "pipelined: good and bad in turn",
            endpoint,
            mixed,
            vec![good(), refused(), good(), refused()],
            Then::Serves,
        ),
        Bad::bytes(
            "pipelined: behind a body that nobody reads",
            endpoint,
            unread,
            vec![Want::says(404, "there is nothing at /x")],
            Then::Closes,
        ),
        Bad::bytes(
            "pipelined: nonsense behind a review",
            endpoint,
            nonsense,
            vec![good(), Want::Status(400)],
            Then::Closes,
        ),
    ]
}

fn expectations(endpoint: &'static str) -> Vec<Bad> {
    let length = format!("Content-Length: {}\r\n", REVIEW.len());
    let with = move |line: &str| request(endpoint, &format!("{line}\r\n{length}"), REVIEW);
    let unknown = with.clone();
    let twice = with.clone();
    let another = move || {
        let head = format!(
            "POST /{endpoint} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        );
        head.into_bytes()
    };
    vec![
        Bad::bytes(
            "expects: 100-continue, and does not wait",
            endpoint,
            move || with("Expect: 100-continue"),
            vec![good()],
            Then::Serves,
        ),
        Bad::bytes(
            "expects: what nobody knows",
            endpoint,
            move || unknown("Expect: a-miracle"),
            vec![good()],
            Then::Serves,
        ),
        Bad::bytes(
            "expects: twice",
            endpoint,
            move || twice("Expect: 100-continue\r\nExpect: 100-continue"),
            vec![good()],
            Then::Serves,
        ),
        Bad::bytes(
            "expects: 100-continue for what is refused",
            endpoint,
            another,
            vec![Want::says(415, "text/plain")],
            Then::Closes,
        ),
    ]
}
