//! On a terminal: the progress, the width of help and snippets, colours.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{DENIED, Place, REPAIRED};

/// A pseudo terminal of so many columns: the side that sees what is on the screen, and the one
/// that programs are given.
#[allow(clippy::print_stderr)] // Outside of a test function clippy does not see a test.
fn terminal(columns: u16) -> Option<(OwnedFd, File)> {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).and_then(|screen| {
        grantpt(&screen)?;
        unlockpt(&screen)?;
        let name = ptsname(&screen, Vec::new())?;
        Ok((screen, name))
    });
    let opened = screen.ok().and_then(|(screen, name)| {
        let mut options = OpenOptions::new();
        let inner = options.read(true).write(true).open(name.to_str().ok()?);
        Some((screen, inner.ok()?))
    });
    if opened.is_none() {
        eprintln!("SKIPPED: there are no pseudo terminals here; mount devpts at /dev/pts");
    }
    let (screen, inner) = opened?;
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(screen.as_fd(), size).unwrap();
    Some((screen, inner))
}

/// What is on the terminal, which is all of the program's input and output but for what it is
/// given else.
fn seen(mut command: Command, columns: u16, stdout: Option<Stdio>) -> Option<String> {
    let (screen, inner) = terminal(columns)?;
    let end = || Stdio::from(inner.try_clone().unwrap());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    command.stdin(end()).stderr(end());
    command.stdout(stdout.unwrap_or_else(end));
    let mut child = command.spawn().unwrap();
    // The program has the only end now, and reading stops when it is done.
    drop((command, inner));
    let mut seen = Vec::new();
    // Linux tells the end as an error.
    let _ = File::from(screen).read_to_end(&mut seen);
    child.wait().unwrap();
    Some(String::from_utf8(seen).unwrap().replace("\r\n", "\n"))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn check(place: &Place, args: &[&str]) -> Command {
    let mut command = super::program::transom(place.0.path());
    command.arg("check").args(args);
    command
}

#[test]
fn snippets_and_diffs_have_colours_and_fit() {
    let place = Place::new(&[("web.yaml", DENIED), ("till.yaml", REPAIRED)]);
    let Some(text) = seen(check(&place, &["web.yaml"]), 50, None) else {
        return;
    };
    assert!(text.contains('\x1b') && plain(&text).contains("deny[WIN101 run-as-user]"));
    let widest = plain(&text)
        .lines()
        .filter(|l| l.contains("reason"))
        .map(str::len)
        .max();
    assert!(widest.unwrap() <= 50, "{text}");
    let diff = seen(check(&place, &["--diff", "till.yaml"]), 80, None).unwrap();
    assert!(diff.contains("\x1b[32m+  nodeSelector:\x1b[0m\n"), "{diff}");
    assert!(plain(&diff).contains("\n-    securityContext: {allow"));
}

#[test]
fn help_fits_the_terminal() {
    let place = Place::new(&[]);
    let mut lines = Vec::new();
    for columns in [60, 100] {
        let Some(text) = seen(check(&place, &["--help"]), columns, None) else {
            return;
        };
        assert!(text.contains("\x1b["), "{text}");
        let text = plain(&text);
        let wide = text
            .lines()
            .find(|line| line.chars().count() > usize::from(columns));
        assert_eq!(wide, None);
        lines.push(text.lines().count());
    }
    assert!(lines[0] > lines[1], "{lines:?}");
}

/// Without a path on a terminal nobody waits for input: help comes, and 2 is the exit code.
#[test]
fn without_a_path_there_is_help() {
    let place = Place::new(&[]);
    let Some(text) = seen(check(&place, &[]), 80, None) else {
        return;
    };
    assert!(plain(&text).contains("Usage: transom check"), "{text}");
}

/// Of two files one is a pipe into which nobody writes for more than a second. What is told stays,
/// the bar goes, and stdout is none of its business.
#[test]
fn progress_is_shown_when_it_takes_long_and_goes_away() {
    for (args, is_shown) in [
        (&["pipe", "web.yaml"][..], true),
        (&["-q", "pipe", "web.yaml"], false),
    ] {
        let place = Place::new(&[("web.yaml", DENIED)]);
        let pipe = place.pipe("pipe");
        let out = File::create(place.path("out")).unwrap();
        let writer = thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
            thread::sleep(Duration::from_millis(1500));
            pipe.write_all(DENIED.as_bytes()).unwrap();
        });
        let text = seen(check(&place, args), 80, Some(out.into()));
        if text.is_none() {
            // Nobody reads what it writes.
            drop(fs::read(place.path("pipe")));
        }
        writer.join().unwrap();
        let Some(text) = text else {
            return;
        };
        assert_eq!(text.contains("2/2 files"), is_shown, "{text:?}");
        if is_shown {
            // It is wiped out, and the summary stands where it was.
            let (_, behind) = text.rsplit_once("2/2 files").unwrap();
            assert!(behind.contains("\x1b[2K"), "{text:?}");
            assert!(
                behind.ends_with(
                    "2 denied in 2 of 2 files; 2 Windows objects, 0 Linux or unmarked\n"
                ),
                "{text:?}"
            );
        }
        let out = place.read("out");
        assert!(out.contains("WIN101") && !out.contains("files") && !out.contains('\x1b'));
    }
}
