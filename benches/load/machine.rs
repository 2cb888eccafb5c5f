//! On what, and when, the figures were taken.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// What a reader must know to compare figures.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) compiler: String,
    pub(crate) processor: String,
    pub(crate) processors: usize,
    /// Of the minute before the first round: what else was running.
    pub(crate) load_average: f64,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap();
        let model = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let model = model.map(|line| line.trim_start_matches([' ', '\t', ':']));
        let load = fs::read_to_string("/proc/loadavg").unwrap();
        Self {
            date: output("date", &["-u", "+%F"]),
            compiler: output("rustc", &["--version"]),
            processor: model.unwrap_or(std::env::consts::ARCH).to_owned(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            load_average: load.split(' ').next().unwrap().parse().unwrap(),
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
