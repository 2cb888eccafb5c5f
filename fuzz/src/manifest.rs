//! A manifest's bytes → its findings in all formats, and `--fix`: what it writes reads as what the webhook's patch
//! makes of the objects, and there is nothing left to do.

use std::sync::LazyLock;

use serde_json::Value;
use transom::check::output::{Format, RenderOptions, render};
use transom::check::{FileReport, Options, Report, Severity, check, fix};
use transom::yaml;

use super::common::manifests::{patch, said};

const FORMATS: [Format; 6] = [
    Format::Text,
    Format::Concise,
    Format::Json,
    Format::Sarif,
    Format::Github,
    Format::Markdown,
];

static OPTIONS: LazyLock<Options> = LazyLock::new(Options::default);

pub fn run(data: &[u8]) {
    let before = check("a.yaml", data, &OPTIONS);
    in_place(&before);
    rendered(&before);
    let fixed = fix(data, &OPTIONS, &|_| true);
    let is_plain = fixed.left.is_empty() && !is_silenced(&before) && is_json(&before.text);
    let wanted = || {
        let mut objects = said(&before.text);
        for object in &mut objects {
            patch(object, None, &OPTIONS);
        }
        objects
    };
    let Some(after) = fixed.bytes else {
        if is_plain {
            assert_eq!(said(&before.text), wanted(), "something was to be done");
        }
        return;
    };
    assert!(fixed.objects > 0, "a change is one of an object");
    let after_text = check("a.yaml", &after, &OPTIONS);
    in_place(&after_text);
    assert_eq!(after_text.judged, before.judged);
    let again = fix(&after, &OPTIONS, &|_| true);
    assert_eq!(again.bytes, None, "the second time changes something");
    // What was changed may still miss what cannot be written.
    let left = fixed.left.len()..=fixed.left.len() + fixed.objects;
    assert!(left.contains(&again.left.len()), "{:?}", again.left);
    if is_plain {
        assert_eq!(
            said(&after_text.text),
            wanted(),
            "it reads as the patch says"
        );
        let repair = after_text
            .findings
            .iter()
            .find(|f| f.severity == Severity::Repair);
        assert!(repair.is_none(), "there is something left to repair");
    }
}

/// Comments and annotations keep `--fix` from what the webhook does.
fn is_silenced(report: &FileReport) -> bool {
    report.text.contains("ignore") || !report.problems.is_empty()
}

/// What nobody judges may hold what JSON cannot say, such as a key that is null.
fn is_json(text: &str) -> bool {
    let documents = yaml::documents(text);
    documents.is_ok_and(|documents| {
        documents
            .iter()
            .all(|node| node.write_json(&mut Vec::new()).is_ok())
    })
}

/// Places are in the text, at the borders of its characters.
fn in_place(report: &FileReport) {
    for finding in &report.findings {
        if let Some(span) = finding.span {
            assert!(span.line > 0 && span.column > 0);
            assert!(report.text.get(span.start..span.end).is_some(), "{span:?}");
        }
    }
}

fn rendered(file: &FileReport) {
    let report = Report {
        files: vec![file.clone()],
        ..Report::default()
    };
    let options = RenderOptions {
        show_evidence: true,
        width: Some(60),
    };
    for format in FORMATS {
        let text = render(&report, format, &options);
        if matches!(format, Format::Json | Format::Sarif) {
            serde_json::from_str::<Value>(&text).expect("it is JSON");
        }
    }
}
