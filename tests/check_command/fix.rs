//! `--fix` and `--diff`: what is in the files afterwards, what is told, and the exit code.

use std::fs;
use std::process::{Command, Stdio};

use super::{DENIED, Outcome, Place, REPAIRED, UNMARKED, WARNED};

/// `REPAIRED`, as it should be.
const FIXED: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  containers:
  - name: main
    image: app:ltsc2022
  os:
    name: windows
  nodeSelector:
    kubernetes.io/os: windows
";

const DIFF: &str = "\
--- till.yaml
+++ till.yaml
@@ -5,4 +5,7 @@
   containers:
   - name: main
     image: app:ltsc2022
-    securityContext: {allowPrivilegeEscalation: false}
+  os:
+    name: windows
+  nodeSelector:
+    kubernetes.io/os: windows
";

fn run(place: &Place, args: &[&str]) -> Outcome {
    let mut command = super::program::transom(place.0.path());
    Outcome::of(&command.arg("check").args(args).output().unwrap())
}

#[test]
fn files_are_repaired_and_what_is_left_is_told() {
    let place = Place::new(&[
        ("till.yaml", REPAIRED),
        ("a.yaml", UNMARKED),
        ("web.yaml", DENIED),
    ]);
    let got = place.check(&["--fix", "."]);
    assert_eq!(place.read("till.yaml"), FIXED);
    assert_eq!(place.read("a.yaml"), UNMARKED);
    assert_eq!(place.read("web.yaml"), DENIED);
    // It is denied as before.
    assert_eq!(
        (got.code, got.found()),
        (1, vec!["web.yaml:9 deny WIN101".to_owned()])
    );
    assert!(
        got.stderr
            .contains("\nfixed 1 object in 1 file, 1 object left alone\n1 denied"),
        "{}",
        got.stderr
    );
    let again = place.check(&["--fix", ".", "--fail-on=warn", "--ignore=WIN101"]);
    assert_eq!(again.code, 0);
    assert!(
        again
            .stderr
            .contains("\nfixed nothing, 1 object left alone\n"),
        "{}",
        again.stderr
    );
    let quiet = ["--fix", "till.yaml", "a.yaml", "--exit-zero", "-q"];
    assert_eq!(place.check(&quiet).stderr, "");
    // Nothing is left of the making.
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 4);
}

#[test]
fn a_diff_writes_nothing_and_is_all_that_is_printed() {
    let place = Place::new(&[("till.yaml", REPAIRED), ("web.yaml", UNMARKED)]);
    for args in [&["--diff", "."][..], &["--fix", "--diff", "."]] {
        let got = run(&place, args);
        assert_eq!((got.code, got.stdout.as_str()), (1, DIFF));
        assert_eq!(got.stderr, "would fix 1 object in 1 file\n");
        assert_eq!(place.read("till.yaml"), REPAIRED);
    }
    assert_eq!(run(&place, &["--diff", ".", "--exit-zero"]).code, 0);
    let got = run(&place, &["--diff", "web.yaml", "-q"]);
    assert_eq!(
        (got.code, got.stdout.as_str(), got.stderr.as_str()),
        (0, "", "")
    );
    let got = run(&place, &["--diff", "till.yaml", "gone.yaml"]);
    assert_eq!((got.code, got.stdout.as_str()), (2, DIFF));
    assert!(
        got.stderr
            .starts_with("gone.yaml: error: there is no such file\n")
    );
    for arg in [
        "-ojson",
        "--output-file=a",
        "--fail-on=warn",
        "--show-evidence",
    ] {
        run(&place, &["--diff", arg, "."]).refused(&["--diff"]);
    }
}

#[test]
fn diffs_come_in_the_order_of_the_files() {
    let place = Place::new(&[]);
    for i in 0..30 {
        place.write(&format!("{i}.yaml"), REPAIRED);
    }
    let one = run(&place, &["--diff", ".", "--jobs=1"]).stdout;
    assert_eq!(one.matches("--- ").count(), 30);
    for _ in 0..3 {
        assert_eq!(run(&place, &["--diff", ".", "--jobs=7"]).stdout, one);
    }
}

/// As with ruff: what came in comes out, whatever is wrong with it, and the rest is for people.
#[test]
fn what_comes_from_stdin_goes_to_stdout() {
    let place = Place::new(&[]);
    let both = format!("{REPAIRED}---\n{WARNED}");
    for (text, code, word) in [
        (REPAIRED, 0, "fixed 1 object in 1 file"),
        (&both, 0, "WIN302"),
        ("kind: [", 2, "not YAML"),
        ("a: \r\n", 2, "not a Kubernetes object"),
    ] {
        let got = place.check_stdin(text, &["--fix", "-"]);
        assert_eq!(got.code, code, "{}", got.stderr);
        assert!(got.stderr.contains(word), "{}", got.stderr);
        let kept = text
            .strip_prefix(REPAIRED)
            .map(|rest| format!("{FIXED}{rest}"));
        if code == 0 && text == REPAIRED {
            assert_eq!(Some(got.stdout), kept);
        } else if code == 2 {
            assert_eq!(got.stdout, text);
        } else {
            assert!(got.stdout.starts_with(FIXED) && !got.stdout.contains("WIN"));
        }
    }
    let got = place.check_stdin(&both, &["--fix", "--output-file=out.txt"]);
    assert!(got.stdout.starts_with(FIXED));
    assert!(place.read("out.txt").contains("WIN302") && !got.stderr.contains("WIN302"));
    let mut command = super::program::transom(place.0.path());
    command.args(["check", "--diff", "-"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, REPAIRED.as_bytes()).unwrap();
    drop(pipe);
    let got = Outcome::of(&child.wait_with_output().unwrap());
    assert_eq!(
        (got.code, got.stdout),
        (1, DIFF.replace("till.yaml", "<stdin>"))
    );
}

#[test]
fn what_is_left_alone_is_a_line_each() {
    let json = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {"os": {"name": "windows"}}}"#;
    let place = Place::new(&[("a.json", json), ("till.yaml", REPAIRED)]);
    let got = place.check(&["--fix", "a.json", "till.yaml"]);
    assert_eq!(got.code, 0);
    let mut lines = got.stderr.lines();
    assert_eq!(
        lines.next(),
        Some("a.json:1:1: note: Pod b/a is left alone: it is JSON")
    );
    assert_eq!(
        lines.next(),
        Some("fixed 1 object in 1 file, 1 object left alone")
    );
    assert_eq!(place.read("a.json"), json);
}

