//! When to look again at the Secret and the webhook configurations: a watch on each of the three.
//!
//! Only metadata comes along, so that no key is sent around with every change. What has changed is not told:
//! `certs` reads everything anyway.

use std::fmt::Debug;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, select_all};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

/// Something for each change of one of the three, forever.
pub(super) fn of(
    client: &Client,
    namespace: &str,
    secret: &str,
    configuration: &str,
) -> BoxStream<'static, ()> {
    let secrets = Api::<PartialObjectMeta<Secret>>::namespaced(client.clone(), namespace);
    let mutating = Api::<PartialObjectMeta<MutatingWebhookConfiguration>>::all(client.clone());
    let validating = Api::<PartialObjectMeta<ValidatingWebhookConfiguration>>::all(client.clone());
    select_all([
        changes_of(secrets, secret),
        changes_of(mutating, configuration),
        changes_of(validating, configuration),
    ])
    .boxed()
}

fn changes_of<K>(api: Api<PartialObjectMeta<K>>, name: &str) -> BoxStream<'static, ()>
where
    K: Resource + Clone + Debug + Send + 'static,
    PartialObjectMeta<K>: Resource + DeserializeOwned,
{
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, only).default_backoff();
    let changes = events.filter_map(async |event| match event {
        Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => None,
        Ok(_) => Some(()),
        Err(error) => {
            tracing::debug!(%error, "a watch has ended and is begun again");
            None
        }
    });
    changes.boxed()
}
