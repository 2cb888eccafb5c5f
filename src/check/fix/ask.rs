//! What an object should say: the patch that the webhook would make of its pods, asked of the core.
//!
//! Not here: what is decided (`admit`), and how it comes into the text (`edit`).

use serde_json::Value as Json;

use super::Selected;
use crate::admit::{self, Labels};
use crate::check::Options;
use crate::check::comment::Comments;
use crate::check::creation::{self, Creation};
use crate::check::document::Object;
use crate::check::judge::{labels, namespace};
use crate::decision::Endpoint;
use crate::field::Step;
use crate::patch::{Change as Kind, MAX_REMOVED};
use crate::review;
use crate::workload;
use crate::yaml::{self, Index, Node, Value};

/// A change of one object. Paths are from its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A key, and what it gets.
    Set(Vec<String>, Node),
    /// A list, and what comes behind its elements.
    Append(Vec<String>, Vec<Node>),
    /// What is taken out.
    Remove(Vec<String>),
}

/// What the core says of an object.
pub(super) enum Answer {
    /// Its pods would be denied, and why.
    Refused(String),
    /// This is to be changed.
    Wanted(Wanted),
}

/// What is to be changed in an object.
pub(super) struct Wanted {
    pub(super) changes: Vec<Change>,
    /// The same, of the pod, as a JSON Patch.
    patch: String,
    /// Where the pod is in the object, as a JSON Pointer.
    pod: String,
}

impl Wanted {
    /// The object as it should be.
    pub(super) fn apply(&self, object: &mut Json) -> Option<()> {
        creation::apply(&self.patch, object.pointer_mut(&self.pod)?)
    }
}

/// Asks for the pod in an object, or for its template as if it were a pod: so that what the
/// webhook would do to each of the pods stands where they are made.
///
/// Nothing where nothing is to be done, as in most objects, or where no pod can be read.
pub(super) fn ask(
    object: &Object,
    comments: &Comments,
    options: &Options,
    is_selected: Selected<'_>,
) -> Option<Answer> {
    if object.kind == workload::Kind::Service {
        return None;
    }
    let namespace = namespace(object, options);
    let known = labels(namespace, options);
    let labels = Labels::Known(Some(&known));
    let mut json = Vec::new();
    object.node.write_json(&mut json).ok()?;
    let review_of = |kind, object: &[u8]| {
        let creation = Creation {
            kind,
            namespace,
            object,
        };
        creation.review()
    };
    let body = review_of(object.kind, &json);
    let request = review::decode(&body, &options.policy).ok()?;
    let whole = admit::admit_in(
        Endpoint::Mutate,
        &request,
        &options.policy,
        &options.facts,
        labels,
    );
    let path = whole.pod_path()?;
    let way = path.steps();
    let pod = object.node.locate(way.iter().copied());

    json.clear();
    pod.node.write_json(&mut json).ok()?;
    let body = review_of(workload::Kind::Pod, &json);
    let request = review::decode(&body, &options.policy).ok()?;
    let verdict = admit::admit_in(
        Endpoint::Mutate,
        &request,
        &options.policy,
        &options.facts,
        labels,
    );
    // A pod that is not for Windows is none of our business here.
    if verdict.changes().any(|change| change == Kind::LinuxGuard) {
        return None;
    }
    if !verdict.allowed() {
        let why = match verdict.excess() {
            Some(count) => format!(
                "{count} fields have to be removed, more than the {MAX_REMOVED} that one patch removes; remove them \
                 by hand"
            ),
            None => format!(
                "the cluster refuses it for {}; mend that first",
                verdict.denied_rules().join(", ")
            ),
        };
        return Some(Answer::Refused(why));
    }
    let index = Index::new(&object.node);
    let patch = verdict.patch_sparing(|finding| {
        let path = verdict.path(finding);
        let all = way.iter().copied().chain(path.steps());
        let lines = index.locate(all).lines;
        !is_selected(finding.rule()) || comments.reason(&lines, finding.rule()).is_some()
    })?;
    let pod = path.pointer();
    // It is JSON, and so it is YAML, which keeps the order of keys.
    let operations = yaml::documents(&patch).ok()?;
    Some(Answer::Wanted(Wanted {
        changes: folded(operations.first()?, &pod),
        patch,
        pod,
    }))
}

/// The operations of a JSON Patch; those that go on with what one before them made are part of it.
fn folded(operations: &Node, pod: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let Value::List(operations) = &operations.value else {
        return changes;
    };
    for operation in operations {
        let field = |name| operation.locate([Step::Name(name)]);
        let text = |name| field(name).node.scalar().map(|s| s.text.as_str());
        let pointer = format!("{pod}{}", text("path").unwrap_or_default());
        let tokens = pointer.split('/').skip(1);
        let tokens = tokens.map(|token| token.replace("~1", "/").replace("~0", "~"));
        let mut path: Vec<_> = tokens.collect();
        if text("op") == Some("remove") {
            changes.push(Change::Remove(path));
            continue;
        }
        let value = field("value").node.clone();
        if path.last().is_none_or(|token| token != "-") {
            changes.push(Change::Set(path, value));
            continue;
        }
        path.pop();
        let list = changes.iter_mut().find_map(|change| match change {
            Change::Set(set, node) if *set == path => match &mut node.value {
                Value::List(list) => Some(list),
                _ => None,
            },
            Change::Append(to, list) if *to == path => Some(list),
            _ => None,
        });
        match list {
            Some(list) => list.push(value),
            None => changes.push(Change::Append(path, vec![value])),
        }
    }
    changes
}
