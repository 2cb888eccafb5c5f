//! Every metric family, in one place, with its labels.
//!
//! Nothing is global: whoever owns a [`Metrics`] owns its registry, so that tests do not share counters.
//! Label values are a closed set (but the hash of the configuration) and are created at zero, so that an
//! alert can see the first one; none of them names a namespace, an object, an image or a user. The server and the webhook count,
//! `server::admin` renders.
//!
//! A new family is a field, a line in [`Metrics::new`] and a method that counts.

mod family;
mod grid;
mod label;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry,
    TextEncoder,
};

use crate::admit::Verdict;
use crate::cluster::bundle;
use crate::cluster::rotation::Cause;
use crate::cluster::watching;
use crate::decision::{Effect, Endpoint, Exemption};
use crate::patch::Change;
use crate::review::Operation;
use crate::rules;
use crate::workload::Kind;
use family::{counters, gauge, gauges, opts, register, register_process, reload};
use grid::Grid;
use label::{DECISIONS, EFFECTS, ENDPOINTS, OPERATIONS, OSES, PARTS, decision, evidence, kinds};
pub use label::{Lookup, Stage, Telling};

/// What `transom_config_info` says of the defaults.
const NO_FILE: &str = "default";

/// All counters and gauges of one server.
pub struct Metrics {
    registry: Registry,
    certificate_expiry: IntGauge,
    certificate_reloads: IntCounterVec,
    client_ca_reloads: IntCounterVec,
    ca_expiry: IntGauge,
    ca_in_secret: IntGauge,
    ca_writes: IntCounterVec,
    ca_bundle_writes: IntCounterVec,
    cluster_errors: IntCounterVec,
    facts_current: IntGaugeVec,
    learnt_tolerations: IntGauge,
    namespace_lookups: IntCounterVec,
    inflight_bytes: IntGauge,
    config_info: IntGaugeVec,
    config_hash: ArcSwap<String>,
    config_reloads: IntCounterVec,
    config_last_reload_successful: IntGauge,
    events: IntCounterVec,
    errors: IntCounterVec,
    requests: Grid<4>,
    duration: [Histogram; 2],
    findings: Grid<2>,
    patches: Grid<1>,
    os_detections: Grid<2>,
    exemptions: Grid<1>,
}

