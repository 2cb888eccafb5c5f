//! The words: denials, warnings, the audit log, paths; their order, number and length.

use crate::common::{KINDS, OS, ask_with, create, namespace, object_of, pod, policy, spec_path};
use crate::{container, labelled, validate, windows};
use serde_json::{Value, json};
use transom::decision::Endpoint;
use transom::facts::{Facts, NamespaceFacts};
use transom::mode::Mode;
use transom::os::Os;
use transom::policy::Policy;
use transom::rules::{Consequence, Rule};

#[test]
fn a_denial_names_rule_field_value_reason_remedy_and_evidence() {
    let answer = validate(&pod(windows(json!({
        "hostNetwork": true,
        "securityContext": {"runAsUser": 1000},
        "containers": [container("main", json!({"command": ["bash"]}))],
    }))));
    let lines: Vec<_> = answer.message().lines().collect();
    assert_eq!(
        lines[0],
        "this Pod is for Windows (spec.nodeSelector[\"kubernetes.io/os\"]: windows), \
         which cannot honour it as it is written:"
    );
    assert_eq!(
        lines.len(),
        3,
        "one line each, sorted; warnings stay warnings"
    );
    for (line, (code, field)) in lines[1..].iter().zip([
        ("WIN101", "spec.securityContext.runAsUser: 1000"),
        ("WIN201", "spec.hostNetwork: true"),
    ]) {
        let rule = Rule::find(code).unwrap();
        let (reason, remedy) = rule.words(0);
        assert!(reason.starts_with(rule.reason) && remedy == rule.remedy);
        let want = format!("- {field} [{code} {}] {reason} {remedy}", rule.name);
        assert_eq!(*line, want);
    }
    let causes = &answer.response["status"]["details"]["causes"];
    assert_eq!(
        causes[0],
        json!({
            "reason": "FieldValueForbidden",
            "field": "spec.securityContext.runAsUser",
            "message": "WIN101 run-as-user: Windows has no numeric user IDs",
        })
    );
    assert_eq!(
        answer.warnings(),
        ["WIN504 spec.containers[0].command[0]: bash: Windows images do not have this program"]
    );
    let audit = &answer.response["auditAnnotations"];
    assert_eq!(audit["os"], "windows");
    assert_eq!(audit["mode"], "enforce");
    assert_eq!(
        audit["evidence"],
        "node-selector spec.nodeSelector[\"kubernetes.io/os\"]: windows"
    );
    assert_eq!(
        audit["findings"],
        "WIN101 deny spec.securityContext.runAsUser; WIN201 deny spec.hostNetwork; \
         WIN504 warn spec.containers[0].command[0]"
    );
}

