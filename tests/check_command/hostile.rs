//! A repository of strangers: names, links and devices that are meant to do harm.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{DENIED, Outcome, Place, REPAIRED};

/// What GitHub Actions would take for a command: `::NAME …::` at the start of a line, behind any white
/// space, and `##[NAME …]` anywhere.
fn commands(text: &str) -> Vec<&str> {
    let is_command = |line: &&str| {
        let ours = [
            "::error file=",
            "::warning file=",
            "::error title=",
            "::warning title=",
        ];
        let start = line.trim_start();
        let is_ours = ours.iter().any(|ours| start.starts_with(ours));
        let is_start = start.starts_with("::") && !start.starts_with(":::");
        !is_ours && (is_start || line.contains("##["))
    };
    text.lines().filter(is_command).collect()
}

/// Manifests whose names and contents would be commands.
fn commanding() -> Place {
    let hostile = "::stop-commands::x ##[add-mask]y";
    let named = DENIED.replace("web", &format!("'{hostile}'"));
    let valued = DENIED.replace("1000", &format!("1000 # {hostile}"));
    let twice = format!("'{hostile}': 1\n'{hostile}': 2\n{DENIED}");
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    a: |\n      ::stop-commands::x\n      {hostile}\n{}",
        REPAIRED.split_once("metadata: {name: till}\n").unwrap().1
    );
    let place = Place::new(&[
        ("::stop-commands::x/a.yaml", DENIED),
        ("::stop-commands::x/##[add-mask]y.yaml", &named),
        ("\u{a0}::stop-commands::x.yaml", &valued),
        ("\n::stop-commands::x/\n##[add-mask]y.yaml", "kind: ["),
        (" ::error::x.yaml", &twice),
        ("b.yaml", &text),
        ("c.yaml", "kind: [\n::stop-commands::x ##[a]\n"),
        (
            "d.yaml",
            &format!("apiVersion: v1\nkind: '{hostile}'\n---\n{DENIED}"),
        ),
        ("::add-mask::x/values.yaml", "a: 1\n"),
    ]);
    symlink("/etc/hostname", place.path("::add-mask::z.yaml")).unwrap();
    symlink("gone ##[add-mask]", place.path("::add-mask::gone.yaml")).unwrap();
    place
}

#[test]
fn prints_no_command_of_github() {
    let place = commanding();
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        for more in [&[][..], &["--verbose"], &["--show-evidence", "--fix"]] {
            let got = place.plain(&[&["-o", format, "."], more].concat());
            assert_eq!(got.code, 2, "{format}: {}", got.stderr);
            for text in [&got.stdout, &got.stderr] {
                assert_eq!(commands(text), Vec::<&str>::new(), "{format} {more:?}");
            }
            if format == "json" {
                let report: serde_json::Value = serde_json::from_str(&got.stdout).unwrap();
                let text = report.to_string();
                assert!(
                    text.contains("::stop-commands::x/##[add-mask]y.yaml"),
                    "{text}"
                );
            }
        }
    }
    let got = commanding().check(&["."]);
    let line = "./::stop-commands::x/a.yaml:9:9: deny WIN101";
    assert!(got.stdout.contains(line), "{}", got.stdout);
    let note = "./::add-mask::z.yaml: note: not checked";
    assert!(got.stderr.contains(note), "{}", got.stderr);
    // Of files that are named one by one, and of one that is not there.
    for name in ["::stop-commands::x/a.yaml", "::stop-commands::gone.yaml"] {
        let got = place.check(&[name]);
        assert_eq!(commands(&got.stdout), Vec::<&str>::new());
    }
}

