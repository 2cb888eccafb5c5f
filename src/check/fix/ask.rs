//! What an object should say: the patch that the webhook would make of its pods, asked of the core.
//!
//! Not here: what is decided (`admit`), and how it comes into the text (`edit`).

use std::collections::HashMap;

use serde_json::Value as Json;

use super::Selected;
use crate::admit::{self, Labels, Verdict};
use crate::check::Options;
use crate::check::comment::Comments;
use crate::check::creation::{self, Creation};
use crate::check::document::Object;
use crate::check::judge::{labels, namespace};
use crate::check::subject::Subject;
use crate::decision::{Effect, Endpoint};
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
    let subject = Subject::of(&whole, object.kind.name(), [None, None], object.node.place);
    if let Some(why) = subject.exempt.as_ref().filter(|_| subject.is_windows()) {
        let why = format!("it is exempt ({why}); --include-exempt changes it, too");
        return Some(Answer::Refused(why));
    }
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
    if verdict.patch().is_none() {
        let validated = admit::admit_in(
            Endpoint::Validate,
            &request,
            &options.policy,
            &options.facts,
            labels,
        );
        return unchanged(&validated).map(Answer::Refused);
    }
    let index = Index::new(&object.node);
    let mut patch = verdict.patch_sparing(|finding| {
        let path = verdict.path(finding);
        let all = way.iter().copied().chain(path.steps());
        let lines = index.locate(all).lines;
        !is_selected(finding.rule()) || comments.reason(&lines, finding.rule()).is_some()
    })?;
    let pod = path.pointer();
    // It is JSON, and so it is YAML, which keeps the order of keys.
    let operations = yaml::documents(&patch).ok()?;
    let mut changes = folded(operations.first()?, &pod);
    for path in remove_emptied(&object.node, &mut changes) {
        let pointer: String = path[way.len()..]
            .iter()
            .flat_map(|token| ["/".to_owned(), token.replace('~', "~0").replace('/', "~1")])
            .collect();
        let operation = serde_json::json!({"op": "remove", "path": pointer});
        patch.pop();
        patch.push_str(&format!(",{operation}]"));
    }
    Some(Answer::Wanted(Wanted {
        changes,
        patch,
        pod,
    }))
}

/// Why nothing is changed in a Windows pod in which something should be.
fn unchanged(verdict: &Verdict<'_, '_>) -> Option<String> {
    let detection = verdict.detection();
    if !detection.is_windows() {
        return None;
    }
    if detection.conflict.is_some() {
        return Some("its evidence is contradictory; correct that first".to_owned());
    }
    let (adds_os, adds_selector) = verdict.misses_placement();
    if !(adds_os || adds_selector) {
        return None;
    }
    let findings = verdict.findings().iter();
    let refused: Vec<_> = findings.filter(|finding| finding.hit.refused).collect();
    if refused
        .iter()
        .any(|finding| finding.effect() == Effect::Ignore)
    {
        // The annotation says why.
        return None;
    }
    let mut codes: Vec<_> = refused.iter().map(|finding| finding.rule().code).collect();
    codes.dedup();
    (!codes.is_empty()).then(|| {
        format!(
            "the API server rejects spec.os.name: windows together with the fields of {}; remove these first",
            codes.join(", ")
        )
    })
}

/// A securityContext or its capabilities of which nothing would be left are removed themselves: their paths.
fn remove_emptied(object: &Node, changes: &mut Vec<Change>) -> Vec<Vec<String>> {
    let mut emptied = Vec::new();
    for name in ["capabilities", "securityContext"] {
        let mut removed = HashMap::<Vec<String>, usize>::new();
        for change in &*changes {
            if let Change::Remove(path) = change
                && let Some((_, parent)) = path.split_last()
                && parent.last().is_some_and(|last| last == name)
            {
                *removed.entry(parent.to_vec()).or_default() += 1;
            }
        }
        removed.retain(|path, count| {
            let steps = path.iter().map(|step| match step.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Name(step),
            });
            let located = object.locate(steps);
            matches!(&located.node.value, Value::Map(map) if located.complete && map.len() == *count)
        });
        let is_below = |path: &[String], parent: &Vec<String>| path.starts_with(parent);
        changes.retain(|change| match change {
            Change::Remove(path) => {
                let parent = path.split_last().map(|(_, parent)| parent.to_vec());
                !parent.is_some_and(|parent| removed.contains_key(&parent))
            }
            _ => true,
        });
        emptied.retain(|path: &Vec<String>| !removed.keys().any(|parent| is_below(path, parent)));
        for path in removed.into_keys() {
            changes.push(Change::Remove(path.clone()));
            emptied.push(path);
        }
    }
    emptied
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
