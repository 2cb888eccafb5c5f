//! The manifests of a directory, as git sees it, and which links in it are followed.
//!
//! The directory may be a repository of strangers. What a walk opens by itself is therefore a regular
//! file below that directory: a device could be read without end, and a pipe waited for.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::overrides::OverrideBuilder;
use ignore::{Error, WalkBuilder};

use super::files::{identity, unread};
use crate::command::report::links::repository;

/// In directories only these are read, as by kubectl.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// Files that say what is left out of a directory.
const IGNORE: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// The size of one of them.
const LARGEST: u64 = 10 << 20;
const ODD: &str = "the directory is not read: this file is not a regular file of its directory, or \
    larger than 10 MiB; remove it";

/// Something that cannot be read, and why.
pub(super) type Lost = (PathBuf, String);

/// The paths of all that has the ending of a manifest, by name.
pub(super) fn entries(directory: &Path, exclude: &[String]) -> Vec<Result<PathBuf, Lost>> {
    // Those above the directory count as well, but only those of its repository can be hostile: the
    // .gitignore of a home directory may be a link.
    let root = identity(directory);
    let here = identity(Path::new("."));
    let fallback = if root.starts_with(&here) {
        &here
    } else {
        &root
    };
    let top = repository(&root).unwrap_or(fallback);
    let mut above = root.ancestors().take_while(|above| above.starts_with(top));
    if let Some(odd) = above.find_map(odd) {
        return vec![Err((odd, ODD.to_owned()))];
    }
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&skipped);
    let mut builder = WalkBuilder::new(directory);
    builder.sort_by_file_path(Path::cmp);
    let mut overrides = OverrideBuilder::new(".");
    for glob in exclude {
        // They are valid, which the command line has seen to.
        let _ = overrides.add(&format!("!{glob}"));
    }
    if let Ok(overrides) = overrides.build() {
        builder.overrides(overrides);
    }
    // Asked before a directory is entered.
    builder.filter_entry(move |entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let odd = is_directory.then(|| odd(entry.path())).flatten();
        let is_fine = odd.is_none();
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(odd.map(|odd| Err((odd, ODD.to_owned()))));
        is_fine
    });
    let entries = builder.build().filter_map(|entry| match entry {
        Ok(entry) => is_manifest(entry.path()).then(|| Ok(entry.into_path())),
        Err(error) => {
            let path = place(&error).unwrap_or(directory).to_owned();
            let why = match error.io_error() {
                Some(error) => unread(&path, error),
                None => error.to_string(),
            };
            Some(Err((path, why)))
        }
    });
    let mut entries: Vec<_> = entries.collect();
    entries.append(&mut skipped.lock().unwrap_or_else(PoisonError::into_inner));
    entries
}

/// An ignore file of this directory that is not safe to read.
fn odd(directory: &Path) -> Option<PathBuf> {
    let files = IGNORE.iter().map(|name| directory.join(name));
    files.into_iter().find(|file| {
        let Ok(metadata) = fs::metadata(file) else {
            return false;
        };
        let is_outside = || file.is_symlink() && !identity(file).starts_with(identity(directory));
        let is_read = !metadata.is_dir();
        is_read && (!metadata.is_file() || metadata.len() > LARGEST || is_outside())
    })
}

fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Where a walk went wrong.
fn place(error: &Error) -> Option<&Path> {
    match error {
        Error::WithPath { path, .. } => Some(path),
        Error::WithDepth { err, .. } => place(err),
        _ => None,
    }
}
