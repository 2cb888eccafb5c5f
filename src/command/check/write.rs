//! The report, to stdout or to a file.

use std::fs;
use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use anyhow::{Context, Result};

use crate::terminal;

/// Writes the report. A file holds the old one or the new one and nothing in between, and no
/// colours.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(text: &str, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else {
        return terminal::print(text);
    };
    let text = strip_str(text).to_string();
    replace(file, &text).with_context(|| format!("cannot write {}", file.display()))
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    // A link stays one.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if file.exists() && !file.is_file() {
        // Such as /dev/stderr: there is nothing to replace.
        return fs::write(file, text);
    }
    let new = beside(&file);
    let done = fs::write(&new, text).and_then(|()| fs::rename(&new, &file));
    if done.is_err() {
        let _ = fs::remove_file(new);
    }
    done
}

/// A file in the same directory, and so on the same disk.
fn beside(file: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    file.with_file_name(name)
}
