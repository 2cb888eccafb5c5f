//! Manifests as people write them, and files that are none: `corpus/`, against `expected.yaml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use transom::check::{Options, Problem, check};

use crate::common::assert_none;
use crate::lines;
use crate::program::run;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    exit: u8,
    judged: usize,
    skipped: usize,
    findings: Vec<String>,
    problems: Vec<String>,
    oddities: Vec<String>,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check/corpus")
}

/// The exit code of a run over this file alone.
fn exit(name: &str) -> u8 {
    let output = run(&corpus(), &["check", "--quiet", name]);
    u8::try_from(output.status.code().unwrap()).unwrap()
}

fn told(problem: &Problem) -> String {
    let place = problem
        .place
        .map_or_else(|| "0:0".to_owned(), |p| p.to_string());
    format!("{place} {}", problem.text)
}

/// Each sentence starts as it should.
fn starts(name: &str, what: &str, told: &[Problem], expected: &[String]) -> Vec<String> {
    let told: Vec<_> = told.iter().map(self::told).collect();
    let mut pairs = told.iter().zip(expected);
    let same = told.len() == expected.len() && pairs.all(|(told, start)| told.starts_with(start));
    match same {
        true => Vec::new(),
        false => vec![format!("{name}: {what}\n  {told:#?}\n  not {expected:#?}")],
    }
}

#[test]
fn every_file_gets_what_is_expected() {
    let table = std::fs::read_to_string(corpus().join("expected.yaml")).unwrap();
    let table: BTreeMap<String, Expected> = serde_saphyr::from_str(&table).unwrap();
    let files = std::fs::read_dir(corpus()).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "expected.yaml").collect();
    names.sort();
    assert_eq!(names, table.keys().cloned().collect::<Vec<_>>());
    assert!(names.len() >= 40, "{}", names.len());
    let mut failures = Vec::new();
    for (name, expected) in &table {
        let bytes = std::fs::read(corpus().join(name)).unwrap();
        let report = check(name, &bytes, &Options::default());
        let findings = lines(&report);
        if findings != expected.findings {
            failures.push(format!(
                "{name}: findings\n  {findings:#?}\n  not {:#?}",
                expected.findings
            ));
        }
        failures.extend(starts(
            name,
            "problems",
            &report.problems,
            &expected.problems,
        ));
        failures.extend(starts(
            name,
            "oddities",
            &report.oddities,
            &expected.oddities,
        ));
        let skipped: usize = report.skipped.values().sum();
        let counts = (exit(name), report.judged, skipped);
        let wanted = (expected.exit, expected.judged, expected.skipped);
        if counts != wanted {
            failures.push(format!(
                "{name}: exit, judged, skipped: {counts:?} not {wanted:?}"
            ));
        }
    }
    assert_none(&failures);
}

/// The same text is found to be the same, however it is saved.
#[test]
fn encodings_change_nothing() {
    let plain = std::fs::read_to_string(corpus().join("deployment.yaml")).unwrap();
    let want = lines(&check("a", plain.as_bytes(), &Options::default()));
    for ending in ["\n", "\r\n", "\r"] {
        let text = plain.replace('\n', ending);
        let units = |bytes: fn(u16) -> [u8; 2]| {
            let marked = std::iter::once(0xfeff).chain(text.encode_utf16());
            marked.flat_map(bytes).collect::<Vec<u8>>()
        };
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            units(u16::to_le_bytes),
            units(u16::to_be_bytes),
        ] {
            let report = check("a", &bytes, &Options::default());
            assert_eq!(lines(&report), want);
            let underlined = report
                .findings
                .iter()
                .map(|f| f.span.unwrap())
                .map(|span| &report.text[span.start..span.end]);
            let underlined: Vec<_> = underlined.collect();
            assert_eq!(
                underlined,
                [
                    "fsGroup: 2000",
                    "runAsUser: 1000",
                    "allowPrivilegeEscalation: false",
                    "capabilities",
                    "readOnlyRootFilesystem: true",
                    "mountPropagation: HostToContainer",
                ]
            );
        }
    }
}

/// A text that ends early is an error of one line at most, and never a panic.
#[test]
fn half_a_file_is_no_catastrophe() {
    for name in [
        "deployment.yaml",
        "flow.yaml",
        "scalars.yaml",
        "pod.json",
        "stream.json",
    ] {
        let bytes = std::fs::read(corpus().join(name)).unwrap();
        for end in 0..bytes.len() {
            let report = check(name, &bytes[..end], &Options::default());
            assert!(
                report.problems.len() <= 1,
                "{name} {end}: {:?}",
                report.problems
            );
            assert!(!report.problems.iter().any(|p| p.text.contains('\n')));
        }
    }
}

#[test]
fn ten_megabytes_are_read() {
    let container = |i: usize| {
        format!(
            "  - name: c{i}\n    image: registry.example/c:{i}\n    env:\n    - {{name: A, value: \"{i}\"}}\n"
        )
    };
    let mut text = "apiVersion: v1\nkind: Pod\nmetadata: {name: large}\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n  hostPID: true\n  containers:\n".to_owned();
    text.extend((0..200).map(container));
    text.push_str("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n");
    for i in 0.. {
        if text.len() > 10 << 20 {
            break;
        }
        text.push_str(&format!("  key-{i}: value {i}\n"));
    }
    let report = check("large.yaml", text.as_bytes(), &Options::default());
    assert_eq!(report.problems, []);
    assert_eq!(lines(&report), ["6:3 deny WIN202 spec.hostPID"]);
    assert_eq!((report.judged, report.skipped["ConfigMap"]), (1, 1));

    let one_line = text
        .lines()
        .skip(1)
        .take(1)
        .collect::<String>()
        .repeat(1 << 20);
    let report = check("line.yaml", one_line.as_bytes(), &Options::default());
    assert_eq!(report.problems.len(), 1);
}

#[test]
fn what_is_nested_too_deeply_is_told_in_one_line() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nspec:\n  {}x{}\n",
            open.repeat(5000),
            close.repeat(5000)
        );
        let report = check("deep.yaml", text.as_bytes(), &Options::default());
        assert_eq!(report.problems.len(), 1, "{open}");
        assert!(report.problems[0].place.is_some());
    }
    let text = format!(
        "{{\"kind\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let report = check("deep.json", text.as_bytes(), &Options::default());
    assert_eq!(report.problems.len(), 1);
}

/// Thousands of findings in one line take no longer than in as many lines.
#[test]
fn a_pod_with_many_flaws_is_told_of_them_all() {
    let containers: Vec<_> = (0..2000)
        .map(|i| {
            format!(r#"{{"name":"c{i}","image":"i","securityContext":{{"privileged":true}}}}"#)
        })
        .collect();
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","spec":{{"os":{{"name":"windows"}},"containers":[{}]}}}}"#,
        containers.join(",")
    );
    let report = check("many.json", text.as_bytes(), &Options::default());
    assert_eq!(report.findings.len(), 2000);
}
