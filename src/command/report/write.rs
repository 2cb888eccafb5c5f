//! The report, to stdout or to a file; and files in place of others.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use anyhow::{Context, Result};

use crate::terminal;

/// Writes the report. A file holds the old one or the new one and nothing in between, and no
/// colours.
///
/// # Errors
/// It cannot be written.
pub(in crate::command) fn write(text: &str, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else {
        return terminal::print(text);
    };
    let text = strip_str(text).to_string();
    replace(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))
}

/// Puts a new file in the place of an old one, whose permissions and owner it gets. There is no
/// moment at which it holds half of it.
pub(in crate::command) fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let old = match fs::metadata(&file) {
        // Such as /dev/stderr: there is nothing to replace.
        Ok(old) if !old.is_file() => return fs::write(file, bytes),
        Ok(old) => Some(old),
        Err(_) => None,
    };
    if old.is_some() {
        // Who may write to the directory may not for that write to the file.
        OpenOptions::new().write(true).open(&file)?;
    }
    let new = beside(&file);
    let done = fs::write(&new, bytes)
        .and_then(|()| old.map_or(Ok(()), |old| resemble(&new, &old)))
        .and_then(|()| fs::rename(&new, &file));
    if done.is_err() {
        let _ = fs::remove_file(new);
    }
    done
}

/// Gives a file the permissions of another, and its owner where that is allowed.
fn resemble(new: &Path, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let _ = chown(new, Some(old.uid()), Some(old.gid()));
    }
    fs::set_permissions(new, old.permissions())
}

/// A file in the same directory, and so on the same disk.
fn beside(file: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    file.with_file_name(name)
}
