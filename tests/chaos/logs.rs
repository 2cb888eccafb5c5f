//! A log that nobody takes: a disk that is full, a pipe whose reader is gone, one whose reader stands still.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bodies;
use crate::client::{self, BOTH, PATIENCE, admin};
use crate::load::{Answered, Call, Client, Tally};
use crate::proc;
use crate::program::transom;
use crate::scenario::{Size, block_on};

/// Users whose names would fill the memory, if lines that wait held all of them.
const CHATTY: usize = 60;
const NAME: usize = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum Log {
    /// Each write fails for want of room.
    Full,
    /// Each write finds nobody at the other end.
    Gone,
    /// Writes wait, once the pipe is full.
    Still,
}

/// Each denial is a line: more of them than any pipe holds.
pub(crate) fn unread(size: Size) {
    let denials = size.of(1_000, 100_000);
    block_on(async {
        for log in [Log::Full, Log::Gone, Log::Still] {
            let directory = tempfile::tempdir().unwrap();
            let mut program = transom(directory.path());
            program.args([
                "serve",
                "--bind",
                "127.0.0.1:0",
                "--admin-bind",
                "127.0.0.1:0",
            ]);
            program
                .args(["--drain-seconds", "0"])
                .stdout(Stdio::piped());
            match log {
                Log::Full => {
                    program.stderr(fs::File::options().write(true).open("/dev/full").unwrap())
                }
                Log::Gone | Log::Still => program.stderr(Stdio::piped()),
            };
            let mut child = Ended(program.spawn().unwrap());
            let still = child.0.stderr.take().filter(|_| matches!(log, Log::Still));
            // The log would say it, too.
            let mut told = BufReader::new(child.0.stdout.take().unwrap());
            let mut banner = String::new();
            told.read_line(&mut banner).unwrap();
            let address = |scheme: &str| {
                let rest = banner.split(&format!("{scheme}://")).nth(1);
                let address = rest.and_then(|rest| rest.split(' ').next());
                address.unwrap().parse().unwrap()
            };
            let (reviews, probes) = (address("https"), address("http"));
            told.read_line(&mut banner).unwrap();
            let ca = fs::read_to_string(directory.path().join("certs/ca.crt")).unwrap();
            let tls = client::client(&ca, BOTH);
            let client = Arc::new(Client::new(tls, &[reviews]).waiting(Duration::from_secs(10)));
            let denied = Call::learn_known(&client, "denied Deployment").await;
            // First: lines that wait already leave no room for these.
            let id = child.0.id();
            let memory = || proc::kilobytes(id, "VmRSS").unwrap();
            let before = memory();
            let chatty = Call::learn(&client, "/validate", by_a_user_of(NAME)).await;
            for _ in 0..CHATTY {
                assert_eq!(client.call(&chatty).await, Ok(Answered::Right));
            }
            let grown = memory().saturating_sub(before);
            println!("{log:?}: {grown} kB more after {CHATTY} users with names of {NAME} bytes");
            assert!(grown < (NAME * CHATTY / 2 / 1024) as u64, "lines are cut");
            let mut tally = Tally::default();
            for _ in 0..denials {
                let since = Instant::now();
                tally.note(client.call(&denied).await, since);
                if tally.failed() > 0 {
                    break;
                }
            }
            println!("{log:?}: {tally}");
            tally.must_be_right();
            assert_eq!(admin(probes, "/readyz").await, "ok");
            std::process::Command::new("kill")
                .arg(id.to_string())
                .status()
                .unwrap();
            let began = Instant::now();
            let status = loop {
                if let Some(status) = child.0.try_wait().unwrap() {
                    break status;
                }
                assert!(began.elapsed() < PATIENCE, "{log:?}: it does not end");
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            assert_eq!(status.code(), Some(0), "{log:?}");
            drop(still);
        }
    });
}

/// The denied Deployment, by somebody whose name has so many bytes.
fn by_a_user_of(bytes: usize) -> Vec<u8> {
    let json = bodies::of("denied Deployment").json.swap_remove(0);
    let mut review: serde_json::Value = serde_json::from_slice(&json).unwrap();
    review["request"]["userInfo"]["username"] = "u".repeat(bytes).into();
    review.to_string().into_bytes()
}

/// Whatever happens, it ends with us.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
