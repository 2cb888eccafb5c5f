//! The ConfigMap: what the program makes of the configuration in it.

use transom::policy::Policy;

use super::helm::{Manifests, cases, helm};

fn text(manifests: &Manifests) -> &str {
    let map = manifests.configuration();
    assert_eq!(map["data"].as_object().unwrap().len(), 1);
    map["data"]["config.yaml"].as_str().unwrap()
}

#[test]
fn the_program_accepts_what_is_rendered() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let text = text(&rendered);
        if let Err(error) = Policy::parse(text) {
            panic!("{case}: {error}\n{text}");
        }
    }
}

#[test]
fn nothing_is_added_to_the_configuration_but_its_format_and_that_taints_are_learnt() {
    let Some(helm) = helm() else { return };
    const FORMAT: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";
    for (values, want) in [
        ("{}", "placement:\n  learnTaints: true\n"),
        ("watchNodes: false", ""),
        (
            "config: {placement: {learnTaints: false}}",
            "placement:\n  learnTaints: false\n",
        ),
        (
            "config: {placement: {repair: false}}",
            "placement:\n  learnTaints: true\n  repair: false\n",
        ),
        (
            "{watchNodes: false, config: {placement: {learnTaints: true}}}",
            "placement:\n  learnTaints: true\n",
        ),
    ] {
        let rendered = helm.with(values).unwrap();
        assert_eq!(text(&rendered), format!("{FORMAT}{want}"), "{values}");
    }
}

/// Strings that YAML takes for something else are still strings when the program reads them.
#[test]
fn values_arrive_as_they_were_written() {
    let Some(helm) = helm() else { return };
    let values = r##"
config:
  mode: "off"
  rules: {WIN301: "off", host-network: deny}
  evidence: {images: {hint: {tags: ["1809", 20H2, "0777", "1e3", "yes"], words: ["no", "on"]}}}
  exemptions: {users: ["null", "system:serviceaccount:a:b", "# no comment", "{{ no template }}"]}
  placement: {tolerations: [{key: os, value: "true", effect: "", builds: ["10.0.20348"]}]}
"##;
    let rendered = helm.with(values).unwrap();
    let rendered: serde_json::Value = serde_saphyr::from_str(text(&rendered)).unwrap();
    let values: serde_json::Value = serde_saphyr::from_str(values).unwrap();
    let mut want = values["config"].clone();
    want["apiVersion"] = "transom.dev/v1alpha1".into();
    want["kind"] = "Config".into();
    want["placement"]["learnTaints"] = true.into();
    assert_eq!(rendered, want);
}

/// Every key of the example, in the place of the values, is the same policy as the example itself.
#[test]
fn the_example_of_every_key_passes_through() {
    let Some(helm) = helm() else { return };
    let example = super::read("examples/config.yaml");
    let indented: String = example.lines().map(|line| format!("  {line}\n")).collect();
    let rendered = helm.with(&format!("config:\n{indented}")).unwrap();
    let rendered: serde_json::Value = serde_saphyr::from_str(text(&rendered)).unwrap();
    let example: serde_json::Value = serde_saphyr::from_str(&example).unwrap();
    assert_eq!(rendered, example);
}
