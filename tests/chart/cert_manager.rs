//! Certificates by cert-manager: what asks for them, and what takes their CA to the webhook configurations.

use serde_json::{Value, json};

use super::helm::helm;
use super::webhooks::KINDS;

#[test]
fn annotations_are_those_of_the_values_and_of_cert_manager() {
    let Some(helm) = helm() else { return };
    for kind in KINDS {
        let annotations = |case| helm.ci(case).one(kind)["metadata"]["annotations"].clone();
        let enforcer = "admissions.enforcer/disabled";
        assert_eq!(annotations("default"), json!({enforcer: "true"}));
        assert_eq!(
            annotations("cert-manager"),
            json!({enforcer: "true", "cert-manager.io/inject-ca-from": "transom/transom-tls"})
        );
    }
    let certificate = helm.ci("cert-manager");
    let certificate = certificate.one("Certificate");
    assert_eq!(certificate["metadata"]["name"], "transom-tls");
    assert_eq!(certificate["spec"]["issuerRef"]["name"], "internal");
    assert_eq!(certificate["spec"]["dnsNames"][0], "transom.transom.svc");
}

#[test]
fn cert_manager_makes_a_ca_where_no_issuer_is_named() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("cert-manager-own-ca");
    let name = |object: &Value| object["metadata"]["name"].clone();
    let issuers: Vec<_> = rendered.all("Issuer").into_iter().map(name).collect();
    assert_eq!(issuers, ["transom-self-signed", "transom"]);
    let by_issuer: Vec<_> = rendered
        .all("Certificate")
        .into_iter()
        .map(|c| {
            (
                c["spec"]["issuerRef"]["name"].clone(),
                c["spec"]["isCA"] == true,
            )
        })
        .collect();
    assert_eq!(
        by_issuer,
        [
            (json!("transom-self-signed"), true),
            (json!("transom"), false)
        ]
    );
    assert_eq!(
        rendered.all("Issuer")[1]["spec"]["ca"]["secretName"],
        rendered.all("Certificate")[0]["spec"]["secretName"]
    );
    assert!(helm.ci("cert-manager").all("Issuer").is_empty());
}
