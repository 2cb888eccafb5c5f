//! A million of something: brackets inside each other, keys, elements; and bodies beyond the limit.

use super::{Bad, Connection, ENDPOINTS, Then, UID, Want, post};
use crate::{HEAD, pod_text};

const MILLION: usize = 1_000_000;

pub(super) fn rows() -> Vec<Bad> {
    let all = ENDPOINTS.into_iter();
    all.flat_map(|endpoint| [deep(endpoint), bodies(endpoint)])
        .flatten()
        // Both webhooks read a review alike; without optimisation each of these takes a second.
        .chain(keys("validate"))
        .collect()
}

/// Where something large stands, and what is said of it there.
type Place = (&'static str, Within, fn(&'static str) -> Want);

/// A review with this value in it.
type Within = fn(&str) -> String;

const PLACES: &[Place] = &[
    (
        "the body",
        |value| value.to_owned(),
        |_| Want::says(400, ""),
    ),
    (
        "the request",
        |value| format!(r#"{{{HEAD},"request":{{"uid":"{UID}","ignored":{value}}}}}"#),
        |_| Want::allowed(),
    ),
    (
        "a field that nobody reads",
        |value| pod_text(&format!(r#""ignored":{value}"#)),
        |_| Want::Without("must be".to_owned()),
    ),
    (
        "a field of which only presence is read",
        |value| {
            pod_text(&format!(
                r#""securityContext":{{"seLinuxOptions":{value}}}"#
            ))
        },
        |_| Want::Without("must be".to_owned()),
    ),
    (
        "a field that is read",
        |value| pod_text(&format!(r#""hostNetwork":{value}"#)),
        |endpoint| Want::unreadable(endpoint, "spec.hostNetwork: must be true or false"),
    ),
    (
        "the old object",
        |value| {
            pod_text("").replace(
                "\"oldObject\":null",
                &format!(r#""oldObject":{{"spec":{{"ignored":{value}}}}}"#),
            )
        },
        |_| Want::Without("must be".to_owned()),
    ),
];

/// A million brackets, each in the one before.
fn deep(endpoint: &'static str) -> Vec<Bad> {
    let brackets = [("lists", "[", "]"), ("objects", r#"{"a":"#, "}")];
    let pairs = PLACES
        .iter()
        .flat_map(|place| brackets.map(|brackets| (place, brackets)));
    pairs
        .map(|((place, within, want), (what, open, close))| {
            let body = move || {
                let value = format!("{}1{}", open.repeat(MILLION), close.repeat(MILLION));
                within(&value).into_bytes()
            };
            let name = format!("nesting: a million {what} in {place}");
            Bad::body(&name, endpoint, body, want(endpoint))
        })
        .collect()
}

/// A million keys, and as many as are too many of those that are kept.
fn keys(endpoint: &'static str) -> Vec<Bad> {
    let map = |count: usize, value: &str| {
        let members: Vec<_> = (0..count).map(|i| format!("\"{i:x}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let mut rows: Vec<_> = PLACES
        .iter()
        .map(|(place, within, want)| {
            let body = move || within(&map(MILLION, "0")).into_bytes();
            let name = format!("keys: a million in {place}");
            Bad::body(&name, endpoint, body, want(endpoint))
        })
        .collect();
    let kept: [(&str, Within); 3] = [
        ("the node selector", |value| {
            pod_text("").replace(r#"{"kubernetes.io/os":"windows"}"#, value)
        }),
        ("the limits of a container", |value| {
            pod_text(&format!(
                r#""containers":[{{"resources":{{"limits":{value}}}}}]"#
            ))
        }),
        ("the labels", |value| {
            pod_text("").replace(
                r#""metadata":{"#,
                &format!(r#""metadata":{{"labels":{value},"#),
            )
        }),
    ];
    for (place, within) in kept {
        let body = move || within(&map(MILLION, "\"\"")).into_bytes();
        let want = match place {
            "the node selector" => Want::unreadable(endpoint, "hold more than 65536 fields"),
            _ => Want::Without("must be".to_owned()),
        };
        let name = format!("keys: a million in {place}");
        rows.push(Bad::body(&name, endpoint, body, want));
    }
    let lists: [(&str, &str, &str); 4] = [
        ("containers", "{}", "hold more than 65536 fields"),
        ("volumes", "{}", "hold more than 65536 fields"),
        (
            "tolerations",
            r#"{"key":"a"}"#,
            "hold more than 65536 fields",
        ),
        ("containers", "null", ""),
    ];
    for (field, element, says) in lists {
        let body = move || {
            let list = vec![element; MILLION].join(",");
            pod_text(&format!("{field:?}:[{list}]")).into_bytes()
        };
        let want = match says {
            "" => Want::Without("must be".to_owned()),
            says => Want::unreadable(endpoint, says),
        };
        let name = format!("keys: a million of {element} in {field}");
        rows.push(Bad::body(&name, endpoint, body, want));
    }
    let repeated = || {
        let members = vec![r#""hostNetwork":true"#; 100_000].join(",");
        pod_text(&members).into_bytes()
    };
    let want = Want::unreadable(endpoint, "spec.hostNetwork: stands there twice");
    rows.push(Bad::body(
        "keys: one of them 100,000 times",
        endpoint,
        repeated,
        want,
    ));
    rows
}

/// More bytes than the program takes, announced and not.
fn bodies(endpoint: &'static str) -> Vec<Bad> {
    let path = format!("/{endpoint}");
    let says = || vec![Want::says(413, "the body is larger than 16777216 bytes")];
    let announced = {
        let path = path.clone();
        move || post(&path, &vec![b' '; (16 << 20) + 1])
    };
    let only_announced = {
        let path = path.clone();
        move || {
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000000000000000\r\n\r\n").into_bytes()
        }
    };
    let chunked = move || {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
        [head.into_bytes(), chunk.repeat(257)].concat()
    };
    vec![
        Bad::bytes(
            "too large: a byte more than is taken",
            endpoint,
            announced,
            says(),
            Then::Closes,
        ),
        Bad::bytes(
            "too large: 10^18 bytes announced",
            endpoint,
            only_announced,
            says(),
            Then::Closes,
        )
        .over(Connection::HttpsThenEnd),
        Bad::bytes(
            "too large: chunks without end",
            endpoint,
            chunked,
            says(),
            Then::Closes,
        )
        .over(Connection::HttpsThenEnd),
    ]
}
