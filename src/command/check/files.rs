//! From paths to files: directories, links, stdin, each file once and in an order that stays.
//!
//! Not here: what is in a file.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::charts::{self, Charts};
use super::walk;
use crate::check::output::name;
use crate::check::{FileReport, Report};
use crate::command::report::links::{is_within, led_out};
use crate::command::report::write::{Unwritten, is_same, not_following, replace};

/// What is looked at.
pub(super) struct Files {
    /// In the order of the paths, those of a directory by name.
    pub(super) inputs: Vec<Input>,
    /// What is not read in directories, a line each.
    pub(super) left: String,
    /// What is passed over in silence, unless --verbose is set: a line each.
    pub(super) passed_over: String,
    charts: Charts,
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
    /// What came in from stdin or a pipe, which can be read once.
    once: OnceLock<Result<Vec<u8>, String>>,
}

enum Source {
    Stdin,
    Named(PathBuf),
    /// In one of the directories, with all links resolved.
    Found(PathBuf, usize),
    /// A chart that helm renders.
    Chart(PathBuf, Vec<PathBuf>),
    /// It cannot be looked at, and why.
    Lost(String),
}

/// How files are found.
#[derive(Default)]
pub(super) struct Search {
    pub(super) exclude: Vec<String>,
    /// What stdin is called.
    pub(super) stdin: Option<String>,
    /// Render charts, with these values files.
    pub(super) helm: Option<Vec<PathBuf>>,
}

const NONE: &str = "there is no manifest in it: no Kubernetes object in a .yaml, .yml or .json that is \
    neither hidden nor left out by .gitignore";
const URL: &str = "transom fetches nothing; curl … | transom check -";
const PIPE: &str =
    "cannot be written: it is a pipe or a device; with - what comes in goes to stdout";
const CHANGED: &str =
    "cannot be written: it changed after it was read and is left as it is; run the command again";
/// Larger inputs are not read: a device or a pipe may never end.
const LARGEST: u64 = 256 << 20;
const LARGE: &str = "cannot be read: it is larger than 256 MiB; split it";
const NOTHING: &str = "nothing came in; did the command before it fail?";

impl Files {
    /// All files of these paths.
    pub(super) fn find(paths: &[PathBuf], search: &Search) -> Self {
        let mut files = Self {
            inputs: Vec::new(),
            left: String::new(),
            passed_over: String::new(),
            charts: Charts::default(),
            directories: Vec::new(),
        };
        let mut seen = HashSet::new();
        for path in paths {
            if path == Path::new("-") {
                if seen.insert(path.clone()) {
                    let name = search.stdin.as_deref().unwrap_or("<stdin>");
                    files.push(name.to_owned(), Source::Stdin);
                }
            } else if let Some(why) = led_out(path) {
                files.push(shown(path), Source::Lost(why));
            } else if path.is_dir() {
                files.walk(path, search, &mut seen);
            } else if seen.insert(identity(path)) {
                files.push(shown(path), Source::Named(path.clone()));
            }
        }
        let notes = files.charts.notes(search.helm.is_some());
        files.left.push_str(&notes);
        files
    }

    fn push(&mut self, name: String, source: Source) {
        self.inputs.push(Input {
            name,
            source,
            once: OnceLock::new(),
        });
    }

    /// Links to files in the same directory tree are followed. Those that lead out of it are not: the
    /// directory may be a repository of strangers, and what is found in a file is printed. Links to
    /// directories are not followed, as by kubectl.
    fn walk(&mut self, directory: &Path, search: &Search, seen: &mut HashSet<PathBuf>) {
        let index = self.directories.len();
        self.directories.push(Directory {
            name: shown(directory),
            is_covered: false,
        });
        let root = identity(directory);
        let mut left = Vec::new();
        let mut charts = HashSet::new();
        for entry in walk::entries(directory, &search.exclude) {
            let path = match entry {
                Ok(path) => path,
                Err((path, why)) => {
                    self.push(shown(&path), Source::Lost(why));
                    self.directories[index].is_covered = true;
                    continue;
                }
            };
            if let Some(chart) = self.charts.template(&path) {
                if let Some(values) = &search.helm
                    && charts.insert(chart.clone())
                    && seen.insert(identity(&chart))
                {
                    let name = format!("<helm template {}>", shown(&chart));
                    self.push(name, Source::Chart(chart, values.clone()));
                    self.directories[index].is_covered = true;
                }
                continue;
            }
            self.charts.kustomization(&path);
            if path.is_symlink() && !path.exists() {
                let name = name(&shown(&path));
                self.passed_over += &format!("{name}: passed over: a link to nowhere\n");
                continue;
            }
            let is_other = fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
            if is_other {
                continue;
            }
            let target = identity(&path);
            if path.is_symlink() && !is_within(&root, &target) {
                left.push(path);
            } else if seen.insert(target.clone()) {
                self.push(shown(&path), Source::Found(target, index));
            } else {
                self.directories[index].is_covered = true;
            }
        }
        self.left.push_str(&notes(&left, directory));
    }

    /// Removes an earlier report that is found in a directory, and so is no manifest.
    ///
    /// # Errors
    /// The file of the report is one of those that are checked: its name.
    pub(super) fn spare(
        &mut self,
        report: &Path,
        is_foreign: impl Fn(&Input) -> bool,
    ) -> Result<(), String> {
        let mut found = Ok(());
        self.inputs.retain(|input| match &input.source {
            Source::Found(path, _) if is_same(path, report) && is_foreign(input) => false,
            Source::Named(path) | Source::Found(path, _) if is_same(path, report) => {
                found = Err(input.name.clone());
                true
            }
            Source::Stdin if is_same(Path::new("/dev/stdin"), report) => {
                found = Err(input.name.clone());
                true
            }
            _ => true,
        });
        found
    }

