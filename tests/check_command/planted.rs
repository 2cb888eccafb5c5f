//! Files that are replaced in directories of strangers: links and pipes that were planted, other names
//! of an input, permissions.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use super::{DENIED, Outcome, Place, REPAIRED, UNMARKED};

fn mode(place: &Place, name: &str) -> u32 {
    fs::metadata(place.path(name)).unwrap().mode() & 0o7777
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
}

/// A manifest that is a shell script as well, and a link by each name that a predictable temporary file
/// could have.
fn trap(file: &str, pids: impl Iterator<Item = u32>) -> Place {
    let script = format!("#!/bin/sh\n{REPAIRED}");
    let place = Place::new(&[("deploy.yaml", &script), (".git/hooks/README", "")]);
    set_mode(&place, "deploy.yaml", 0o755);
    for pid in pids {
        let link = place.path(&format!(".{file}.{pid}"));
        symlink(".git/hooks/pre-commit", link).unwrap();
    }
    place
}

/// The next process identifiers.
fn pids() -> impl Iterator<Item = u32> {
    std::process::id()..std::process::id() + 3000
}

fn is_unharmed(place: &Place) {
    let hooks = fs::read_dir(place.path(".git/hooks")).unwrap();
    let hooks: Vec<_> = hooks.map(|hook| hook.unwrap().file_name()).collect();
    assert_eq!(hooks, ["README"], "a link was followed");
}

#[test]
fn fix_follows_no_planted_link() {
    let place = trap("deploy.yaml", pids());
    assert_eq!(place.check(&["--fix", "."]).code, 0);
    is_unharmed(&place);
    assert!(place.read("deploy.yaml").contains("nodeSelector:"));
    assert!(!place.path("deploy.yaml").is_symlink());
    assert_eq!(mode(&place, "deploy.yaml"), 0o755);
}

/// As in a container, where the process identifier is known beforehand.
#[test]
fn fix_follows_no_planted_link_as_process_1() {
    let place = trap("deploy.yaml", 1..=5);
    let plain = super::program::transom(place.0.path());
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]);
    command.arg(plain.get_program());
    command
        .args(["check", "--fix", "."])
        .current_dir(place.0.path());
    let output = command.output();
    let is_denied = |output: &std::process::Output| {
        String::from_utf8_lossy(&output.stderr).starts_with("unshare:")
    };
    let Some(output) = output.ok().filter(|output| !is_denied(output)) else {
        eprintln!(
            "SKIPPED: fix_follows_no_planted_link_as_process_1: unshare --pid is not permitted"
        );
        return;
    };
    let got = Outcome::of(&output);
    assert_eq!(got.code, 0, "{}", got.stderr);
    is_unharmed(&place);
    assert!(place.read("deploy.yaml").contains("nodeSelector:"));
}

