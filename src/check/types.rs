//! Values that have to be strings and are not, where no rule reads them: annotations, labels and environment
//! variables. The API server rejects the object.
//!
//! Fields that rules read are reported by the evaluation itself.

use super::document::Object;
use super::report::Problem;
use crate::field::Step;
use crate::workload::Kind;
use crate::yaml::{Node, Value};

/// As many are reported of one object.
const MOST: usize = 10;
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The values that are no strings.
pub(super) fn problems(object: &Object) -> Vec<Problem> {
    let mut problems = Vec::new();
    let template: &[&str] = match object.kind {
        Kind::Pod | Kind::Service => &[],
        Kind::PodTemplate => &["template"],
        Kind::CronJob => &["spec", "jobTemplate", "spec", "template"],
        _ => &["spec", "template"],
    };
    let mut places = vec![&template[..0]];
    if object.kind == Kind::CronJob {
        places.push(&template[..2]);
    }
    if !template.is_empty() {
        places.push(template);
    }
    for place in places {
        for field in ["annotations", "labels"] {
            let path = [place, &["metadata", field]].concat();
            strings(object, &path, &mut problems);
        }
    }
    if object.kind != Kind::Service {
        environment(object, template, &mut problems);
    }
    problems.truncate(MOST);
    problems
}

fn find<'n>(object: &'n Object, path: &[&str]) -> Option<&'n Node> {
    let located = object.node.locate(path.iter().map(|name| Step::Name(name)));
    located.complete.then_some(located.node)
}

fn strings(object: &Object, path: &[&str], problems: &mut Vec<Problem>) {
    let Some(Value::Map(map)) = find(object, path).map(|node| &node.value) else {
        return;
    };
    for (key, node) in map {
        if problems.len() >= MOST {
            return;
        }
        report(node, problems, || {
            let mut path = path.join(".");
            // Writing to memory does not fail.
            let _ = Step::Key(&key.text).write_dotted(false, &mut path);
            path
        });
    }
}

fn environment(object: &Object, template: &[&str], problems: &mut Vec<Problem>) {
    for containers in CONTAINERS {
        let path = [template, &["spec", containers]].concat();
        let Some(Value::List(list)) = find(object, &path).map(|node| &node.value) else {
            continue;
        };
        for (i, container) in list.iter().enumerate() {
            let located = container.locate([Step::Name("env")]);
            let Value::List(env) = &located.node.value else {
                continue;
            };
            for (j, entry) in env.iter().enumerate().filter(|_| located.complete) {
                if problems.len() >= MOST {
                    return;
                }
                for field in ["name", "value"] {
                    let value = entry.locate([Step::Name(field)]);
                    if value.complete {
                        let path = || format!("{}[{i}].env[{j}].{field}", path.join("."));
                        report(value.node, problems, path);
                    }
                }
            }
        }
    }
}

fn report(node: &Node, problems: &mut Vec<Problem>, path: impl FnOnce() -> String) {
    let what = match &node.value {
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::Scalar(scalar) if scalar.is_null() || !scalar.plain || scalar.is_text() => return,
        Value::Scalar(scalar) if scalar.bool().is_some() => "a boolean",
        Value::Scalar(_) => "a number",
    };
    let remedy = match node.value {
        Value::Scalar(_) => "; put it in quotes",
        _ => "",
    };
    let text = format!("{}: must be a string, not {what}{remedy}", path());
    problems.push(Problem::at(node.place, text));
}
