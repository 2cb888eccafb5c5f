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
