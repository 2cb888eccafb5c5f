//! Warning Events on the owners of objects that were refused or should have been: what `kubectl describe` shows.
//!
//! A review hands its notice over and goes on; where too many wait, a notice is dropped and counted. Not here: which
//! reviews have something to tell (`admit`), and how often an owner is told (`series`). Used by `webhook`, started by
//! `cluster::join`.
//!
//! kube's own recorder takes events for the same whose notes differ, and would go on telling of a flaw that is mended.

mod series;

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::Error as KubeError;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::Reporter;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::namespaces::is_name;
use super::trouble::{code, trouble};
use crate::admit::Notice;
use crate::metrics::{Metrics, Telling};
use crate::review::Owner;
use crate::server::{Condition, Health};
use series::{Outcome, Series, Write};

/// As the reporting controller of events, and in `From` of `kubectl describe`.
pub const CONTROLLER: &str = "transom.dev/transom";

/// As `/readyz` and metrics call it.
pub const PART: &str = "events";

/// Something was refused.
const DENIED: &str = "TransomDenied";
/// Something was admitted that would be refused if it were new.
const WARNED: &str = "TransomWarned";

/// So many notices wait at most.
const QUEUE: usize = 256;

/// A write that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest name that an object can have is shorter, and so is what else an owner is known by.
const LONGEST: usize = 320;

/// The longest name that still leaves room for the time behind it.
const NAME: usize = 230;

/// Where a review leaves its notice.
#[derive(Clone, Debug)]
pub struct Owners {
    queue: mpsc::Sender<Notice>,
    metrics: Arc<Metrics>,
}

impl Owners {
    /// Never waits. What cannot be there is not told: anybody who reaches the port can write a name.
    pub fn tell(&self, notice: Notice) {
        if !can_be(&notice) || self.queue.try_send(notice).is_err() {
            self.metrics.told_owner(Telling::Dropped);
        }
    }
}

/// Whether there can be an owner of that name in that namespace.
fn can_be(notice: &Notice) -> bool {
    let Owner {
        api_version,
        kind,
        name,
        uid,
    } = &notice.owner;
    is_name(&notice.namespace)
        && [api_version, kind, name, uid]
            .iter()
            .all(|text| text.len() <= LONGEST)
}

/// Who writes the events.
pub(super) struct Teller {
    queue: mpsc::Receiver<Notice>,
    client: Client,
    reporter: Reporter,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    is_broken: bool,
}

impl Teller {
    /// One that has told nothing yet, and where it is told what to tell.
    pub(super) fn new(
        client: Client,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
    ) -> (Owners, Self) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let owners = Owners {
            queue: sender,
            metrics: Arc::clone(&metrics),
        };
        let teller = Self {
            queue,
            client,
            reporter: CONTROLLER.into(),
            metrics,
            health,
            is_broken: false,
        };
        (owners, teller)
    }

    /// Writes events forever.
    pub(super) async fn run(mut self) {
        self.health.set(PART, Condition::Good);
        let mut series = Series::default();
        loop {
            while let Some(write) = series.due(Instant::now()) {
                let outcome = self.write(&write).await;
                if series.done(&write, outcome, Instant::now()) {
                    self.metrics.told_owner(Telling::Failed);
                }
            }
            let next = series.next();
            let pause = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                notice = self.queue.recv() => {
                    let Some(notice) = notice else { return };
                    if !series.add(notice, Timestamp::now(), Instant::now()) {
                        self.metrics.told_owner(Telling::Dropped);
                    }
                }
                () = pause => {}
            }
        }
    }

    async fn write(&mut self, write: &Write) -> Outcome {
        let written = tokio::time::timeout(PATIENCE, self.try_to_write(write)).await;
        let (error, outcome) = match written {
            Ok(Ok(name)) => {
                self.metrics.told_owner(Telling::Sent);
                self.tell_of(None);
                return Outcome::Written(name);
            }
            Ok(Err(error)) if is_gone(&error) => {
                return match &write.event {
                    Some(_) => Outcome::Lost,
                    None => Outcome::Refused,
                };
            }
            Ok(Err(error)) => {
                let outcome = outcome(&error);
                let name = &write.notice.owner.name;
                (trouble(error, "write", "an Event on", name), outcome)
            }
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                let error = anyhow!(
                    "cannot write an Event: the API server has not answered within {seconds} s"
                );
                (error, Outcome::Failed)
            }
        };
        self.metrics.cluster_error(PART);
        self.tell_of(Some(format!("{error:#}")));
        outcome
    }

    /// Tells operators whether it works: the log when that changes.
    fn tell_of(&mut self, flaw: Option<String>) {
        let was_broken = std::mem::replace(&mut self.is_broken, flaw.is_some());
        match &flaw {
            None if was_broken => tracing::info!("owners are told by events again"),
            Some(flaw) if !was_broken => tracing::warn!("{flaw}; reviews go on"),
            _ => {}
        }
        self.health
            .set(PART, flaw.map_or(Condition::Good, Condition::Degraded));
    }

    /// The name of the event.
    async fn try_to_write(&self, write: &Write) -> Result<String, KubeError> {
        let events = Api::<Event>::namespaced(self.client.clone(), &write.notice.namespace);
        let series = (write.count > 1).then(|| EventSeries {
            // Nobody counts that far.
            count: i32::try_from(write.count).unwrap_or(i32::MAX),
            last_observed_time: MicroTime(write.last),
        });
        if let Some(name) = &write.event {
            let patch = serde_json::json!({ "series": series });
            let params = PatchParams::default();
            events.patch(name, &params, &Patch::Merge(patch)).await?;
            return Ok(name.clone());
        }
        let event = event(write, series, &self.reporter);
        events.create(&PostParams::default(), &event).await?;
        Ok(event.metadata.name.unwrap_or_default())
    }
}

fn event(write: &Write, series: Option<EventSeries>, reporter: &Reporter) -> Event {
    let Notice {
        owner,
        namespace,
        denied,
        note,
    } = &write.notice;
    let now = Timestamp::now();
    let start = &owner.name[..owner.name.floor_char_boundary(NAME)];
    let start = start.trim_end_matches(['-', '.']);
    let instance = reporter.instance.as_deref().unwrap_or(CONTROLLER);
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{start}.{:x}", now.as_nanosecond())),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        type_: Some("Warning".to_owned()),
        reason: Some(if *denied { DENIED } else { WARNED }.to_owned()),
        action: Some("Admission".to_owned()),
        note: Some(note.clone()),
        regarding: Some(ObjectReference {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            namespace: Some(namespace.clone()),
            name: Some(owner.name.clone()),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        }),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(reporter.controller.clone()),
        reporting_instance: Some(instance[..instance.floor_char_boundary(128)].to_owned()),
        series,
        ..Event::default()
    }
}

/// Whether it may go better next time: not where the API server has understood, and says no.
fn outcome(error: &KubeError) -> Outcome {
    match code(error) {
        Some(409 | 429 | 500..) | None => Outcome::Failed,
        Some(_) => Outcome::Refused,
    }
}

/// The event, or its namespace, has been deleted or is about to be: nobody is left to be told.
fn is_gone(error: &KubeError) -> bool {
    let KubeError::Api(status) = error else {
        return false;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 404 || causes.any(|cause| cause.reason == "NamespaceTerminating")
}
