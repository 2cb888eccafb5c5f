//! The caBundle of the two webhook configurations that bear our name.
//!
//! It is patched into every entry by a field manager of its own, and only where it differs. The
//! resourceVersion that was read goes along: an entry that is gone by then does not come back as half an
//! entry, and a replica that is behind cannot write over one that is ahead (see `certs`).
//!
//! It is a strategic merge patch and not a server-side apply. Who applies an entry by its name owns the entry,
//! so that Helm, which applies server-side, could not take one out again: the API server would keep the half
//! that is ours and refuse it (tried with Kubernetes 1.36). By a patch we own one field of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// Who owns the field, for the API server.
pub const FIELD_MANAGER: &str = "transom";

/// One of the two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MutatingWebhookConfiguration
    Mutating,
    /// ValidatingWebhookConfiguration
    Validating,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mutating, Self::Validating];

    /// As Kubernetes writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
        }
    }

    /// Its resource in the API.
    #[must_use]
    pub fn api(self, client: Client) -> Api<DynamicObject> {
        let resource = match self {
            Self::Mutating => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
            Self::Validating => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
        };
        Api::all_with(client, &resource)
    }
}

/// One entry of a webhook configuration, as far as anybody here looks.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'o>(&'o Value);

impl<'o> Entry<'o> {
    /// Those of an object, in order.
    pub fn all(object: &'o DynamicObject) -> impl Iterator<Item = Self> {
        let entries = object.data["webhooks"].as_array();
        entries.into_iter().flatten().map(Self)
    }

    /// Its name, such as `mutate.transom.dev`.
    #[must_use]
    pub fn name(self) -> &'o str {
        self.0["name"].as_str().unwrap_or_default()
    }

    /// The CA certificates that the API server trusts: PEM, or nothing.
    #[must_use]
    pub fn ca_bundle(self) -> Vec<u8> {
        let text = self.0["clientConfig"]["caBundle"].as_str();
        // The API server writes nothing else than base64.
        STANDARD
            .decode(text.unwrap_or_default())
            .unwrap_or_default()
    }

    /// Where the API server sends reviews: `clientConfig`, which has a `service` or a `url`.
    #[must_use]
    pub fn client_config(self) -> &'o Value {
        &self.0["clientConfig"]
    }
}

/// Whether every entry trusts exactly this bundle.
#[must_use]
pub fn is_in(bundle: &str, object: &DynamicObject) -> bool {
    Entry::all(object).all(|entry| entry.ca_bundle() == bundle.as_bytes())
}

/// Puts the bundle into every entry of an object as it was read.
///
/// # Errors
/// The object has changed since (409), may not be patched, or the API server does not answer.
pub async fn put(
    kind: Kind,
    client: Client,
    object: &DynamicObject,
    bundle: &str,
) -> kube::Result<()> {
    let name = object.name_any();
    let by = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Strategic(patch(object, bundle));
    kind.api(client).patch(&name, &by, &patch).await?;
    Ok(())
}

fn patch(object: &DynamicObject, bundle: &str) -> Value {
    let bundle = STANDARD.encode(bundle);
    let entries = Entry::all(object)
        .map(|entry| json!({"name": entry.name(), "clientConfig": {"caBundle": bundle}}));
    json!({
        "metadata": {"resourceVersion": object.resource_version()},
        "webhooks": entries.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(webhooks: &Value) -> DynamicObject {
        let metadata = json!({"name": "transom", "resourceVersion": "7"});
        serde_json::from_value(json!({"metadata": metadata, "webhooks": webhooks})).unwrap()
    }

    #[test]
    fn every_entry_gets_the_bundle_and_nothing_else() {
        let object = object(&json!([
            {"name": "a", "clientConfig": {"service": {"name": "s"}, "caBundle": "b2xk"}, "sideEffects": "None"},
            {"name": "b", "clientConfig": {"url": "https://localhost/"}},
        ]));
        let bundle = "bmV3"; // new
        let want = json!({
            "metadata": {"resourceVersion": "7"},
            "webhooks": [
                {"name": "a", "clientConfig": {"caBundle": bundle}},
                {"name": "b", "clientConfig": {"caBundle": bundle}},
            ],
        });
        assert_eq!(patch(&object, "new"), want);
    }

    #[test]
    fn a_bundle_is_in_when_it_is_in_every_entry() {
        let has = |bundles: &[&str]| {
            let entries = bundles
                .iter()
                .map(|text| json!({"clientConfig": {"caBundle": text}}));
            is_in("old", &object(&entries.collect()))
        };
        assert!(has(&["b2xk", "b2xk"]));
        assert!(has(&[]));
        assert!(!has(&["b2xk", "bmV3"]));
        assert!(!has(&["b2xk", ""]));
        assert!(!is_in("old", &object(&json!([{"clientConfig": {}}]))));
    }
}
