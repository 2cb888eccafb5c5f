//! The configurations that reviews are judged under, and what is known of the cluster then.

use std::sync::LazyLock;

use transom::facts::{Facts, NamespaceFacts};
use transom::policy::Policy;
use transom::rules;

use super::common;

/// The default, and others that together switch everything on that can be.
pub fn all() -> &'static [Policy] {
    static ALL: LazyLock<Vec<Policy>> = LazyLock::new(|| {
        let every = |action: &str| {
            let lines = rules::all().map(|rule| format!("{}: {action}", rule.code));
            format!("rules: {{{}}}", lines.collect::<Vec<_>>().join(", "))
        };
        let (deny, warn) = (every("deny"), every("warn"));
        let acting = "evidence: {acting: [image-hint, windows-options, windows-text, toleration, preferred-affinity, pod-label]}";
        [
            String::new(),
            "profile: kep-116".to_owned(),
            format!("{deny}\nlinuxGuard: true\nownedObjects: enforce"),
            format!("{warn}\nignorable: [WIN101, WIN301]\nplacement: {{setPodOS: never}}"),
            "placement: {setPodOS: always, repair: false, osLabelKey: example.com/os, tolerations: \
             [{key: a, operator: Exists}, {key: os, value: Win2022, builds: [10.0.20348]}]}"
                .to_owned(),
            "mode: warn".to_owned(),
            format!("{acting}\nprofile: kep-116\nlinuxGuard: true"),
        ]
        .iter()
        .map(|lines| common::policy(lines))
        .collect()
    });
    &ALL
}

/// Nothing is known, or the namespace `default` has labels.
pub fn facts() -> &'static [Facts] {
    static ALL: LazyLock<Vec<Facts>> = LazyLock::new(|| {
        let labels: [&[(&str, &str)]; 5] = [
            &[],
            &[("transom.dev/os", "windows")],
            &[("transom.dev/linux-guard", "true")],
            &[("transom.dev/mode", "warn"), ("transom.dev/os", "linux")],
            &[("pod-security.kubernetes.io/enforce-version", "v1.24")],
        ];
        let labels = labels.iter();
        labels
            .map(|labels| common::namespace(NamespaceFacts::from_labels(labels.iter().copied())))
            .collect()
    });
    &ALL
}
