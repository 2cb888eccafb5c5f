//! Counters with labels that the request path finds by place.

use prometheus::{IntCounter, IntCounterVec, Registry};

use super::{opts, register};

/// A counter for each combination of label values, found by their places: the request path looks
/// nothing up and takes no lock.
pub(super) struct Grid<const LABELS: usize> {
    sizes: [usize; LABELS],
    counters: Vec<IntCounter>,
}

impl<const LABELS: usize> Grid<LABELS> {
    pub(super) fn new(
        registry: &Registry,
        name: &str,
        help: &str,
        labels: &[(&str, Vec<&str>); LABELS],
    ) -> Self {
        let names = labels.each_ref().map(|(name, _)| *name);
        let family = register(registry, IntCounterVec::new(opts(name, help), &names));
        let sizes = labels.each_ref().map(|(_, values)| values.len());
        let counters = (0..sizes.iter().product()).map(|cell| {
            let mut rest = cell;
            let mut values = [""; LABELS];
            for (value, (_, all)) in values.iter_mut().zip(labels).rev() {
                *value = all[rest % all.len()];
                rest /= all.len();
            }
            family.with_label_values(&values)
        });
        Self {
            sizes,
            counters: counters.collect(),
        }
    }

    pub(super) fn inc(&self, places: [usize; LABELS]) {
        let along = places.iter().zip(&self.sizes);
        let cell = along.fold(0, |cell, (place, size)| cell * size + place);
        if let Some(counter) = self.counters.get(cell) {
            counter.inc();
        }
    }
}