    /// What the files came to, and the names of those in directories that hold nothing of Kubernetes.
    pub(super) fn report(mut self, reports: Vec<FileReport>) -> (Report, Vec<String>) {
        let (mut files, mut foreign) = (Vec::new(), Vec::new());
        for (input, mut report) in self.inputs.iter().zip(reports) {
            match input.source {
                // As in a directory: what templates render beside objects is none.
                Source::Stdin | Source::Chart(..) if !report.is_foreign() => {
                    report.pass_over_foreign();
                    files.push(report);
                }
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

    /// Whether this is a file of a directory that cannot hold an object: nothing in it is the name of such a field.
    pub(super) fn is_foreign(&self, bytes: &[u8]) -> bool {
        let Source::Found(path, _) = &self.source else {
            return false;
        };
        let is_utf_16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let may_hold = match is_json {
            true => has("apiVersion"),
            // Escapes can spell it.
            false => has("apiVersion") || has("kind") || bytes.contains(&b'\\'),
        };
        !is_utf_16 && !may_hold
    }

    pub(super) fn is_stdin(&self) -> bool {
        matches!(self.source, Source::Stdin)
    }

    /// What is in it, or why that cannot be read.
    pub(super) fn read(&self) -> Result<Cow<'_, [u8]>, String> {
        let bytes = match &self.source {
            Source::Stdin => return self.once(stdin),
            Source::Named(path) if !path.is_file() => return self.once(|| named(path)),
            Source::Named(path) => named(path),
            Source::Found(path, _) => found(path)
                .map_err(|error| unread(path, &error))?
                .ok_or_else(|| LARGE.to_owned()),
            Source::Chart(chart, values) => {
                return self.once(|| charts::render(chart, values, LARGEST));
            }
            Source::Lost(why) => Err(why.clone()),
        };
        bytes.map(Cow::Owned)
    }

    fn once(
        &self,
        read: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Cow<'_, [u8]>, String> {
        let bytes = self.once.get_or_init(read);
        bytes.as_deref().map(Cow::Borrowed).map_err(Clone::clone)
    }

    /// Gives the file, which had the `old` bytes, other ones, or tells why not.
    pub(super) fn write(&self, old: &[u8], bytes: &[u8]) -> Result<(), String> {
        let path = match &self.source {
            Source::Named(path) if !path.is_file() => return Err(PIPE.to_owned()),
            Source::Named(path) => &target(path)?,
            Source::Found(path, _) => path,
            Source::Stdin | Source::Chart(..) | Source::Lost(_) => return Ok(()),
        };
        replace(path, bytes, Some(old)).map_err(|error| match error {
            Unwritten::Changed => CHANGED.to_owned(),
            Unwritten::Failed(error) if error.kind() == ErrorKind::PermissionDenied => {
                "cannot be written: permission denied".to_owned()
            }
            Unwritten::Failed(error) => format!("cannot be written: {error}"),
        })
    }
}

/// The file that is written for a file that was named. A link may be part of a repository of
/// strangers, even where its name is given, as by pre-commit: it is followed within its own directory
/// and the current one.
fn target(path: &Path) -> Result<PathBuf, String> {
    let target = fs::canonicalize(path).map_err(|error| unread(path, &error))?;
    if !path.is_symlink() {
        return Ok(target);
    }
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let roots = [Path::new("."), parent.unwrap_or_else(|| Path::new("."))];
    match roots.iter().any(|root| is_within(&identity(root), &target)) {
        true => Ok(target),
        false => Err(format!(
            "cannot be written: it is a link to {}, outside of the current directory; name that file instead",
            target.display()
        )),
    }
}

/// Lines about links that are not followed.
fn notes(links: &[PathBuf], directory: &Path) -> String {
    /// As many are named.
    const NAMED: usize = 10;
    let mut out = String::new();
    for link in links.iter().take(NAMED) {
        let name = name(&shown(link));
        out += &format!(
            "{name}: note: not checked: the link leads out of the directory or to a hidden file; name it to check it\n"
        );
    }
    if let Some(more @ 1..) = links.len().checked_sub(NAMED) {
        let directory = name(&shown(directory));
        out += &format!("{directory}: note: {more} more such links are not checked\n");
    }
    out
}

fn named(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| unread(path, &error))?;
    bounded(file)
        .map_err(|error| unread(path, &error))?
        .ok_or_else(|| LARGE.to_owned())
}

/// Reads a file that was found in a directory: it may have become something else since.
fn found(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = not_following(OpenOptions::new().read(true)).open(path)?;
    match file.metadata()?.is_file() {
        true => bounded(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// All bytes, unless there are too many.
fn bounded(input: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    input.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
}

fn stdin() -> Result<Vec<u8>, String> {
    match bounded(io::stdin().lock()) {
        Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => Err(NOTHING.to_owned()),
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(LARGE.to_owned()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// Why a file cannot be read, in words.
pub(super) fn unread(path: &Path, error: &io::Error) -> String {
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

/// The same for all names of a file.
pub(super) fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// As it is told: without the ./ that everybody knows.
fn shown(path: &Path) -> String {
    match path.strip_prefix(".") {
        Ok(rest) if rest != Path::new("") => rest.display().to_string(),
        _ => path.display().to_string(),
    }
}
