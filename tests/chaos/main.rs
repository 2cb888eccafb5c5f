//! Faults on purpose, against the program itself under load: what must not fail does not.
//!
//! `cargo test --test chaos` runs a short form of each scenario, `just chaos` the full one, of the release build;
//! both take a part of a name. docs/reliability.md says what each promises and has the figures. Totals and failures
//! are printed. Promises are about failures: of time only ratios within one run count, and those are printed, too.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // A test, whose functions clippy does not know as such.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[path = "../support/apiserver.rs"]
mod apiserver;
#[cfg(target_os = "linux")]
#[path = "../../benches/bodies/mod.rs"]
mod bodies;
#[cfg(target_os = "linux")]
mod certificates;
#[cfg(target_os = "linux")]
#[path = "../support/client.rs"]
mod client;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod configuration;
#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
#[path = "../support/hostile.rs"]
mod hostile;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod logs;
#[cfg(target_os = "linux")]
#[path = "../support/mount.rs"]
mod mount;
#[cfg(target_os = "linux")]
mod overload;
#[cfg(target_os = "linux")]
mod pauses;
#[cfg(target_os = "linux")]
#[path = "../support/proc.rs"]
mod proc;
#[cfg(target_os = "linux")]
#[path = "../support/program.rs"]
mod program;
#[cfg(target_os = "linux")]
mod replica;
#[cfg(target_os = "linux")]
mod restarts;
#[cfg(target_os = "linux")]
mod scenario;
#[cfg(target_os = "linux")]
#[path = "../support/serve.rs"]
mod serve;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod strangers;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    scenario::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("SKIPPED: chaos: its signals, limits and devices are those of Linux; run it there");
    ExitCode::SUCCESS
}
