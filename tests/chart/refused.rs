//! Values that are misspelt, of the wrong type, or do not go together: refused with the key that is wrong.

use super::helm::helm;

/// Values, and what the error has to contain.
const REFUSED: [(&str, &str); 38] = [
    // Misspelt, at every depth that is ours.
    ("replicas: 3", "'replicas' not allowed"),
    (
        "image: {repo: a}",
        "at '/image': additional properties 'repo'",
    ),
    ("serviceAccount: {automount: true}", "'automount'"),
    ("rbac: {enabled: true}", "'enabled'"),
    ("admin: {bind: 1}", "'bind'"),
    ("log: {lvl: info}", "'lvl'"),
    (
        "webhook: {failurePolicy: Fail}",
        "at '/webhook': additional properties 'failurePolicy'",
    ),
    (
        "webhook: {mutating: {policy: Fail}}",
        "at '/webhook/mutating'",
    ),
    (
        "webhook: {validating: {reinvocationPolicy: Never}}",
        "'reinvocationPolicy'",
    ),
    (
        "webhook: {mutating: {namespaceSelector: {labels: {a: b}}}}",
        "'labels'",
    ),
    (
        "webhook: {mutating: {namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}}}",
        "operator",
    ),
    (
        "webhook: {mutating: {matchConditions: [{name: a}]}}",
        "missing property 'expression'",
    ),
    (
        "webhook: {mutating: {matchConditions: [{name: windows-evidence, expression: 'true'}]}}",
        "/matchConditions/0/name",
    ),
    ("tls: {mode: cert-manager}", "at '/tls/mode'"),
    ("tls: {certManager: {issuer: a}}", "'issuer'"),
    ("service: {type: LoadBalancer}", "'type'"),
    (
        "podDisruptionBudget: {minUnavailable: 1}",
        "'minUnavailable'",
    ),
    ("autoscaling: {min: 1}", "'min'"),
    ("networkPolicy: {from: []}", "'from'"),
    ("metrics: {enabled: true}", "at '/metrics'"),
    ("metrics: {serviceMonitor: {intervall: 1s}}", "'intervall'"),
    // The program's own schema.
    (
        "config: {mdoe: warn}",
        "at '/config': additional properties 'mdoe'",
    ),
    (
        "config: {mode: off}",
        "at '/config/mode': got boolean, want string",
    ),
    ("config: {rules: {WIN999: deny}}", "'WIN999'"),
    (
        "config: {placement: {tolerations: [{value: a}]}}",
        "missing property 'key'",
    ),
    ("config: {namespaces: {Shop: {mode: warn}}}", "Shop"),
    // Types and ranges.
    (
        "replicaCount: two",
        "at '/replicaCount': got string, want integer",
    ),
    ("webhook: {port: 0}", "at '/webhook/port'"),
    (
        "webhook: {mutating: {timeoutSeconds: 31}}",
        "at '/webhook/mutating/timeoutSeconds'",
    ),
    (
        "webhook: {caBundle: LS0tLS1CRUdJTi}",
        "at '/webhook/caBundle'",
    ),
    (
        "commonLabels: {a: 1}",
        "at '/commonLabels/a': got number, want string",
    ),
    // Together.
    (
        "webhook: {caBundle: '-----BEGIN CERTIFICATE-----'}",
        "webhook.caBundle is for tls.mode existingSecret",
    ),
    (
        "hostNetwork: true",
        "set webhook.port to another, such as 10260",
    ),
    (
        "admin: {port: 10250}",
        "webhook.port and admin.port are both 10250",
    ),
    (
        "config: {linuxGuard: true}",
        "set webhook.matchConditions to notLinux",
    ),
    (
        "tls: {mode: existingSecret}",
        "set tls.existingSecret to the name",
    ),
    ("tls: {existingSecret: a}", "set tls.mode to existingSecret"),
    ("serviceAccount: {create: false}", "set serviceAccount.name"),
];

#[test]
fn rejects_values_that_cannot_be() {
    let Some(helm) = helm() else { return };
    for (values, want) in REFUSED {
        match helm.with(values) {
            Ok(_) => panic!("accepted: {values}"),
            Err(error) => assert!(error.contains(want), "{values}: {error}"),
        }
    }
}

#[test]
fn accepts_what_is_not_ours_to_judge() {
    let Some(helm) = helm() else { return };
    for values in [
        "podSecurityContext: {fsGroup: 1, supplementalGroupsPolicy: Strict}",
        "securityContext: {windowsOptions: {}}",
        "affinity: {podAntiAffinity: {}}",
        "tolerations: [{operator: Exists}]",
        "resources: {claims: [{name: a}]}",
        "global: {imageRegistry: a}",
        "config: {apiVersion: transom.dev/v1alpha1, kind: Config}",
        "image: {repository: 'registry.example.com:5000/a/b'}",
        "podDisruptionBudget: {maxUnavailable: 10%}",
        "strategy: {type: Recreate, rollingUpdate: null}",
        "serviceAccount: {create: false, name: default}",
        "{serviceAccount: {create: false}, rbac: {create: false}}",
    ] {
        if let Err(error) = helm.with(values) {
            panic!("{values}: {error}");
        }
    }
}
