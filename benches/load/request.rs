//! What is sent: reviews of the sizes that are measured, as whole HTTP requests.

use std::sync::Arc;

use transom::decision::Endpoint;

use crate::bodies;
use crate::support::post;

/// A request, ready to be written.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) kilobytes: f64,
    pub(crate) bytes: Vec<u8>,
}

/// A Windows pod that is allowed, of about so many bytes: containers with environment variables.
pub(crate) fn sized(name: &str, bytes: usize) -> Arc<Request> {
    request(name, Endpoint::Validate, &bodies::sized(bytes))
}

/// One of the bodies of the other benchmarks.
pub(crate) fn named(name: &'static str) -> Arc<Request> {
    let body = bodies::of(name);
    request(name, body.endpoint, &body.json[0])
}

fn request(name: &str, endpoint: Endpoint, body: &[u8]) -> Arc<Request> {
    let path = format!("/{}?timeout=10s", endpoint.name());
    let body = std::str::from_utf8(body).unwrap();
    Arc::new(Request {
        name: name.to_owned(),
        kilobytes: body.len() as f64 / 1e3,
        bytes: post(&path, body).into_bytes(),
    })
}
