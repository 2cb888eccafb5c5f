//! A program beside the tests. It ends with the value that stands for it, and with the test process, however
//! that ends.
//!
//! A shell stands between: it holds the other end of a pipe from us, and when that closes, which also the death of
//! our process does, it sends the program a signal.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SHELL: &str = r#"
signal=$1; shift
exec 3<&0
"$@" </dev/null 3<&- & program=$!
{ read -r _ <&3; kill -s "$signal" "$program" 2>/dev/null; } & guard=$!
exec 3<&-
wait "$program"; code=$?
kill "$guard" 2>/dev/null
exit "$code"
"#;

pub(crate) struct Process {
    name: String,
    shell: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program, of which `command` says the arguments and the environment; its output goes to the file
    /// NAME.log of `directory`. It will be ended by this signal.
    pub(crate) fn start(directory: &Path, name: &str, program: &Command, signal: &str) -> Self {
        let log = directory.join(format!("{name}.log"));
        let output = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let mut command = Command::new("sh");
        let environment = program.get_envs();
        command
            .args(["-c", SHELL, "sh", signal])
            .arg(program.get_program())
            .args(program.get_args())
            .envs(environment.filter_map(|(key, value)| Some((key, value?))))
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        // A terminal's interrupt is for us alone; the pipe tells the rest.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let shell = command.spawn().unwrap();
        let name = name.to_owned();
        Self { name, shell, log }
    }

    /// The ID of the program's process, which is a child of the shell.
    pub(crate) fn id(&self) -> u32 {
        let shell = self.shell.id();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).unwrap();
        let children = children.split_whitespace().map(|id| id.parse().unwrap());
        let name = |id: u32| std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap();
        children
            .into_iter()
            .find(|id| name(*id).trim_end() == self.name)
            .unwrap()
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    /// Panics with the end of its log if it has ended by itself.
    pub(crate) fn must_run(&mut self) {
        if let Some(status) = self.shell.try_wait().unwrap() {
            panic!("{} ended ({status}):\n{}", self.name, self.end_of_log());
        }
    }

    pub(crate) fn end_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Sends the signal that it was started with and waits; the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.close()
    }

    fn close(&mut self) -> Option<i32> {
        drop(self.shell.stdin.take());
        self.shell.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close();
    }
}
