//! How a family is made and registered. Which ones there are is in `metrics`.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    register(registry, IntGauge::with_opts(opts(name, help)))
}

pub(super) fn gauges(registry: &Registry, name: &str, help: &str, label: &str) -> IntGaugeVec {
    register(registry, IntGaugeVec::new(opts(name, help), &[label]))
}

/// A counter for each value of one label, all of them at zero.
pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    label: &str,
    values: &[&str],
) -> IntCounterVec {
    let family = register(registry, IntCounterVec::new(opts(name, help), &[label]));
    for value in values {
        family.with_label_values(&[*value]);
    }
    family
}

pub(super) fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("transom")
}

/// Names and labels are literals of this file: one that is invalid or used twice fails in every test.
#[expect(clippy::expect_used)]
pub(super) fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    family: prometheus::Result<C>,
) -> C {
    let family = family.expect("a metric's name and labels are valid");
    registry
        .register(Box::new(family.clone()))
        .expect("a metric is registered once");
    family
}

/// Memory, file descriptors, CPU: only Linux tells.
#[cfg(target_os = "linux")]
#[expect(clippy::expect_used)]
pub(super) fn register_process(registry: &Registry) {
    registry
        .register(Box::new(
            prometheus::process_collector::ProcessCollector::for_self(),
        ))
        .expect("the registry is new, so nothing has these names");
}

#[cfg(not(target_os = "linux"))]
pub(super) fn register_process(_registry: &Registry) {}

/// Counts a changed file that was taken or refused.
pub(super) fn reload(family: &IntCounterVec, taken: bool) {
    let result = if taken { "success" } else { "failure" };
    family.with_label_values(&[result]).inc();
}