#[test]
fn a_contradiction_is_told_with_both_sides() {
    let answer = validate(&pod(
        json!({"os": {"name": "windows"}, "nodeSelector": {OS: "linux"}}),
    ));
    let message = answer.message();
    assert!(message.starts_with("no node can run this Pod as it is written:\n- spec.nodeSelector"));
    assert!(
        message.contains(r#"["kubernetes.io/os"]: linux against spec.os.name: windows [WIN601"#),
        "{message}"
    );
}

#[test]
fn findings_are_sorted_by_rule_and_then_by_place() {
    let flawed = |name: &str| {
        container(
            name,
            json!({"securityContext": {"runAsUser": 1, "privileged": true}}),
        )
    };
    let object = pod(windows(json!({
        "hostPID": true,
        "containers": [flawed("a"), flawed("b")],
        "volumes": [{"name": "v", "nfs": {}}],
    })));
    let codes: Vec<_> = validate(&object).deny;
    let code = |finding: &String| finding.split(' ').next().unwrap().to_owned();
    assert!(codes.is_sorted_by_key(code), "{codes:?}");
    assert_eq!(codes.len(), 6);
    assert!(codes[0].contains("containers[0]") && codes[1].contains("containers[1]"));
}

#[test]
fn tells_sixty_four_findings_and_counts_the_rest() {
    let many = |fields: Value, count: usize| {
        let list: Vec<_> = (0..count)
            .map(|i| container(&format!("c{i}"), fields.clone()))
            .collect();
        pod(windows(json!({"containers": list})))
    };
    let deny = json!({"securityContext": {"runAsUser": 1}});
    for (count, more) in [
        (64, None),
        (65, Some("and 1 more")),
        (200, Some("and 136 more")),
    ] {
        let answer = validate(&many(deny.clone(), count));
        let lines: Vec<_> = answer.message().lines().skip(1).collect();
        assert_eq!(
            lines.iter().filter(|l| l.starts_with("- ")).count(),
            count.min(64)
        );
        assert_eq!(lines.get(64).copied(), more);
        let causes = answer.response["status"]["details"]["causes"]
            .as_array()
            .unwrap();
        assert_eq!(causes.len(), count.min(64));
        assert_eq!(
            causes[63]["field"],
            "spec.containers[63].securityContext.runAsUser"
        );
        assert_eq!(answer.deny.len(), count);
        let audit = answer.response["auditAnnotations"]["findings"]
            .as_str()
            .unwrap();
        assert_eq!(audit.split("; ").count(), 64 + usize::from(more.is_some()));
    }
    let warn = json!({"command": ["sh"]});
    for (count, more) in [(64, None), (65, Some("transom: and 1 more findings"))] {
        let answer = validate(&many(warn.clone(), count));
        assert!(answer.allowed);
        let warnings = answer.warnings();
        assert!(warnings[63].contains("spec.containers[63].command[0]"));
        assert_eq!(
            warnings.get(64).copied().filter(|w| !w.contains(" by ")),
            more
        );
        assert!(warnings.last().unwrap().contains("for Windows by"));
    }
}

/// A denial says whether the pod would fail, or run without what it asks for.
#[test]
fn reports_in_words_what_happens_without_transom() {
    for (fields, sentence) in [
        (
            json!({"securityContext": {"runAsUser": 1}}),
            "Windows ignores it.",
        ),
        (
            json!({"volumes": [{"name": "a", "nfs": {}}]}),
            "The pod cannot start, or does not work.",
        ),
        (
            json!({"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}]}),
            "The pod runs with less protection than it asks for.",
        ),
    ] {
        let answer = validate(&pod(windows(fields)));
        let others = Consequence::ALL.map(Consequence::sentence);
        for other in others {
            assert_eq!(
                answer.message().contains(other),
                other == sentence,
                "{}",
                answer.message()
            );
        }
    }
}

#[test]
fn warnings_are_short() {
    let warn = labelled(Mode::Warn);
    let policy = policy("rules: {WIN301: warn}");
    let object = pod(windows(json!({
        "hostNetwork": true, "hostPID": true, "hostIPC": true, "hostUsers": false,
        "shareProcessNamespace": true, "dnsPolicy": "ClusterFirstWithHostNet", "resources": {},
        "dnsConfig": {"searches": ["a.example", "b.example"]},
        "securityContext": {
            "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
            "fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": [1000],
            "supplementalGroupsPolicy": "Strict", "seLinuxOptions": {"level": "s0"},
            "seLinuxChangePolicy": "Recursive", "sysctls": [{"name": "a", "value": "b"}],
            "appArmorProfile": {"type": "RuntimeDefault"},
            "seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
        },
        "containers": [container("main", json!({
            "command": ["/bin/sh", "-c", "true"],
            "resources": {"limits": {"hugepages-2Mi": "2Mi"}},
            "lifecycle": {"stopSignal": "SIGUSR1"},
            "restartPolicyRules": [{"action": "RestartAllContainers"}],
            "volumeDevices": [{"name": "a", "devicePath": "/dev/a"}],
            "volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "file", "mountPropagation": "HostToContainer", "recursiveReadOnly": "Enabled"}],
            "securityContext": {
                "privileged": true, "allowPrivilegeEscalation": true, "procMount": "Unmasked",
                "readOnlyRootFilesystem": true, "capabilities": {"add": ["NET_ADMIN"]},
                "runAsUser": 1000, "runAsGroup": 1000, "seLinuxOptions": {"level": "s0"},
                "appArmorProfile": {"type": "RuntimeDefault"}, "seccompProfile": {"type": "Localhost"},
            },
        }))],
        "volumes": [
            {"name": "a", "emptyDir": {"medium": "Memory"}},
            {"name": "b", "emptyDir": {"medium": "HugePages-2Mi"}},
            {"name": "c", "nfs": {}}, {"name": "d", "glusterfs": {}}, {"name": "e", "image": {}},
            {"name": "f", "secret": {"defaultMode": 256}}, {"name": "g", "hostPath": {"path": "/var/run/docker.sock"}},
            {"name": "h", "iscsi": {}},
        ],
    })));
    let answer = ask_with(Endpoint::Validate, &create(&object), &policy, &warn);
    for warning in answer.warnings() {
        assert!(warning.chars().count() <= 120, "{warning}");
    }
    assert!(answer.warnings().len() > 44, "{}", answer.warnings().len());
}

#[test]
fn control_characters_and_long_values_are_cut_in_messages() {
    let long = "x".repeat(5_000);
    let object = pod(windows(json!({
        "containers": [container("main", json!({}))],
        "volumes": [
            {"name": "a", "hostPath": {"path": format!("/etc/a\nb\u{1b}[31m{long}")}},
        ],
    })));
    let answer = validate(&object);
    let warning = answer.warnings()[0];
    assert!(warning.len() < 250, "{}", warning.len());
    assert!(!warning.chars().any(char::is_control), "{warning:?}");
    assert!(warning.contains("a b [31mxxx"), "{warning}");
}

#[test]
fn evidence_of_the_namespace_reaches_the_audit_log() {
    let facts = namespace(NamespaceFacts {
        os: Some(Os::Windows),
        ..NamespaceFacts::default()
    });
    let body = create(&pod(json!({})));
    let answer = ask_with(Endpoint::Validate, &body, &Policy::default(), &facts);
    assert_eq!(answer.warnings(), [""; 0], "no finding, no warning");
    assert_eq!(
        answer.response["auditAnnotations"]["evidence"],
        "declared label transom.dev/os: windows of namespace default"
    );
}

/// Every kind names its own paths.
#[test]
fn paths_start_at_the_object() {
    for kind in KINDS {
        let answer = validate(&object_of(kind, windows(json!({"hostPID": true}))));
        assert_eq!(answer.deny, [format!("WIN202 {}.hostPID", spec_path(kind))]);
        assert!(
            answer
                .message()
                .starts_with(&format!("this {kind} is for Windows ("))
        );
    }
}

#[test]
fn maps_are_told_with_what_is_in_them() {
    let policy = policy("rules: {WIN111: warn}");
    let object = pod(windows(json!({"containers": [container("a", json!({
        "securityContext": {"capabilities": {"drop": ["ALL"]}}}))]})));
    let answer = ask_with(
        Endpoint::Validate,
        &create(&object),
        &policy,
        &Facts::default(),
    );
    let warning = answer.warnings()[0].to_owned();
    assert!(warning.contains("capabilities: {drop: [ALL]}"), "{warning}");
}

/// Commands and arguments may hold secrets: the audit log gets their place and nothing else.
#[test]
fn arguments_do_not_reach_the_audit_log() {
    let object = pod(json!({"containers": [container("a", json!({
        "args": ["C:\\app.exe --password=hunter2"]}))]}));
    let answer = validate(&object);
    assert_eq!(answer.warn, ["WIN604 spec.containers[0].args[0]"]);
    assert!(
        !answer.response.to_string().contains("hunter2"),
        "{}",
        answer.response
    );
}
