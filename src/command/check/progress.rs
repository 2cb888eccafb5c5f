//! How far it has come, for those who wait: on a terminal, and not before a second has passed.

use std::sync::Once;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before that nobody asks.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on stderr. It goes away with this value.
pub(super) struct Progress {
    bar: ProgressBar,
    began: Instant,
    quiet: bool,
    shown: Once,
}

impl Progress {
    /// Of so many files.
    pub(super) fn new(files: usize, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            began: Instant::now(),
            quiet,
            shown: Once::new(),
        }
    }

    /// One more is done.
    pub(super) fn tick(&self) {
        if !self.quiet && self.began.elapsed() >= PATIENCE {
            // It hides itself where stderr is no terminal.
            let target = ProgressDrawTarget::stderr;
            self.shown.call_once(|| self.bar.set_draw_target(target()));
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
