//! The wire: bytes → [`Request`], verdict → bytes. AdmissionReview `admission.k8s.io/v1`.
//!
//! Not here: what a verdict is (`admit`, `decision`), and its words (`message`).

mod answer;
pub(crate) mod fields;
mod json;
mod request;
mod reread;

pub use answer::encode;
pub use request::{API_VERSION, Malformed, Operation, Request, decode};
pub use reread::Owner;
