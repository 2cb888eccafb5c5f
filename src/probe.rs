//! Does a webhook answer as it should? The questions, and what is to be thought of the answers.
//!
//! Pure: who is asked, and how, is `command::probe`. A question is a review that an API server could send: a
//! dry run in a namespace that does not exist, so that nothing is counted on and nothing can come of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::check::output::shown;
use crate::decision::Endpoint;

const UID: &str = "7b1f0c3e-2d54-4a8e-9a6b-70726f626531";
const NAMESPACE: &str = "transom-probe";

/// What is wrong with an answer, and what helps.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
}

/// Windows by its user name, and without anything that would place it.
fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": NAMESPACE},
        "spec": {
            "securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}},
            "containers": [{"name": "probe", "image": "probe", "resources": {}}],
        },
    })
}

/// The same with much that Windows cannot do: a configuration may well allow one of it.
fn bad_pod() -> Value {
    let mut pod = pod();
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
    pod["spec"]["hostPID"] = true.into();
    pod["spec"]["securityContext"]["runAsUser"] = 1000.into();
    pod["spec"]["securityContext"]["seLinuxOptions"] = json!({"level": "s0:c1"});
    pod["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    pod
}

/// The review to send.
#[must_use]
pub fn review(endpoint: Endpoint) -> Vec<u8> {
    let object = match endpoint {
        Endpoint::Mutate => pod(),
        Endpoint::Validate => bad_pod(),
    };
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let resource = json!({"group": "", "version": "v1", "resource": "pods"});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "probe",
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": {"username": "transom-probe"},
            "object": object,
            "oldObject": null,
            "dryRun": true,
        },
    });
    review.to_string().into_bytes()
}

/// What an answer says of the webhook. The configuration's mode may be another than enforce, and then there is less to
/// see; that there is something, is asked unless it `is_off`.
///
/// # Errors
/// The answer is none of Transom's, or one that should not have come.
pub fn judge(endpoint: Endpoint, is_off: bool, status: u16, body: &[u8]) -> Result<String, Fault> {
    const NOT_OURS: &str =
        "is it Transom that answers there? look at the Service's selector and at --connect-to";
    const UNSEEN: &str = "look at mode and exemptions: transom config show";
    const SEEN: &str = "leave --off away, or look at mode: transom config show";
    let fault = |what: String, remedy| Err(Fault { what, remedy });
    if status != 200 {
        let text = String::from_utf8_lossy(body);
        return fault(
            format!("answered {status}: {}", shown(text.trim())),
            NOT_OURS,
        );
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let response = &answer["response"];
    if response["uid"] != UID {
        return fault(
            "answered with something else than this review's answer".to_owned(),
            NOT_OURS,
        );
    }
    let allowed = response["allowed"] == true;
    let patch = STANDARD.decode(response["patch"].as_str().unwrap_or_default());
    let patch: Value = serde_json::from_slice(&patch.unwrap_or_default()).unwrap_or_default();
    let operations = patch.as_array().into_iter().flatten();
    let fields: Vec<_> = operations
        .filter_map(|operation| operation["path"].as_str())
        .collect();
    let noted = response["auditAnnotations"].is_object();
    let warned = response["warnings"].is_array();
    if is_off {
        return match allowed && fields.is_empty() && !noted && !warned {
            true => Ok("answers, and does nothing (mode off)".to_owned()),
            false => fault("a Windows pod was judged".to_owned(), SEEN),
        };
    }
    match endpoint {
        Endpoint::Mutate if !fields.is_empty() => Ok(format!(
            "a Windows pod comes back patched: {}",
            shown(&fields.join(", "))
        )),
        Endpoint::Mutate if noted => {
            Ok("a Windows pod is known (mode audit: it is not patched)".to_owned())
        }
        Endpoint::Mutate => fault("a Windows pod came back as it was".to_owned(), UNSEEN),
        Endpoint::Validate if !allowed => Ok("a bad Windows pod is refused".to_owned()),
        Endpoint::Validate if warned => Ok("a bad Windows pod is warned of (mode warn)".to_owned()),
        Endpoint::Validate if noted => Ok("a bad Windows pod is noted (mode audit)".to_owned()),
        Endpoint::Validate => fault("a bad Windows pod was let through".to_owned(), UNSEEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admit::admit;
    use crate::config::Written;
    use crate::facts::Facts;
    use crate::policy::Policy;
    use crate::review as wire;

    fn answer(endpoint: Endpoint, is_off: bool, config: &str) -> Result<String, Fault> {
        let header = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";
        let written = Written::from_bytes(format!("{header}{config}").as_bytes());
        let policy = Policy::of(&written.unwrap()).unwrap();
        let body = review(endpoint);
        let request = wire::decode(&body, &policy).unwrap();
        let facts = Facts::default();
        let verdict = admit(endpoint, &request, &policy, &facts);
        judge(endpoint, is_off, 200, &wire::encode(&verdict))
    }

    #[test]
    fn our_own_answers_are_good_in_every_mode_that_looks() {
        let both =
            |config| [Endpoint::Mutate, Endpoint::Validate].map(|at| answer(at, false, config));
        for config in [
            "",
            "placement: {setPodOS: never, tolerations: []}",
            "profile: kep-116",
        ] {
            let [mutate, validate] = both(config);
            assert!(
                mutate
                    .unwrap()
                    .starts_with("a Windows pod comes back patched: "),
                "{config}"
            );
            assert_eq!(
                validate.unwrap(),
                "a bad Windows pod is refused",
                "{config}"
            );
        }
        let [mutate, validate] = both("mode: warn");
        assert!(mutate.unwrap().contains("patched: "));
        assert!(validate.unwrap().contains("mode warn"));
        for good in both("mode: audit") {
            assert!(good.unwrap().contains("mode audit"));
        }
        for unseen in both("mode: \"off\"") {
            assert!(unseen.unwrap_err().remedy.contains("transom config show"));
        }
    }

    #[test]
    fn where_nothing_is_to_be_seen_nothing_may_be() {
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let good = answer(endpoint, true, "mode: \"off\"").unwrap();
            assert!(good.contains("mode off"), "{good}");
            for config in ["", "mode: warn", "mode: audit"] {
                let fault = answer(endpoint, true, config).unwrap_err();
                assert!(fault.remedy.contains("--off"), "{config}");
            }
        }
    }

    #[test]
    fn answers_of_others_are_none() {
        let fault = |status, body: &str| {
            judge(Endpoint::Mutate, false, status, body.as_bytes()).unwrap_err()
        };
        assert_eq!(fault(404, "not here\n").what, "answered 404: not here");
        for body in [
            "",
            "ok",
            "{}",
            r#"{"response":{"uid":"another","allowed":true}}"#,
        ] {
            assert!(
                fault(200, body)
                    .what
                    .starts_with("answered with something else"),
                "{body}"
            );
        }
    }
}
