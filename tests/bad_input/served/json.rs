//! Text that is no text, or spelt oddly: UTF-8, surrogates, escapes, numbers, and reviews that are cut off.

use super::{Bad, ENDPOINTS, Then, UID, Want, post};
use crate::common::recording;
use crate::{pod_text, review_text};

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| {
        [
            utf8(endpoint),
            surrogates(endpoint),
            escapes(endpoint),
            numbers(endpoint),
            cuts(endpoint),
        ]
    })
    .flatten()
    .collect()
}

/// The pod's text with a mark in it, which is these bytes then.
fn with(mark: &'static str, bytes: &'static [u8]) -> impl Fn() -> Vec<u8> + Send + 'static {
    move || {
        let text = pod_text(r#""nodeName":"VALUE","KEY":1,"ignored":"IGNORED""#);
        let text = text.replace("\"jane\"", "\"USER\"").replace(UID, "UID");
        let at = text.find(mark).unwrap();
        let end = &text.as_bytes()[at + mark.len()..];
        let text = [&text.as_bytes()[..at], bytes, end].concat();
        // The uid stays, unless it is what is changed.
        let place = text.windows(3).position(|three| three == b"UID");
        match place {
            Some(at) => [&text[..at], UID.as_bytes(), &text[at + 3..]].concat(),
            None => text,
        }
    }
}

fn utf8(endpoint: &'static str) -> Vec<Bad> {
    let bad: [(&str, &[u8]); 7] = [
        ("a stray continuation", b"\x80"),
        ("half a character", b"\xc3"),
        ("an overlong slash", b"\xc0\xaf"),
        ("a surrogate", b"\xed\xa0\x80"),
        ("beyond Unicode", b"\xf4\x90\x80\x80"),
        ("five bytes", b"\xf8\x88\x80\x80\x80"),
        ("a byte of 0xff", b"\xff"),
    ];
    let places = ["VALUE", "KEY", "IGNORED", "USER", "UID"];
    let pairs = places
        .into_iter()
        .flat_map(|place| bad.map(|bad| (place, bad)));
    pairs
        .map(|(place, (what, bytes))| {
            let name = format!("invalid UTF-8: {what} in {}", place.to_lowercase());
            let want = Want::says(400, "the body is not UTF-8 from byte ");
            Bad::body(&name, endpoint, with(place, bytes), want)
        })
        .collect()
}

fn surrogates(endpoint: &'static str) -> Vec<Bad> {
    let bad: [(&str, &[u8]); 4] = [
        ("a leading one", br"\ud800"),
        ("a trailing one", br"\udc00"),
        ("two leading ones", br"\ud800\ud800"),
        ("a leading one before a letter", br"\ud83dx"),
    ];
    let places = ["VALUE", "KEY", "IGNORED", "USER", "UID"];
    let pairs = places
        .into_iter()
        .flat_map(|place| bad.map(|bad| (place, bad)));
    pairs
        .map(|(place, (what, bytes))| {
            let name = format!("lone surrogate: {what} in {}", place.to_lowercase());
            // What nobody reads is not looked into.
            let want = match place {
                "IGNORED" => accepted(endpoint),
                _ => Want::says(400, "the body is not JSON: "),
            };
            Bad::body(&name, endpoint, with(place, bytes), want)
        })
        .collect()
}

/// The pod is a Windows pod: /validate has nothing against it, /mutate adds to it.
fn accepted(endpoint: &str) -> Want {
    match endpoint {
        "mutate" => Want::Without("must be".to_owned()),
        _ => Want::allowed(),
    }
}

fn escapes(endpoint: &'static str) -> Vec<Bad> {
    let escaped = || {
        let text = pod_text(r#""host\u004eetwork":true"#);
        text.replace("\"uid\"", "\"\\u0075id\"").into_bytes()
    };
    let all = || {
        let text = pod_text(r#""hostNetwork":true"#);
        let spelt = text.replace("hostNetwork", &spelt("hostNetwork"));
        spelt
            .replace("request", &self::spelt("request"))
            .into_bytes()
    };
    let twice = || pod_text(r#""hostNetwork":false,"host\u004eetwork":true"#).into_bytes();
    let denied = |text: &str| match endpoint {
        "mutate" => Want::Without("must be".to_owned()),
        _ => Want::Denied(text.to_owned()),
    };
    vec![
        Bad::body(
            "escaped key: one letter",
            endpoint,
            escaped,
            denied("WIN201"),
        ),
        Bad::body("escaped key: every letter", endpoint, all, denied("WIN201")),
        Bad::body(
            "escaped key: the same key as another",
            endpoint,
            twice,
            Want::unreadable(endpoint, "spec.hostNetwork: stands there twice"),
        ),
    ]
}

/// The word with all of its letters escaped.
fn spelt(word: &str) -> String {
    word.bytes().map(|byte| format!("\\u{byte:04x}")).collect()
}

fn numbers(endpoint: &'static str) -> Vec<Bad> {
    let digits: &'static str = Box::leak("9".repeat(100_000).into_boxed_str());
    let list = [
        ("1e400", "1e400"),
        ("-1e400", "-1e400"),
        ("100,000 digits", digits),
        ("an exponent of 20 digits", "1e99999999999999999999"),
        ("2^64", "18446744073709551616"),
        ("-0.0", "-0.0"),
    ];
    let fields = ["ignored", "hostNetwork", "terminationGracePeriodSeconds"];
    let pairs = fields
        .into_iter()
        .flat_map(|field| list.map(|number| (field, number)));
    pairs
        .map(|(field, (what, number))| {
            let name = format!("huge number: {what} in {field}");
            let is_too_large = number.contains("e4") || number.contains("e9") || number.len() > 400;
            let want = match field {
                "hostNetwork" if !is_too_large => {
                    Want::unreadable(endpoint, "spec.hostNetwork: must be true or false")
                }
                "ignored" => accepted(endpoint),
                _ if is_too_large => Want::says(400, "the body is not JSON: "),
                _ => Want::Without("must be".to_owned()),
            };
            let body = move || pod_text(&format!("{field:?}:{number}")).into_bytes();
            Bad::body(&name, endpoint, body, want)
        })
        .collect()
}

/// A review is one at its last byte and not before.
fn cuts(endpoint: &'static str) -> Vec<Bad> {
    let review = || review_text(r#"{"spec":{"os":{"name":"windows"},"containers":[]}}"#);
    let length = review().len();
    let path = format!("/{endpoint}");
    let all = move || {
        let review = review();
        let cut = |end| post(&path, &review.as_bytes()[..end]);
        (0..length).flat_map(cut).collect()
    };
    let wants = vec![Want::says(400, "the body is not JSON: "); length];
    let mut rows = vec![Bad::bytes(
        "cut off: at every byte",
        endpoint,
        all,
        wants,
        Then::Serves,
    )];
    // In a field of its own, where a reader might take what is there for enough.
    let large = || recording("pod-create-winos-c-capabilities.mutating");
    let length = large().trim_ascii_end().len();
    for (what, end) in [
        ("one byte from its end", length - 1),
        ("half of it", length / 2),
    ] {
        let name = format!("cut off: a recorded review, {what}");
        let body = move || large()[..end].to_vec();
        let want = Want::says(400, "the body is not JSON: ");
        rows.push(Bad::body(&name, endpoint, body, want));
    }
    rows
}
