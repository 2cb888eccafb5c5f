//! The formats: one renderer each, all over the same [`Report`](super::Report).
