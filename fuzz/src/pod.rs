//! A generated object → patch → apply → review again: the patch can be applied, does nothing but what it may, has
//! nothing to add the second time, and leaves nothing to deny that was not denied before.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use transom::decision::Endpoint;

use super::common::{Answer, ask_with, bytes, pod_spec, review_of, spec_path};
use super::{generate, policies, review};

pub fn run(data: &[u8]) {
    // Too few bytes are no input at all.
    let _ = tried(&mut Unstructured::new(data));
}

fn tried(u: &mut Unstructured<'_>) -> Result<()> {
    let policy = u.choose(policies::all())?;
    let facts = u.choose(policies::facts())?;
    let envelope = envelope(u)?;
    let object = generate::object(u)?;
    let old = match u.ratio(1, 4)? {
        true => Some(generate::object(u)?),
        false => None,
    };
    let both = |object: &Value| {
        let body = bytes(&envelope.review(object, old.as_ref()));
        [Endpoint::Mutate, Endpoint::Validate].map(|endpoint| {
            let answer = ask_with(endpoint, &body, policy, facts);
            review::sane(&answer);
            answer
        })
    };
    let [mutated, before] = both(&object);
    assert_eq!(before.patch, None, "/validate never patches");
    if !mutated.allowed {
        assert!(!before.allowed, "what /mutate denies, /validate denies");
    }
    touches_what_it_may(&object, &mutated);

    let patched = mutated.patched(&object);
    let [again, after] = both(&patched);
    assert_eq!(again.patch, None, "patching twice is patching once");
    assert_eq!(again.repair, [""; 0], "nothing is left to repair");
    if !mutated.allowed {
        return Ok(());
    }
    for denied in &after.deny {
        assert!(
            before.deny.contains(denied),
            "{denied} is new after the patch"
        );
    }
    for warned in &after.warn {
        assert!(
            before.warn.contains(warned),
            "{warned} is new after the patch"
        );
    }
    for repaired in &mutated.repair {
        let told = after.deny.contains(repaired) || after.warn.contains(repaired);
        assert!(!told, "{repaired} is still there");
    }
    assert!(
        !before.allowed || after.allowed,
        "allowed before the patch only"
    );
    Ok(())
}

/// What stands around the object.
struct Envelope {
    update: bool,
    ephemeral: bool,
    user: &'static str,
    dry_run: bool,
}

fn envelope(u: &mut Unstructured<'_>) -> Result<Envelope> {
    let users = [
        "jane",
        "system:serviceaccount:kube-system:replicaset-controller",
        "system:kube-controller-manager",
    ];
    Ok(Envelope {
        update: u.ratio(1, 4)?,
        ephemeral: u.ratio(1, 8)?,
        user: u.choose(&users)?,
        dry_run: u.arbitrary()?,
    })
}

impl Envelope {
    fn review(&self, object: &Value, old: Option<&Value>) -> Value {
        let operation = if self.update { "UPDATE" } else { "CREATE" };
        let mut review = review_of(object, operation, old);
        let request = &mut review["request"];
        // The API server writes it, whatever the object has there.
        request["name"] = json!("a");
        request["userInfo"]["username"] = json!(self.user);
        request["dryRun"] = json!(self.dry_run);
        if self.ephemeral {
            request["subResource"] = json!("ephemeralcontainers");
        }
        review
    }
}

/// `spec.os`, node selector and tolerations of the pod are added to; else only what was repaired goes.
fn touches_what_it_may(object: &Value, answer: &Answer) {
    let patched = answer.patched(object);
    let kind = object["kind"].as_str().unwrap();
    let repaired: Vec<_> = answer.repair.iter().map(|repair| pointer(repair)).collect();
    let mut rest = patched.clone();
    for pointer in &repaired {
        assert_eq!(patched.pointer(pointer), None, "{pointer} was to go");
        assert!(object.pointer(pointer).is_some(), "{pointer} was there");
    }
    let spec = format!("/{}", spec_path(kind).replace('.', "/"));
    let (old, new) = (pod_spec(object), pod_spec(&patched));
    for field in ["os", "nodeSelector", "tolerations"] {
        only_added(&old[field], &new[field]);
        if let Some(map) = rest.pointer_mut(&spec).and_then(Value::as_object_mut) {
            map.remove(field);
            map.extend(
                old.get(field)
                    .map(|value| (field.to_owned(), value.clone())),
            );
        }
    }
    let mut wanted = object.clone();
    for pointer in repaired {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = wanted.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(rest, wanted, "nothing else changes");
}

fn only_added(old: &Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                assert!(
                    value.is_null() || new.get(key) == Some(value),
                    "{key} was kept"
                );
            }
        }
        (Value::Array(old), Value::Array(new)) => assert!(new.starts_with(old), "added at the end"),
        (old, new) => assert!(old.is_null() || old == new, "{old} became {new}"),
    }
}

/// `CODE spec.containers[0].name` → `/spec/containers/0/name`.
fn pointer(finding: &str) -> String {
    let (_, path) = finding.split_once(' ').unwrap();
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}
