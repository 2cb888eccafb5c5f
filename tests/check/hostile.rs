//! Texts that would make a report much larger than they are.

use transom::check::{FileReport, Options, check};

fn checked(text: &str) -> FileReport {
    check("a.yaml", text.as_bytes(), &Options::default())
}

fn codes(report: &FileReport) -> Vec<&str> {
    report.findings.iter().map(|f| f.rule.code).collect()
}

/// A pod with an anchor, and what comes behind it.
fn list(rest: &str) -> String {
    format!(
        "apiVersion: v1\nkind: List\nitems:\n- &pod\n  apiVersion: v1\n  kind: Pod\n  metadata: {{name: a}}\n  \
         spec:\n    os: {{name: windows}}\n    hostPID: true\n    containers:\n    - &main\n      name: main\n      \
         securityContext: {{runAsUser: 1, runAsGroup: 1}}\n    - *main\n    - {{<<: *main, name: b}}\n{rest}"
    )
}

#[test]
fn bounds_findings_of_a_place_that_aliases_repeat() {
    let once = checked(&list(""));
    // One for each of the three containers.
    let count = |report: &FileReport| {
        let codes = codes(report);
        codes.iter().filter(|code| **code == "WIN101").count()
    };
    assert_eq!(count(&once), 3);
    let often = checked(&list(&"- *pod\n".repeat(500)));
    assert_eq!((often.judged, count(&often)), (501, 10));
    assert!(often.findings.len() <= 10 * once.findings.len());
}

#[test]
fn reports_equal_findings_in_different_places() {
    let line = "  - {name: a, securityContext: {runAsUser: 1}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  os: {name: windows}\n  containers:\n";
    let report = checked(&(pod.to_owned() + &line.repeat(70)));
    let found = codes(&report)
        .iter()
        .filter(|code| **code == "WIN101")
        .count();
    assert_eq!(found, 70);
}

/// Each finding has a copy of them.
#[test]
fn bounds_names_and_reasons_in_findings() {
    let long = "n".repeat(100_000);
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {long}, namespace: {long}}}\nspec:\n  os: {{name: windows}}\n  \
         containers:\n  - name: a # transom: ignore[WIN101] {long}\n    securityContext: {{runAsUser: 1}}\n  \
         - {{name: b, securityContext: {{runAsUser: 1}}}}\n"
    );
    let report = checked(&text);
    assert!(report.findings.len() >= 2);
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.ignored.is_some())
    );
    for finding in &report.findings {
        let texts = [
            &finding.name,
            &finding.namespace,
            &finding.ignored,
            &finding.evidence,
        ];
        for text in texts.into_iter().flatten() {
            assert!(text.len() <= 1000, "{} bytes", text.len());
        }
    }
}
