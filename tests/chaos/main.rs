//! Faults on purpose, against the program itself under load: what must not fail does not.
//!
//! `cargo test --test chaos` runs a short form of each scenario, `just chaos` the full one, of the release build;
//! both take a part of a name. docs/reliability.md says what each promises and has the figures. Totals and failures
//! are printed. Promises are about failures: of time only ratios within one run count, and those are printed, too.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // A test, whose functions clippy does not know as such.

use std::process::ExitCode;

#[cfg(unix)]
#[path = "../support/apiserver.rs"]
mod apiserver;
#[cfg(unix)]
#[path = "../../benches/bodies/mod.rs"]
mod bodies;
#[cfg(unix)]
mod certificates;
#[cfg(unix)]
#[path = "../support/client.rs"]
mod client;
#[cfg(unix)]
mod clock;
#[cfg(unix)]
mod configuration;
#[cfg(unix)]
mod connections;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod logs;
#[cfg(unix)]
#[path = "../support/mount.rs"]
mod mount;
#[cfg(unix)]
mod overload;
#[cfg(unix)]
mod pauses;
#[cfg(unix)]
#[path = "../support/proc.rs"]
mod proc;
#[cfg(unix)]
#[path = "../support/program.rs"]
mod program;
#[cfg(unix)]
mod replica;
#[cfg(unix)]
mod restarts;
#[cfg(unix)]
mod scenario;
#[cfg(unix)]
#[path = "../support/serve.rs"]
mod serve;
#[cfg(unix)]
mod soak;

#[cfg(unix)]
fn main() -> ExitCode {
    scenario::run()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    println!("SKIPPED: chaos: signals and limits are those of Unix; run it on Linux");
    ExitCode::SUCCESS
}
