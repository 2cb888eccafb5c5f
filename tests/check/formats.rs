//! The output formats: each over the same report, kept as a snapshot.

use serde_json::Value;
use transom::check::output::{Format, RenderOptions, render, summary};
use transom::check::{FileReport, Options, Report, check};

const WEB: &str = r#"# A Deployment with everything in it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  template:
    metadata:
      labels: {app: web}
      labels: {app: web, tier: front}
    spec:
      nodeSelector:
        kubernetes.io/os: windows
      securityContext:
        runAsUser: 1000
      containers:
      - name: main
        image: registry.example/app:1
        securityContext: {privileged: false}
        volumeMounts:
        - {name: a, mountPath: 'C:\a', subPath: 'b | `c`'}
        # transom: ignore[WIN301] the file is small
        - {name: b, mountPath: 'C:\b', subPath: b}
"#;

const PODS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: front}
spec:
  containers:
  - name: main
    image: app:ltsc2022
    securityContext:
      allowPrivilegeEscalation: false
---
apiVersion: v1
kind: ConfigMap
---
apiVersion: v1
kind: Pod
metadata: {generateName: back-}
spec:
  os: {name: windows}
  hostNetwork: true
  containers:
  - name: main
    image: app:1
";

const TEMPLATE: &str = "\
apiVersion: v1
kind: Pod
spec: {{ .Values.spec }}
";

fn checked(name: &str, text: &str) -> FileReport {
    let options = Options {
        policy: crate::common::policy("rules: {WIN301: warn}"),
        ..Options::default()
    };
    check(name, text.as_bytes(), &options)
}

fn report() -> Report {
    Report {
        files: vec![
            checked("web.yaml", WEB),
            checked("some pods/front,1.yaml", PODS),
            checked("chart/templates/pod.yaml", TEMPLATE),
            FileReport::unread("secret.yaml", "cannot be read: permission denied"),
            checked("<stdin>", "apiVersion: v1\nkind: Secret\n"),
        ],
        cluster: None,
    }
}

fn rendered(format: Format) -> String {
    without_colours(&render(&report(), format, &RenderOptions::default()))
}

