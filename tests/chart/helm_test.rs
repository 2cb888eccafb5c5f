//! The pod of `helm test`: what it is told to look for.

use clap::Parser;
use transom::cli::{Cli, Command, ProbeArgs};

use super::helm::{Manifests, helm};

fn parsed(manifests: &Manifests) -> ProbeArgs {
    let args = &manifests.test_pod()["spec"]["containers"][0]["args"];
    let args = args.as_array().unwrap().iter().map(|a| a.as_str().unwrap());
    match Cli::try_parse_from(["transom"].into_iter().chain(args))
        .unwrap()
        .command
    {
        Command::Probe(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_expects_what_the_values_make_of_answers() {
    let Some(helm) = helm() else { return };
    let mutual = "tls: {clientCASecret: a}";
    for (values, off, turned_away) in [
        ("{}", false, false),
        ("config: {mode: warn}", false, false),
        ("config: {mode: \"off\"}", true, false),
        (mutual, false, true),
        (
            &format!("{{config: {{mode: \"off\"}}, {mutual}}}"),
            false,
            true,
        ),
    ] {
        let args = parsed(&helm.with(values).unwrap());
        assert_eq!(args.webhook_configuration.as_deref(), Some("transom"));
        assert_eq!(args.off, off, "{values}");
        assert_eq!(args.client_certificate_required, turned_away, "{values}");
    }
}

#[test]
fn a_network_policy_lets_its_pod_in() {
    let Some(helm) = helm() else { return };
    let from = |values: &str| {
        let rendered = helm.with(values).unwrap();
        let labels = rendered.test_pod()["metadata"]["labels"].clone();
        let from = rendered.one("NetworkPolicy")["spec"]["ingress"][0]["from"].clone();
        (from, labels)
    };
    let (everybody, _) = from("networkPolicy: {enabled: true}");
    assert!(everybody.is_null());
    let peers = "webhookFrom: [{ipBlock: {cidr: 10.0.0.0/24}}]";
    let (from, labels) = from(&format!("networkPolicy: {{enabled: true, {peers}}}"));
    assert_eq!(from[0]["ipBlock"]["cidr"], "10.0.0.0/24");
    let selector = from[1]["podSelector"]["matchLabels"].as_object().unwrap();
    assert!(selector.len() == 2 && from.as_array().unwrap().len() == 2);
    assert!(selector.iter().all(|(key, value)| labels[key] == *value));
}
