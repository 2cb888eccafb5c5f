//! What somebody silences is not repaired.

use transom::check::{Options, check, fix};

use super::{PLACED, after, pod};

const FLAWS: &str = "  containers:\n  - name: a\n    securityContext:\n      privileged: false # A\n      allowPrivilegeEscalation: false # B\n";

fn without(text: &str, code: &str) -> String {
    let fixed = fix(text.as_bytes(), &Options::default(), &|rule| {
        rule.code != code
    });
    assert_eq!(fixed.left, []);
    fixed.bytes.map_or_else(
        || text.to_owned(),
        |bytes| String::from_utf8(bytes).unwrap(),
    )
}

#[test]
fn beside_an_os_the_others_are_repaired() {
    let text = pod(&format!("{PLACED}  os: {{name: windows}}\n{FLAWS}"));
    let want = text.replace("      allowPrivilegeEscalation: false # B\n", "");
    assert_eq!(without(&text, "WIN113"), want);
    let text = text.replace("# A", "# transom: ignore[WIN113] a reason");
    let want = want.replace("# A", "# transom: ignore[WIN113] a reason");
    assert_eq!(after(&text), want);
}

/// The API server refuses a field beside os=windows. So that is not written while one stays; then
/// nothing has to go.
#[test]
fn beside_a_field_that_stays_there_is_no_os() {
    let text = pod(&format!("{FLAWS}{PLACED}"));
    assert_eq!(without(&text, "WIN113"), text);
    let text = text.replace("# A", "# transom: ignore[WIN113] a reason");
    assert_eq!(after(&text), text);
    // Placement is not silenced.
    let text = text.replace("  tolerations: [{operator: Exists}]\n", "");
    assert!(after(&text).contains("tolerations"));
}

/// The same, by the object's own annotation.
#[test]
fn an_annotation_keeps_the_field_and_the_os_away() {
    let text = pod(&format!("{FLAWS}{PLACED}"));
    let text = text.replace(
        "{name: a}",
        "{name: a, annotations: {transom.dev/ignore.WIN113: why}}",
    );
    let options = Options {
        policy: crate::common::policy("ignorable: [WIN113]"),
        ..Options::default()
    };
    let fixed = fix(text.as_bytes(), &options, &|_| true);
    assert_eq!((fixed.bytes, fixed.left), (None, vec![]));
    let report = check("a", text.as_bytes(), &options);
    assert!(!report.findings.is_empty());
}

/// What the configuration does not want is not done to files, either.
#[test]
fn the_configuration_decides_what_is_written() {
    let text = pod(FLAWS).replace(
        "spec:",
        "spec:\n  nodeSelector: {kubernetes.io/os: windows}",
    );
    for (settings, has) in [
        ("mode: audit", [false, false, false]),
        ("mode: warn", [false, true, false]),
        ("mode: enforce", [true, true, true]),
        ("placement: {setPodOS: never}", [false, true, false]),
        ("placement: {repair: false}", [false, true, false]),
    ] {
        let options = Options {
            policy: crate::common::policy(settings),
            ..Options::default()
        };
        let fixed = fix(text.as_bytes(), &options, &|_| true);
        let after = fixed
            .bytes
            .map_or_else(|| text.clone(), |b| String::from_utf8(b).unwrap());
        let repaired = !after.contains("privileged: false");
        let got = [
            after.contains("os:\n    name"),
            after.contains("tolerations:"),
            repaired,
        ];
        assert_eq!(got, has, "{settings}\n{after}");
    }
}
