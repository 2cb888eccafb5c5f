//! `transom man`: manual pages, made from the definition of the command line.

use anyhow::{Context, Result, anyhow};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::nearest::nearest;
use crate::terminal;

/// Prints one page, or writes all of them.
pub(super) fn run(args: ManArgs) -> Result<()> {
    let ManArgs { command, dir } = args;
    let mut all = Cli::command();
    if let Some(dir) = dir {
        let written =
            std::fs::create_dir_all(&dir).and_then(|()| clap_mangen::generate_to(all, &dir));
        return written.with_context(|| format!("cannot write to {}", dir.display()));
    }
    // Gives commands their full names.
    all.build();
    let mut page = Vec::new();
    let found = command.iter().try_fold(&all, find)?;
    Man::new(found.clone()).render(&mut page)?;
    terminal::print(&String::from_utf8_lossy(&page))
}

fn find<'c>(above: &'c Command, name: &String) -> Result<&'c Command> {
    above.find_subcommand(name).ok_or_else(|| {
        let known = above.get_subcommands().map(Command::get_name);
        let nearest = nearest(name, known).map(|nearest| format!(", the nearest is {nearest}"));
        let nearest = nearest.unwrap_or_default();
        let above = above.get_bin_name().unwrap_or("transom");
        anyhow!("{above} has no command {name:?}{nearest}")
    })
}
