//! `tcnum manual`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use super::{OutputDestination, Verb, options::file_or_folder};
use crate::{
    Error, Result, VERSION,
    base::atomic::{self, DerivedKind},
    report::Report,
};

/// Name of the program.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

const HELP: &str = "\
Examples:
  tcnum manual man1
More: docs/devices-and-results.md";

/// Writes a manual page for every command: tcnum.1, tcnum-probe.1 and so on.
#[derive(Args, Debug)]
#[command(hide = true, after_help = HELP, next_help_heading = "Output")]
pub(super) struct Arguments {
    /// Folder of the pages, created if missing
    #[arg(value_name = "FOLDER", value_parser = file_or_folder)]
    folder: PathBuf,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        None
    }
}

/// Writes the pages.
///
/// # Errors
/// The folder cannot be made, another file has the name of a page, or a page cannot be written.
pub(super) fn run(arguments: &Arguments, _: &mut Report) -> Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::request(format!("the folder {} cannot be made: {error}", folder.display())))?;
    let pages: Vec<(PathBuf, Vec<u8>)> = pages().map(|(name, text)| (folder.join(name), text)).collect();
    // No page is written if one cannot be replaced.
    pages.iter().try_for_each(|(path, _)| atomic::derivable(path, &ManualPage))?;
    pages.iter().try_for_each(|(path, text)| atomic::write_derived(path, &ManualPage, text))
}

/// File names and texts of the pages: the program's, and one for each listed command.
fn pages() -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut program = super::command().disable_help_subcommand(true);
    program.build();
    listed(&program).into_iter().map(|command| {
        let page = Man::new(command.version(VERSION)).source(format!("{PROGRAM} {VERSION}"));
        let mut text = Vec::new();
        page.render(&mut text).expect("memory takes every page");
        (page.get_filename(), text)
    })
}

/// A command, and those below it that help lists.
fn listed(command: &clap::Command) -> Vec<clap::Command> {
    let below = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).flat_map(listed);
    std::iter::once(command.clone()).chain(below).collect()
}

/// A manual page of this program.
struct ManualPage;

impl DerivedKind for ManualPage {
    fn description(&self) -> String {
        "a manual page".into()
    }

    fn is_of_kind(&self, path: &Path) -> bool {
        let title = |line: &str| line.starts_with(".TH ") && line.contains(PROGRAM);
        std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(title))
    }
}
