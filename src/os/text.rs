//! Strings that only one operating system understands.

/// Whether a string is a path or program that only Windows knows: `C:\`, `\\.\pipe\`,
/// powershell.exe, cmd.exe.
pub(crate) fn is_windows_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_alphanumeric);
    let starts_word = |i: usize| i == 0 || !is_word(i - 1);
    // Behind a letter of a printf or sed, `:\n` is no path.
    let is_escape = |at: usize| {
        matches!(
            bytes.get(at),
            Some(b'n' | b't' | b'r' | b'0' | b'"' | b'\'' | b'\\')
        ) && !is_word(at + 1)
    };
    let is_drive = |colon: usize| {
        colon > 0
            && bytes[colon - 1].is_ascii_alphabetic()
            && starts_word(colon - 1)
            && (colon == 1 || !matches!(bytes[colon - 2], b'%' | b'/'))
            && !is_escape(colon + 2)
    };
    let is_program = |dot: usize| {
        let extension = bytes.get(dot + 1..dot + 4);
        extension.is_some_and(|e| e.eq_ignore_ascii_case(b"exe"))
            && !is_word(dot + 4)
            && ["powershell", "cmd"].iter().any(|name| {
                dot.checked_sub(name.len()).is_some_and(|start| {
                    bytes[start..dot].eq_ignore_ascii_case(name.as_bytes()) && starts_word(start)
                })
            })
    };
    text.contains('\\')
        && (text.contains("\\\\.\\pipe\\") || text.match_indices(":\\").any(|(i, _)| is_drive(i)))
        || text.match_indices('.').any(|(i, _)| is_program(i))
}

/// Whether a host path is one that only Linux has: counter-evidence against hints.
pub(crate) fn is_linux_path(path: &str) -> bool {
    ["/dev", "/proc", "/sys"]
        .iter()
        .any(|root| is_under(path, root))
}

/// Whether a program is in a directory that Windows images do not have.
pub(crate) fn is_linux_program(path: &str) -> bool {
    ["/bin", "/sbin", "/usr"]
        .iter()
        .any(|root| is_under(path, root))
}

/// Whether a path is this directory or lies below it.
pub(crate) fn is_under(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_windows_text_from_other_text() {
        for text in [
            "C:\\app",
            "--path=d:\\x",
            "\\\\.\\pipe\\docker_engine",
            "powershell.exe",
            "C:\\Windows\\System32\\cmd.exe",
            "CMD.EXE /c dir",
        ] {
            assert!(is_windows_text(text), "{text}");
        }
        for text in [
            "/bin/sh",
            "abc:\\n",
            "http://x",
            "mycmd.exe",
            "pwsh",
            "a\\b",
            "",
            ":\\",
            "s:/x",
            "printf '%s:\\n' x",
            "s/a:\\n/b/",
            "echo 'x:\\n'",
            "--class=com.acme.cmd.Executor",
        ] {
            assert!(!is_windows_text(text), "{text}");
        }
    }
}
