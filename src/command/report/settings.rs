//! The configuration that manifests are held against: which file, and what the flags say on top.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::links::{is_within, led_out};
use super::write::not_following;
use crate::cli::ProfileArg;
use crate::config::Written;
use crate::facts::NamespaceFacts;
use crate::os::Os;
use crate::policy::{self, Policy};

/// The name of the configuration that needs no flag.
pub(in crate::command) const FILE: &str = ".transom.yaml";

/// The configuration in force.
pub(in crate::command) struct Settings {
    pub(in crate::command) policy: Policy,
    /// The file that it was read from.
    pub(in crate::command) file: Option<PathBuf>,
    /// No flag names the file, which may be part of a hostile repository.
    pub(in crate::command) is_found: bool,
    /// The file says which tolerations Windows pods get.
    pub(in crate::command) names_tolerations: bool,
    /// Where it comes from and what it says, in short.
    pub(in crate::command) origin: String,
}

impl Settings {
    /// Reads the file that is given, or else the one that is found.
    ///
    /// # Errors
    /// There is none, or it is not valid: all that is wrong with it.
    pub(in crate::command) fn read(file: Option<PathBuf>, profile: ProfileArg) -> Result<Self> {
        let is_given = file.is_some();
        let file = match file {
            Some(file) => {
                let name = file.display();
                if let Some(why) = led_out(&file) {
                    bail!("{name} {why}");
                }
                let bytes = fs::read(&file).with_context(|| format!("cannot read {name}"))?;
                Some((file, bytes))
            }
            None => found()?,
        };
        let (name, bytes) = match &file {
            Some((file, bytes)) => (file.display().to_string(), Some(bytes)),
            None => ("the defaults".to_owned(), None),
        };
        let read = bytes.map_or_else(
            || Ok(Written::default()),
            |bytes| Written::from_bytes(bytes),
        );
        let read = read.and_then(|mut written| {
            written.config.profile = profile.name.unwrap_or(written.config.profile);
            Ok((Policy::of(&written)?, written))
        });
        let (policy, written) = read.map_err(|error| {
            let text = bytes.map_or_else(Default::default, |bytes| String::from_utf8_lossy(bytes));
            let report = error.report(&name, &text);
            anyhow!("the configuration cannot be used\n{}", report.trim_end())
        })?;
        let origin = format!("{name} ({})", policy::summary(&written, &policy));
        Ok(Self {
            names_tolerations: written.place("placement.tolerations").is_some(),
            policy,
            is_found: !is_given && file.is_some(),
            file: file.map(|(file, _)| file),
            origin,
        })
    }
}

/// The configuration of the current directory, or of the nearest one above it, but not above the
/// root of the repository.
fn found() -> Result<Option<(PathBuf, Vec<u8>)>> {
    let here = std::env::current_dir().context("there is no current directory")?;
    for directory in here.ancestors() {
        let file = directory.join(FILE);
        match unasked(&file, directory) {
            Ok(bytes) => return Ok(Some((short(&file, &here), bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let file = file.display();
                return Err(error).with_context(|| format!("cannot read {file}"));
            }
        }
        if directory.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// Reads a file that no flag names, in a repository that may be of strangers: what is wrong in it is
/// printed, so it is none of another directory, and it has an end.
fn unasked(file: &Path, directory: &Path) -> io::Result<Vec<u8>> {
    /// Bytes of a configuration.
    const LARGEST: u64 = 10 << 20;
    let target = fs::canonicalize(file)?;
    let directory = fs::canonicalize(directory)?;
    if target != directory.join(FILE) && !is_within(&directory, &target) {
        let why =
            "it is a link out of its directory or to a hidden file; name the target with --config";
        return Err(io::Error::other(why));
    }
    let input = not_following(OpenOptions::new().read(true)).open(target)?;
    let metadata = input.metadata()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        let why = "it is not a regular file of at most 10 MiB";
        return Err(io::Error::other(why));
    }
    let mut bytes = Vec::new();
    input.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Without the current directory, which everybody knows.
fn short(file: &Path, here: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_owned()
}

/// What is known of the namespace.
pub(in crate::command) fn namespace(labels: &[(String, String)], os: Option<Os>) -> NamespaceFacts {
    let labels = labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let mut facts = NamespaceFacts::from_labels(labels);
    facts.os = os.or(facts.os);
    facts
}
