//! Transom: a Kubernetes admission webhook for clusters that mix Linux and Windows nodes.
//!
//! What is built so far is the shell: sockets, TLS, health, metrics and the command line. It calls
//! [`webhook::answer`] for every review and knows nothing of what is in one.

pub mod cli;
pub mod logging;
pub mod metrics;
pub mod server;
pub mod webhook;
