//! Comments that silence rules, and those that were meant to.

use transom::check::{FileReport, Options, check};

use crate::common::policy;
use crate::lines;

fn checked(text: &str) -> FileReport {
    let report = check("a.yaml", text.as_bytes(), &Options::default());
    assert_eq!(report.problems, [], "{text}");
    report
}

/// What is silenced: the codes, in the order of the text.
fn ignored(report: &FileReport) -> Vec<&str> {
    let ignored = report.findings.iter().filter(|f| f.ignored.is_some());
    ignored.map(|f| f.rule.code).collect()
}

fn oddities(report: &FileReport) -> Vec<String> {
    let told = report.oddities.iter();
    told.map(|o| format!("{} {}", o.place.unwrap(), o.text))
        .collect()
}

/// A pod with WIN101 in line 8, WIN302 in lines 13 and 17, and WIN104 in line 9.
const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector:
    kubernetes.io/os: windows
  securityContext:
    runAsUser: 1000
    supplementalGroups: [1]
  containers:
  - name: one
    volumeMounts:
    - {name: v, mountPath: 'C:\\v', mountPropagation: HostToContainer}
  - name: two
    volumeMounts:
    - name: v
      mountPropagation: HostToContainer
";

fn at(line: usize, behind: &str) -> String {
    let mut lines: Vec<_> = POD.lines().map(str::to_owned).collect();
    lines[line - 1].push_str(behind);
    lines.join("\n")
}

fn above(line: usize, comment: &str) -> String {
    let mut lines: Vec<_> = POD.lines().collect();
    lines.insert(line - 1, comment);
    lines.join("\n")
}

#[test]
fn the_pod_of_these_tests_has_four_findings() {
    assert_eq!(
        lines(&checked(POD)),
        [
            "8:5 deny WIN101 spec.securityContext.runAsUser",
            "9:5 deny WIN104 spec.securityContext.supplementalGroups",
            "13:36 warn WIN302 spec.containers[0].volumeMounts[0].mountPropagation",
            "17:7 warn WIN302 spec.containers[1].volumeMounts[0].mountPropagation",
        ]
    );
}

#[test]
fn behind_a_field_and_above_it() {
    for text in [
        at(8, " # transom: ignore[WIN101] ticket 17"),
        at(8, " # transom: ignore[run-as-user] ticket 17"),
        at(8, " #transom:ignore[WIN101]ticket 17"),
        at(8, " #  transom: ignore [ WIN101 , WIN104 ]  ticket 17 "),
        above(8, "    # transom: ignore[WIN101] ticket 17"),
        above(
            8,
            "# transom: ignore[WIN101] ticket 17\n    # numeric, for Linux\n",
        ),
        above(8, "    # transom: ignore[WIN101] ticket 17\n\n"),
    ] {
        let report = checked(&text);
        assert_eq!(ignored(&report), ["WIN101"], "{text}");
        assert_eq!(report.findings[0].ignored.as_deref(), Some("ticket 17"));
        assert_eq!(report.findings[0].severity.name(), "ignored");
    }
}

/// A comment holds for everything below the key, or the element of a list, that it is about.
#[test]
fn everything_below() {
    let reason = "# transom: ignore[WIN302, WIN101] legacy";
    for (line, want) in [
        (4, &["WIN101", "WIN302", "WIN302"][..]),
        (7, &["WIN101"]),
        (10, &["WIN302", "WIN302"]),
        (11, &["WIN302"]),
        (12, &["WIN302"]),
        (13, &["WIN302"]),
        (14, &["WIN302"]),
        (16, &["WIN302"]),
        (17, &["WIN302"]),
        // Nothing below, beside it, or in the other container.
        (3, &[]),
        (6, &[]),
        (9, &[]),
    ] {
        assert_eq!(
            ignored(&checked(&at(line, &format!(" {reason}")))),
            want,
            "behind {line}"
        );
        assert_eq!(
            ignored(&checked(&above(line, reason))),
            want,
            "above {line}"
        );
    }
}

#[test]
fn before_the_first_line_it_holds_for_the_document() {
    let comment = "# transom: ignore[WIN302] legacy\n";
    for head in [
        comment.to_owned(),
        format!("{comment}---\n"),
        format!("---\n# Source: a\n{comment}"),
    ] {
        let text = format!("{head}{POD}---\n{POD}");
        let report = checked(&text);
        assert_eq!(ignored(&report), ["WIN302", "WIN302"], "{text}");
        assert_eq!(
            lines(&report)
                .iter()
                .filter(|l| l.contains(" warn WIN302"))
                .count(),
            2
        );
    }
}

