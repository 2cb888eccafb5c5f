//! SARIF 2.1.0, for code scanning: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/>.
//!
//! A finding's message is made of the rule's own words, so that nothing of a manifest can look
//! like one of SARIF's placeholders or links. Not here: SARIF's names (`log`).

mod log;

use std::collections::BTreeMap;
use std::path::MAIN_SEPARATOR;

use ring::digest::{Context, SHA256};

use super::{Item, Source, end_column, shown};
use crate::check::{FileReport, Finding, Note, Report, Severity, Span};
use crate::explain::markdown;
use crate::rules::{Action, Rule};
use crate::yaml::Place;
use log::{
    Artifact, Configuration, Descriptor, Driver, Fingerprints, Invocation, Level, Location, Log,
    LogicalLocation, Notification, PhysicalLocation, Properties, Reference, Region, Result, Run,
    Suppression, Tags, Text, Tool,
};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// As many bytes of the text are repeated beside a place.
const SNIPPET: usize = 1000;

pub(super) fn render(report: &Report) -> String {
    // The rules that occur, in the order of their codes.
    let mut rules = BTreeMap::new();
    for (_, finding) in report.findings() {
        rules.insert(finding.rule.code, finding.rule);
    }
    let codes: Vec<_> = rules.keys().copied().collect();
    let results = report.findings().map(|(file, finding)| {
        // Each finding's rule is among them.
        let index = codes.binary_search(&finding.rule.code).unwrap_or_default();
        result(file, finding, index)
    });
    let files = report.files.iter();
    let notifications = files.flat_map(|file| {
        let problems = file.problems.iter().map(|told| (told, UNREADABLE));
        let oddities = file.oddities.iter().map(|told| (told, ODDITY));
        let told = problems
            .chain(oddities)
            .map(|(problem, kind)| notification(file, problem.place, &problem.text, kind));
        told.chain(
            super::notes(file)
                .filter_map(|item| match item {
                    Item::Note(place, Note::Exempt, text) => Some((place, text, EXEMPT)),
                    Item::Note(place, Note::Placement, text) => Some((place, text, PLACEMENT)),
                    _ => None,
                })
                .map(|(place, text, kind)| notification(file, Some(place), &text, kind)),
        )
    });
    let version = env!("CARGO_PKG_VERSION");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            invocations: [Invocation {
                execution_successful: report.problems() == 0,
                tool_execution_notifications: notifications.collect(),
            }],
            column_kind: "unicodeCodePoints",
            results: results.collect(),
            tool: Tool {
                driver: Driver {
                    name: "Transom",
                    version,
                    semantic_version: version,
                    information_uri: Some(repository).filter(|uri| !uri.is_empty()),
                    rules: rules.into_values().map(descriptor).collect(),
                    notifications: NOTIFICATIONS.iter().map(notified).collect(),
                },
            },
        }],
    };
    super::json(&log)
}

fn descriptor(rule: &'static Rule) -> Descriptor {
    let actions = rule.tiers.iter().map(|tier| tier.current);
    let action = actions.max().unwrap_or(Action::Off);
    let family = rule.family().map(|family| family.title);
    Descriptor {
        id: rule.code,
        name: Some(pascal_case(rule.name)),
        short_description: Text::plain(sentence(rule.brief)),
        full_description: Text::plain(rule.reason),
        help: Text {
            text: rule.remedy.to_owned(),
            markdown: Some(markdown::explanations(&[rule])),
        },
        help_uri: rule.references.first().copied(),
        default_configuration: Configuration {
            enabled: action != Action::Off,
            level: match action {
                Action::Deny => Level::Error,
                Action::Repair | Action::Warn | Action::Off => Level::Warning,
            },
        },
        properties: Some(Tags {
            tags: ["kubernetes", "windows"]
                .into_iter()
                .chain(family)
                .collect(),
        }),
    }
}

fn result(file: &FileReport, finding: &Finding, rule_index: usize) -> Result {
    let Finding {
        rule,
        severity,
        reason,
        ..
    } = finding;
    let suppression = Suppression {
        kind: "inSource",
        justification: finding.ignored.clone().filter(|reason| !reason.is_empty()),
    };
    let is_ignored = *severity == Severity::Ignored;
    Result {
        rule_id: rule.code,
        rule_index,
        level: match severity {
            Severity::Deny => Level::Error,
            Severity::Warn | Severity::Repair => Level::Warning,
            Severity::Ignored => Level::Note,
        },
        message: message(&format!(
            "{} {reason} {}",
            sentence(rule.brief),
            shown::remedy(finding)
        )),
        locations: [{
            let region = finding.span.map(|span| region(file, span));
            let mut location = location(file, region);
            location.logical_locations.push(LogicalLocation {
                fully_qualified_name: finding.path.clone(),
                kind: "member",
            });
            location
        }],
        related_locations: finding.against.map_or_else(Vec::new, |span| {
            vec![Location {
                message: Some(Text::plain("It contradicts this.")),
                ..location(file, Some(region(file, span)))
            }]
        }),
        partial_fingerprints: Fingerprints {
            rule_object_field: fingerprint(finding),
        },
        suppressions: Some(suppression)
            .filter(|_| is_ignored)
            .into_iter()
            .collect(),
        properties: Properties {
            severity: severity.name(),
            object: shown::object(finding),
            path: finding.path.clone(),
            absent: finding.absent,
            value: finding.value.clone(),
            evidence: finding.evidence.clone(),
        },
    }
}

