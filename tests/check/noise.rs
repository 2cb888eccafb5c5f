//! Reports that stay short: places of one rule together, and the limits of GitHub.

use transom::check::output::{Format, RenderOptions, render};
use transom::check::{FileReport, Options, Report, check};

fn report(files: Vec<FileReport>) -> Report {
    Report {
        files,
        cluster: None,
    }
}

fn checked(name: &str, text: &str) -> FileReport {
    check(name, text.as_bytes(), &Options::default())
}

fn rendered(report: &Report, format: Format) -> String {
    let text = render(report, format, &RenderOptions::default());
    anstream::adapter::strip_str(&text).to_string()
}

const CONTEXT: &str = "
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          privileged: false
          readOnlyRootFilesystem: true
          runAsGroup: 1001
          runAsUser: 1001
          seLinuxOptions: {}
          seccompProfile: {type: RuntimeDefault}";

/// As many charts write it, with a selector for Windows.
fn pod() -> String {
    let container = |name: &str| format!("      - name: {name}\n        image: a{CONTEXT}\n");
    let [a, b, c] = ["a", "b", "c"].map(container);
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  template:
    spec:
      nodeSelector: {{kubernetes.io/os: windows}}
      securityContext:
        fsGroup: 1001
        fsGroupChangePolicy: Always
        supplementalGroups: []
        sysctls: []
      initContainers:
{a}      containers:
{b}{c}"
    )
}

#[test]
fn groups_the_places_of_a_rule_in_an_object() {
    let report = report(vec![checked("web.yaml", &pod())]);
    assert!(
        report.findings().count() >= 25,
        "{}",
        report.findings().count()
    );
    let text = rendered(&report, Format::Text);
    assert!(
        text.lines().count() <= 80,
        "{} lines:\n{text}",
        text.lines().count()
    );
    // Each place has a line that editors and terminals can follow, each reason is written once.
    for (_, finding) in report.findings() {
        let span = finding.span.unwrap();
        let place = format!(
            " --> web.yaml:{}:{}: {}",
            span.line, span.column, finding.path
        );
        assert_eq!(text.matches(&place).count(), 1, "{place}\n{text}");
    }
    assert_eq!(text.matches("[WIN101 run-as-user]").count(), 1);
    assert_eq!(text.matches("[WIN106 fs-group]").count(), 1);
    let markdown = rendered(&report, Format::Markdown);
    assert_eq!(markdown.matches("`WIN101`").count(), 1, "{markdown}");
    assert_eq!(
        markdown.matches(".runAsUser: 1001`").count(),
        3,
        "{markdown}"
    );
}

#[test]
fn keeps_objects_apart() {
    let text = [pod().as_str(), &pod().replace("name: web", "name: shop")].join("---\n");
    let text = rendered(&report(vec![checked("web.yaml", &text)]), Format::Text);
    assert_eq!(text.matches("[WIN101 run-as-user]").count(), 2);
    assert_eq!(text.matches("evidence: Deployment").count(), 2);
}

#[test]
fn reports_empty_values_as_written() {
    let text = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  securityContext: {supplementalGroups: [], seLinuxOptions: {}}
  containers: [{name: a, image: b, securityContext: {seLinuxOptions: {level: a}}}]
";
    let report = checked("a.yaml", text);
    let values: Vec<_> = report
        .findings
        .iter()
        .map(|f| {
            (
                f.path.rsplit('.').next().unwrap(),
                f.value.as_deref().unwrap(),
            )
        })
        .collect();
    for value in values {
        match value {
            ("supplementalGroups", value) => assert_eq!(value, "[]"),
            ("seLinuxOptions", value) => assert!(value == "{}" || value == "{…}", "{value}"),
            other => panic!("{other:?}"),
        }
    }
    let of = |path: &str| {
        report
            .findings
            .iter()
            .find(|f| f.path == path)
            .map(|f| f.value.clone())
    };
    if let Some(value) = of("spec.securityContext.seLinuxOptions") {
        assert_eq!(value.as_deref(), Some("{}"));
    }
}

#[test]
fn bounds_markdown_to_a_comment_of_github() {
    let files = (0..200).map(|i| checked(&format!("{i}.yaml"), &pod()));
    let report = report(files.collect());
    let text = rendered(&report, Format::Markdown);
    assert!(text.chars().count() < 65_536, "{}", text.chars().count());
    let last = text.trim_end().lines().last().unwrap();
    assert!(
        last.contains("more lines") && last.contains("are left out"),
        "{last}"
    );
    let short = rendered(
        &self::report(vec![checked("a.yaml", &pod())]),
        Format::Markdown,
    );
    assert!(!short.contains("are left out"));
}

#[test]
fn bounds_annotations_to_those_that_github_shows() {
    let report = report(vec![checked("a.yaml", &pod()), checked("b.yaml", &pod())]);
    let text = rendered(&report, Format::Github);
    let errors: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("::error "))
        .collect();
    assert_eq!(errors.len(), 10, "{text}");
    let last = errors.last().unwrap();
    assert!(
        last.starts_with("::error title=transom::") && last.contains(" more errors "),
        "{last}"
    );
    assert!(
        text.lines()
            .filter(|line| line.starts_with("::warning "))
            .count()
            <= 10
    );
    // The others are lines of the log.
    let more: usize = last
        .split("::")
        .nth(2)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let plain = text
        .lines()
        .filter(|line| line.contains(": deny WIN"))
        .count();
    assert_eq!(plain, more);
    // Ten are ten.
    let one = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {os: {name: windows}, hostPID: true}\n";
    let ten = self::report(
        (0..10)
            .map(|i| checked(&format!("{i}.yaml"), one))
            .collect(),
    );
    let text = rendered(&ten, Format::Github);
    assert_eq!(text.matches("::error file=").count(), 10, "{text}");
    assert!(!text.contains("more errors"), "{text}");
}
