//! How many connections the operating system lets us have: each takes a file descriptor.
//!
//! Without one left, nothing is accepted: no review, and no probe either, so that a kubelet would end a server that
//! only has too many clients. Asked by `transom serve` before it binds.

use super::PROBES;

/// Kept for everything but reviews: listeners, log, files, the API server, and all probes that are let in at a time.
const RESERVED: u64 = 64 + PROBES as u64;

/// As many of the wanted connections as there are descriptors for, once the soft limit is as high as it may be. The
/// log says it if they are fewer.
pub fn connections(wanted: u32) -> u32 {
    let Some(limit) = raised() else {
        return wanted;
    };
    let left = u32::try_from(left(limit)).unwrap_or(u32::MAX);
    if left < wanted {
        tracing::warn!(
            limit,
            "--max-connections {wanted} is more than the file descriptors allow: {left} are served at a time; raise \
             the limit (ulimit -n), or lower the flag"
        );
    }
    left.min(wanted)
}

/// Of very few, half.
fn left(limit: u64) -> u64 {
    limit - RESERVED.min(limit / 2)
}

/// Raises the soft limit to the hard one; what it is now, if there is any.
#[cfg(unix)]
fn raised() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(not(unix))]
fn raised() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_both() {
        for (limit, connections) in [(1, 1), (2, 1), (64, 32), (1024, 896), (1 << 20, 1_048_448)] {
            assert_eq!(left(limit), connections);
        }
    }
}
