//! The report, to stdout or to a file; and files in place of others.
//!
//! Both work in directories whose content comes from a stranger, such as a repository that is checked
//! in CI. A link in it may lead anywhere, so no link is followed here, and the new file has a name
//! that cannot be guessed.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anstream::adapter::strip_str;
use anyhow::{Context, Result, bail};
use tempfile::{Builder, NamedTempFile};

use crate::terminal;

/// Writes the report. A file holds the old report or the new one, never a part, and no colors.
///
/// # Errors
/// The file is a link, or cannot be written.
pub(in crate::command) fn write(text: &str, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else {
        return terminal::print(text);
    };
    let text = strip_str(text).to_string();
    let name = file.display();
    if is_stream(file) {
        let stream = OpenOptions::new().append(true).open(file);
        let done = stream.and_then(|mut stream| stream.write_all(text.as_bytes()));
        return done.with_context(|| format!("cannot write {name}"));
    }
    let done = match fs::symlink_metadata(file) {
        Ok(old) if old.is_symlink() => {
            let target = fs::read_link(file).unwrap_or_default();
            let target = target.display();
            bail!(
                "cannot write {name}: it is a link to {target}; remove the link or choose another name"
            );
        }
        // A pipe or a device: there is nothing to replace.
        Ok(old) if !old.is_file() => fs::write(file, &text),
        _ => replace(file, text.as_bytes(), None).map_err(|error| match error {
            Unwritten::Changed => io::Error::other("it changed while the report was written"),
            Unwritten::Failed(error) => error,
        }),
    };
    done.with_context(|| format!("cannot write {name}"))
}

/// Whether the path names a stream that is already open, such as /dev/stderr. These are links, and
/// what they lead to may be a file into which others write as well.
fn is_stream(file: &Path) -> bool {
    let directories = ["/dev/fd", "/proc/self/fd"];
    let is_standard = ["/dev/stdout", "/dev/stderr"]
        .map(Path::new)
        .contains(&file);
    is_standard
        || file
            .parent()
            .is_some_and(|parent| directories.map(Path::new).contains(&parent))
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(in crate::command) enum Unwritten {
    /// It is no longer the file that was read, or does not have the same content.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Replaces a file that may be absent, but is not a link. The new file has the permissions of the old
/// one, and its owner where that is allowed. At no moment does the name lead to a part of it.
///
/// # Errors
/// It cannot be written; or it does not contain what is `expected`.
pub(in crate::command) fn replace(
    file: &Path,
    bytes: &[u8],
    expected: Option<&[u8]>,
) -> Result<(), Unwritten> {
    let mut old = open(file, expected.is_some())?;
    if old.is_none() && expected.is_some() {
        return Err(Unwritten::Changed);
    }
    let mut new = beside(file, old.is_none())?;
    new.write_all(bytes)?;
    if let Some(old) = &old {
        resemble(new.as_file(), &old.metadata()?)?;
    }
    if let (Some(old), Some(expected)) = (&mut old, expected)
        && !(is_at(old, file)? && contains(old, expected)?)
    {
        return Err(Unwritten::Changed);
    }
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// The file to be replaced, if there is one. It is opened for writing: the right to write to the
/// directory is not the right to write to the file.
fn open(file: &Path, is_read: bool) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(is_read).write(true);
    let old = match not_following(&mut options).open(file) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match old.metadata()?.is_file() {
        true => Ok(Some(old)),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens neither a link nor, which could take forever, the other end of a pipe.
pub(in crate::command) fn not_following(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // The bits are those of open(2), which fit.
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    options
}

/// A file in the same directory, and so on the same file system. Only its owner may read it, unless it
/// replaces nothing: then it is as readable as other new files are.
fn beside(file: &Path, is_first: bool) -> io::Result<NamedTempFile> {
    let directory = file.parent().filter(|parent| *parent != Path::new(""));
    let mut builder = Builder::new();
    builder.prefix(".transom-").rand_bytes(16);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if is_first { 0o666 } else { 0o600 };
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = is_first;
    builder.tempfile_in(directory.unwrap_or_else(|| Path::new(".")))
}

/// Gives a file the permissions of another, and its owner where that is allowed.
fn resemble(new: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let mut mode = old.mode() & 0o7777;
        if fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
            // Bits that lend the owner's or the group's rights are not for another owner.
            mode &= 0o777;
        }
        new.set_permissions(fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    new.set_permissions(old.permissions())
}

/// Whether the name still leads to this file.
fn is_at(old: &File, file: &Path) -> io::Result<bool> {
    Ok(match fs::symlink_metadata(file) {
        Ok(now) => !now.is_symlink() && same(&old.metadata()?, &now),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    })
}

/// Whether there is this in the file, and nothing else.
fn contains(file: &mut File, expected: &[u8]) -> io::Result<bool> {
    file.rewind()?;
    let mut found = Vec::with_capacity(expected.len() + 1);
    file.take(expected.len() as u64 + 1)
        .read_to_end(&mut found)?;
    Ok(found == expected)
}

/// Whether both are of one file.
fn same(a: &Metadata, b: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
    #[cfg(not(unix))]
    {
        a.len() == b.len() && a.modified().ok() == b.modified().ok()
    }
}

/// Whether both paths lead to one existing file: through links, other spellings, or as hard links.
pub(in crate::command) fn is_same(a: &Path, b: &Path) -> bool {
    if cfg!(not(unix)) {
        let [a, b] = [a, b].map(fs::canonicalize);
        return a.is_ok_and(|a: PathBuf| b.is_ok_and(|b| a == b));
    }
    let [a, b] = [a, b].map(fs::metadata);
    a.is_ok_and(|a| b.is_ok_and(|b| a.is_file() && same(&a, &b)))
}