#[test]
fn text_that_looks_like_a_comment_is_none() {
    for text in [
        POD.replace("{name: a}", "{name: a, annotations: {x: ' # transom: ignore[WIN101] no'}}"),
        POD.replace("{name: a}", "\n  annotations:\n    x: |\n      # transom: ignore[WIN101] no\n      y\n    z: \"\n      # transom: ignore[WIN101] no\""),
        POD.replace("runAsUser: 1000", "runAsUser: 1000 \n    x: a# transom:ignore[WIN101] no"),
        at(8, " # the transom: ignore[WIN101] no"),
        at(8, " # transom: the pod runs as nobody"),
    ] {
        let report = checked(&text);
        assert_eq!(ignored(&report), [] as [&str; 0], "{text}");
        assert_eq!(oddities(&report), [] as [&str; 0], "{text}");
    }
}

/// As --select and --ignore take them.
#[test]
fn beginnings_of_codes_name_all_their_rules() {
    for (names, want) in [
        ("WIN1", &["WIN101", "WIN104"][..]),
        ("win1", &["WIN101", "WIN104"]),
        ("WIN10, WIN3", &["WIN101", "WIN104", "WIN302", "WIN302"]),
        ("WIN", &["WIN101", "WIN104", "WIN302", "WIN302"]),
        ("WIN30", &["WIN302", "WIN302"]),
        ("win302", &["WIN302", "WIN302"]),
    ] {
        let text = above(4, &format!("# transom: ignore[{names}] legacy"));
        let report = checked(&text);
        assert_eq!(ignored(&report), want, "{names}");
        assert_eq!(oddities(&report), [] as [&str; 0], "{names}");
    }
}

#[test]
fn what_silences_nothing_is_told() {
    for (comment, want) in [
        (
            "ignore[WIN3] x",
            "8:21 WIN3 is not found here; take it out of the comment",
        ),
        (
            "ignore[WIN1]",
            "8:21 WIN1 is not ignored: write the reason behind the ]",
        ),
        (
            "ignore[IN1] x",
            "8:21 there is no rule IN1; transom rules lists them",
        ),
        (
            "ignore[WIN110] x",
            "8:21 WIN110 is not found here; take it out of the comment",
        ),
        (
            "ignore[WIN101]",
            "8:21 WIN101 is not ignored: write the reason behind the ]",
        ),
        (
            "ignore[run-as-usr] x",
            "8:21 there is no rule run-as-usr; run-as-user was probably meant",
        ),
        (
            "ignore[nonsense] x",
            "8:21 there is no rule nonsense; transom rules lists them",
        ),
        (
            "ignore WIN101 x",
            "8:21 this comment silences nothing; write # transom: ignore[CODE] and the reason",
        ),
        (
            "ignore[WIN101 x",
            "8:21 this comment silences nothing; write # transom: ignore[CODE] and the reason",
        ),
        (
            "ignored[WIN101] x",
            "8:21 this comment silences nothing; write # transom: ignore[CODE] and the reason",
        ),
        (
            "disable[WIN101] x",
            "8:21 this comment silences nothing; write # transom: ignore[CODE] and the reason",
        ),
    ] {
        let report = checked(&at(8, &format!(" # transom: {comment}")));
        assert_eq!(oddities(&report), [want], "{comment}");
        assert_eq!(ignored(&report), [] as [&str; 0], "{comment}");
    }
}

/// A rule that another cluster has on may be named; of a text that was not read to its end it is
/// not known what a comment would have silenced.
#[test]
fn what_may_silence_something_elsewhere_is_not_told() {
    assert_eq!(
        oddities(&checked(&at(8, " # transom: ignore[WIN116] x"))),
        [] as [&str; 0]
    );
    let options = Options {
        policy: policy("rules: {WIN101: off}"),
        ..Options::default()
    };
    let text = at(8, " # transom: ignore[WIN101] x");
    let report = check("a.yaml", text.as_bytes(), &options);
    assert_eq!(oddities(&report), [] as [&str; 0]);
    let text = at(8, " # transom: ignore[WIN110] x") + "\n---\na: b: c\n";
    let report = check("a.yaml", text.as_bytes(), &Options::default());
    assert_eq!((report.problems.len(), report.oddities.len()), (1, 0));
}

/// A name of two bytes may be the beginning of all codes, and one that is unknown is compared with all.
#[test]
fn bounds_names_in_the_comments_of_a_file() {
    let too_much = "the comments of a file name at most 1000 rules";
    for names in ["W,", "x,", "run-as-usr,"] {
        let before = format!("# transom: ignore[{}] x\n", names.repeat(5000));
        let report = checked(&(before + &at(8, " # transom: ignore[WIN101] x")));
        assert!(report.oddities.len() <= 1001, "{}", report.oddities.len());
        let told = report.oddities.iter();
        assert_eq!(told.filter(|o| o.text.contains(too_much)).count(), 1);
    }
    let before = "# transom: ignored[WIN101]\n".repeat(5000);
    let report = checked(&(before + &at(8, " # transom: ignore[WIN101] x")));
    // What is not read silences nothing.
    assert_eq!(ignored(&report), [] as [&str; 0]);
    assert_eq!(report.oddities.len(), 1001);
}
