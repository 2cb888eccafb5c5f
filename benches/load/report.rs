//! The figures as tables, as JSON, and in the documentation.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::measure::{Closed, Open, Percentiles, Results};
use crate::plot;

/// The part of docs/performance.md that is written by this program.
const BEGIN: &str = "<!-- Written by `just bench --bench load -- --docs`: begin -->\n";
const END: &str = "<!-- end -->\n";

pub(crate) fn markdown(results: &Results) -> String {
    let Results {
        machine,
        closed,
        open,
        memory: [null, transom],
        start,
        handshakes,
    } = results;
    let mut out = throughput(closed) + &latencies(closed, open);
    let megabytes = |bytes: f64| bytes / 1e6;
    let _ = writeln!(
        out,
        "\n| | Transom | null |\n|---|---:|---:|\n\
         | resident memory, idle, MB | {:.1} | {:.1} |\n\
         | at most, with 16 bodies of 3.4 MB at once, MB | {:.1} | {:.1} |\n\
         | from the start of the process to the first answer, ms | {:.1} | {:.1} |\n\
         | full TLS 1.3 handshakes a second (ECDSA P-256, one worker, one client) | {:.0} | {:.0} |\n\
         | CPU of a handshake, with accepting and closing, µs | {:.0} | {:.0} |",
        megabytes(transom.idle),
        megabytes(null.idle),
        megabytes(transom.loaded),
        megabytes(null.loaded),
        start.transom,
        start.null,
        handshakes.a_second.transom,
        handshakes.a_second.null,
        handshakes.cpu.transom,
        handshakes.cpu.null,
    );
    let _ = writeln!(
        out,
        "\n({}, {}, {} × {}, load average before it {:.1}.)",
        machine.date, machine.compiler, machine.processors, machine.processor, machine.load_average
    );
    out
}

/// What the closed loops came to.
pub(crate) fn closed(closed: &[Closed]) -> String {
    throughput(closed) + &latencies(closed, &[])
}

fn throughput(closed: &[Closed]) -> String {
    let mut out = String::from(
        "| body | kB | connections | requests/s | null | ÷ null | CPU µs | null | ÷ null | client's |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in closed {
        let Closed {
            body,
            kilobytes,
            connections,
            throughput,
            cpu,
            client_cpu,
            latency: _,
            handler_p99: _,
        } = row;
        let _ = writeln!(
            out,
            "| {body} | {kilobytes:.1} | {connections} | {:.0} | {:.0} | {:.2} | {:.1} | {:.1} | {:.2} | {:.1} |",
            throughput.transom,
            throughput.null,
            throughput.ratio,
            cpu.transom,
            cpu.null,
            cpu.ratio,
            client_cpu.transom,
        );
    }
    out
}

fn latencies(closed: &[Closed], open: &[Open]) -> String {
    let mut out = String::from(
        "\n| milliseconds | connections | p50 | p99 | p99.9 | null p50 | p99 | p99.9 | handler p99 |\n\
            |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in closed {
        let (body, connections) = (&row.body, row.connections);
        let latency = cells(&row.latency);
        let p99 = row.handler_p99;
        let _ = writeln!(out, "| {body} | {connections} | {latency} | ≤ {p99} |");
    }
    for row in open {
        let Open {
            body,
            connections,
            rate,
            latency,
            kilobytes: _,
        } = row;
        let latency = cells(latency);
        let _ = writeln!(
            out,
            "| {body}, {rate} requests/s | {connections} | {latency} | |"
        );
    }
    out
}

/// Transom's percentiles, then the null server's.
fn cells([null, transom]: &[Percentiles; 2]) -> String {
    let cells = [transom, null]
        .map(|Percentiles { p50, p99, p999 }| format!("{p50:.2} | {p99:.2} | {p999:.2}"));
    cells.join(" | ")
}

/// Into the target directory; with `docs` into the documentation, too.
pub(crate) fn write(results: &Results, text: &str, docs: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let json = serde_json::to_string_pretty(results).unwrap() + "\n";
    let directory = if docs {
        let page = root.join("docs/performance.md");
        let old = fs::read_to_string(&page).unwrap();
        let (before, rest) = old.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        fs::write(page, format!("{before}{BEGIN}{text}{END}{after}")).unwrap();
        root.join("docs")
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
    };
    fs::write(directory.join("load.json"), json).unwrap();
    plot::write(&results.closed, &directory.join("load.svg"));
    eprintln!("written: load.json and load.svg in {}", directory.display());
}
