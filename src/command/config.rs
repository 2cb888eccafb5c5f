//! `transom config check` and `transom config show`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{self, ConfigCheckArgs, ConfigCommand, ConfigFormat, ShowArgs};
use crate::config::{ConfigError, Written};
use crate::policy::{self, Policy, Shown};
use crate::terminal::{print, tell};

pub(super) fn run(command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Check(ConfigCheckArgs { files }) => check(&files),
        ConfigCommand::Show(args) => show(args),
    }
}

/// One configuration is not valid.
const INVALID: u8 = 1;
/// One could not be read.
const UNREAD: u8 = 2;

/// All files are looked at, whatever is wrong with one of them.
fn check(files: &[PathBuf]) -> Result<ExitCode> {
    let mut code = 0;
    for path in files {
        let name = name(path);
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                tell(&format!("{}: {error:#}\n", cli::program()));
                code = code.max(UNREAD);
                continue;
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let read = Written::from_bytes(&bytes);
        match read.and_then(|written| Ok((Policy::of(&written)?, written))) {
            Ok((policy, written)) => {
                for problem in policy::advice(&written, &policy) {
                    tell(&problem.warning(&name, &text));
                }
                let summary = policy::summary(&written, &policy);
                print(&format!("{name}: valid ({summary})\n"))?;
            }
            Err(error) => {
                tell(&error.report(&name, &text));
                code = code.max(INVALID);
            }
        }
    }
    Ok(ExitCode::from(code))
}

fn show(args: ShowArgs) -> Result<ExitCode> {
    let ShowArgs {
        config,
        profile,
        output,
    } = args;
    let (name, bytes) = match &config {
        Some(path) => (name(path), Some(read(path)?)),
        None => (String::new(), None),
    };
    let shown = |bytes: &[u8], written: Result<Written, ConfigError>| {
        let text = written.and_then(|mut written| {
            written.config.profile = profile.name.unwrap_or(written.config.profile);
            let shown = Shown::new(&written, &name, profile.from)?;
            Ok(match output {
                ConfigFormat::Yaml => shown.yaml(),
                ConfigFormat::Json => format!("{:#}\n", shown.json()),
            })
        });
        text.map_err(|error| error.report(&name, &String::from_utf8_lossy(bytes)))
    };
    let text = match bytes {
        Some(bytes) => shown(&bytes, Written::from_bytes(&bytes)),
        None => shown(&[], Ok(Written::default())),
    };
    match text {
        Ok(text) => print(&text).map(|()| ExitCode::SUCCESS),
        Err(report) => {
            tell(&report);
            Ok(ExitCode::from(INVALID))
        }
    }
}

/// The file as messages name it.
fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => path.display().to_string(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        return read.map(|_| bytes).context("cannot read stdin");
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
