//! What went wrong between us and the API server, in words that say what to do.

use anyhow::{Error, anyhow};
use kube::Error as KubeError;

/// The status that the API server answered with, if it answered.
#[must_use]
pub fn code(error: &KubeError) -> Option<u16> {
    match error {
        KubeError::Api(status) => Some(status.code),
        _ => None,
    }
}

/// A sentence about a failed request: which verb, on what.
#[must_use]
pub fn trouble(error: KubeError, verb: &str, kind: &str, name: &str) -> Error {
    let what = format!("cannot {verb} {kind} {name}");
    match error {
        KubeError::Api(status) if status.code == 403 => anyhow!(
            "{what}: {}: give the ServiceAccount that right (the chart does, with rbac.create)",
            status.message
        ),
        KubeError::Api(status) => anyhow!("{what}: {}", status.message),
        KubeError::Service(error) => anyhow!("{what}: {}", innermost(error.as_ref())),
        error => Error::new(error).context(what),
    }
}

/// Where no connection came about, only the last of many sources says why.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    format!("the API server cannot be reached: {last}")
}
