//! The Kubernetes API as `serve` needs it: certificates of our own, and what the labels of namespaces say.
//!
//! ```text
//! certs        one CA for all replicas, a leaf for each: asks rotation, does what it says
//!   rotation   when there has to be another CA, as a pure function of the Secret and the time
//!   secret     what is in the Secret
//!   bundle     whom the API server trusts: caBundle of the webhook configurations
//! namespaces   their labels, watched
//! ```
//!
//! Nothing here is needed to decide a review: without a cluster there are no facts, and all else works.

pub mod bundle;
pub mod rotation;
pub mod secret;
