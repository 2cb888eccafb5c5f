//! The whole server under load, over HTTPS, beside a *null* server of the same libraries that reads
//! the body, finds the uid and allows: what Transom costs beyond the bytes on the wire.
//!
//! Both are processes of their own (`process`), this one is their client (`client`). They have their
//! turns in short rounds, and what is told are medians of the ratios of a round, so that the mood of
//! the machine drops out. `just bench` runs it; `just bench --bench load -- --docs` writes what is in `docs/`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report
#![allow(clippy::print_stdout, clippy::print_stderr)] // it is what the program is for

#[path = "../bodies/mod.rs"]
mod bodies;
#[path = "../../tests/support/proc.rs"]
mod proc;
#[path = "../../tests/support/client.rs"]
mod support;

mod client;
mod machine;
mod measure;
mod null;
mod plot;
mod process;
mod report;
mod request;
mod rounds;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use measure::Plan;
use process::Programs;

/// Transom under load, beside a server of the same libraries that decides nothing.
#[derive(Parser)]
struct Args {
    /// Short rounds and few of them, to see that it works
    #[arg(long)]
    quick: bool,
    /// Write the tables into docs/performance.md, and docs/load.svg and docs/load.json
    #[arg(long, conflicts_with_all = ["body", "program", "walk"])]
    docs: bool,
    /// Another build of Transom
    #[arg(long, default_value = env!("CARGO_BIN_EXE_transom"), hide_default_value = true)]
    program: PathBuf,
    /// Have the null server read each body as JSON, too
    #[arg(long)]
    walk: bool,
    /// Throughput and latency of the bodies with this in their names, and nothing else
    body: Option<String>,
    /// What cargo gives to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    if let Some(directory) = std::env::var_os(process::NULL) {
        let walk = std::env::var_os(process::WALK).is_some();
        null::serve(directory.as_ref(), walk);
        return ExitCode::SUCCESS;
    }
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: load: CPU time and memory of the servers are read from Linux' /proc");
        return ExitCode::SUCCESS;
    }
    let args = Args::parse();
    let plan = match args.quick {
        true => Plan::QUICK,
        false => Plan::FULL,
    };
    let programs = Programs {
        transom: args.program,
        walk: args.walk,
    };
    let runtime = client::runtime();
    if let Some(body) = args.body {
        let closed = runtime.block_on(measure::named(&plan, &programs, &body));
        println!("{}", report::closed(&closed));
        return ExitCode::SUCCESS;
    }
    let results = runtime.block_on(measure::all(&plan, &programs));
    let text = report::markdown(&results);
    println!("{text}");
    report::write(&results, &text, args.docs);
    ExitCode::SUCCESS
}
