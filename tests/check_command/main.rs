//! `transom check`, run as a user runs it: files in, findings and exit code out.
//!
//! Not here: what is found (`tests/check`), and how the formats look.
#![allow(clippy::unwrap_used)] // Outside of a test function clippy does not see a test.

mod directories;
mod exit;
mod fix;
#[cfg(unix)]
mod hostile;
mod input;
#[cfg(unix)]
mod planted;
mod plugin;
#[path = "../support/program.rs"]
mod program;
mod settings;
mod subjects;
#[cfg(unix)]
mod terminal;
mod written;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The cluster refuses it: WIN101 in line 9.
const DENIED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      securityContext:
        runAsUser: 1000
      containers: [{name: main, image: app}]
";

/// The cluster warns of it: WIN302 in line 9.
const WARNED: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  os: {name: windows}
  containers:
  - name: main
    image: app
    volumeMounts: [{name: a, mountPath: 'C:\\a', mountPropagation: HostToContainer}]
";

/// The cluster repairs it: WIN112 in line 8.
const REPAIRED: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  containers:
  - name: main
    image: app:ltsc2022
    securityContext: {allowPrivilegeEscalation: false}
";

/// Nothing is wrong with it, as nothing says that it is for Windows; if it were, WIN101 in line 5.
const UNMARKED: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: linux}
spec:
  securityContext: {runAsUser: 1000}
  containers: [{name: main, image: app}]
";

/// A directory with files, and the program in it.
struct Place(TempDir);

struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        // No configuration and no .gitignore of whoever runs the tests.
        fs::create_dir(place.path(".git")).unwrap();
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a named pipe.
    #[cfg(unix)]
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        path
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// `transom check`, with a line for each finding.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = program::transom(self.0.path());
        command.args(["check", "-o", "concise"]).args(args);
        command
    }

    fn check(&self, args: &[&str]) -> Outcome {
        Outcome::of(&self.command(args).output().unwrap())
    }

    /// The same, as the arguments say.
    fn plain(&self, args: &[&str]) -> Outcome {
        let mut command = program::transom(self.0.path());
        Outcome::of(&command.arg("check").args(args).output().unwrap())
    }

    fn check_stdin(&self, stdin: &str, args: &[&str]) -> Outcome {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(stdin.as_bytes()).unwrap();
        drop(pipe);
        Outcome::of(&child.wait_with_output().unwrap())
    }
}

impl Outcome {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// `file:line severity CODE`, or for what cannot be read `file error`, without the notes.
    fn found(&self) -> Vec<String> {
        let lines = self.stdout.lines();
        let lines = lines.filter(|line| !line.contains(": note: "));
        lines
            .map(|line| {
                let (place, told) = line.split_once(": ").unwrap();
                let mut place = place.split(':');
                let file = place.next().unwrap();
                match told.strip_prefix("error: ") {
                    Some(_) => format!("{file} error"),
                    None => {
                        let line = place.next().unwrap();
                        let words: Vec<_> = told.split(' ').take(2).collect();
                        format!("{file}:{line} {}", words.join(" "))
                    }
                }
            })
            .collect()
    }

    fn codes(&self) -> Vec<String> {
        let found = self.found();
        let codes = found.iter().map(|line| line.rsplit(' ').next().unwrap());
        codes.map(str::to_owned).collect()
    }

    /// The job could not be done, and this is why.
    fn refused(&self, words: &[&str]) {
        assert_eq!(self.code, 2, "{}", self.stderr);
        assert_eq!(self.stdout, "");
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {}", self.stderr);
        }
    }
}
