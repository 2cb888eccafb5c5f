//! Second passes over the body, for what the tape does not hold and few requests need.
//!
//! They keep slices of the body and build no values: a map of seven bytes takes about a hundred times as many in
//! memory as a `serde_json::Value`. Used by `request` alone.

use std::fmt::{self, Formatter};

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The object that another one was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `apps/v1`
    pub api_version: String,
    /// `ReplicaSet`
    pub kind: String,
    /// Its name; it is in the namespace of what was made for it.
    pub name: String,
    /// The one of that name which it is.
    pub uid: String,
}

/// Whether `spec.template` differs between object and oldObject. The API server writes both with one encoder, so equal
/// templates are equal bytes. A client that writes them differently has an equal template placed again, and no more.
pub(super) fn template_changed(body: &str) -> bool {
    #[derive(Deserialize)]
    struct Review<'b> {
        #[serde(borrow)]
        request: Objects<'b>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Objects<'b> {
        #[serde(borrow)]
        object: Object<'b>,
        #[serde(borrow)]
        old_object: Object<'b>,
    }
    #[derive(Deserialize)]
    struct Object<'b> {
        #[serde(borrow)]
        spec: Spec<'b>,
    }
    #[derive(Deserialize)]
    struct Spec<'b> {
        #[serde(borrow)]
        template: &'b RawValue,
    }
    serde_json::from_str::<Review<'_>>(body).is_ok_and(|review| {
        let Objects { object, old_object } = review.request;
        object.spec.template.get() != old_object.spec.template.get()
    })
}

/// The owner that an object's ownerReferences mark as its controller.
pub(super) fn owner(body: &str) -> Option<Owner> {
    #[derive(Deserialize)]
    struct Review {
        request: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        owner_references: Controller,
    }
    let review: Review = serde_json::from_str(body).ok()?;
    review.request.object.metadata.owner_references.0
}

/// The first of a list of ownerReferences that is a controller. The others are not kept.
struct Controller(Option<Owner>);

impl<'de> Deserialize<'de> for Controller {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(References)
    }
}

struct References;

impl<'de> Visitor<'de> for References {
    type Value = Controller;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a list of ownerReferences")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Controller, S::Error> {
        // Each field by its name: a flattened struct would be buffered as a tree of values.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reference {
            controller: Option<bool>,
            api_version: String,
            kind: String,
            name: String,
            uid: String,
        }
        let mut controller = None;
        while let Some(reference) = list.next_element::<Reference>()? {
            if controller.is_none() && reference.controller == Some(true) {
                controller = Some(Owner {
                    api_version: reference.api_version,
                    kind: reference.kind,
                    name: reference.name,
                    uid: reference.uid,
                });
            }
        }
        Ok(Controller(controller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(object: &str, old: &str) -> String {
        format!(r#"{{"request":{{"object":{object},"oldObject":{old}}}}}"#)
    }

    #[test]
    fn reports_changed_template_only() {
        let object = |template: &str, replicas: u8| {
            format!(r#"{{"spec":{{"replicas":{replicas},"template":{template}}}}}"#)
        };
        let changed =
            |new: &str, old: &str| template_changed(&body(&object(new, 1), &object(old, 2)));
        assert!(!changed(r#"{"a":[{}],"b":null}"#, r#"{"a":[{}],"b":null}"#));
        assert!(changed(r#"{"a":[{}],"b":null}"#, r#"{"a":[{}]}"#));
        assert!(changed("{}", "null"));
        assert!(!template_changed(&body("{}", &object("{}", 1))));
        assert!(!template_changed(&body(&object("{}", 1), "null")));
    }

    #[test]
    fn finds_owner_that_is_controller() {
        let reference = |controller: &str, name: &str| {
            format!(
                r#"{{"apiVersion":"apps/v1","blockOwnerDeletion":{{"":[]}},{controller}"kind":"ReplicaSet","name":"{name}","uid":"u"}}"#
            )
        };
        let found = |references: &[String]| {
            let list = references.join(",");
            let object = format!(r#"{{"metadata":{{"ownerReferences":[{list}]}}}}"#);
            owner(&body(&object, "null")).map(|owner| owner.name)
        };
        let is = r#""controller":true,"#;
        let not = r#""controller":false,"#;
        let all = [("", "a"), (not, "b"), (is, "c"), (is, "d")]
            .map(|(controller, name)| reference(controller, name));
        assert_eq!(found(&all).as_deref(), Some("c"));
        assert_eq!(found(&all[..2]), None);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[reference(is, "a"), "{}".to_owned()]), None);
        assert_eq!(owner(&body("{}", "null")), None);
    }
}