/// A diff is for `patch`, and has the lines of the file as they are.
#[test]
fn switches_commands_off_around_a_diff_on_github() {
    let place = commanding();
    let run = |is_github: bool| {
        let mut command = super::program::transom(place.0.path());
        command
            .args(["check", "--diff", "b.yaml"])
            .env_remove("GITHUB_ACTIONS");
        if is_github {
            command.env("GITHUB_ACTIONS", "true");
        }
        Outcome::of(&command.output().unwrap()).stdout
    };
    let plain = run(false);
    let tokens = [run(true), run(true)].map(|diff| {
        let token = diff
            .lines()
            .next()
            .unwrap()
            .strip_prefix("::stop-commands::");
        let token = token.unwrap().to_owned();
        assert_eq!(
            diff,
            format!("::stop-commands::{token}\n{plain}::{token}::\n")
        );
        assert!(token.len() >= 32 && !plain.contains(&token));
        token
    });
    assert_ne!(tokens[0], tokens[1]);
    let mut apply = Command::new("git");
    apply
        .args(["apply", "-p0", "-"])
        .current_dir(place.0.path());
    let Ok(mut apply) = apply.stdin(Stdio::piped()).spawn() else {
        eprintln!("SKIPPED: there is no git; install it to have the diff applied");
        return;
    };
    let mut pipe = apply.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, run(true).as_bytes()).unwrap();
    drop(pipe);
    assert!(apply.wait().unwrap().success());
    assert!(place.read("b.yaml").contains("nodeSelector:"));
}

#[test]
fn prints_nothing_that_a_terminal_obeys() {
    let place = Place::new(&[("\x1b]0;owned\x07/\x1b[2Ja.yaml", DENIED)]);
    let bytes = OsStr::from_bytes(b"\xff\x1b[31m.yaml");
    fs::write(place.path("x").with_file_name(bytes), DENIED).unwrap();
    for format in ["text", "concise", "json", "sarif", "github", "markdown"] {
        let got = place.plain(&["-o", format, "."]);
        assert_eq!(got.code, 1, "{}", got.stderr);
        assert!(!(got.stdout + &got.stderr).contains('\x1b'), "{format}");
    }
    // Nor what is wrong with a configuration, or with an argument.
    let config = "\"\\e[2J\\n::stop-commands::x\": 1\n'\x1b[2J ##[add-mask]x': 2\n";
    place.write(".transom.yaml", config);
    let got = place.check(&["."]);
    got.refused(&["the configuration cannot be used"]);
    assert!(!got.stderr.contains('\x1b'), "{}", got.stderr);
    assert_eq!(commands(&got.stderr), Vec::<&str>::new());
    let got = place.check(&["--config", "gone\n::stop-commands::\x1b[2J", "."]);
    assert!(!got.stderr.contains('\x1b'), "{}", got.stderr);
    assert_eq!(commands(&got.stderr), Vec::<&str>::new());
}

#[test]
fn follows_no_link_out_of_the_directory() {
    let place = Place::new(&[
        ("repo/good.yaml", DENIED),
        ("repo/.env", "token: sekrit: bad\n"),
        ("repo/.hidden/a.yaml", "token: sekrit: bad\n"),
        ("home/kubeconfig", "token: sekrit: bad\n"),
        ("only/README.md", ""),
    ]);
    let secret = place.path("home/kubeconfig");
    symlink(&secret, place.path("repo/a.yaml")).unwrap();
    symlink("../home/kubeconfig", place.path("repo/b.yaml")).unwrap();
    symlink("b.yaml", place.path("repo/c.yaml")).unwrap();
    symlink(".env", place.path("repo/d.yaml")).unwrap();
    symlink(".hidden/a.yaml", place.path("repo/e.json")).unwrap();
    symlink("../home/kubeconfig", place.path("only/a.yaml")).unwrap();
    for mode in [&["-oconcise"][..], &["--fix"], &["-otext"]] {
        let got = place.plain(&[&["repo"], mode].concat());
        assert_eq!(got.code, 1, "{}", got.stderr);
        assert!(
            !(got.stdout.clone() + &got.stderr).contains("sekrit"),
            "{}",
            got.stdout
        );
        let left = got
            .stderr
            .lines()
            .filter(|line| line.contains("note: not checked: "));
        let left: Vec<_> = left.map(|line| line.split_once(':').unwrap().0).collect();
        let names = ["a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.json"];
        assert_eq!(left, names.map(|name| format!("repo/{name}")));
    }
    // Nothing else is in it: that must not pass for a success.
    let got = place.check(&["only"]);
    assert_eq!((got.code, got.found()), (2, vec!["only error".to_owned()]));
    // One that is named is read.
    let got = place.plain(&["repo/a.yaml"]);
    assert!(got.stdout.contains("sekrit"), "{}", got.stdout);
    // Many are counted.
    for i in 0..1000 {
        symlink(&secret, place.path(&format!("only/{i:04}.yaml"))).unwrap();
    }
    let got = place.check(&["only"]);
    assert!(got.stderr.lines().count() < 20, "{}", got.stderr);
    assert!(
        got.stderr.contains("only: note: 991 more such links"),
        "{}",
        got.stderr
    );
}

