//! A diff in the log of GitHub Actions, which reads commands in the output of a step.
//!
//! Lines of a diff are those of files of strangers, and have to stay as they are.

use anyhow::{Result, anyhow};
use ring::rand::{SecureRandom, SystemRandom};

/// The diff, between lines that switch the commands off and on again if this runs in GitHub Actions.
/// `patch` and `git apply` skip such lines.
///
/// # Errors
/// The operating system gives no random bytes.
pub(super) fn without_commands(diff: Vec<u8>) -> Result<Vec<u8>> {
    let is_there = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if !is_there || diff.is_empty() {
        return Ok(diff);
    }
    let mut bytes = [0; 16];
    let random = SystemRandom::new().fill(&mut bytes);
    random.map_err(|_| anyhow!("the operating system gives no random bytes"))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let [before, after] = [
        format!("::stop-commands::{token}\n"),
        format!("::{token}::\n"),
    ];
    Ok([before.into_bytes(), diff, after.into_bytes()].concat())
}
