//! Which files are looked at, and in which order.

use std::fs;

use super::{DENIED, Outcome, Place, REPAIRED, UNMARKED, WARNED};

#[test]
fn files_are_told_in_the_order_in_which_they_are_given() {
    let place = Place::new(&[("b.yaml", DENIED), ("a.yaml", WARNED)]);
    let got = place.check(&["b.yaml", "a.yaml"]);
    assert_eq!(
        got.found(),
        ["b.yaml:9 deny WIN101", "a.yaml:9 warn WIN302"]
    );
    assert_eq!(got.code, 1);
}

#[test]
fn a_file_that_is_named_is_read_whatever_its_ending() {
    let place = Place::new(&[("web.tpl", DENIED), (".hidden", DENIED)]);
    let got = place.check(&["web.tpl", ".hidden"]);
    assert_eq!(
        got.found(),
        ["web.tpl:9 deny WIN101", ".hidden:9 deny WIN101"]
    );
}

#[test]
fn a_file_that_is_named_twice_is_told_once() {
    let place = Place::new(&[("deploy/web.yaml", DENIED)]);
    let absolute = place.path("deploy/web.yaml");
    let got = place.check(&[
        "deploy/web.yaml",
        "deploy",
        "./deploy/../deploy/web.yaml",
        absolute.to_str().unwrap(),
        "-f",
        "deploy/web.yaml",
    ]);
    assert_eq!(got.found(), ["deploy/web.yaml:9 deny WIN101"]);
    assert_eq!(got.code, 1);
}

#[test]
fn directories_are_read_with_all_that_is_below_them_in_the_order_of_names() {
    let json = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j"},
"spec": {"os": {"name": "windows"}, "hostNetwork": true, "containers": []}}"#;
    let place = Place::new(&[
        ("deploy/z.yml", WARNED),
        ("deploy/a/b/c.yaml", DENIED),
        ("deploy/a/j.json", json),
        ("deploy/a/notes.txt", "kind: ["),
        ("deploy/.hidden/web.yaml", DENIED),
    ]);
    let want = [
        "deploy/a/b/c.yaml:9 deny WIN101",
        "deploy/a/j.json:2 deny WIN201",
        "deploy/z.yml:9 warn WIN302",
    ];
    assert_eq!(place.check(&["deploy"]).found(), want);
    assert_eq!(place.check(&["-f", "deploy/", "-R"]).found(), want);
    // Without the ./ that everybody knows.
    assert_eq!(place.check(&["."]).found(), want);
}

#[test]
fn what_git_ignores_is_left_out_unless_it_is_named() {
    let place = Place::new(&[
        (".gitignore", "/rendered\n*.tmp.yaml\n"),
        (".ignore", "charts/\n"),
        ("a.yaml", DENIED),
        ("b.tmp.yaml", DENIED),
        ("rendered/c.yaml", DENIED),
        ("charts/templates/d.yaml", "{{ .Values }}"),
    ]);
    let got = place.check(&["."]);
    assert_eq!(got.found(), ["a.yaml:9 deny WIN101"]);
    let got = place.check(&["b.tmp.yaml", "rendered"]);
    assert_eq!(
        got.found(),
        ["b.tmp.yaml:9 deny WIN101", "rendered/c.yaml:9 deny WIN101"]
    );
}

#[test]
fn the_flag_of_kubectl_may_be_repeated_and_hold_several() {
    let place = Place::new(&[
        ("a.yaml", DENIED),
        ("b.yaml", WARNED),
        ("c/d.yaml", REPAIRED),
    ]);
    let got = place.check(&["--filename", "a.yaml,b.yaml", "-f", "c"]);
    assert_eq!(got.codes(), ["WIN101", "WIN302", "WIN112"]);
}

#[test]
fn stdin_is_read_where_it_is_named_and_where_nothing_is() {
    let place = Place::new(&[]);
    for args in [&[][..], &["-"], &["-f", "-"], &["-", "-"], &["-q"]] {
        let got = place.check_stdin(DENIED, args);
        assert_eq!(got.found(), ["<stdin>:9 deny WIN101"], "{args:?}");
        assert_eq!(got.code, 1, "{args:?}");
    }
}

/// As `helm template` writes it.
#[test]
fn all_documents_of_a_stream_are_looked_at() {
    let place = Place::new(&[]);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let stream = format!(
        "---\n# Source: shop/templates/service.yaml\n{service}---\n# Source: empty\n---\n{DENIED}---\n{WARNED}"
    );
    let got = place.check_stdin(&stream, &["-"]);
    assert_eq!(got.codes(), ["WIN101", "WIN302"]);
    assert_eq!(got.found()[0], "<stdin>:17 deny WIN101");
}

/// `helm template … | transom check -` is no success when helm has failed.
#[test]
fn nothing_on_stdin_is_an_error() {
    let place = Place::new(&[]);
    for stdin in ["", " \n\n"] {
        let got = place.check_stdin(stdin, &[]);
        assert_eq!(got.found(), ["<stdin> error"]);
        assert!(got.stdout.contains("nothing came in"), "{}", got.stdout);
        assert_eq!(got.code, 2);
    }
}

/// One line for what cannot be read; everything else is looked at all the same.
fn has_one_error(place: &Place, path: &str, words: &[&str]) -> Outcome {
    let got = place.check(&[path, "good.yaml"]);
    let mut found = got.found();
    found.sort();
    assert_eq!(
        found,
        [&format!("{path} error"), "good.yaml:9 deny WIN101"],
        "{}",
        got.stdout
    );
    for word in words {
        assert!(got.stdout.contains(word), "{word}: {}", got.stdout);
    }
    assert_eq!(got.code, 2);
    got
}

