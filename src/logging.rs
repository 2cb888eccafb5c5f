//! Where log lines go and what a panic leaves behind in them.
//!
//! No event is defined here. Called once, by `main`, before anything else can log.

use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::cli::LogFormat;

/// How many lines wait for a stderr that does not take them; those beyond are lost.
const WAITING_LINES: usize = 8 * 1024;

/// Sends events and panics to stderr; stdout stays free for what was asked for.
///
/// A thread of its own writes them: no review waits for a pipe that is full. What is still waiting is written when
/// the guard is dropped, within a second.
#[must_use = "nothing is written any more once it is dropped"]
pub fn init(format: LogFormat, level: Targets) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .lossy(true)
        .thread_name("log")
        .finish(io::stderr());
    let registry = tracing_subscriber::registry().with(quieted(level));
    let lines = fmt::layer().with_writer(writer);
    match format {
        LogFormat::Plain => registry.with(lines.with_ansi(colours())).init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).init(),
    }
    panic::set_hook(Box::new(log_panic));
    guard
}

/// What kube logs of failed requests is said by `cluster`, once and with what to do about it. It speaks for
/// itself only where it is asked to: by its name, or by debug for everything.
fn quieted(level: Targets) -> Targets {
    let is_debug = level.default_level() >= Some(LevelFilter::DEBUG);
    let is_named = |crate_name: &str| level.iter().any(|(target, _)| target == crate_name);
    let quiet = ["kube_client", "kube_runtime"].into_iter();
    let quiet: Vec<_> = quiet.filter(|name| !is_debug && !is_named(name)).collect();
    level.with_targets(quiet.into_iter().map(|name| (name, LevelFilter::OFF)))
}

/// NO_COLOR counts when it is set to anything but the empty string (no-color.org).
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    tracing::error!(
        location = location.as_deref().unwrap_or("unknown"),
        "panic: {}",
        without_quotations(panic.payload_as_str().unwrap_or("no message"))
    );
}

/// A panic's message up to its first quotation: what is quoted (`unwrap` on an error, a slice outside of
/// a string) can be a piece of somebody's object, and objects are never logged.
fn without_quotations(message: &str) -> &str {
    message
        .split(['"', '\'', '`'])
        .next()
        .unwrap_or_default()
        .trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kube_speaks_only_when_it_is_asked_to() {
        let speaks = |level: &str, target| {
            let targets = quieted(level.parse().unwrap());
            targets.would_enable(target, &tracing::Level::ERROR)
        };
        for target in ["kube_client::client", "kube_runtime::watcher"] {
            assert!(!speaks("info", target));
            assert!(!speaks("info,transom=debug", target));
            assert!(speaks("debug", target));
        }
        assert!(speaks("info,kube_client=warn", "kube_client::client"));
        assert!(speaks("info", "transom::cluster"));
    }

    #[test]
    fn a_panic_message_never_quotes_an_object() {
        let quoting = "byte index 1 is not a char boundary; it is inside 'é' of `sécret`";
        assert_eq!(
            without_quotations(quoting),
            "byte index 1 is not a char boundary; it is inside"
        );
        let plain = "index out of bounds: the len is 3 but the index is 5";
        assert_eq!(without_quotations(plain), plain);
    }
}
