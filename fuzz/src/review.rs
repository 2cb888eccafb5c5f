//! A review's bytes → the answers of both webhooks: JSON with the request's uid, whatever it is.

use serde_json::Value;
use transom::decision::Endpoint;
use transom::facts::Facts;
use transom::policy::Policy;
use transom::review;

use super::common::{Answer, ask_with};
use super::policies;

pub fn run(body: &[u8]) {
    // As the default has it, and with everything on.
    for (policy, facts) in [(0, 0), (2, 2), (6, 1)] {
        let (policy, facts) = (&policies::all()[policy], &policies::facts()[facts]);
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            answer(endpoint, body, policy, facts);
        }
    }
}

fn answer(endpoint: Endpoint, body: &[u8], policy: &Policy, facts: &Facts) {
    if let Err(error) = review::decode(body, policy) {
        one_line(&error.to_string());
        return;
    }
    // Holds the answer against the verdict.
    let answer = ask_with(endpoint, body, policy, facts);
    sane(&answer);
    if endpoint == Endpoint::Validate {
        assert_eq!(answer.patch, None, "/validate never patches");
    }
    // Half of a surrogate pair in a field that nobody reads is passed over; no other reader of JSON makes a value of it.
    let review = serde_json::from_slice::<Value>(body);
    if let (Some(_), Ok(review)) = (&answer.patch, review) {
        answer.patched(&review["request"]["object"]);
    }
    let same = ask_with(endpoint, body, policy, facts);
    assert_eq!(answer, same, "the same question gets the same answer");
}

/// Whatever is told is a line that a terminal can be shown, and no book.
pub(super) fn sane(answer: &Answer) {
    for warning in answer.warnings() {
        one_line(warning);
    }
    if !answer.allowed {
        answer.message().split('\n').for_each(one_line);
        let causes = answer.response["status"]["details"]["causes"].as_array();
        for cause in causes.into_iter().flatten() {
            one_line(cause["message"].as_str().expect("a cause has a message"));
            one_line(cause["field"].as_str().expect("a cause has a field"));
        }
    }
    let annotations = answer.response["auditAnnotations"].as_object();
    for value in annotations.into_iter().flat_map(|map| map.values()) {
        value.as_str().expect("audit annotations are strings");
    }
}

fn one_line(text: &str) {
    assert!(!text.is_empty());
    let odd = text.chars().find(|c| c.is_control());
    assert_eq!(odd, None, "{text:?}");
}