/// As in a pipe.
fn without_colours(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn json(format: Format, report: &Report) -> Value {
    serde_json::from_str(&render(report, format, &RenderOptions::default())).unwrap()
}

#[test]
fn the_text_is_for_people() {
    insta::assert_snapshot!(rendered(Format::Text));
}

#[test]
fn the_text_fits_a_terminal_and_tells_the_evidence_when_asked() {
    let options = RenderOptions {
        show_evidence: true,
        width: Some(60),
    };
    insta::assert_snapshot!(without_colours(&render(&report(), Format::Text, &options)));
}

#[test]
fn concise_is_a_line_a_finding() {
    insta::assert_snapshot!(rendered(Format::Concise));
}

#[test]
fn json_is_for_programs() {
    insta::assert_snapshot!(rendered(Format::Json));
}

#[test]
fn sarif_is_for_code_scanning() {
    // The page of a rule is not repeated here, nor the version.
    let text = rendered(Format::Sarif).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let lines = text
        .lines()
        .map(|line| match line.split_once("\"markdown\": \"###") {
            Some((indent, _)) => format!("{indent}\"markdown\": …"),
            None => line.to_owned(),
        });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn github_is_for_its_workflows() {
    insta::assert_snapshot!(rendered(Format::Github));
}

#[test]
fn markdown_is_a_table_a_file() {
    insta::assert_snapshot!(rendered(Format::Markdown));
}

#[test]
fn the_summary_is_one_line() {
    insta::assert_snapshot!(summary(&report()), @"2 denied, 2 warned, 1 to be repaired, 2 problems, 1 oddity, 2 to be placed, 1 ignored in 4 of 5 files; 3 Windows objects, 0 Linux or unmarked, 2 skipped (1 ConfigMap, 1 Secret)");
}

/// A field that is not there, and one that another contradicts.
const CONFLICT: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  os: {name: windows}
  securityContext: {windowsOptions: {hostProcess: true, runAsUserName: SYSTEM}}
  nodeSelector:
    kubernetes.io/os: linux
  containers: [{name: a, image: b}]
";

#[test]
fn a_contradiction_has_two_places_and_an_absent_field_that_of_its_parent() {
    let report = Report {
        files: vec![checked("a.yaml", CONFLICT)],
        cluster: None,
    };
    let text = render(&report, Format::Text, &RenderOptions::default());
    let text = without_colours(&text);
    let drawn = text
        .lines()
        .filter(|line| !line.starts_with("  =") && !line.starts_with("    "));
    let drawn = drawn.map(str::trim_end).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(drawn, @r"
    deny[WIN201 host-network]: only HostProcess pods share the node's network, and they must
     --> a.yaml:4:1
      |
    4 | spec:
      | ^^^^ it is absent below this
      |

    deny[WIN601 os-conflict]: signals for Windows and for Linux contradict each other
     --> a.yaml:8:5
      |
    8 |     kubernetes.io/os: linux
      |     ^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: a.yaml:5:8
      |
    5 |   os: {name: windows}
      |        ------------- it contradicts this
      |
    ");
    let json = json(Format::Json, &report);
    let [absent, conflict] = [&json["findings"][0], &json["findings"][1]];
    assert_eq!(
        (&absent["absent"], &absent["against"]),
        (&true.into(), &Value::Null)
    );
    assert_eq!(conflict["absent"], false);
    assert_eq!(
        conflict["against"],
        serde_json::json!({"line": 5, "column": 8})
    );
    let sarif = self::json(Format::Sarif, &report);
    let results = &sarif["runs"][0]["results"];
    assert_eq!(results[0]["properties"]["absent"], true);
    assert_eq!(results[0].get("relatedLocations"), None);
    let related = &results[1]["relatedLocations"][0];
    assert_eq!(related["message"]["text"], "It contradicts this.");
    let region = &related["physicalLocation"]["region"];
    assert_eq!(
        (&region["startLine"], &region["endColumn"]),
        (&5.into(), &21.into())
    );
}

/// In one line of megabytes, too.
#[test]
fn both_places_of_a_contradiction_are_told_where_the_line_is_cut() {
    let padding = "x".repeat(5000);
    let line = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{padding}"}},"spec":{{"os":{{"name":"windows"}},"hostname":"{padding}","nodeSelector":{{"kubernetes.io/os":"linux"}}}}}}"#
    );
    let report = Report {
        files: vec![checked("a.json", &line)],
        cluster: None,
    };
    let text = without_colours(&render(&report, Format::Text, &RenderOptions::default()));
    for word in [r#""kubernetes.io/os""#, r#""name":"windows""#] {
        let place = format!("a.json:1:{}\n", line.find(word).unwrap() + 1);
        assert!(text.contains(&place), "{place}{text}");
    }
}

/// Names, keys and values that would like to be something else.
fn hostile() -> Report {
    let name = "a\u{1b}]0;PWNED\u{7}\r\n::error::,b|`c` {0}%0A.yaml";
    let broken =
        "kind: Pod\nmetadata:\n  name: \"\u{1b}]0;PWNED\u{7}\" \u{9b}31m # größe 大🦀\n\tspec: a\n";
    let key = r#""\x9b31m \e]0;PWNED\a| `x` {0} [a](b) 100%""#;
    let whole = format!(
        "kind: Pod\napiVersion: v1\nmetadata:\n  name: \"a\\e]0;PWNED\\a`|`{{0}}\"\n  {key}: 1\n  {key}: 2\n\
         spec:\n  os: {{name: windows}}\n  hostNetwork: true # \u{202e}大\n  containers: []\n"
    );
    let pod = r#"{"apiVersion":"v1","kind":"Pod","spec":{"os":{"name":"windows"},"hostPID":true}}"#;
    let objects = vec![pod; 50].join(",");
    let padding = "大 ".repeat(1 << 18);
    let line = format!(
        r#"{{"padding":"{padding}","apiVersion":"v1","kind":"List","items":[{objects}],"more":"{padding}"}}"#
    );
    Report {
        files: vec![
            checked("broken.yaml", broken),
            checked(name, &whole),
            checked("line.json", &line),
            checked(
                "end.yaml",
                "apiVersion: v1\nkind: Pod\nspec: {os: {name: windows}, hostPID: true",
            ),
            FileReport::unread("b.yaml", "line\r\nline\u{1b}]0;PWNED\u{7} {0} [a](b)"),
        ],
        cluster: None,
    }
}

#[test]
fn nothing_in_a_manifest_reaches_a_terminal_as_a_command() {
    let report = hostile();
    for format in [
        Format::Text,
        Format::Concise,
        Format::Github,
        Format::Markdown,
    ] {
        let raw = render(&report, format, &RenderOptions::default());
        assert!(!raw.contains("\x1b]"), "{format:?}");
        let plain = without_colours(&raw);
        assert!(plain.contains("␛]0;PWNED␇"), "{plain}");
        let wrong = plain.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(wrong, None, "{format:?}");
        assert!(!plain.contains('\u{202e}'), "{format:?}");
    }
    assert!(!summary(&report).contains(|c: char| c.is_control()));
}

#[test]
fn a_line_of_output_is_a_line_whatever_a_name_says() {
    let report = hostile();
    let told: usize = report
        .files
        .iter()
        .map(|file| file.findings.len() + file.oddities.len() + file.placed)
        .sum();
    let told = told + report.problems();
    assert!(told > 50, "{told}");
    for format in [Format::Concise, Format::Github] {
        let text = render(&report, format, &RenderOptions::default());
        // Of a level of which there are more than ten, one line says how many.
        let more = text.lines().filter(|l| l.contains(" title=transom::"));
        assert_eq!(text.lines().count() - more.count(), told, "{text}");
        if format == Format::Github {
            let is_own = |line: &str| {
                ["error", "warning", "notice"].iter().any(|level| {
                    let own = format!("::{level} ");
                    line.strip_prefix(&own).is_some_and(|rest| {
                        rest.starts_with("file=") || rest.starts_with("title=transom::")
                    })
                })
            };
            let is_plain = |line: &str| !line.trim_start().starts_with("::");
            assert!(
                text.lines().all(|line| is_own(line) || is_plain(line)),
                "{text}"
            );
        }
    }
}

#[test]
fn a_file_of_one_long_line_is_not_echoed() {
    let report = hostile();
    assert!(report.files[2].text.len() > 1 << 20);
    for format in Format::ALL {
        let size = render(&report, format, &RenderOptions::default()).len();
        assert!(size < 1 << 17, "{format:?}: {size}");
    }
    let mut one = report.clone();
    one.files[2].findings.truncate(1);
    let text = without_colours(&render(&one, Format::Text, &RenderOptions::default()));
    let place = report.files[2].findings[0].span.unwrap();
    assert!(
        text.contains(&format!("line.json:1:{}", place.column)),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.contains("\"hostPID\":true")),
        "{text}"
    );
}

#[test]
fn json_says_what_is_written_to_the_letter() {
    let report = hostile();
    let json = json(Format::Json, &report);
    assert_eq!(json["findings"][0]["file"], report.files[1].name);
    assert_eq!(
        json["findings"][0]["object"]["name"],
        "a\u{1b}]0;PWNED\u{7}`|`{0}"
    );
    assert_eq!(
        json["oddities"][0]["message"],
        report.files[1].oddities[0].text
    );
    // As it is printed, where colours are taken out with all that looks like them.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\x7f\\e[31m\\x9b31m\"}\nspec: {os: {name: windows}, hostPID: true}\n";
    let report = Report {
        cluster: None,
        files: vec![checked("a.yaml", pod)],
    };
    for format in [Format::Json, Format::Sarif] {
        let raw = render(&report, format, &RenderOptions::default());
        assert_eq!(without_colours(&raw), raw);
        assert!(
            !raw.contains(|c: char| c.is_control() && c != '\n'),
            "{raw}"
        );
    }
    let name = &self::json(Format::Json, &report)["findings"][0]["object"]["name"];
    assert_eq!(name, "a\x7f\x1b[31m\u{9b}31m");
}

#[test]
fn fingerprints_stay_when_lines_shift() {
    let fingerprints = |text: &str| {
        let report = Report {
            files: vec![checked("a.yaml", text)],
            cluster: None,
        };
        let json = json(Format::Sarif, &report);
        let results = json["runs"][0]["results"].as_array().unwrap().iter();
        let print = |result: &Value| result["partialFingerprints"]["ruleObjectField/v1"].clone();
        results.map(print).collect::<Vec<_>>()
    };
    let before = fingerprints(WEB);
    let shifted = WEB.replace("kind:", "# a comment\n\nkind:");
    assert_eq!(fingerprints(&shifted), before);
    let renamed = fingerprints(&WEB.replace("name: web", "name: other"));
    let mut all = [before.clone(), renamed].concat();
    assert_eq!(before.len(), 4);
    all.sort_by_key(ToString::to_string);
    all.dedup();
    assert_eq!(all.len(), 8, "{all:?}");
}

#[test]
fn every_format_renders_nothing() {
    for format in Format::ALL {
        let text = render(&Report::default(), format, &RenderOptions::default());
        match format {
            Format::Text | Format::Concise | Format::Github => assert_eq!(text, "", "{format:?}"),
            Format::Json | Format::Sarif | Format::Markdown => {
                assert!(text.ends_with('\n'), "{format:?}")
            }
        }
    }
}

/// `SARIF_MULTITOOL` is the program of the npm package `@microsoft/sarif-multitool` for this
/// platform; without it this is skipped.
#[test]
fn microsofts_validator_finds_no_error() {
    let Some(program) = std::env::var_os("SARIF_MULTITOOL") else {
        eprintln!("SKIPPED: SARIF_MULTITOOL does not name Microsoft's validator");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for (name, report) in [
        ("all", report()),
        ("hostile", hostile()),
        (
            "conflict",
            Report {
                files: vec![checked("a.yaml", CONFLICT)],
                cluster: None,
            },
        ),
        ("nothing", Report::default()),
    ] {
        let [file, verdict] =
            ["sarif", "verdict.sarif"].map(|end| directory.path().join(format!("{name}.{end}")));
        std::fs::write(
            &file,
            render(&report, Format::Sarif, &RenderOptions::default()),
        )
        .unwrap();
        let output = std::process::Command::new(&program)
            .arg("validate")
            .arg(&file)
            .arg("--output")
            .arg(&verdict)
            // Also what GitHub asks for.
            .args(["--rule-kind", "Sarif;Ghas", "--level", "Error"])
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && !told.contains(": error "),
            "{name}: {told}"
        );
        let verdict: Value = serde_json::from_slice(&std::fs::read(&verdict).unwrap()).unwrap();
        assert_eq!(
            verdict["runs"][0]["results"],
            serde_json::json!([]),
            "{name}"
        );
    }
}
