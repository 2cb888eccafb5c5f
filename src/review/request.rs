//! Bytes → [`Request`]: the envelope of a review, and where its objects are.

use super::reread::{self, Owner};
use crate::object::demand::Role;
use crate::object::{At, Tape};
use crate::policy::Policy;
use crate::workload;

/// The only version of AdmissionReview that is spoken.
pub const API_VERSION: &str = "admission.k8s.io/v1";

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
    /// An answer repeats it, and the API server's has 36 bytes.
    #[error("request.uid has {0} bytes; send one of at most {LONGEST_UID}")]
    LongUid(usize),
}

/// In bytes.
const LONGEST_UID: usize = 256;

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
    envelope: Envelope,
}

/// The places of what stands around the object.
#[derive(Default)]
struct Envelope {
    uid: At,
    group: Option<At>,
    kind: Option<At>,
    sub_resource: Option<At>,
    name: Option<At>,
    namespace: Option<At>,
    operation: Option<At>,
    username: Option<At>,
    groups: Option<At>,
    dry_run: Option<At>,
    object: Option<At>,
    old_object: Option<At>,
}

impl Envelope {
    fn find(tape: &Tape<'_>, request: At) -> Option<Self> {
        let mut found = Self::default();
        for at in tape.children(request) {
            match tape.role(at) {
                Role::Uid => found.uid = at,
                Role::GroupKind => {
                    found.group = tape.child(at, Role::Group);
                    found.kind = tape.child(at, Role::Kind);
                }
                Role::SubResource => found.sub_resource = Some(at),
                Role::Name => found.name = Some(at),
                Role::Namespace => found.namespace = Some(at),
                Role::Operation => found.operation = Some(at),
                Role::UserInfo => {
                    found.username = tape.child(at, Role::Username);
                    found.groups = tape.child(at, Role::Groups);
                }
                Role::DryRun => found.dry_run = Some(at),
                Role::Object => found.object = Some(at),
                Role::OldObject => found.old_object = Some(at),
                _ => {}
            }
        }
        let uid = tape.text(found.uid).filter(|uid| !uid.is_empty());
        uid.is_some().then_some(found)
    }
}

/// Reads an AdmissionReview, once and without copying it: what this policy has a use for.
///
/// # Errors
/// Where nothing can be answered: see [`Malformed`]. A flaw in the object itself is no error
/// here; the verdict tells of it, with the request's uid.
pub fn decode<'a>(body: &'a [u8], policy: &'a Policy) -> Result<Request<'a>, Malformed> {
    let Ok(body) = simdutf8::basic::from_utf8(body) else {
        let place = std::str::from_utf8(body).map_or_else(|e| e.valid_up_to(), str::len);
        return Err(Malformed::NotUtf8(place));
    };
    let tape = Tape::parse(body, &policy.fields).map_err(Malformed::NotJson)?;
    if let Some(problem) = tape.envelope_problem() {
        return Err(Malformed::Envelope(problem));
    }
    if tape.len() == 0 {
        return Err(Malformed::Envelope("the body is null".to_owned()));
    }
    let text = |role| tape.child_text(0, role).unwrap_or_default();
    if text(Role::Kind) != "AdmissionReview" {
        return Err(Malformed::Kind(cut(text(Role::Kind))));
    }
    if text(Role::ApiVersion) != API_VERSION {
        return Err(Malformed::Version(cut(text(Role::ApiVersion))));
    }
    let at = tape.child(0, Role::Request).ok_or(Malformed::NoRequest)?;
    let envelope = Envelope::find(&tape, at).ok_or(Malformed::NoUid)?;
    let uid = tape.text(envelope.uid).map_or(0, str::len);
    if uid > LONGEST_UID {
        return Err(Malformed::LongUid(uid));
    }
    Ok(Request {
        body,
        tape,
        envelope,
    })
}

/// As much of a wrong value as an error has to repeat.
fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

impl<'a> Request<'a> {
    pub(crate) fn tape(&self) -> &Tape<'a> {
        &self.tape
    }

    fn text(&self, at: Option<At>) -> Option<&str> {
        at.and_then(|at| self.tape.text(at))
    }

    /// What the answer has to repeat.
    pub fn uid(&self) -> &str {
        self.tape.text(self.envelope.uid).unwrap_or_default()
    }

    /// What is done to the object.
    pub fn operation(&self) -> Operation {
        match self.text(self.envelope.operation) {
            Some("CREATE") => Operation::Create,
            Some("UPDATE") => Operation::Update,
            _ => Operation::Other,
        }
    }

    /// The kind of the object, if it is one that is or makes pods.
    pub fn kind(&self) -> Option<workload::Kind> {
        let group = self.text(self.envelope.group).unwrap_or_default();
        workload::Kind::find(group, self.kind_name()?)
    }

    /// `kind` as the request has it.
    pub fn kind_name(&self) -> Option<&str> {
        self.text(self.envelope.kind)
    }

    /// Such as `ephemeralcontainers`; `None` for the object itself.
    pub fn sub_resource(&self) -> Option<&str> {
        let name = self.text(self.envelope.sub_resource);
        name.filter(|name| !name.is_empty())
    }

    /// The object's namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.text(self.envelope.namespace)
    }

    /// The object's name, or the start of it where the API server is still to choose it.
    pub fn name(&self) -> Option<&str> {
        self.text(self.envelope.name)
            .or_else(|| self.text(self.metadata(Role::Name)))
            .or_else(|| self.text(self.metadata(Role::GenerateName)))
    }

    /// Who asks.
    pub fn username(&self) -> Option<&str> {
        self.text(self.envelope.username)
    }

    /// The groups of who asks.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        let groups = self.envelope.groups.into_iter();
        groups
            .flat_map(|groups| self.tape.children(groups))
            .filter_map(|group| self.tape.text(group))
    }

    /// Nothing will be persisted.
    pub fn is_dry_run(&self) -> bool {
        let dry_run = self.envelope.dry_run;
        dry_run.and_then(|at| self.tape.bool(at)) == Some(true)
    }

    pub(crate) fn object_at(&self) -> Option<At> {
        self.envelope.object
    }

    pub(crate) fn old_object_at(&self) -> Option<At> {
        self.envelope.old_object
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

    /// The controller that made this object is of this kind.
    pub(crate) fn is_owned_by(&self, owner: workload::Kind) -> bool {
        let tape = self.tape();
        self.metadata(Role::OwnerReferences)
            .is_some_and(|references| {
                tape.children(references).any(|reference| {
                    let group = tape
                        .child_text(reference, Role::ApiVersion)
                        .and_then(|version| version.split_once('/'))
                        .map_or("", |(group, _)| group);
                    let controller = tape.child(reference, Role::Controller);
                    controller.and_then(|at| tape.bool(at)) == Some(true)
                        && tape.child_text(reference, Role::Kind) == Some(owner.name())
                        && group == owner.group()
                })
            })
    }

    /// The controller that made this object, as its ownerReference names it. A second pass over the body, only for
    /// events.
    pub(crate) fn owner(&self) -> Option<Owner> {
        reread::owner(self.body)
    }

    /// The object is on its way out; what is left to do must not be stopped.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.metadata(Role::DeletionTimestamp).is_some()
    }

    /// Whether an UPDATE changes `spec.template` in any way. A second pass over the body, only for updates of Windows
    /// DaemonSets.
    pub(crate) fn template_changed(&self) -> bool {
        reread::template_changed(self.body)
    }
}
