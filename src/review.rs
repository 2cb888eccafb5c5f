//! The wire: bytes → [`Request`], [`Verdict`] → bytes. AdmissionReview `admission.k8s.io/v1`.
//!
//! Not here: what a verdict is (`admit`, `decision`), and its words (`message`).

mod json;

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::admit::Verdict;
use crate::message;
use crate::object::trie::{Anchor, Demand, Role, Shape, Trie};
use crate::object::{At, Tape};
use crate::{os, rules, workload};
use json::Json;

/// The only version of AdmissionReview that is spoken.
pub const API_VERSION: &str = "admission.k8s.io/v1";

/// The fields of the envelope.
const FIELDS: &[Demand] = &[
    Demand::new(Anchor::Review, "apiVersion", Role::ApiVersion, Shape::Text),
    Demand::new(Anchor::Review, "kind", Role::Kind, Shape::Text),
    Demand::new(Anchor::Review, "request", Role::Request, Shape::Map),
    Demand::new(Anchor::Review, "request.uid", Role::Uid, Shape::Text),
    Demand::new(
        Anchor::Review,
        "request.kind.group",
        Role::Group,
        Shape::Text,
    ),
    Demand::new(Anchor::Review, "request.kind.kind", Role::Kind, Shape::Text),
    Demand::new(
        Anchor::Review,
        "request.subResource",
        Role::SubResource,
        Shape::Text,
    ),
    Demand::new(Anchor::Review, "request.name", Role::Name, Shape::Text),
    Demand::new(
        Anchor::Review,
        "request.namespace",
        Role::Namespace,
        Shape::Text,
    ),
    Demand::new(
        Anchor::Review,
        "request.operation",
        Role::Operation,
        Shape::Text,
    ),
    Demand::new(
        Anchor::Review,
        "request.userInfo.username",
        Role::Username,
        Shape::Text,
    ),
    Demand::new(
        Anchor::Review,
        "request.userInfo.groups",
        Role::Groups,
        Shape::List,
    ),
    Demand::new(
        Anchor::Review,
        "request.userInfo.groups[*]",
        Role::None,
        Shape::Text,
    ),
    Demand::new(Anchor::Review, "request.dryRun", Role::DryRun, Shape::Bool),
];

/// Everything that any room asks for.
static TRIE: LazyLock<Trie> = LazyLock::new(|| {
    let fields = [FIELDS, workload::FIELDS, os::FIELDS];
    Trie::compile(
        fields
            .into_iter()
            .flatten()
            .copied()
            .chain(rules::demands()),
    )
});

/// Why a body is not an AdmissionReview that can be answered. Each is one sentence for the
/// caller, who gets it with status 400.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The body is not text.
    #[error("the body is not UTF-8 from byte {0} on; send an AdmissionReview as JSON")]
    NotUtf8(usize),
    /// The body is not JSON.
    #[error("the body is not JSON: {0}; send an AdmissionReview as JSON")]
    NotJson(serde_json::Error),
    /// A field of the envelope has the wrong type.
    #[error("{0}; send an AdmissionReview of {API_VERSION}")]
    Envelope(String),
    /// Another kind.
    #[error("kind is {0:?}; send an AdmissionReview of {API_VERSION}")]
    Kind(String),
    /// Another version.
    #[error("apiVersion is {0:?}; list v1 in the webhook's admissionReviewVersions")]
    Version(String),
    /// An AdmissionReview without `request`, such as an answer.
    #[error("the AdmissionReview has no request; send one as the API server does")]
    NoRequest,
    /// Nothing that an answer could be matched by.
    #[error("request.uid is missing or empty, so there is nothing to answer")]
    NoUid,
}

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// CREATE
    Create,
    /// UPDATE
    Update,
    /// DELETE, CONNECT or unknown: never judged.
    Other,
}

impl Operation {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Other => "other",
        }
    }
}

/// A request that can be answered. It borrows from the body.
pub struct Request<'a> {
    body: &'a str,
    tape: Tape<'a>,
    at: At,
    uid: At,
}

/// Reads an AdmissionReview, once and without copying it.
///
/// # Errors
/// Where nothing can be answered: see [`Malformed`]. A flaw in the object itself is no error
/// here; the verdict tells of it, with the request's uid.
pub fn decode(body: &[u8]) -> Result<Request<'_>, Malformed> {
    let body = std::str::from_utf8(body).map_err(|e| Malformed::NotUtf8(e.valid_up_to()))?;
    let tape = Tape::parse(body, &TRIE).map_err(Malformed::NotJson)?;
    if let Some(problem) = tape.envelope_problem() {
        return Err(Malformed::Envelope(problem));
    }
    if tape.len() == 0 {
        return Err(Malformed::Envelope("the body is null".to_owned()));
    }
    let text = |role| tape.child_text(0, role).unwrap_or_default();
    if text(Role::Kind) != "AdmissionReview" {
        return Err(Malformed::Kind(text(Role::Kind).to_owned()));
    }
    if text(Role::ApiVersion) != API_VERSION {
        return Err(Malformed::Version(text(Role::ApiVersion).to_owned()));
    }
    let at = tape.child(0, Role::Request).ok_or(Malformed::NoRequest)?;
    let uid = tape
        .child(at, Role::Uid)
        .filter(|uid| tape.text(*uid).is_some_and(|uid| !uid.is_empty()))
        .ok_or(Malformed::NoUid)?;
    Ok(Request {
        body,
        tape,
        at,
        uid,
    })
}

