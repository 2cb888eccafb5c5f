//! The servers under measurement, each a process of its own, and what the kernel says of it.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::proc;

/// In the environment of the null server: where its certificate is.
pub(crate) const NULL: &str = "TRANSOM_LOAD_NULL";

/// In its environment as well: that it reads the whole body as JSON.
pub(crate) const WALK: &str = "TRANSOM_LOAD_WALK";

/// What is measured against what.
pub(crate) struct Programs {
    /// Transom.
    pub(crate) transom: PathBuf,
    /// Whether the null server reads the whole body as JSON.
    pub(crate) walk: bool,
}

/// The two that have their turns, in the order of all pairs in this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Null,
    Transom,
}

pub(crate) const BOTH: [Which; 2] = [Which::Null, Which::Transom];

/// A server that has said that it is ready. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
}

impl Process {
    /// Starts one with the pair in this directory; with one worker thread, or as many as it wants.
    pub(crate) fn start(
        programs: &Programs,
        which: Which,
        directory: &Path,
        workers: Option<usize>,
    ) -> Self {
        let mut command = match which {
            Which::Null => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.env(NULL, directory);
                if programs.walk {
                    command.env(WALK, "");
                }
                command
            }
            Which::Transom => {
                let mut command = Command::new(&programs.transom);
                for (name, _) in std::env::vars() {
                    if name.starts_with("TRANSOM_") {
                        command.env_remove(name);
                    }
                }
                command
                    .args(["serve", "--bind", "127.0.0.1:0"])
                    .args(["--admin-bind", "127.0.0.1:0", "--log-format", "json"])
                    .arg("--tls-cert-file")
                    .arg(directory.join("tls.crt"))
                    .arg("--tls-private-key-file")
                    .arg(directory.join("tls.key"));
                command
            }
        };
        if let Some(workers) = workers {
            command.env("TOKIO_WORKER_THREADS", workers.to_string());
        }
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let ready = wait_until_ready(&mut log);
        // Denials are logged: whoever does not read them would stop the server.
        std::thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        let address = |name: &str| ready[name].as_str().unwrap().parse().unwrap();
        Self {
            address: address("address"),
            admin_address: address("admin_address"),
            child,
        }
    }

    /// The CPU time that all its threads have taken so far.
    pub(crate) fn cpu(&self) -> Duration {
        cpu(&self.child.id().to_string())
    }

    /// Its memory in bytes: now, and at most so far.
    pub(crate) fn memory(&self) -> [f64; 2] {
        let kilobytes = |name| proc::kilobytes(self.child.id(), name).unwrap();
        ["VmRSS", "VmHWM"].map(|name| kilobytes(name) as f64 * 1024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of a process, by its id or `self`, in nanoseconds: /proc/PID/stat only counts ticks of 10 ms.
pub(crate) fn cpu(id: &str) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

fn wait_until_ready(log: &mut impl BufRead) -> Value {
    let mut lines = String::new();
    loop {
        let begin = lines.len();
        if log.read_line(&mut lines).unwrap() == 0 {
            panic!("the server ended before it was ready:\n{lines}");
        }
        let line: Value = serde_json::from_str(&lines[begin..]).unwrap_or_default();
        if line["message"]
            .as_str()
            .unwrap_or_default()
            .starts_with("ready:")
        {
            return line;
        }
    }
}