impl Metrics {
    /// All families, at zero.
    ///
    /// # Panics
    /// Never, unless two families in this file have the same name: every test would say so.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::new();
        register_process(&registry);
        let build_info = gauges(&registry, "build_info", "1, by version.", "version");
        let config_info = gauges(
            &registry,
            "config_info",
            "1, by the hash of the configuration file that is in force.",
            "hash",
        );
        config_info.with_label_values(&[NO_FILE]).set(1);
        let config_last_reload_successful = gauge(
            &registry,
            "config_last_reload_successful",
            "Whether the configuration file as it is now is in force.",
        );
        config_last_reload_successful.set(1);
        let facts_current = gauges(
            &registry,
            "facts_current",
            "1 if what is known of the cluster is up to date, 0 if it is not, or is not watched.",
            "facts",
        );
        for kind in watching::Kind::ALL {
            facts_current.with_label_values(&[kind.name()]).set(0);
        }
        build_info
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1);
        Self {
            certificate_expiry: gauge(
                &registry,
                "certificate_expiry_timestamp_seconds",
                "When the certificate that is being served expires, in seconds since 1970.",
            ),
            certificate_reloads: counters(
                &registry,
                "certificate_reloads_total",
                "Certificates found changed on disk, by whether the new pair was taken.",
                "result",
                &["success", "failure"],
            ),
            client_ca_reloads: counters(
                &registry,
                "client_ca_reloads_total",
                "CAs of clients found changed on disk, by whether the new ones were taken.",
                "result",
                &["success", "failure"],
            ),
            ca_expiry: gauge(
                &registry,
                "ca_expiry_timestamp_seconds",
                "When our own CA expires that has signed the certificate being served, in seconds since 1970; 0 without one.",
            ),
            ca_in_secret: gauge(
                &registry,
                "ca_in_secret",
                "1 if our own CA is in its Secret, 0 if it is in memory only or there is none.",
            ),
            ca_writes: counters(
                &registry,
                "ca_writes_total",
                "Times that this replica has written the Secret of our own CA, by why.",
                "cause",
                &Cause::ALL.map(Cause::name),
            ),
            ca_bundle_writes: counters(
                &registry,
                "ca_bundle_writes_total",
                "Times that this replica has written the caBundle of a webhook configuration.",
                "configuration",
                &bundle::Kind::ALL.map(bundle::Kind::name),
            ),
            cluster_errors: counters(
                &registry,
                "cluster_errors_total",
                "Failed attempts to read or write something in the Kubernetes API, by what it is for.",
                "part",
                &PARTS,
            ),
            facts_current,
            learnt_tolerations: gauge(
                &registry,
                "learnt_tolerations",
                "Tolerations that Windows pods are given because of the taints that all Windows nodes share.",
            ),
            namespace_lookups: counters(
                &registry,
                "namespace_lookups_total",
                "Reviews in a namespace that was not known and had to be asked for, by the answer.",
                "result",
                &Lookup::ALL.map(Lookup::label),
            ),
            inflight_bytes: gauge(
                &registry,
                "inflight_bytes",
                "Bytes of requests that are read or answered, and of responses that are not yet written.",
            ),
            config_info,
            config_hash: ArcSwap::from_pointee(NO_FILE.to_owned()),
            config_reloads: counters(
                &registry,
                "config_reloads_total",
                "Configurations found changed on disk, by whether the new one was taken.",
                "result",
                &["success", "failure"],
            ),
            config_last_reload_successful,
            events: counters(
                &registry,
                "events_total",
                "Events by which owners were to be told of what was made for them, by what came of it.",
                "result",
                &Telling::ALL.map(Telling::label),
            ),
            errors: counters(
                &registry,
                "errors_total",
                "Requests and connections that got no verdict, by what went wrong.",
                "stage",
                &Stage::ALL.map(Stage::label),
            ),
            requests: Grid::new(
                &registry,
                "admission_requests_total",
                "Admission requests that were answered, by what came of them.",
                &[
                    ("webhook", ENDPOINTS.map(Endpoint::name).to_vec()),
                    ("operation", OPERATIONS.map(Operation::name).to_vec()),
                    ("kind", kinds()),
                    ("decision", DECISIONS.to_vec()),
                ],
            ),
            duration: durations(&registry),
            findings: Grid::new(
                &registry,
                "findings_total",
                "Findings that were told in answers, by rule and by what came of them.",
                &[
                    ("rule", rules::all().map(|rule| rule.code).collect()),
                    ("action", EFFECTS.map(Effect::name).to_vec()),
                ],
            ),
            patches: Grid::new(
                &registry,
                "patches_total",
                "Answers that patch an object, by what they add or take out.",
                &[("patch", Change::ALL.map(Change::name).to_vec())],
            ),
            os_detections: Grid::new(
                &registry,
                "os_detections_total",
                "Objects with evidence of their operating system, by the strongest evidence.",
                &[("os", OSES.to_vec()), ("evidence", evidence())],
            ),
            exemptions: Grid::new(
                &registry,
                "exemptions_total",
                "Objects that were let through unseen, by the reason.",
                &[("reason", Exemption::ALL.map(Exemption::name).to_vec())],
            ),
            registry,
        }
    }

    /// Counts everything about a verdict that was reached.
    pub fn verdict(&self, verdict: &Verdict<'_, '_>) {
        let request = verdict.request();
        let kind = request.kind();
        let kind = Kind::ALL.iter().position(|k| Some(*k) == kind);
        self.requests.inc([
            verdict.endpoint() as usize,
            request.operation() as usize,
            kind.unwrap_or(Kind::ALL.len()),
            decision(verdict),
        ]);
        for finding in verdict.findings() {
            self.findings
                .inc([finding.rule_index(), finding.effect() as usize]);
        }
        for change in verdict.changes() {
            self.patches.inc([change as usize]);
        }
        if let (os, Some(source)) = verdict.detected() {
            let os = os.map_or(OSES.len() - 1, |os| os as usize);
            self.os_detections.inc([os, source as usize]);
        }
        if let Some(exemption) = verdict.exemption() {
            self.exemptions.inc([exemption as usize]);
        }
        if verdict.unreadable().is_some() {
            self.error(Stage::Unreadable);
        }
    }

    /// How long one review took, from the complete body to the answer.
    pub fn duration(&self, endpoint: Endpoint, time: Duration) {
        self.duration[endpoint as usize].observe(time.as_secs_f64());
    }

    /// Everything in Prometheus' text format 0.0.4.
    #[must_use]
    pub fn render(&self) -> String {
        let families = self.registry.gather();
        TextEncoder::new()
            .encode_to_string(&families)
            .unwrap_or_else(|error| {
                tracing::error!(%error, "the metrics cannot be written");
                String::new()
            })
    }

    /// The expiry of our own CA that has signed the certificate, in seconds since 1970.
    pub fn ca_expiry(&self, not_after: i64) {
        self.ca_expiry.set(not_after);
    }

    /// Our own CA is in its Secret, or not.
    pub fn ca_is_in_secret(&self, there: bool) {
        self.ca_in_secret.set(there.into());
    }

    /// The Secret of our own CA was written.
    pub fn ca_written(&self, cause: Cause) {
        self.ca_writes.with_label_values(&[cause.name()]).inc();
    }

    /// The caBundle of a webhook configuration was written.
    pub fn ca_bundle_written(&self, kind: bundle::Kind) {
        self.ca_bundle_writes
            .with_label_values(&[kind.name()])
            .inc();
    }

    /// Something of the cluster could not be had; the part is one of those that readiness tells of.
    pub fn cluster_error(&self, part: &'static str) {
        self.cluster_errors.with_label_values(&[part]).inc();
    }

    /// What is known of these objects is up to date, or not.
    pub fn facts_are_current(&self, kind: watching::Kind, current: bool) {
        let gauge = self.facts_current.with_label_values(&[kind.name()]);
        gauge.set(current.into());
    }

    /// So many tolerations are learnt from the nodes' taints.
    pub fn learnt_tolerations(&self, count: usize) {
        self.learnt_tolerations
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A namespace was asked for while a review waited.
    pub fn namespace_lookup(&self, result: Lookup) {
        let result = &[result.label()];
        self.namespace_lookups.with_label_values(result).inc();
    }

    /// An owner was told by an event, or not.
    pub fn told_owner(&self, result: Telling) {
        self.events.with_label_values(&[result.label()]).inc();
    }

    /// One more request or connection without a verdict.
    pub fn error(&self, stage: Stage) {
        self.errors.with_label_values(&[stage.label()]).inc();
    }

    /// A changed certificate was taken or refused.
    pub fn certificate_reload(&self, taken: bool) {
        reload(&self.certificate_reloads, taken);
    }

    /// A changed CA of clients was taken or refused.
    pub fn client_ca_reload(&self, taken: bool) {
        reload(&self.client_ca_reloads, taken);
    }

    /// So many bytes of bodies more are in flight, or fewer.
    pub fn inflight_bytes(&self, change: i64) {
        self.inflight_bytes.add(change);
    }

    /// The configuration file as it is now is in force, or not.
    pub fn config_is_current(&self, current: bool) {
        self.config_last_reload_successful.set(current.into());
    }

    /// A changed configuration was taken or refused.
    pub fn config_reload(&self, taken: bool) {
        reload(&self.config_reloads, taken);
    }

    /// The hash of the configuration file that is in force from now on.
    pub fn config_in_force(&self, hash: &str) {
        let old = self.config_hash.swap(Arc::new(hash.to_owned()));
        // The new one first: at no time there is none.
        self.config_info.with_label_values(&[hash]).set(1);
        if *old != hash {
            // It was there, unless two threads did this at once.
            let _ = self.config_info.remove_label_values(&[old.as_str()]);
        }
    }

    /// The expiry of the certificate that is served from now on, in seconds since 1970.
    pub fn certificate_expiry(&self, not_after: i64) {
        self.certificate_expiry.set(not_after);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn durations(registry: &Registry) -> [Histogram; 2] {
    let opts = HistogramOpts::from(opts(
        "admission_duration_seconds",
        "Time from the complete body to the answer.",
    ))
    .buckets(vec![
        1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.25, 1.0,
    ]);
    let family = register(registry, HistogramVec::new(opts, &["webhook"]));
    ENDPOINTS.map(|endpoint| family.with_label_values(&[endpoint.name()]))
}

#[cfg(test)]
mod tests;
