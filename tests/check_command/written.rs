//! What is written: to files, into pipes, and the same whatever the parallelism.

use std::process::Stdio;

use super::{DENIED, Outcome, Place, UNMARKED, WARNED};

#[test]
fn the_same_bytes_come_out_whatever_the_number_of_threads() {
    let place = Place::new(&[]);
    for i in 0..60 {
        let text = [DENIED, WARNED, UNMARKED, "kind: ["][i % 4];
        place.write(&format!("d/{}/{i}.yaml", i % 7), text);
    }
    let run = |jobs: &str| {
        let got = place.check(&["d", "gone.yaml", "--jobs", jobs]);
        assert_eq!(got.code, 2);
        (got.stdout, got.stderr)
    };
    let one = run("1");
    let notes = one
        .0
        .lines()
        .filter(|line| line.contains(": note: "))
        .count();
    assert_eq!((one.0.lines().count(), notes), (61, 15));
    for jobs in ["1", "2", "3", "16", "200"] {
        assert_eq!(run(jobs), one, "{jobs}");
    }
}

#[test]
fn a_file_takes_the_findings_and_stdout_stays_empty() {
    let place = Place::new(&[("web.yaml", DENIED), ("out.txt", "old")]);
    let want = place.check(&["web.yaml"]);
    let got = place.check(&["web.yaml", "--output-file", "out.txt"]);
    assert_eq!((got.code, got.stdout.as_str()), (1, ""));
    assert_eq!(place.read("out.txt"), want.stdout);
    // Nothing is left of the making.
    let names = std::fs::read_dir(place.0.path()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".git", "out.txt", "web.yaml"]);
    place
        .check(&["web.yaml", "--output-file", "gone/out.txt"])
        .refused(&["gone/out.txt"]);
    place
        .check(&["web.yaml", "--output-file", "."])
        .refused(&["cannot write ."]);
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    let run = |args: &[&str], force: bool| {
        let mut command = super::program::transom(place.0.path());
        command.args(["check", "web.yaml", "gone.yaml"]).args(args);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        Outcome::of(&command.output().unwrap())
    };
    let is_plain = |text: &str| !text.contains('\x1b') && !text.contains('\r');
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        let got = run(&["-o", format], false);
        assert!(is_plain(&got.stdout) && is_plain(&got.stderr), "{format}");
    }
    assert!(!is_plain(&run(&[], true).stdout));
    run(&["--output-file", "out.txt"], true);
    assert!(is_plain(&place.read("out.txt")));
}

/// As in `transom check deploy | head -1`.
#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let place = Place::new(&[]);
    for i in 0..500 {
        place.write(&format!("d/{i}.yaml"), DENIED);
    }
    let mut command = place.command(&["d", "-q"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = include_str!("../../README.md");
    let run = |args: &str| {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let args: Vec<_> = args.split(' ').collect();
        Outcome::of(&super::program::run(root, &args))
    };
    let shown = |args: &str, text: &str| {
        let want = format!("```console\n$ transom {args}\n{text}\n```");
        assert!(readme.contains(&want), "README should have:\n{want}\n");
    };
    let args = "check examples/web.yaml";
    let got = run(args);
    shown(args, got.stdout.split("\n\n").next().unwrap());
    let summary = format!("on stderr, `{}`.", got.stderr.trim_end());
    assert!(readme.contains(&summary), "README should have: {summary}");
    let args = "check --diff --config examples/config.yaml examples/web.yaml";
    shown(args, run(args).stdout.trim_end());
    let args = "check -o concise --ignore WIN1 examples/";
    let got = run(args);
    shown(args, format!("{}{}", got.stdout, got.stderr).trim_end());
}
