//! `transom serve` as a program of its own, and its log.

// Each test crate uses its own part, and outside of a test function clippy does not see a test.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::PATIENCE;
use crate::program::transom;

/// A running `transom serve` in a directory of its own.
pub(crate) struct Serve {
    pub(crate) directory: TempDir,
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
    log: mpsc::Receiver<Value>,
}

impl Serve {
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::start_with(flags, &[])
    }

    /// With environment variables.
    pub(crate) fn start_with(flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut program = transom(directory.path());
        program.envs(environment.iter().copied());
        Self::start_as(directory, program, flags)
    }

    /// This program, in a directory of its own: it is given the arguments.
    pub(crate) fn start_as(directory: TempDir, mut program: Command, flags: &[&str]) -> Self {
        let mut child = program
            .arg("serve")
            .args(["--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0"])
            .args(["--log-format", "json"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        let ready = wait_for(&log, "ready:");
        let address = |name: &str| ready[name].as_str().unwrap().parse().unwrap();
        Self {
            directory,
            child,
            address: address("address"),
            admin_address: address("admin_address"),
            log,
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let kill = Command::new("kill").args(["-s", name, &id]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for a line with this text, and returns it.
    pub(crate) fn wait_for_log(&self, text: &str) -> Value {
        wait_for(&self.log, text)
    }

    /// The messages that have come since somebody looked last.
    pub(crate) fn log_so_far(&self) -> Vec<String> {
        let message = |event: Value| event["message"].as_str().unwrap_or_default().to_owned();
        self.log.try_iter().map(message).collect()
    }

    /// The messages before the next one with this text.
    pub(crate) fn log_until(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let event = self.log.recv_timeout(PATIENCE).unwrap();
            let message = event["message"].as_str().unwrap_or_default();
            if message.contains(text) {
                return lines;
            }
            lines.push(message.to_owned());
        }
    }

    pub(crate) fn end(self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        self.wait()
    }

    /// The exit code and what was on stdout.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for(log: &mpsc::Receiver<Value>, text: &str) -> Value {
    loop {
        let event = log.recv_timeout(PATIENCE).unwrap();
        if event["message"].as_str().unwrap_or_default().contains(text) {
            return event;
        }
    }
}