/// As kubelets mount a ConfigMap.
#[test]
fn follows_links_of_a_mounted_config_map() {
    let place = Place::new(&[("config/..2026/web.yaml", DENIED)]);
    symlink("..2026", place.path("config/..data")).unwrap();
    symlink("..data/web.yaml", place.path("config/web.yaml")).unwrap();
    assert_eq!(
        place.check(&["config"]).found(),
        ["config/web.yaml:9 deny WIN101"]
    );
}

/// Ends, whatever lies around: `timeout` would end it with another code.
fn in_time(place: &Place, directory: &str, args: &[&str]) -> Outcome {
    let plain = super::program::transom(place.0.path());
    let mut command = Command::new("timeout");
    // Of memory as well: what is read without end is told from what is waited for.
    command.args(["60", "sh", "-c", "ulimit -v 4000000; exec \"$@\"", "sh"]);
    command
        .arg(plain.get_program())
        .args(["check", "-o", "concise"])
        .args(args);
    command
        .current_dir(place.0.path().join(directory))
        .stdin(Stdio::null());
    Outcome::of(&command.output().unwrap())
}

#[test]
fn reads_no_device_and_waits_for_no_pipe() {
    let place = Place::new(&[("d/web.yaml", DENIED)]);
    symlink("/dev/zero", place.path("d/zero.yaml")).unwrap();
    symlink("/dev/tty", place.path("d/tty.json")).unwrap();
    place.pipe("d/pipe.yaml");
    symlink("pipe.yaml", place.path("d/to-pipe.yaml")).unwrap();
    let got = in_time(&place, "", &["d", "--fix"]);
    assert_eq!(got.found(), ["d/web.yaml:9 deny WIN101"], "{}", got.stderr);
    let got = in_time(&place, "", &["d/zero.yaml"]);
    assert_eq!(got.code, 2, "{}", got.stderr);
    assert!(
        got.stdout.contains("leads through a link to /dev/zero"),
        "{}",
        got.stdout
    );
    let got = in_time(&place, "", &["/dev/zero"]);
    assert_eq!(got.code, 2, "{}", got.stderr);
    assert!(got.stdout.contains("larger than 256 MiB"), "{}", got.stdout);
}

#[test]
fn reads_no_ignore_file_without_end() {
    for (name, directory) in [
        (".gitignore", "d"),
        (".ignore", "d"),
        (".ignore", "d/below"),
        (".gitignore", ""),
    ] {
        for planted in ["/dev/zero", "pipe", "../outside"] {
            if directory.is_empty() && planted == "../outside" {
                continue;
            }
            let place = Place::new(&[("d/web.yaml", DENIED), ("d/below/b.yaml", DENIED)]);
            let file = Path::new(directory).join(name);
            match planted {
                "pipe" => _ = place.pipe(file.to_str().unwrap()),
                target => symlink(target, place.path(file.to_str().unwrap())).unwrap(),
            }
            if planted == "../outside" {
                fs::write(place.path(directory).join(planted), "*.yaml\n").unwrap();
            }
            let got = in_time(&place, "", &["d"]);
            assert_eq!(got.code, 2, "{name} {directory} {planted}: {}", got.stderr);
            let words = format!("{name}: error: the directory is not read");
            assert!(got.stdout.contains(&words), "{}", got.stdout);
            if directory == "d/below" {
                assert!(
                    got.stdout.contains("d/web.yaml:9:9: deny"),
                    "{}",
                    got.stdout
                );
            }
        }
    }
}