#[test]
fn output_file_follows_no_planted_link() {
    let place = trap("r.txt", pids());
    let got = place.check(&["deploy.yaml", "--output-file", "r.txt"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    is_unharmed(&place);
    assert!(place.read("r.txt").contains("WIN112"));
}

#[test]
fn rejects_output_file_that_is_a_link() {
    let place = Place::new(&[("web.yaml", DENIED), ("real.txt", "old")]);
    for target in ["real.txt", ".git/hooks-pre-commit", "/dev/null"] {
        symlink(target, place.path("out.txt")).unwrap();
        let got = place.check(&["web.yaml", "--output-file", "out.txt"]);
        got.refused(&[
            "cannot write out.txt: it is a link to",
            target,
            "remove the link",
        ]);
        assert!(place.path("out.txt").is_symlink());
        fs::remove_file(place.path("out.txt")).unwrap();
    }
    assert_eq!(place.read("real.txt"), "old");
    assert!(!place.path(".git/hooks-pre-commit").exists());
}

#[test]
fn writes_report_to_stream_of_the_process() {
    let place = Place::new(&[("web.yaml", DENIED)]);
    let got = place.check(&["web.yaml", "--output-file", "/dev/stderr", "-q"]);
    assert!(got.stderr.contains("WIN101"), "{}", got.stderr);
    // Others write to the same file: it is neither replaced nor written over.
    let log = place.path("log");
    let mut command = place.command(&["web.yaml", "gone.yaml", "--output-file=/dev/stdout"]);
    fs::write(&log, "before\n").unwrap();
    let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    let inode = file.metadata().unwrap().ino();
    command.stdout(file);
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    let text = place.read("log");
    assert!(
        text.starts_with("before\n") && text.contains("WIN101"),
        "{text}"
    );
    assert_eq!(fs::metadata(&log).unwrap().ino(), inode);
}

#[test]
fn rejects_output_file_that_is_an_input() {
    let place = Place::new(&[("d/web.yaml", DENIED), ("c.yaml", "")]);
    place.write("c.yaml", "apiVersion: transom.dev/v1alpha1\nkind: Config\n");
    symlink("web.yaml", place.path("d/link.yaml")).unwrap();
    fs::hard_link(place.path("d/web.yaml"), place.path("hard.txt")).unwrap();
    let absolute = place.path("d/web.yaml");
    for (input, output) in [
        ("d/web.yaml", "d/web.yaml"),
        ("d", "d/web.yaml"),
        ("d", "./d/../d/web.yaml"),
        ("d", absolute.to_str().unwrap()),
        ("d", "hard.txt"),
        ("hard.txt", "d/web.yaml"),
        ("d/link.yaml", "d/web.yaml"),
        ("d/web.yaml", "d/link.yaml"),
    ] {
        for fix in [&[][..], &["--fix"]] {
            let args = [&[input, "--output-file", output], fix].concat();
            let got = place.check(&args);
            got.refused(&["would replace the input", "choose another file", output]);
            assert_eq!(place.read("d/web.yaml"), DENIED);
        }
    }
    let got = place.check(&["d", "--config=c.yaml", "--output-file=c.yaml"]);
    got.refused(&["would replace the input c.yaml"]);
    let mut command = place.command(&["-", "--output-file=d/web.yaml"]);
    command.stdin(fs::File::open(place.path("d/web.yaml")).unwrap());
    Outcome::of(&command.output().unwrap()).refused(&["would replace the input <stdin>"]);
    assert_eq!(place.read("d/web.yaml"), DENIED);
}

/// As in a pipeline that keeps its files.
#[test]
fn replaces_an_earlier_report_in_the_directory() {
    let place = Place::new(&[("d/web.yaml", DENIED)]);
    let args = ["-ojson", "d", "--output-file", "d/report.json"];
    for _ in 0..2 {
        let got = place.plain(&args);
        assert_eq!((got.code, got.stdout.as_str()), (1, ""), "{}", got.stderr);
        assert_eq!(place.read("d/report.json").matches("\"WIN101\"").count(), 1);
    }
}

#[test]
fn keeps_permissions_and_lets_no_one_else_read_meanwhile() {
    let place = Place::new(&[("a.yaml", REPAIRED), ("out.txt", "old")]);
    for kept in [0o600, 0o640, 0o755, 0o4755] {
        place.write("a.yaml", REPAIRED);
        set_mode(&place, "a.yaml", kept);
        set_mode(&place, "out.txt", kept);
        place.check(&["--fix", "a.yaml", "--output-file", "out.txt"]);
        assert!(place.read("a.yaml").contains("nodeSelector:"));
        assert_eq!([mode(&place, "a.yaml"), mode(&place, "out.txt")], [kept; 2]);
    }
    // A new report is as readable as any new file.
    fs::write(place.path("new.txt"), "").unwrap();
    place.check(&["a.yaml", "--output-file", "report.txt"]);
    assert_eq!(mode(&place, "report.txt"), mode(&place, "new.txt"));
    // What is created is not readable by others before its permissions are set.
    place.write("a.yaml", REPAIRED);
    set_mode(&place, "a.yaml", 0o644);
    let trace = place.path("trace");
    let plain = super::program::transom(place.0.path());
    let strace = Command::new("strace")
        .args(["-f", "-e", "trace=openat,open", "-o"])
        .args([trace.as_os_str(), plain.get_program()])
        .args(["check", "--fix", "a.yaml"])
        .current_dir(place.0.path())
        .output();
    if !strace.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "SKIPPED: the mode of temporary files: there is no strace, or it is not permitted"
        );
        return;
    }
    let trace = place.read("trace");
    let created: Vec<_> = trace
        .lines()
        .filter(|line| line.contains("O_CREAT"))
        .collect();
    let line = created
        .iter()
        .find(|line| line.contains("/.transom-"))
        .unwrap();
    assert!(line.contains("O_EXCL") && line.contains("0600"), "{line}");
}

#[test]
fn fix_follows_named_link_within_its_directory_alone() {
    let place = Place::new(&[("real/till.yaml", REPAIRED), ("cwd/a.txt", "")]);
    set_mode(&place, "real/till.yaml", 0o640);
    symlink("real/till.yaml", place.path("link.yaml")).unwrap();
    let got = place.check(&["--fix", "link.yaml"]);
    assert_eq!(got.code, 0, "{}", got.stdout);
    assert!(place.path("link.yaml").is_symlink());
    assert!(place.read("real/till.yaml").contains("nodeSelector:"));
    assert_eq!(mode(&place, "real/till.yaml"), 0o640);

    place.write("real/till.yaml", REPAIRED);
    symlink("../real/till.yaml", place.path("cwd/link.yaml")).unwrap();
    let mut command = place.command(&["--fix", "link.yaml"]);
    let got = Outcome::of(&command.current_dir(place.path("cwd")).output().unwrap());
    assert_eq!(got.code, 2);
    let words = "link.yaml: error: cannot be written: it is a link to ";
    assert!(got.stdout.starts_with(words), "{}", got.stdout);
    assert!(
        got.stdout.contains("name that file instead"),
        "{}",
        got.stdout
    );
    // It is checked all the same.
    assert!(got.stdout.contains("WIN112"), "{}", got.stdout);
    assert_eq!(place.read("real/till.yaml"), REPAIRED);
}

#[test]
fn fix_keeps_other_names_of_a_file() {
    let place = Place::new(&[("d/a.yaml", REPAIRED), ("b.yaml", UNMARKED)]);
    fs::hard_link(place.path("d/a.yaml"), place.path("victim")).unwrap();
    assert_eq!(place.check(&["--fix", "d"]).code, 0);
    assert!(place.read("d/a.yaml").contains("nodeSelector:"));
    assert_eq!(place.read("victim"), REPAIRED);
}
