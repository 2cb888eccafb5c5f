//! What the operating system tells of a process of ours, where there is /proc.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::time::Duration;

/// Kilobytes: `VmRSS` in memory now, `VmHWM` at most so far, `VmSize` of addresses. `None` once it has ended.
pub(crate) fn kilobytes(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.strip_prefix(':')?
        .trim()
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// How many files and sockets it holds.
pub(crate) fn descriptors(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

/// How long it has been computing so far. Linux tells it in hundredths of a second.
pub(crate) fn cpu(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The same in nanoseconds, as the scheduler counts it for each thread. Threads that have ended do
/// not count: a Go program keeps its threads.
pub(crate) fn cpu_nanoseconds(id: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let spent = threads.filter_map(|thread| {
        let statistics = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        statistics.split(' ').next()?.parse::<u64>().ok()
    });
    spent.sum()
}