#[test]
fn reads_no_configuration_of_another_directory_unasked() {
    let place = Place::new(&[
        ("repo/d/web.yaml", DENIED),
        ("repo/.git/HEAD", ""),
        ("repo/.env", "TOKEN=sekrit\n"),
        ("secret", "token: sekrit: bad\n"),
    ]);
    for target in ["../secret", ".env", "/dev/zero", "/dev/tty"] {
        symlink(target, place.path("repo/.transom.yaml")).unwrap();
        let got = in_time(&place, "repo", &["d"]);
        got.refused(&[
            ".transom.yaml",
            "link out of its directory or to a hidden file",
        ]);
        assert!(!got.stderr.contains("sekrit"), "{}", got.stderr);
        fs::remove_file(place.path("repo/.transom.yaml")).unwrap();
    }
    place.pipe("repo/.transom.yaml");
    in_time(&place, "repo", &["d"]).refused(&["not a regular file"]);
}

#[test]
fn reads_names_that_look_like_flags() {
    let place = Place::new(&[("--fix", DENIED), ("-q.yaml", REPAIRED)]);
    let got = place.check(&["./--fix", "."]);
    assert_eq!(got.code, 1, "{}", got.stderr);
    assert_eq!(
        got.found(),
        ["./--fix:9 deny WIN101", "./-q.yaml:8 repair WIN112"]
    );
    assert_eq!(
        place.check(&["--", "--fix"]).found(),
        ["./--fix:9 deny WIN101"]
    );
    assert_eq!(place.read("-q.yaml"), REPAIRED);
}

/// The command of a CI job names a path, and the author of a pull request makes it a link.
#[test]
fn rejects_named_paths_that_lead_out_of_the_repository() {
    let place = Place::new(&[
        ("repo/.git/config", "token: sekrit: bad\n"),
        ("repo/real/web.yaml", DENIED),
        ("repo/.hidden/web.yaml", DENIED),
        ("home/kube.yaml", "token: sekrit: bad\n"),
        ("home/till.yaml", REPAIRED),
    ]);
    symlink("../home", place.path("repo/deploy")).unwrap();
    symlink("../home/kube.yaml", place.path("repo/kube.yaml")).unwrap();
    symlink(".git/config", place.path("repo/config.yaml")).unwrap();
    symlink("real", place.path("repo/inside")).unwrap();
    let absolute = place.path("repo/deploy");
    let run = |args: &[&str]| in_time(&place, "repo", args);
    for path in [
        "deploy",
        "./deploy/",
        "deploy/kube.yaml",
        "deploy/till.yaml",
        "real/../deploy/kube.yaml",
        absolute.to_str().unwrap(),
        "kube.yaml",
        "config.yaml",
    ] {
        let got = run(&[path, "--fix"]);
        assert_eq!(got.code, 2, "{path}: {}", got.stdout);
        let why = "leads through a link to ";
        assert!(got.stdout.contains(why), "{path}: {}", got.stdout);
        assert!(!got.stdout.contains("sekrit"), "{path}: {}", got.stdout);
    }
    assert_eq!(place.read("home/till.yaml"), REPAIRED);
    run(&["real", "--config", "kube.yaml"])
        .refused(&["kube.yaml cannot be read: it leads through"]);
    // Links in the repository, hidden files without a link, and what is outside to begin with.
    for (path, found) in [
        ("inside", "inside/web.yaml:9 deny WIN101"),
        (".hidden/web.yaml", ".hidden/web.yaml:9 deny WIN101"),
        ("../home/till.yaml", "../home/till.yaml:8 repair WIN112"),
    ] {
        assert_eq!(run(&[path]).found(), [found]);
    }
    // Below the root of the repository, too.
    symlink("../real/web.yaml", place.path("repo/inside/up.yaml")).unwrap();
    let got = in_time(&place, "repo/real", &["up.yaml"]);
    assert_eq!(got.found(), ["up.yaml:9 deny WIN101"]);
}

/// Tools that manage home directories make links of such files.
#[test]
fn reads_directories_below_ignore_files_outside_of_the_repository() {
    let place = Place::new(&[
        ("home/repo/.git/HEAD", ""),
        ("home/repo/d/web.yaml", DENIED),
    ]);
    symlink("/nix/store/none", place.path("home/.gitignore")).unwrap();
    fs::write(place.path("ignore"), "").unwrap();
    symlink("../ignore", place.path("home/.ignore")).unwrap();
    let got = in_time(&place, "home/repo", &["d"]);
    assert_eq!(got.found(), ["d/web.yaml:9 deny WIN101"], "{}", got.stdout);
}
