//! Transom: admission for Kubernetes clusters that mix Linux and Windows nodes.
//!
//! A pod that is meant for Windows is known by the evidence in it, is held to what Windows can
//! honour, and is given what it needs to land on a Windows node. Everything is decided by one
//! pure function, [`admit::admit`], of (request, policy, facts):
//!
//! ```text
//!  POST /mutate, /validate (TLS)          server     sockets, limits, TLS, drain
//!        │ bytes                          webhook    one review: answer, count, log
//!  ──────┼───────────────────────────── the core: pure, no I/O, no clock ──────────────
//!        ▼
//!  review::decode                         review     bytes → request, verdict → bytes
//!        │                                object     one walk → a tape of the fields asked for
//!        ▼
//!  admit::admit                           admit      the pipeline on one page
//!        │  where is the pod?             workload   nine kinds, and a survey of the pod
//!        │  is it for Windows?            os         evidence, decisive, acting or a hint
//!        │  what cannot be honoured?      rules      the table, one file for each area
//!        │  what is missing?              placement  node selector, tolerations
//!        │  what is done about it?        decision   modes, ratchet, owned objects; patch
//!        ▼
//!  review::encode                         message    the words; patch: the operations
//! ```
//!
//! Where does a line go? It speaks of a pod's field: `rules`. How to reach a field: `object` or
//! `workload`. Which operating system: `os`. What to do about findings: `decision`. Words:
//! `message`. Bytes on the wire: `review`. Settings as they are written: `config`; in force:
//! `policy`. YAML and where its values stand: `yaml`. Manifests and the lines of their findings:
//! `check`. Live objects, a page of a list at a time: `scan`. Pods on nodes of
//! the wrong operating system: `misplaced`. Whether a cluster and an installation are in order:
//! `doctor`. Sockets: `server`. The Kubernetes API:
//! `cluster`; certificates of our own: `authority`; what a running webhook is asked to see that it
//! works: `probe`. Flags: `cli`; what a command does: `command`. What the table says of itself to
//! people: `explain`; where their terminal ends: `terminal`.

pub mod admit;
pub mod authority;
pub mod check;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod config;
pub mod decision;
pub mod doctor;
pub mod explain;
pub mod facts;
mod few;
pub mod field;
pub mod logging;
mod message;
pub mod metrics;
pub mod misplaced;
pub mod mode;
mod nearest;
mod object;
pub mod os;
pub mod patch;
mod placement;
pub mod policy;
pub mod probe;
pub mod review;
pub mod rules;
pub mod scan;
pub mod server;
mod terminal;
pub mod webhook;
pub mod workload;
pub mod yaml;

pub use object::FieldPath;
