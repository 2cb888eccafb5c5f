//! Transom: admission for clusters that mix Linux and Windows nodes.

pub mod admit;
pub mod config;
pub mod decision;
pub mod facts;
pub mod field;
mod message;
mod object;
pub mod os;
mod patch;
mod placement;
pub mod review;
pub mod rules;
pub mod workload;

pub use object::FieldPath;
