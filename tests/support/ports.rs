//! Ports of 127.0.0.1 for programs that are told where to listen, and for places where nothing listens.
//!
//! A port from `bind(0)` is free for anybody once it is given up: as the local end of an outgoing connection, for
//! example. Those of [`Port`] are outside of the ephemeral range, and a locked file keeps each of them, for all test
//! programs on this machine.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

/// Below it are ports of services that a machine may have.
const FIRST: u16 = 10_000;

/// Where the file is that Linux says its ephemeral ports in; others have theirs from 32,768 on at the lowest.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// A port of 127.0.0.1 that nothing else takes for as long as this lives, whether something listens on it or not.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _locked: File,
}

impl Port {
    pub(crate) fn take() -> Self {
        let ephemeral = ephemeral();
        let candidates: Vec<_> = (FIRST..=u16::MAX)
            .filter(|number| !ephemeral.contains(number))
            .collect();
        let directory = std::env::temp_dir().join("transom-test-ports");
        fs::create_dir_all(&directory).unwrap();
        // Programs that run at the same time begin at places of their own.
        let first = std::process::id() as usize * 97;
        (0..candidates.len())
            .map(|step| candidates[(first + step) % candidates.len()])
            .find_map(|number| {
                let locked = File::create(directory.join(number.to_string())).ok()?;
                locked.try_lock().ok()?;
                TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
                Some(Self {
                    number,
                    _locked: locked,
                })
            })
            .unwrap()
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

fn ephemeral() -> RangeInclusive<u16> {
    let Ok(range) = fs::read_to_string(EPHEMERAL) else {
        return 32_768..=u16::MAX;
    };
    let mut numbers = range
        .split_whitespace()
        .map(|number| number.parse().unwrap());
    numbers.next().unwrap()..=numbers.next().unwrap()
}
