//! How far it has come, for those who wait: on a terminal, and not before a second has passed.

use std::sync::Once;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before that nobody asks.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on stderr. It goes away with this value.
pub(in crate::command) struct Progress {
    bar: ProgressBar,
    began: Instant,
    quiet: bool,
    shown: Once,
}

impl Progress {
    /// Of so many things.
    pub(in crate::command) fn new(length: usize, what: &'static str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self {
            bar,
            began: Instant::now(),
            quiet,
            shown: Once::new(),
        }
    }

    /// There is more to do than was known.
    pub(in crate::command) fn foresee(&self, more: usize) {
        self.bar.inc_length(more as u64);
    }

    /// One more is done.
    pub(in crate::command) fn tick(&self) {
        self.advance(1);
    }

    /// So many more are done.
    pub(in crate::command) fn advance(&self, more: usize) {
        if !self.quiet && self.began.elapsed() >= PATIENCE {
            // It hides itself where stderr is no terminal.
            let target = ProgressDrawTarget::stderr;
            self.shown.call_once(|| self.bar.set_draw_target(target()));
        }
        self.bar.inc(more as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
