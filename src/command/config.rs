//! `transom config check`, `transom config show` and `transom config conditions`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{self, ConditionsArgs, ConfigCheckArgs, ConfigCommand, ConfigFormat, ShowArgs};
use crate::config::{ConfigError, Written};
use crate::os::Condition;
use crate::policy::{self, Policy, Shown};
use crate::terminal::{print, tell};

pub(super) fn run(command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Check(ConfigCheckArgs { files }) => check(&files),
        ConfigCommand::Conditions(args) => conditions(args),
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
    said_of(config.as_deref(), |name, mut written| {
        written.config.profile = profile.name.unwrap_or(written.config.profile);
        let shown = Shown::new(&written, name, profile.from)?;
        Ok(match output {
            ConfigFormat::Yaml => shown.yaml(),
            ConfigFormat::Json => format!("{:#}\n", shown.json()),
        })
    })
}

fn conditions(args: ConditionsArgs) -> Result<ExitCode> {
    let ConditionsArgs { config, not_linux } = args;
    let condition = match not_linux {
        true => Condition::NotLinux,
        false => Condition::Evidence,
    };
    said_of(config.as_deref(), |_, written| {
        let expression = Policy::of(&written)?.expression(condition);
        let name = condition.name();
        Ok(format!(
            "- name: {name}\n  expression: |-\n    {expression}\n"
        ))
    })
}

/// Prints what is said of a configuration, or what is wrong with it.
fn said_of(
    config: Option<&Path>,
    say: impl FnOnce(&str, Written) -> Result<String, ConfigError>,
) -> Result<ExitCode> {
    let name = config.map(name).unwrap_or_default();
    let bytes = config.map(read).transpose()?;
    let written = match &bytes {
        Some(bytes) => Written::from_bytes(bytes),
        None => Ok(Written::default()),
    };
    match written.and_then(|written| say(&name, written)) {
        Ok(text) => print(&text).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            let text = bytes.unwrap_or_default();
            tell(&error.report(&name, &String::from_utf8_lossy(&text)));
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
