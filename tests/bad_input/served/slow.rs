//! Clients that stop in the middle: each holds the server's patience out, so all of them come at once.

use super::{Bad, Connection, ENDPOINTS, Then, Want};

pub(super) fn rows() -> Vec<Bad> {
    let mut rows = Vec::new();
    for endpoint in ENDPOINTS {
        let head = move |rest: &str| {
            format!(
                "POST /{endpoint} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{rest}"
            )
        };
        let late = || vec![Want::says(408, "the body did not arrive within 10 s")];
        let list = [
            (
                "a body that is shorter than announced",
                "Content-Length: 100\r\n\r\n{}",
                late(),
            ),
            ("no byte of the body", "Content-Length: 100\r\n\r\n", late()),
            (
                "no last chunk",
                "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
                late(),
            ),
            (
                "half a chunk",
                "Transfer-Encoding: chunked\r\n\r\n10\r\n{}",
                late(),
            ),
            (
                "half a chunk's size",
                "Transfer-Encoding: chunked\r\n\r\n1",
                late(),
            ),
            ("half a head", "Content-Le", Vec::new()),
            (
                "a head without its empty line",
                "Content-Length: 2\r\n",
                Vec::new(),
            ),
        ];
        for (what, rest, wants) in list {
            let bytes = move || head(rest).into_bytes();
            let name = format!("stops: {what}");
            rows.push(Bad::bytes(&name, endpoint, bytes, wants, Then::Closes));
        }
    }
    let hello = || b"\x16\x03\x01\x02\x00\x01\x00".to_vec();
    let half = Bad::bytes(
        "stops: half a ClientHello",
        "",
        hello,
        Vec::new(),
        Then::Closes,
    );
    rows.push(half.over(Connection::Tcp));
    let silent = Bad::bytes(
        "stops: a connection without a byte",
        "",
        Vec::new,
        Vec::new(),
        Then::Closes,
    );
    rows.push(silent.over(Connection::Tcp));
    rows
}
