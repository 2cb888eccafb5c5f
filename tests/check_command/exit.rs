//! Exit codes, and what is written where.

use super::{DENIED, Place, REPAIRED, UNMARKED, WARNED};

#[test]
fn the_exit_code_says_what_the_cluster_would_do() {
    let place = Place::new(&[
        ("denied.yaml", DENIED),
        ("warned.yaml", WARNED),
        ("repaired.yaml", REPAIRED),
        ("clean.yaml", UNMARKED),
        ("broken.yaml", "kind: ["),
    ]);
    for (file, [deny, warn, zero]) in [
        ("denied.yaml", [1, 1, 0]),
        ("warned.yaml", [0, 1, 0]),
        ("repaired.yaml", [0, 1, 0]),
        ("clean.yaml", [0, 0, 0]),
        ("broken.yaml", [2, 2, 2]),
        ("gone.yaml", [2, 2, 2]),
    ] {
        assert_eq!(place.check(&[file]).code, deny, "{file}");
        assert_eq!(
            place.check(&[file, "--fail-on", "deny"]).code,
            deny,
            "{file}"
        );
        assert_eq!(place.check(&[file, "--fail-on=warn"]).code, warn, "{file}");
        let zeros = ["--fail-on=warn", "--exit-zero"];
        assert_eq!(
            place.check(&[&[file], &zeros[..]].concat()).code,
            zero,
            "{file}"
        );
    }
    assert_eq!(place.check(&["denied.yaml", "broken.yaml"]).code, 2);
}

#[test]
fn what_is_silenced_makes_no_exit_code() {
    let silenced = DENIED.replace("1000", "1000 # transom: ignore[WIN101] why");
    let place = Place::new(&[("web.yaml", &silenced)]);
    assert_eq!(place.check(&["web.yaml", "--fail-on", "warn"]).code, 0);
}

#[test]
fn the_format_never_changes_the_exit_code() {
    let files = [
        ("denied.yaml", DENIED),
        ("warned.yaml", WARNED),
        ("broken.yaml", "kind: ["),
    ];
    let place = Place::new(&files);
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        for (file, code) in [("denied.yaml", 1), ("warned.yaml", 0), ("broken.yaml", 2)] {
            let mut command = super::program::transom(place.0.path());
            let output = command
                .args(["check", file, "-o", format])
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(code), "{format} {file}");
            assert!(!output.stdout.is_empty(), "{format} {file}");
        }
    }
}

#[test]
fn wrong_flags_are_refused() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    for (args, words) in [
        (&["--outptu=json"][..], &["--outptu", "--output"][..]),
        (&["--fail-on=error"], &["error", "deny", "warn"]),
        (&["--jobs=0"], &["--jobs"]),
        (&["--quiet", "--verbose"], &["--quiet", "--verbose"]),
        (&["--profile=kep"], &["kep-116"]),
    ] {
        place.check(&[&["web.yaml"], args].concat()).refused(words);
    }
    let mut command = super::program::transom(place.0.path());
    let output = command
        .args(["check", "web.yaml", "-o", "yaml"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_summary_goes_to_stderr_unless_it_is_not_wanted() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    let loud = place.check(&["web.yaml"]);
    let quiet = place.check(&["web.yaml", "-q"]);
    assert_eq!(loud.stdout, quiet.stdout);
    assert_eq!(loud.stderr.lines().count(), 1, "{}", loud.stderr);
    assert_eq!(quiet.stderr, "");
}

/// Whoever reads the findings by program is told why the exit code is 2, too.
#[test]
fn what_cannot_be_read_is_on_stderr_where_stdout_is_for_programs() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    for args in [
        &["-o", "json"][..],
        &["-o", "sarif", "-q"],
        &["-o", "markdown"],
        &["-o", "text", "--output-file", "out"],
    ] {
        let mut command = super::program::transom(place.0.path());
        command.args(["check", "web.yaml", "gone.yaml"]).args(args);
        let got = super::Outcome::of(&command.output().unwrap());
        let line = "gone.yaml: error: there is no such file\n";
        assert_eq!(got.stderr.matches(line).count(), 1, "{}", got.stderr);
        assert!(!got.stderr.contains("WIN101"), "{}", got.stderr);
        assert_eq!(got.code, 2);
    }
    let got = place.check(&["gone.yaml"]);
    assert_eq!(got.stderr.matches("gone.yaml").count(), 1, "{}", got.stderr);
}

#[test]
fn evidence_is_shown_with_each_finding_on_demand() {
    let both = DENIED.replace("runAsUser: 1000", "{runAsUser: 1000, fsGroup: 2000}");
    let place = Place::new(&[("web.yaml", &both)]);
    let run = |args: &[&str]| {
        let mut command = super::program::transom(place.0.path());
        let output = command.args(["check", "web.yaml"]).args(args).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.matches("nodeSelector").count()
    };
    assert_eq!(run(&[]), 1);
    assert_eq!(run(&["--show-evidence"]), 2);
}
