//! `transom serve` as a replica: with a certificate that the client trusts, in a directory that looks like a mounted
//! Secret's.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{self, Authority, PATIENCE};
use crate::mount::mount;
use crate::program::transom;
use crate::serve::Serve;

pub(crate) struct Replica {
    pub(crate) serve: Serve,
    /// Where its certificate is.
    pub(crate) secret: TempDir,
}

impl Replica {
    pub(crate) fn start(authority: &Authority, flags: &[&str]) -> Self {
        Self::start_as(authority, flags, transom)
    }

    /// By a program that is given the arguments, such as a shell that first sets a limit.
    pub(crate) fn start_as(
        authority: &Authority,
        flags: &[&str],
        program: impl FnOnce(&Path) -> Command,
    ) -> Self {
        let [directory, secret] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        mount_pair(secret.path(), &authority.leaf());
        let [cert, key] = ["tls.crt", "tls.key"].map(|name| secret.path().join(name));
        let certificate = [
            "--tls-cert-file",
            cert.to_str().unwrap(),
            "--tls-private-key-file",
            key.to_str().unwrap(),
        ];
        let mut program = program(directory.path());
        // Nobody waits for those that are told to end, unless a flag says otherwise.
        program.env("TRANSOM_DRAIN_SECONDS", "0");
        let flags = [&certificate, flags].concat();
        let serve = tokio::task::block_in_place(|| Serve::start_as(directory, program, &flags));
        Self { serve, secret }
    }

    /// By a shell that does this first, such as `ulimit -n 64`.
    pub(crate) fn start_after(authority: &Authority, first: &str, flags: &[&str]) -> Self {
        Self::start_as(authority, flags, |directory| {
            let program = transom(directory);
            let mut shell = Command::new("sh");
            shell.current_dir(directory);
            shell.args(["-c", &format!("{first} && exec \"$0\" \"$@\"")]);
            for (name, _) in program.get_envs() {
                shell.env_remove(name);
            }
            shell.arg(program.get_program());
            shell
        })
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.serve.id()
    }

    /// The value of a metric, with its labels.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let metrics = client::admin(self.serve.admin_address, "/metrics").await;
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value
            .unwrap_or_else(|| panic!("no {name}"))
            .parse()
            .unwrap()
    }

    /// Waits until a metric has this value.
    pub(crate) async fn becomes(&self, name: &str, value: u64) {
        let began = Instant::now();
        loop {
            let now = self.metric(name).await;
            if now == value {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is {now}, not {value}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends by SIGTERM, which must succeed.
    pub(crate) fn end(self) {
        tokio::task::block_in_place(|| assert_eq!(self.serve.end("TERM").0, Some(0)));
    }
}

pub(crate) fn mount_pair(directory: &Path, (cert, key): &(String, String)) {
    mount(directory, &[("tls.crt", cert), ("tls.key", key)]);
}
