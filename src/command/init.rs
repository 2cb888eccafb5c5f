//! `transom init`: a configuration to start with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::report::settings::FILE;
use crate::terminal::tell;

/// Every key with its default, an explanation and an example.
const EXAMPLE: &str = include_str!("../../examples/config.yaml");
const HEAD: &str = "\
# The configuration of Transom for transom check; the file of transom serve --config has the same keys.
# All keys but the first two are comments with their defaults: remove the # in front of what you change.
# transom config check .transom.yaml says whether the file is valid.

";

/// Writes the file, unless there is one.
pub(super) fn run() -> Result<()> {
    let file = Path::new(FILE);
    // A link is not followed: the name must be new.
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let mut created = match created {
        Ok(created) => created,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{FILE} exists; edit it, or remove it and run the command again")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {FILE}")),
    };
    let written = created.write_all(text().as_bytes());
    written.with_context(|| format!("cannot write {FILE}"))?;
    tell(&format!(
        "wrote {FILE} with the defaults; transom check uses it in this directory and below\n"
    ));
    Ok(())
}

/// The example with all but the required keys as comments: what is not set follows the defaults of later versions.
fn text() -> String {
    let mut out = HEAD.to_owned();
    let lines = EXAMPLE
        .lines()
        .skip_while(|line| line.starts_with('#') || line.is_empty());
    for line in lines {
        let is_kept = line.is_empty()
            || line.trim_start().starts_with('#')
            || line.starts_with("apiVersion:")
            || line.starts_with("kind:");
        out.push_str(if is_kept { "" } else { "# " });
        out.push_str(line);
        out.push('\n');
    }
    out
}
