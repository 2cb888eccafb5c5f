//! Every field of a pod that any rule reads, with a value of each other type, with null, and twice.

use serde_json::{Value, json};

use super::{Bad, UID, Want};
use crate::common::everything::everything;
use crate::common::{bytes, pointers, review_of};
use crate::every_field::{dotted, is_not_read, other_types};

/// The rules of both profiles are read.
pub(super) const POLICY: &str = crate::every_field::ALL_RULES;

pub(super) fn rows() -> Vec<Bad> {
    let object = everything();
    let read = pointers(&object).into_iter();
    let read = read.filter(|pointer| !is_not_read(pointer));
    read.flat_map(|pointer| {
        let types = other_types(object.pointer(&pointer).unwrap());
        let types = types.into_iter().map(|value| wrong(&pointer, value));
        let mut rows: Vec<_> = types.collect();
        rows.push(null(&pointer));
        rows.extend(twice(&pointer));
        rows
    })
    .collect()
}

/// Every field is read by somebody, so /validate denies it, and says which it is.
fn wrong(pointer: &str, value: Value) -> Bad {
    let path = dotted(pointer);
    let name = format!("wrong type of a field: {path} is {value}");
    let pointer = pointer.to_owned();
    let body = move || {
        review(&pointer, |object| {
            *object.pointer_mut(&pointer).unwrap() = value.clone()
        })
    };
    Bad::body(&name, "validate", body, Want::Denied(path))
}

/// Nothing is said of what is null; a null in a list is counted.
fn null(pointer: &str) -> Bad {
    let path = dotted(pointer);
    let name = format!("null for a field: {path}");
    let pointer = pointer.to_owned();
    let body = move || {
        review(&pointer, |object| {
            *object.pointer_mut(&pointer).unwrap() = Value::Null
        })
    };
    Bad::body(
        &name,
        "validate",
        body,
        Want::Without(format!("{path}: must be")),
    )
}

/// The field, and once more at the end of what it is in. Elements of lists have no keys, and those of maps that
/// are the user's own are not told apart.
fn twice(pointer: &str) -> Option<Bad> {
    let (parent, key) = pointer.rsplit_once('/')?;
    if !key.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let path = dotted(pointer);
    let name = format!("field of an object twice: {path}");
    let want = Want::Denied(format!("{path}: stands there twice"));
    let (pointer, parent, key) = (pointer.to_owned(), parent.to_owned(), key.to_owned());
    let body = move || {
        let review = review(&pointer, |object| {
            let map = object.pointer_mut(&parent).unwrap();
            map["again"] = map[&key].clone();
        });
        let text = String::from_utf8(review).unwrap();
        text.replace("\"again\"", &format!("{key:?}")).into_bytes()
    };
    Some(Bad::body(&name, "validate", body, want))
}

/// A Windows pod with this field alone, changed: of many findings not all are told.
fn review(pointer: &str, change: impl Fn(&mut Value)) -> Vec<u8> {
    let mut object = alone(&everything(), pointer);
    for field in ["os", "nodeSelector"] {
        if object["spec"].get(field).is_none() {
            object["spec"][field] = everything()["spec"][field].take();
        }
    }
    let mut review = review_of(&everything(), "CREATE", None);
    change(&mut object);
    review["request"]["uid"] = json!(UID);
    review["request"]["object"] = object;
    bytes(&review)
}

/// What is on the way to this place, and the place with all that is in it.
fn alone(value: &Value, pointer: &str) -> Value {
    let Some((_, rest)) = pointer.split_once('/') else {
        return value.clone();
    };
    let (step, rest) = match rest.split_once('/') {
        Some((step, _)) => (step, &rest[step.len()..]),
        None => (rest, ""),
    };
    let key = step.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Array(list) => {
            let mut list = list.clone();
            let at = key.parse::<usize>().unwrap();
            list[at] = alone(&list[at], rest);
            Value::Array(list)
        }
        value => json!({ &key: alone(&value[&key], rest) }),
    }
}
