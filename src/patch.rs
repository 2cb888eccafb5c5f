//! The patch that places and repairs a Windows pod: a few operations, in an order that an API
//! server can apply, and their form as JSON Patch (RFC 6902).
//!
//! It only adds what is missing and removes what a rule's action says; it never changes a value,
//! so applying it twice is applying it once. Not here: whether there is anything to patch at all
//! (`decision`). Operations are streamed into the answer and never built as typed values.

use std::fmt::{self, Write};

use crate::decision::Change;
use crate::field::write_token;
use crate::object::At;
use crate::placement::PlacementPolicy;
use crate::workload::Pod;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `spec.os`, whole: a path into an absent object would be refused.
    AddOs,
    AddSelector,
    /// The configured toleration at this place of the list.
    AddToleration(usize),
    /// A field that is taken out.
    Remove(At),
}

/// What to change in one pod or pod template. Empty: nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    pub(crate) operations: Vec<Operation>,
}

impl Patch {
    /// What kinds of changes these are, each once.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let change = |operation: &Operation| match operation {
            Operation::AddOs => Change::Os,
            Operation::AddSelector => Change::NodeSelector,
            Operation::AddToleration(_) => Change::Toleration,
            Operation::Remove(_) => Change::Repair,
        };
        // Operations of one kind stand side by side.
        let mut last = None;
        self.operations.iter().filter_map(move |operation| {
            let change = change(operation);
            (last.replace(change) != Some(change)).then_some(change)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Writes the operations as a JSON Patch for the object that the pod is part of.
    pub(crate) fn write(
        &self,
        pod: &Pod<'_, '_>,
        policy: &PlacementPolicy,
        out: &mut impl Write,
    ) -> fmt::Result {
        let mut spec = String::with_capacity(40);
        let path = pod.tape.path(pod.spec.unwrap_or(pod.at));
        path.write_pointer(&mut spec)?;
        let mut has_tolerations = pod.tolerations.is_some();
        out.write_char('[')?;
        for (i, operation) in self.operations.iter().enumerate() {
            if i > 0 {
                out.write_char(',')?;
            }
            match operation {
                Operation::AddOs => write!(
                    out,
                    r#"{{"op":"add","path":"{spec}/os","value":{{"name":"windows"}}}}"#
                )?,
                Operation::AddSelector if pod.node_selector.is_some() => {
                    write!(out, r#"{{"op":"add","path":"{spec}/nodeSelector/"#)?;
                    write_token(&policy.os_label_key, out)?;
                    out.write_str(r#"","value":"windows"}"#)?;
                }
                Operation::AddSelector => write!(
                    out,
                    r#"{{"op":"add","path":"{spec}/nodeSelector","value":{{"{}":"windows"}}}}"#,
                    policy.os_label_key
                )?,
                Operation::AddToleration(which) => {
                    let toleration = &policy.tolerations[*which];
                    let (path, open, close) = match has_tolerations {
                        true => ("/-", "", ""),
                        false => ("", "[", "]"),
                    };
                    has_tolerations = true;
                    write!(
                        out,
                        r#"{{"op":"add","path":"{spec}/tolerations{path}","value":{open}{{"key":"{}","operator":"{}""#,
                        toleration.key,
                        toleration.operator.name()
                    )?;
                    for (name, value) in
                        [("value", &toleration.value), ("effect", &toleration.effect)]
                    {
                        if !value.is_empty() {
                            write!(out, r#","{name}":"{value}""#)?;
                        }
                    }
                    write!(out, "}}{close}}}")?;
                }
                Operation::Remove(at) => {
                    out.write_str(r#"{"op":"remove","path":""#)?;
                    pod.tape.path(*at).write_pointer(out)?;
                    out.write_str(r#""}"#)?;
                }
            }
        }
        out.write_char(']')
    }
}
