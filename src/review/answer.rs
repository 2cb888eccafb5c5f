//! Verdict → bytes: the answer to a request.

use super::json::Json;
use crate::admit::Verdict;
use crate::message::Message;

/// Writes the answer to a request.
pub fn encode(verdict: &Verdict<'_, '_>) -> Vec<u8> {
    let message = Message::new(verdict);
    let allowed = verdict.allowed();
    let mut out = Json::with_capacity(if allowed { 1024 } else { 4096 });
    out.raw(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"#);
    out.text(|out| out.write_str(verdict.request().uid()));
    out.raw(r#","allowed":"#);
    out.raw(if allowed { "true" } else { "false" });
    if !allowed {
        out.raw(r#","status":{"status":"Failure","code":403,"reason":"Forbidden","message":"#);
        out.text(|out| message.denial(out));
        out.raw(r#","details":{"causes":["#);
        let mut separator = "";
        message.causes(|path, cause| {
            out.raw(separator);
            separator = ",";
            out.raw(r#"{"reason":"FieldValueForbidden","field":"#);
            out.text(|out| out.write_str(path));
            out.raw(r#","message":"#);
            out.text(|out| cause(out));
            out.raw("}");
        });
        out.raw("]}}");
    }
    if let Some(patch) = verdict.patch() {
        out.raw(r#","patchType":"JSONPatch","patch":""#);
        out.base64(patch.as_bytes());
        out.raw("\"");
    }
    let mut separator = r#","warnings":["#;
    message.warnings(|warning| {
        out.raw(separator);
        separator = ",";
        out.text(|out| warning(out));
    });
    if separator == "," {
        out.raw("]");
    }
    let mut separator = r#","auditAnnotations":{"#;
    message.annotations(|key, value| {
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