#[test]
fn what_is_not_there_is_told_in_a_line() {
    let place = Place::new(&[("good.yaml", DENIED)]);
    has_one_error(&place, "bad.yaml", &["there is no such file"]);
}

#[test]
fn a_directory_without_manifests_is_told_in_a_line() {
    let place = Place::new(&[
        ("good.yaml", DENIED),
        ("empty/README.md", "nothing"),
        ("foreign/values.yaml", "image: nginx\n"),
        ("foreign/package.json", "{\"name\": \"shop\"}"),
    ]);
    for directory in ["empty", "foreign"] {
        has_one_error(&place, directory, &["there is no manifest in it"]);
    }
}

/// A repository holds YAML of all kinds; who names one of them meant a manifest.
#[test]
fn files_of_another_kind_are_passed_over_in_directories_alone() {
    let place = Place::new(&[
        ("d/web.yaml", DENIED),
        ("d/values.yaml", "image: nginx\n"),
        ("d/list.json", "[1, 2]"),
    ]);
    let got = place.check(&["d", "--verbose"]);
    assert_eq!(got.found(), ["d/web.yaml:9 deny WIN101"]);
    assert_eq!(got.code, 1);
    for name in ["d/values.yaml", "d/list.json"] {
        let line = format!("{name}: passed over");
        assert!(got.stderr.contains(&line), "{}", got.stderr);
    }
    assert!(!place.check(&["d"]).stderr.contains("passed over"));
    let got = place.check(&["d/values.yaml"]);
    assert_eq!(got.found(), ["d/values.yaml error"]);
    assert_eq!(got.code, 2);
}

#[test]
fn a_broken_manifest_in_a_directory_is_an_error() {
    let place = Place::new(&[("d/bad.yaml", "kind: [\n"), ("d/good.yaml", WARNED)]);
    let got = place.check(&["d"]);
    assert_eq!(
        got.found(),
        ["d/bad.yaml error", "d/good.yaml:9 warn WIN302"]
    );
    assert_eq!(got.code, 2);
}

#[test]
fn a_url_is_told_how_to_come_in() {
    let place = Place::new(&[]);
    let got = place.check(&["-f", "https://example.com/web.yaml"]);
    assert!(got.stdout.contains("curl"), "{}", got.stdout);
    assert_eq!(got.code, 2);
}

#[test]
fn nothing_wrong_is_silence() {
    let place = Place::new(&[("linux.yaml", UNMARKED)]);
    let got = place.check(&["linux.yaml", "--quiet"]);
    assert_eq!(
        (got.code, got.stdout, got.stderr),
        (0, String::new(), String::new())
    );
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn broken_links_are_told_in_a_line() {
        let place = Place::new(&[("good.yaml", DENIED)]);
        symlink("gone.yaml", place.path("bad.yaml")).unwrap();
        has_one_error(&place, "bad.yaml", &["a link to gone.yaml"]);
        // In a directory it is passed over.
        let got = place.check(&[".", "-v"]);
        assert_eq!(got.found(), ["good.yaml:9 deny WIN101"]);
        assert_eq!(got.code, 1);
        let line = "bad.yaml: passed over: a link to nowhere\n";
        assert!(got.stderr.contains(line), "{}", got.stderr);
    }

    #[test]
    fn follows_links_to_files_of_the_directory_and_no_loops() {
        let place = Place::new(&[("deploy/web.yaml", DENIED), ("deploy/shop.txt", WARNED)]);
        symlink("..", place.path("deploy/loop")).unwrap();
        symlink(".", place.path("deploy/loop.yaml")).unwrap();
        symlink("self.yaml", place.path("self.yaml")).unwrap();
        symlink("../deploy/shop.txt", place.path("deploy/shop.yaml")).unwrap();
        symlink("web.yaml", place.path("deploy/xweb.yaml")).unwrap();
        let got = place.check(&["deploy", "-q"]);
        let want = [
            "deploy/shop.yaml:9 warn WIN302",
            "deploy/web.yaml:9 deny WIN101",
        ];
        assert_eq!(
            (got.found(), got.stderr.as_str()),
            (want.map(str::to_owned).to_vec(), "")
        );
        let got = place.check(&["self.yaml"]);
        assert_eq!(got.found(), ["self.yaml error"]);
        assert_eq!(got.code, 2);
    }

    #[test]
    fn a_pipe_with_a_name_is_read_and_one_in_a_directory_is_not() {
        let place = Place::new(&[("d/web.yaml", DENIED)]);
        let pipe = place.pipe("d/pipe.yaml");
        assert_eq!(place.check(&["d"]).codes(), ["WIN101"]);
        let writer = std::thread::spawn(move || fs::write(pipe, WARNED).unwrap());
        assert_eq!(place.check(&["d/pipe.yaml"]).codes(), ["WIN302"]);
        writer.join().unwrap();
    }

    #[test]
    #[allow(clippy::print_stderr)] // a test that is skipped says so
    fn unreadable_files_are_told_in_a_line() {
        let place = Place::new(&[
            ("good.yaml", DENIED),
            ("bad.yaml", WARNED),
            ("d/a.yaml", WARNED),
        ]);
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(place.path("bad.yaml"), closed.clone()).unwrap();
        fs::set_permissions(place.path("d"), closed).unwrap();
        if fs::read(place.path("bad.yaml")).is_ok() {
            eprintln!("SKIPPED: unreadable_files_are_told_in_a_line: root reads everything");
            return;
        }
        has_one_error(&place, "bad.yaml", &["permission denied"]);
        has_one_error(
            &place,
            "d",
            &["d: error: cannot be read: permission denied"],
        );
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.path("d"), open).unwrap();
    }
}
