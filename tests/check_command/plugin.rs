//! What belongs to an installation: the plugin of kubectl, completions, manual pages, the hook.

use std::path::Path;
use std::process::{Command, Output};

use clap::CommandFactory;
use transom::cli::Cli;

use super::{Place, program};

/// The commands that a user sees, but `help`.
fn commands() -> Vec<String> {
    let command = Cli::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    names.map(str::to_owned).collect()
}

fn run(args: &[&str]) -> Output {
    program::run(Path::new("."), args)
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_know_all_commands_and_the_flags_of_check() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        for flag in ["assume-os", "namespace-labels", "output-file"] {
            assert!(script.contains(flag), "{shell}: {flag}");
        }
    }
    let output = run(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn manual_pages_are_there_for_all_commands() {
    let page = stdout(&["man"]);
    assert!(page.contains(".TH transom 1"), "{page}");
    for command in commands() {
        assert!(
            page.contains(&format!("transom\\-{command}(1)")),
            "{command}"
        );
        let page = stdout(&["man", &command]);
        assert!(page.contains(&format!(".TH transom-{command} 1")), "{page}");
    }
    let page = stdout(&["man", "config", "show"]);
    assert!(page.contains(".TH transom-config-show 1"), "{page}");
    let output = run(&["man", "chekc"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the nearest is check"), "{stderr}");
}

#[test]
fn manual_pages_are_written_into_a_directory() {
    let place = Place::new(&[]);
    let output = program::run(place.0.path(), &["man", "--dir", "share/man1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    for command in commands() {
        let page = place.read(&format!("share/man1/transom-{command}.1"));
        assert!(page.contains("transom\\-"), "{command}");
    }
    assert!(place.path("share/man1/transom-config-show.1").exists());
    assert!(!place.path("share/man1/transom-help.1").exists());
    place.write("file", "");
    let output = program::run(place.0.path(), &["man", "--dir", "file"]);
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn as_a_plugin_it_goes_by_the_name_that_users_type() {
    let place = Place::new(&[("web.yaml", super::DENIED)]);
    for name in ["kubectl-transom", "kubectl_transom"] {
        let link = place.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_transom"), &link).unwrap();
        let run = |args: &[&str]| {
            let mut command = Command::new(&link);
            let output = command.args(args).current_dir(place.0.path()).output();
            super::Outcome::of(&output.unwrap())
        };
        let got = run(&["check", "-f", "web.yaml", "-o", "concise"]);
        assert_eq!(got.found(), ["web.yaml:9 deny WIN101"]);
        assert_eq!(got.code, 1);
        let help = run(&["check", "--help"]).stdout;
        assert!(help.contains("Usage: kubectl transom check"), "{help}");
        let help = run(&["--help"]).stdout;
        assert!(help.contains("Usage: kubectl transom "), "{help}");
        run(&["check", "--wrong"]).refused(&["Usage: kubectl transom check"]);
        run(&["check", "--select", "WIN999"]).refused(&["kubectl transom: --select"]);
    }
}

/// pre-commit reads it from the repository's root; the command line in it must be one of ours.
#[test]
fn the_hooks_run_commands_that_are_there() {
    let hooks = include_str!("../../.pre-commit-hooks.yaml");
    let hooks: serde_json::Value = serde_saphyr::from_str(hooks).unwrap();
    let hooks = hooks.as_array().unwrap();
    let ids: Vec<_> = hooks
        .iter()
        .map(|hook| hook["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["transom-check", "transom-fix"]);
    for hook in hooks {
        assert_eq!(hook["language"], "rust");
        let args = hook["entry"].as_str().unwrap().split(' ');
        // A file name is not a flag, whatever the repository calls its files.
        assert_eq!(hook["args"], serde_json::json!(["--"]));
        let args = args.chain(["--", "--output-file=web.yaml"]);
        assert!(Cli::command().try_get_matches_from(args).is_ok());
    }
}
