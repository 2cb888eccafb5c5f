//! Where log lines go and what a panic leaves behind in them.
//!
//! No event is defined here. Called once, by `main`, before anything else can log.

use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::cli::LogFormat;

/// Sends events and panics to stderr; stdout stays free for what was asked for.
pub fn init(format: LogFormat, level: Targets) {
    let registry = tracing_subscriber::registry().with(level);
    let lines = fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Plain => registry.with(lines.with_ansi(colours())).init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).init(),
    }
    panic::set_hook(Box::new(log_panic));
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
