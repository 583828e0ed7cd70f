//! `tcnum completions`.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{OutputDestination, Verb, options::stdout_failed};
use crate::{Result, report::Report};

const HELP: &str = "\
Examples:
  tcnum completions bash > ~/.local/share/bash-completion/completions/tcnum
  tcnum completions zsh > FOLDER/_tcnum
      FOLDER is a folder of $fpath
  tcnum completions fish > ~/.config/fish/completions/tcnum.fish
More: docs/devices-and-results.md";

/// Prints a script by which a shell completes command lines.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        None
    }
}

/// Prints the script.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn run(arguments: &Arguments, _: &mut Report) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), "tcnum", &mut script);
    let mut stdout = std::io::stdout();
    stdout.write_all(&script).and_then(|()| stdout.flush()).or_else(|error| stdout_failed(&error))
}