#[test]
fn what_is_not_selected_is_not_repaired() {
    let placed = REPAIRED.replace("spec:\n", "spec:\n  tolerations: [{operator: Exists}]\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n");
    for arg in ["--ignore=WIN112", "--ignore=WIN1", "--select=WIN3"] {
        let place = Place::new(&[("till.yaml", &placed)]);
        place.check(&["--fix", arg, "till.yaml"]);
        assert_eq!(place.read("till.yaml"), placed, "{arg}");
    }
    let place = Place::new(&[("till.yaml", &placed)]);
    place.check(&["--fix", "--select=WIN112", "till.yaml"]);
    assert!(!place.read("till.yaml").contains("allowPrivilegeEscalation"));
}

/// Where one may not write, a line says so. Root, to whom nothing is forbidden, asks as nobody.
#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_told() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let place = Place::new(&[("d/till.yaml", REPAIRED), ("web.yaml", DENIED)]);
    let allow = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let fix = || {
        let mut command = place.command(&["--fix", "d"]);
        if fs::metadata(place.path("d")).unwrap().uid() == 0 {
            command.uid(65_534).gid(65_534);
        }
        command.output()
    };
    // The file may not be written, its directory may; then the other way round.
    for (directory, file) in [(0o777, 0o444), (0o555, 0o666)] {
        for (name, mode) in [("", 0o777), ("d", directory), ("d/till.yaml", file)] {
            allow(name, mode);
        }
        let output = fix();
        allow("d", 0o777);
        let Ok(output) = output else {
            eprintln!(
                "SKIPPED: nobody may not run the program; let others read the directory of the build"
            );
            return;
        };
        let got = Outcome::of(&output);
        assert_eq!(got.code, 2, "{}", got.stderr);
        let line = "d/till.yaml: error: cannot be written: permission denied\n";
        assert!(got.stdout.starts_with(line), "{}", got.stdout);
        assert!(got.stderr.contains("\nfixed nothing\n"), "{}", got.stderr);
        assert_eq!(place.read("d/till.yaml"), REPAIRED);
        assert_eq!(fs::read_dir(place.path("d")).unwrap().count(), 1);
    }
}

/// As in `transom check --fix <(helm template shop)`.
#[cfg(unix)]
#[test]
fn a_pipe_is_not_written_to() {
    let place = Place::new(&[]);
    let pipe = place.pipe("pipe");
    let writer = std::thread::spawn(move || fs::write(pipe, REPAIRED));
    let got = place.check(&["--fix", "pipe"]);
    writer.join().unwrap().unwrap();
    assert_eq!(got.code, 2);
    assert!(
        got.stdout.contains("cannot be written: it is a pipe"),
        "{}",
        got.stdout
    );
}

/// `patch` takes the diff, and makes of the file what `--fix` makes of it.
#[test]
fn a_diff_can_be_applied() {
    let text = REPAIRED.trim_end();
    let place = Place::new(&[
        ("till.yaml", text),
        ("d/crlf.yaml", &REPAIRED.replace('\n', "\r\n")),
    ]);
    let diff = run(&place, &["--diff", "."]).stdout;
    let apply = Command::new("git")
        .current_dir(place.0.path())
        .args(["apply", "-p0", "-"])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut apply) = apply else {
        eprintln!("SKIPPED: there is no git; install it to have the diff applied");
        return;
    };
    let mut pipe = apply.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, diff.as_bytes()).unwrap();
    drop(pipe);
    assert!(apply.wait().unwrap().success(), "{diff}");
    assert_eq!(place.read("till.yaml"), FIXED.trim_end());
    assert_eq!(place.read("d/crlf.yaml"), FIXED.replace('\n', "\r\n"));
}

/// 0 of 573 Windows objects of public repositories tolerate os=Win1809.
#[test]
fn writes_no_toleration_unless_the_configuration_names_one() {
    let place = Place::new(&[
        ("till.yaml", REPAIRED),
        (
            "named",
            "apiVersion: transom.dev/v1alpha1\nkind: Config\nplacement: {tolerations: [{key: pool, operator: Exists}]}\n",
        ),
        (
            "other",
            "apiVersion: transom.dev/v1alpha1\nkind: Config\nplacement: {repair: true}\n",
        ),
    ]);
    for (config, has) in [("other", false), ("named", true)] {
        let got = run(&place, &["--diff", "--config", config, "till.yaml"]);
        assert_eq!(got.stdout.contains("tolerations"), has, "{config}");
        assert!(!got.stdout.contains("Win1809"));
    }
}
