//! `transom config check`, `transom config show` and `transom schema`: the program itself, its
//! output and its exit codes.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::program::{run, transom};
use super::{HEAD, config};

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// The exit code, stdout, stderr.
fn parts(output: &Output) -> (i32, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    (output.status.code().unwrap(), stdout, stderr)
}

#[test]
fn a_valid_file_is_valid_in_one_line() {
    let text = config("profile: kep-116\nmode: warn\nrules: {WIN101: \"off\", sub-path: warn}");
    let files = directory(&[("a.yaml", &text), ("b.yaml", HEAD)]);
    let output = run(files.path(), &["config", "check", "a.yaml", "b.yaml"]);
    assert_eq!(
        parts(&output),
        (
            0,
            "a.yaml: valid (profile kep-116, mode warn, 2 rules changed)\n\
             b.yaml: valid (profile current, mode enforce, no rule changed)\n",
            ""
        )
    );
}

#[test]
fn a_warning_is_told_and_changes_no_exit_code() {
    let text = config("exemptions:\n  namespaces: [shop]");
    let files = directory(&[("a.yaml", &text)]);
    let output = run(files.path(), &["config", "check", "a.yaml"]);
    let (code, stdout, stderr) = parts(&output);
    assert_eq!((code, stdout.lines().count()), (0, 1), "{stdout}");
    assert_eq!(
        stderr,
        "a.yaml:4:15: warning: exemptions.namespaces: kube-system is not exempt: \
         what the cluster needs to run can be refused; add it\n\
         \x20 4 |   namespaces: [shop]\n\
         \x20   |               ^^^^^\n"
    );
}

#[test]
fn all_files_are_checked_and_the_worst_decides() {
    let files = directory(&[("bad.yaml", &config("mdoe: warn")), ("good.yaml", HEAD)]);
    let bad = "bad.yaml:3:1: mdoe: unknown key; did you mean mode?\n  3 | mdoe: warn\n    | ^^^^\n";
    let good = "good.yaml: valid (profile current, mode enforce, no rule changed)\n";
    let output = run(files.path(), &["config", "check", "bad.yaml", "good.yaml"]);
    assert_eq!(parts(&output), (1, good, bad));
    let output = run(
        files.path(),
        &["config", "check", "none.yaml", "bad.yaml", "good.yaml"],
    );
    let (code, stdout, stderr) = parts(&output);
    assert_eq!((code, stdout), (2, good));
    assert!(
        stderr.starts_with("transom: cannot read none.yaml: "),
        "{stderr}"
    );
    assert!(stderr.ends_with(bad), "{stderr}");
}

#[test]
fn stdin_is_a_file_too() {
    let files = directory(&[]);
    let mut child = transom(files.path())
        .args(["config", "check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"kind: \xff")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let want = "stdin:1:7: this is not UTF-8 text\n  1 | kind: \u{fffd}\n    |       ^\n";
    assert_eq!(parts(&output), (1, "", want));
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let text = config("profile: kep-116\nmode: warn");
    let files = directory(&[("a.yaml", &text)]);
    let profile = |flag: &[&str], variable: Option<&str>| {
        let mut command = transom(files.path());
        command
            .args(["config", "show"])
            .args(flag)
            .env("TRANSOM_CONFIG", "a.yaml");
        command.envs(variable.map(|value| ("TRANSOM_PROFILE", value)));
        let output = command.output().unwrap();
        let (code, stdout, stderr) = parts(&output);
        assert_eq!((code, stderr), (0, ""));
        let line = stdout
            .lines()
            .find(|line| line.starts_with("profile:"))
            .unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let flag = ["--profile", "current"];
    assert_eq!(profile(&[], None), "profile: kep-116 # a.yaml:3");
    assert_eq!(
        profile(&[], Some("current")),
        "profile: current # TRANSOM_PROFILE"
    );
    assert_eq!(
        profile(&flag, Some("kep-116")),
        "profile: current # --profile"
    );
    assert_eq!(
        profile(&flag, Some("current")),
        "profile: current # --profile"
    );
}

#[test]
fn what_is_shown_can_be_checked() {
    let files = directory(&[("a.yaml", &config("mode: warn"))]);
    for args in [
        &["config", "show"][..],
        &["config", "show", "--config", "a.yaml"],
    ] {
        let output = run(files.path(), args);
        assert!(!output.stdout.contains(&0x1b), "colours in a pipe");
        fs::write(files.path().join("shown.yaml"), &output.stdout).unwrap();
        let output = run(files.path(), &["config", "check", "shown.yaml"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let output = run(
        files.path(),
        &["config", "show", "--config", "a.yaml", "-o", "json"],
    );
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        json["mode"],
        serde_json::json!({"value": "warn", "origin": "a.yaml:3"})
    );
}

#[test]
fn what_is_not_valid_is_not_shown() {
    let files = directory(&[("a.yaml", &config("mode: on"))]);
    for command in ["show", "conditions"] {
        let output = run(files.path(), &["config", command, "--config", "a.yaml"]);
        let (code, stdout, stderr) = parts(&output);
        assert_eq!((code, stdout), (1, ""));
        assert!(
            stderr.starts_with("a.yaml:3:7: mode: \"on\" is none of "),
            "{stderr}"
        );
        let output = run(files.path(), &["config", command, "--config", "b.yaml"]);
        let (code, stdout, stderr) = parts(&output);
        assert_eq!((code, stdout), (2, ""));
        assert!(
            stderr.starts_with("transom: cannot read b.yaml: "),
            "{stderr}"
        );
    }
}

/// What is in the expressions is tests/evidence' subject.
#[test]
fn conditions_are_yaml_for_a_webhook_configuration() {
    let text = config("placement: {osLabelKey: example.com/os}");
    let files = directory(&[("a.yaml", &text)]);
    let policy = transom::policy::Policy::parse(&text).unwrap();
    for (flag, condition) in [
        (None, transom::os::Condition::Evidence),
        (Some("--not-linux"), transom::os::Condition::NotLinux),
    ] {
        let args = ["config", "conditions", "--config", "a.yaml"].into_iter();
        let output = run(files.path(), &args.chain(flag).collect::<Vec<_>>());
        let (code, stdout, stderr) = parts(&output);
        assert_eq!((code, stderr), (0, ""));
        let read: Value = serde_saphyr::from_str(stdout).unwrap();
        let expression = policy.expression(condition);
        assert_eq!(
            read,
            serde_json::json!([{"name": condition.name(), "expression": expression}])
        );
    }
}

#[test]
fn the_server_does_not_start_with_mistakes_and_tells_them_all() {
    let files = directory(&[("a.yaml", &config("mdoe: warn\nrules: {WIN331: deny}"))]);
    let output = run(files.path(), &["serve", "--config", "a.yaml"]);
    let (code, stdout, stderr) = parts(&output);
    assert_eq!((code, stdout), (2, ""));
    assert_eq!(
        stderr,
        "transom: the configuration cannot be used\n\
         a.yaml:3:1: mdoe: unknown key; did you mean mode?\n\
         \x20 3 | mdoe: warn\n\
         \x20   | ^^^^\n\
         a.yaml:4:9: rules.WIN331: there is no such rule; did you mean WIN313 (mount-c-drive)?\n\
         \x20 4 | rules: {WIN331: deny}\n\
         \x20   |         ^^^^^^\n"
    );
}

#[test]
fn the_schema_is_printed() {
    let files = directory(&[]);
    let output = run(files.path(), &["schema"]);
    let (code, stdout, stderr) = parts(&output);
    assert_eq!((code, stderr), (0, ""));
    let schema: Value = serde_json::from_str(stdout).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}
