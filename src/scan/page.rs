//! A page of a list: bytes → the objects in it, as bytes, and what of them tells one from the other.
//!
//! Not here: what is wrong with an object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What the API server answers a list with, in part.
#[derive(Deserialize)]
pub struct Page<'p> {
    #[serde(borrow, default)]
    metadata: ListMeta<'p>,
    /// Go writes null for none.
    #[serde(borrow, default)]
    items: Option<Vec<&'p RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta<'p> {
    #[serde(borrow, default, rename = "continue")]
    token: Option<Cow<'p, str>>,
    #[serde(default)]
    remaining_item_count: Option<u64>,
}

/// Bytes that are no list, or no object of one.
#[derive(Debug, thiserror::Error)]
#[error("what the API server answers cannot be read: {0}")]
pub struct Unreadable(#[from] serde_json::Error);

impl<'p> Page<'p> {
    /// Reads the page, and nothing of what is in its objects.
    ///
    /// # Errors
    /// It is not the JSON of a list.
    pub fn read(bytes: &'p [u8]) -> Result<Self, Unreadable> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// What to ask the next page with, if there is one.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.metadata
            .token
            .as_deref()
            .filter(|token| !token.is_empty())
    }

    /// How many objects are on the pages behind this one, where the API server counts them.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let remaining = self.metadata.remaining_item_count.unwrap_or_default();
        usize::try_from(remaining).unwrap_or_default()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.as_ref().map_or(0, Vec::len)
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects, as JSON.
    pub fn items(&self) -> impl Iterator<Item = &'p RawValue> {
        self.items.iter().flatten().copied()
    }

    /// Without the objects up to this key, which were on a page before. Lists are in the order of keys.
    #[must_use]
    pub fn after(mut self, key: &str) -> Self {
        if let Some(items) = &mut self.items {
            items.retain(|item| Head::of(item).is_ok_and(|head| head.key().as_str() > key));
        }
        self
    }

    /// The key of the last object: what the API server sorts by.
    #[must_use]
    pub fn last_key(&self) -> Option<String> {
        let last = self.items.as_ref()?.last()?;
        Head::of(last).ok().map(|head| head.key())
    }
}

/// What tells an object from others, and what made it.
#[derive(Deserialize)]
pub(super) struct Head<'p> {
    #[serde(borrow, default)]
    metadata: Meta<'p>,
    #[serde(borrow, default)]
    status: Option<Status<'p>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'p> {
    #[serde(borrow, default)]
    name: Cow<'p, str>,
    #[serde(borrow, default)]
    namespace: Cow<'p, str>,
    #[serde(borrow, default)]
    uid: Cow<'p, str>,
    /// Read when somebody asks.
    #[serde(borrow, default)]
    labels: Option<&'p RawValue>,
    #[serde(borrow, default)]
    owner_references: Vec<Controller<'p>>,
}

#[derive(Deserialize)]
struct Status<'p> {
    #[serde(borrow, default)]
    phase: Option<Cow<'p, str>>,
}

/// An owner.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Controller<'p> {
    #[serde(borrow)]
    api_version: Cow<'p, str>,
    #[serde(borrow)]
    kind: Cow<'p, str>,
    #[serde(borrow)]
    uid: Cow<'p, str>,
    #[serde(default)]
    controller: Option<bool>,
}

impl<'p> Head<'p> {
    pub(super) fn of(item: &'p RawValue) -> Result<Self, Unreadable> {
        Ok(serde_json::from_str(item.get())?)
    }

    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(super) fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    pub(super) fn uid(&self) -> &str {
        &self.metadata.uid
    }

    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let labels = self.metadata.labels.map(RawValue::get);
        // Those of a live object are strings.
        labels
            .and_then(|labels| serde_json::from_str(labels).ok())
            .unwrap_or_default()
    }

    fn key(&self) -> String {
        format!("{}/{}", self.namespace(), self.name())
    }

    /// Of a pod: it has run, and will not run again.
    pub(super) fn is_finished(&self) -> bool {
        let phase = self
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    }

    /// The one owner that makes and removes it.
    pub(super) fn controller(&self) -> Option<&Controller<'p>> {
        let mut owners = self.metadata.owner_references.iter();
        owners.find(|owner| owner.controller == Some(true))
    }
}

impl Controller<'_> {
    pub(super) fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }
}
