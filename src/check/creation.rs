//! What the cluster would say of an object that is created: /mutate, its patch, then /validate on what
//! comes of it, as the API server asks them.
//!
//! Not here: where the object comes from, and where its findings stand. Manifests ask this (`judge`), and so do
//! live objects (`scan`).

use serde_json::Value as Json;

use super::report::{Finding, Severity};
use crate::FieldPath;
use crate::admit::{self, Labels, Verdict};
use crate::decision::{Effect, Endpoint, Finding as Told};
use crate::facts::{Facts, NamespaceFacts};
use crate::mode::Mode;
use crate::policy::Policy;
use crate::review::{self, Malformed};
use crate::workload::Kind;

/// An object that is created.
#[derive(Clone, Copy)]
pub(crate) struct Creation<'c> {
    pub(crate) kind: Kind,
    pub(crate) namespace: &'c str,
    /// As JSON.
    pub(crate) object: &'c [u8],
}

impl Creation<'_> {
    /// Asks both webhooks, one after the other, and lets their verdicts be heard.
    ///
    /// # Errors
    /// The object is not JSON that could be asked about.
    pub(crate) fn ask(
        self,
        policy: &Policy,
        facts: &Facts,
        hear: impl FnMut(&Verdict<'_, '_>),
    ) -> Result<(), Malformed> {
        let labels = facts.namespaces.get(self.namespace).copied();
        self.ask_in(policy, facts, &labels.unwrap_or_default(), hear)
    }

    /// The same in a namespace with these labels.
    ///
    /// # Errors
    /// The object is not JSON that could be asked about.
    pub(crate) fn ask_in(
        self,
        policy: &Policy,
        facts: &Facts,
        labels: &NamespaceFacts,
        mut hear: impl FnMut(&Verdict<'_, '_>),
    ) -> Result<(), Malformed> {
        let body = self.review();
        let labels = Labels::Known(Some(labels));
        let request = review::decode(&body, policy)?;
        let mutated = admit::admit_in(Endpoint::Mutate, &request, policy, facts, labels);
        hear(&mutated);
        let patched = self.patched(&mutated);
        let body = patched.as_deref().map(|object| {
            let patched = Creation { object, ..self };
            patched.review()
        });
        let again = body
            .as_deref()
            .and_then(|body| review::decode(body, policy).ok());
        let request = again.as_ref().unwrap_or(&request);
        let validated = admit::admit_in(Endpoint::Validate, request, policy, facts, labels);
        hear(&validated);
        Ok(())
    }

    /// The review that the API server would send.
    pub(crate) fn review(self) -> Vec<u8> {
        let (group, kind) = (self.kind.group(), self.kind.name());
        let namespace = Json::from(self.namespace);
        let envelope = format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"{}","request":{{"uid":"check","kind":{{"group":"{group}","kind":"{kind}"}},"namespace":{namespace},"operation":"CREATE","object":"#,
            review::API_VERSION,
        );
        [envelope.as_bytes(), self.object, b"}}"].concat()
    }

    /// The object as /mutate would hand it on, if it would change it.
    fn patched(self, mutated: &Verdict<'_, '_>) -> Option<Vec<u8>> {
        let mut object: Json = serde_json::from_slice(self.object).ok()?;
        apply(&mutated.patch()?, &mut object)?;
        serde_json::to_vec(&object).ok()
    }
}

/// Applies a patch of our own, which was made for this object.
pub(super) fn apply(patch: &str, object: &mut Json) -> Option<()> {
    let patch: json_patch::Patch = serde_json::from_str(patch).ok()?;
    json_patch::patch(object, &patch).ok()
}

/// A name or a reason, of which each finding has a copy. No valid name is cut.
pub(super) fn short(text: &str) -> String {
    /// In bytes.
    const LONGEST: usize = 500;
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

/// A finding as it is reported, still without a place in a text.
pub(crate) fn finding(
    verdict: &Verdict<'_, '_>,
    told: &Told,
    path: &FieldPath<'_>,
    ignored: Option<String>,
) -> Finding {
    let ignored = ignored.or_else(|| verdict.annotated_reason(told));
    let severity = match told.effect() {
        _ if ignored.is_some() => Severity::Ignored,
        Effect::Ignore => Severity::Ignored,
        Effect::Repair => Severity::Repair,
        // In the other modes nothing is refused.
        Effect::Deny if verdict.mode() == Mode::Enforce => Severity::Deny,
        Effect::Deny | Effect::Warn => Severity::Warn,
    };
    let words = verdict.words(told);
    let request = verdict.request();
    Finding {
        rule: told.rule(),
        tier: words.tier,
        severity,
        path: path.to_string(),
        value: words.value,
        reason: words.reason,
        remedy: words.remedy,
        span: None,
        absent: told.is_absent(),
        against: None,
        kind: verdict.kind_name().to_owned(),
        namespace: request.namespace().map(short),
        name: request.name().map(short),
        evidence: None,
        patch: (severity == Severity::Repair).then(|| remove(path)),
        ignored: ignored.as_deref().map(short),
        pods: None,
    }
}

/// The operation that takes a field out.
fn remove(path: &FieldPath<'_>) -> String {
    serde_json::json!([{"op": "remove", "path": path.pointer()}]).to_string()
}