impl<'a> Request<'a> {
    pub(crate) fn tape(&self) -> &Tape<'a> {
        &self.tape
    }

    fn text(&self, role: Role) -> Option<&str> {
        self.tape.child_text(self.at, role)
    }

    fn text_in(&self, name: &str, role: Role) -> Option<&str> {
        let map = self.tape.named(self.at, name)?;
        self.tape.child_text(map, role)
    }

    /// What the answer has to repeat.
    pub fn uid(&self) -> &str {
        self.tape.text(self.uid).unwrap_or_default()
    }

    /// What is done to the object.
    pub fn operation(&self) -> Operation {
        match self.text(Role::Operation) {
            Some("CREATE") => Operation::Create,
            Some("UPDATE") => Operation::Update,
            _ => Operation::Other,
        }
    }

    /// The kind of the object, if it is one that is or makes pods.
    pub fn kind(&self) -> Option<workload::Kind> {
        let group = self.text_in("kind", Role::Group).unwrap_or_default();
        workload::Kind::find(group, self.text_in("kind", Role::Kind)?)
    }

    /// `kind` as the request has it.
    pub fn kind_name(&self) -> Option<&str> {
        self.text_in("kind", Role::Kind)
    }

    /// Such as `ephemeralcontainers`; `None` for the object itself.
    pub fn sub_resource(&self) -> Option<&str> {
        self.text(Role::SubResource).filter(|name| !name.is_empty())
    }

    /// The object's namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.text(Role::Namespace)
    }

    /// The object's name, or the start of it where the API server is still to choose it.
    pub fn name(&self) -> Option<&str> {
        let metadata = || self.tape.child(self.object_at()?, Role::Metadata);
        self.text(Role::Name)
            .or_else(|| self.tape.child_text(metadata()?, Role::Name))
            .or_else(|| self.tape.child_text(metadata()?, Role::GenerateName))
    }

    /// Who asks.
    pub fn username(&self) -> Option<&str> {
        self.text_in("userInfo", Role::Username)
    }

    /// The groups of who asks.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        let groups = self
            .tape
            .named(self.at, "userInfo")
            .and_then(|user| self.tape.child(user, Role::Groups));
        groups
            .into_iter()
            .flat_map(|groups| self.tape.children(groups))
            .filter_map(|group| self.tape.text(group))
    }

    /// Nothing will be persisted.
    pub fn is_dry_run(&self) -> bool {
        let dry_run = self.tape.child(self.at, Role::DryRun);
        dry_run.and_then(|at| self.tape.bool(at)) == Some(true)
    }

    pub(crate) fn object_at(&self) -> Option<At> {
        self.tape.child(self.at, Role::Object)
    }

    pub(crate) fn old_object_at(&self) -> Option<At> {
        self.tape.child(self.at, Role::OldObject)
    }

    /// Only the pod's ephemeral containers are being changed.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.sub_resource() == Some("ephemeralcontainers")
    }

    /// An entry of the object's metadata.
    pub(crate) fn metadata(&self, role: Role) -> Option<At> {
        let metadata = self.tape.child(self.object_at()?, Role::Metadata)?;
        self.tape.child(metadata, role)
    }

    /// The object is on its way out; what is left to do must not be stopped.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.metadata(Role::DeletionTimestamp).is_some()
    }

    /// Whether an UPDATE changes `spec.template` in any way. A second look at the body: it is
    /// asked for updates of Windows DaemonSets only.
    pub(crate) fn template_changed(&self) -> bool {
        #[derive(Deserialize)]
        struct Review {
            request: Objects,
        }
        #[derive(Deserialize)]
        struct Objects {
            object: Object,
            #[serde(rename = "oldObject")]
            old_object: Object,
        }
        #[derive(Deserialize)]
        struct Object {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            template: serde_json::Value,
        }
        serde_json::from_str::<Review>(self.body).is_ok_and(|review| {
            let Objects { object, old_object } = review.request;
            object.spec.template != old_object.spec.template
        })
    }
}

/// Writes the answer to a request.
pub fn encode(verdict: &Verdict<'_, '_>) -> Vec<u8> {
    let mut out = Json::with_capacity(640);
    out.raw(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"#);
    out.text(|out| out.write_str(verdict.request().uid()));
    out.raw(r#","allowed":"#);
    out.raw(if verdict.allowed() { "true" } else { "false" });
    if !verdict.allowed() {
        out.raw(r#","status":{"status":"Failure","code":403,"reason":"Forbidden","message":"#);
        out.text(|out| message::denial(verdict, out));
        out.raw(r#","details":{"causes":["#);
        let mut separator = "";
        message::causes(verdict, |path, cause| {
            out.raw(separator);
            separator = ",";
            out.raw(r#"{"reason":"FieldValueForbidden","field":"#);
            out.text(|out| path(out));
            out.raw(r#","message":"#);
            out.text(|out| cause(out));
            out.raw("}");
        });
        out.raw("]}}");
    }
    if let Some(patch) = verdict.patch() {
        out.raw(r#","patchType":"JSONPatch","patch":""#);
        let mut encoded = STANDARD.encode(patch);
        encoded.push('"');
        out.raw(&encoded);
    }
    let mut separator = r#","warnings":["#;
    message::warnings(verdict, |warning| {
        out.raw(separator);
        separator = ",";
        out.text(|out| warning(out));
    });
    if separator == "," {
        out.raw("]");
    }
    let mut separator = r#","auditAnnotations":{"#;
    message::annotations(verdict, |key, value| {
        out.raw(separator);
        separator = ",";
        out.text(|out| out.write_str(key));
        out.raw(":");
        out.text(|out| value(out));
    });
    if separator == "," {
        out.raw("}");
    }
    out.raw("}}\n");
    out.into_bytes()
}