/// A kind of notification, an index into [`NOTIFICATIONS`].
type Notified = usize;
const UNREADABLE: Notified = 0;
const ODDITY: Notified = 1;
const EXEMPT: Notified = 2;
const PLACEMENT: Notified = 3;
const NOTIFICATIONS: [(&str, &str, &str, Level); 4] = [
    (
        "unreadable",
        "Something could not be read, so that nothing was found in it.",
        "Make it something that kubectl reads.",
        Level::Error,
    ),
    (
        "oddity",
        "Something was read that is probably not meant.",
        "Write what is meant.",
        Level::Warning,
    ),
    (
        "exempt",
        "A Windows object is exempt and was not evaluated.",
        "Evaluate it with --include-exempt.",
        Level::Note,
    ),
    (
        "placement",
        "Nothing but the webhook keeps a Windows pod off Linux nodes.",
        "Add the node selector, or let --fix write it.",
        Level::Note,
    ),
];

fn notified((id, text, help, level): &(&'static str, &str, &str, Level)) -> Descriptor {
    Descriptor {
        id,
        name: None,
        short_description: Text::plain(*text),
        full_description: Text::plain(*text),
        help: Text::plain(*help),
        help_uri: None,
        default_configuration: Configuration {
            enabled: true,
            level: *level,
        },
        properties: None,
    }
}

fn notification(
    file: &FileReport,
    place: Option<Place>,
    text: &str,
    kind: Notified,
) -> Notification {
    let (id, .., level) = NOTIFICATIONS[kind];
    let region = place.map(|place| Region {
        start_line: place.line,
        start_column: place.column,
        end_line: None,
        end_column: None,
        snippet: None,
    });
    Notification {
        descriptor: Reference { id, index: kind },
        level,
        message: message(&sentence(text)),
        locations: [location(file, region)],
    }
}

fn location(file: &FileReport, region: Option<Region>) -> Location {
    let physical = file.file().map(|name| PhysicalLocation {
        artifact_location: Artifact { uri: uri(name) },
        region,
    });
    let logical = match file.source {
        Source::File => None,
        Source::Cluster => Some(LogicalLocation {
            fully_qualified_name: file.name.clone(),
            kind: "resource",
        }),
    };
    Location {
        physical_location: physical,
        logical_locations: logical.into_iter().collect(),
        message: None,
    }
}

fn region(file: &FileReport, span: Span) -> Region {
    let text = file.text.get(span.start..span.end);
    let snippet = text.filter(|text| !text.is_empty() && text.len() <= SNIPPET);
    Region {
        start_line: span.line,
        start_column: span.column,
        end_line: Some(span.line),
        end_column: Some(end_column(file, span)),
        snippet: snippet.map(Text::plain),
    }
}

/// With a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    format!("{text}.")
}

/// A message in which nothing is a placeholder (`{0}`) or a link (`[text](place)`).
fn message(text: &str) -> Text {
    let text = text.replace('[', "\\[").replace(']', "\\]");
    let mut pieces = text.split('{').skip(1);
    let has_placeholder = pieces.any(|behind| behind.starts_with(|c: char| c.is_ascii_digit()));
    // Not all viewers make one brace of two, so braces stay where nobody takes them for anything.
    Text::plain(match has_placeholder {
        true => text.replace('{', "{{").replace('}', "}}"),
        false => text,
    })
}

/// `run-as-user` → `RunAsUser`
fn pascal_case(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect()
}

/// The same wherever the object is written in the file.
fn fingerprint(finding: &Finding) -> String {
    let mut hash = Context::new(&SHA256);
    let Finding {
        rule,
        kind,
        namespace,
        name,
        path,
        ..
    } = finding;
    let of_object = [namespace, name].map(|text| text.as_deref().unwrap_or_default());
    for part in [rule.code, kind]
        .into_iter()
        .chain(of_object)
        .chain([path.as_str()])
    {
        hash.update(part.as_bytes());
        hash.update(b"\0");
    }
    let hash = hash.finish();
    let bytes = hash.as_ref().iter().take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// A file's name as a reference, relative unless the name is not.
fn uri(name: &str) -> String {
    let name = match MAIN_SEPARATOR {
        '/' => name.to_owned(),
        separator => name.replace(separator, "/"),
    };
    let name = name.strip_prefix("./").unwrap_or(&name);
    let mut out = match name.as_bytes() {
        [b'/', ..] => "file://".to_owned(),
        [_, b':', b'/', ..] if MAIN_SEPARATOR == '\\' => "file:///".to_owned(),
        _ => String::new(),
    };
    for byte in name.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn names_of_files_become_references() {
        for (name, want) in [
            ("web.yaml", "web.yaml"),
            ("./a/b c.yaml", "a/b%20c.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("/etc/a.yaml", "file:///etc/a.yaml"),
            ("größe#1?.yaml", "gr%C3%B6%C3%9Fe%231%3F.yaml"),
            ("a:b%20.yaml", "a%3Ab%2520.yaml"),
            ("<stdin>", "%3Cstdin%3E"),
            ("a\n\x1b.yaml", "a%0A%1B.yaml"),
        ] {
            assert_eq!(uri(name), want, "{name}");
        }
    }

    #[test]
    fn nothing_in_a_message_is_a_placeholder_or_a_link() {
        assert_eq!(message("a {0} [b](c) \\").text, "a {{0}} \\[b\\](c) \\");
        assert_eq!(message("{a: b}").text, "{a: b}");
    }

    #[test]
    fn rules_have_names_as_sarif_wants_them() {
        assert_eq!(pascal_case("run-as-user"), "RunAsUser");
        for rule in rules::all() {
            let name = pascal_case(rule.name);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        }
    }
}
