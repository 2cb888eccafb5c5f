//! Counts how many entries of tapes the current thread visits, for tests of complexity.

use std::cell::Cell;

thread_local! {
    static VISITS: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn count() {
    VISITS.set(VISITS.get() + 1);
}

/// The number of entries that `work` visits.
pub(crate) fn during(work: impl FnOnce()) -> u64 {
    let before = VISITS.get();
    work();
    VISITS.get() - before
}
