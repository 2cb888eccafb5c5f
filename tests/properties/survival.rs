//! Arbitrary bytes, arbitrary JSON and odd values in a review: all are survived.

use crate::common::{object_of, pointers, review_of};
use crate::config;
use crate::objects::any_object;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use transom::admit::admit;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::review;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn arbitrary_bytes_are_survived(bytes in vec(any::<u8>(), 0..300)) {
        answers_or_refuses(&bytes)?;
    }

    #[test]
    fn arbitrary_json_is_survived(value in json_value()) {
        answers_or_refuses(&serde_json::to_vec(&value).unwrap())?;
        let mut review = review_of(&object_of("Pod", json!({})), "CREATE", None);
        review["request"]["object"] = value.clone();
        answers(&review)?;
        review["request"]["operation"] = json!("UPDATE");
        review["request"]["oldObject"] = value;
        answers(&review)?;
    }

    #[test]
    fn values_in_odd_places_are_survived(
        object in any_object(),
        operation in select(vec!["CREATE", "UPDATE"]),
        splices in vec((any::<Index>(), json_value()), 1..4),
    ) {
        let mut review = review_of(&object, operation, Some(&object));
        for (at, value) in splices {
            // Below the objects, so that the uid stays what it is.
            let places = pointers(&review)
                .into_iter()
                .filter(|p| p.starts_with("/request/object/") || p.starts_with("/request/oldObject/"))
                .collect::<Vec<_>>();
            if !places.is_empty() {
                *review.pointer_mut(at.get::<String>(&places)).unwrap() = value;
            }
        }
        answers(&review)?;
    }
}

/// Any JSON, with many names and words that mean something here.
fn json_value() -> impl Strategy<Value = Value> {
    let words = vec![
        "spec",
        "containers",
        "securityContext",
        "windows",
        "linux",
        "os",
        "name",
        "template",
        "metadata",
        "annotations",
        "nodeSelector",
        "kubernetes.io/os",
        "volumes",
        "nfs",
        "affinity",
        "tolerations",
        "AdmissionReview",
        "request",
        "uid",
        "object",
        "kind",
        "runAsUser",
        "\\\"\n",
    ];
    let key = prop_oneof![select(words.clone()).prop_map(str::to_owned), ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key.clone(), inner), 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn answers_or_refuses(body: &[u8]) -> Result<bool, TestCaseError> {
    let (policy, facts) = (Policy::default(), Facts::default());
    let Ok(request) = review::decode(body, &policy) else {
        return Ok(false);
    };
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let bytes = review::encode(&admit(endpoint, &request, &policy, &facts));
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(&answer["response"]["uid"], request.uid());
    }
    Ok(true)
}

/// The review is one, so it has to be answered with its uid.
fn answers(review: &Value) -> Result<(), TestCaseError> {
    let answered = answers_or_refuses(&serde_json::to_vec(review).unwrap())?;
    prop_assert!(answered, "refused: {review}");
    Ok(())
}
