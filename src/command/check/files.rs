//! From paths to files: directories, links, stdin, each file once and in an order that stays.
//!
//! Not here: what is in a file.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::check::{FileReport, Report};
use crate::command::report::write::replace;

/// What is looked at.
pub(super) struct Files {
    /// In the order of the paths, those of a directory by name.
    pub(super) inputs: Vec<Input>,
    directories: Vec<Directory>,
}

/// A directory that was given.
struct Directory {
    name: String,
    /// Something was said of it: of a manifest in it, here or before, or of what cannot be read.
    is_covered: bool,
}

/// One file, or what stands in the way of it.
pub(super) struct Input {
    name: String,
    source: Source,
}

enum Source {
    Stdin,
    Named(PathBuf),
    /// In one of the directories.
    Found(PathBuf, usize),
    /// It cannot be looked at, and why.
    Lost(String),
}

/// In directories only these are read, as by kubectl.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
const NONE: &str = "there is no manifest in it: no Kubernetes object in a .yaml, .yml or .json that is \
    neither hidden nor left out by .gitignore";
const URL: &str = "transom fetches nothing; curl … | transom check -";
const PIPE: &str =
    "cannot be written: it is a pipe or a device; with - what comes in goes to stdout";
const NOTHING: &str = "nothing came in; did the command before it fail?";

impl Files {
    /// All files of these paths.
    pub(super) fn find(paths: &[PathBuf]) -> Self {
        let mut files = Self {
            inputs: Vec::new(),
            directories: Vec::new(),
        };
        let mut seen = HashSet::new();
        for path in paths {
            if path == Path::new("-") {
                if seen.insert(path.clone()) {
                    files.push("<stdin>".to_owned(), Source::Stdin);
                }
            } else if path.is_dir() {
                files.walk(path, &mut seen);
            } else if seen.insert(identity(path)) {
                files.push(shown(path), Source::Named(path.clone()));
            }
        }
        files
    }

    fn push(&mut self, name: String, source: Source) {
        self.inputs.push(Input { name, source });
    }

    /// Links to files are followed, those to directories are not, as kubectl does it.
    fn walk(&mut self, directory: &Path, seen: &mut HashSet<PathBuf>) {
        let index = self.directories.len();
        self.directories.push(Directory {
            name: shown(directory),
            is_covered: false,
        });
        let by_name = |a: &Path, b: &Path| a.cmp(b);
        for entry in WalkBuilder::new(directory)
            .sort_by_file_path(by_name)
            .build()
        {
            let path = match entry {
                Ok(entry) if is_manifest(entry.path()) => entry.into_path(),
                Ok(_) => continue,
                Err(error) => {
                    let path = place(&error).unwrap_or(directory);
                    let why = match error.io_error() {
                        Some(error) => unread(path, error),
                        None => error.to_string(),
                    };
                    self.push(shown(path), Source::Lost(why));
                    self.directories[index].is_covered = true;
                    continue;
                }
            };
            // What cannot be followed is told when it is read.
            let is_other = fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
            if is_other {
                continue;
            }
            if seen.insert(identity(&path)) {
                self.push(shown(&path), Source::Found(path, index));
            } else {
                self.directories[index].is_covered = true;
            }
        }
    }

    /// What the files came to, and the names of those in directories that hold nothing of Kubernetes.
    pub(super) fn report(mut self, reports: Vec<FileReport>) -> (Report, Vec<String>) {
        let (mut files, mut foreign) = (Vec::new(), Vec::new());
        for (input, report) in self.inputs.iter().zip(reports) {
            match input.source {
                Source::Found(..) if report.is_foreign() => foreign.push(report.name),
                Source::Found(_, directory) => {
                    self.directories[directory].is_covered = true;
                    files.push(report);
                }
                _ => files.push(report),
            }
        }
        let empty = self.directories.into_iter().filter(|d| !d.is_covered);
        files.extend(empty.map(|directory| FileReport::unread(directory.name, NONE)));
        let cluster = None;
        (Report { files, cluster }, foreign)
    }
}

impl Input {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_stdin(&self) -> bool {
        matches!(self.source, Source::Stdin)
    }

    /// What is in it, or why that cannot be read.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        match &self.source {
            Source::Stdin => stdin(),
            Source::Named(path) | Source::Found(path, _) => {
                fs::read(path).map_err(|error| unread(path, &error))
            }
            Source::Lost(why) => Err(why.clone()),
        }
    }

    /// Gives the file other bytes, or tells why not.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let (Source::Named(path) | Source::Found(path, _)) = &self.source else {
            return Ok(());
        };
        if !path.is_file() {
            return Err(PIPE.to_owned());
        }
        replace(path, bytes).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => "cannot be written: permission denied".to_owned(),
            _ => format!("cannot be written: {error}"),
        })
    }
}

fn stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) if bytes.trim_ascii().is_empty() => Err(NOTHING.to_owned()),
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// Why a file cannot be read, in words.
fn unread(path: &Path, error: &io::Error) -> String {
    let text = path.to_string_lossy();
    if text.starts_with("https://") || text.starts_with("http://") {
        return URL.to_owned();
    }
    match (error.kind(), fs::read_link(path)) {
        (ErrorKind::NotFound, Ok(target)) => {
            format!("a link to {}, which does not exist", target.display())
        }
        (ErrorKind::NotFound, Err(_)) => "there is no such file".to_owned(),
        (ErrorKind::PermissionDenied, _) => "cannot be read: permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// Where a walk went wrong.
fn place(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } => place(err),
        _ => None,
    }
}

fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The same for all names of a file.
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// As it is told: without the ./ that everybody knows.
fn shown(path: &Path) -> String {
    match path.strip_prefix(".") {
        Ok(rest) if rest != Path::new("") => rest.display().to_string(),
        _ => path.display().to_string(),
    }
}
