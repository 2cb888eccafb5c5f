//! The node selectors of RuntimeClasses, watched: in a template they say which OS its pods are for, since the API
//! server merges them into pods only.
//!
//! A RuntimeClass has no spec, and little beside what is kept of it. Started by `cluster::join`.

use std::sync::Arc;

use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Client;
use kube::api::Api;

use super::watching::{News, Watch};
use crate::facts::RuntimeClassFacts;
use crate::server::Health;
use crate::webhook::WebhookState;

/// Watches forever.
pub(super) async fn keep(
    watch: Watch,
    client: Client,
    webhook: Arc<WebhookState>,
    health: Arc<Health>,
) {
    let take = |news| take(&webhook, news);
    watch.run(Api::all(client), &health, facts, take).await;
}

fn take(webhook: &WebhookState, news: News<RuntimeClassFacts>) {
    match news {
        News::All(all) => webhook.learn(|facts| facts.runtime_classes.clone_from(&all)),
        News::One(name, class) => {
            if webhook.facts().runtime_classes.get(&name) != Some(&class) {
                webhook.learn(|facts| {
                    let classes = &mut facts.runtime_classes;
                    classes.insert(name.clone(), class.clone());
                });
            }
        }
        News::Gone(name) => webhook.learn(|facts| {
            facts.runtime_classes.remove(&name);
        }),
    }
}

fn facts(class: &RuntimeClass) -> RuntimeClassFacts {
    let scheduling = class.scheduling.as_ref();
    let selector = scheduling.and_then(|scheduling| scheduling.node_selector.clone());
    RuntimeClassFacts::new(&class.handler, selector.unwrap_or_default())
}
