//! `tcnum completions`.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{OutputDestination, Verb, options::stdout_failed};
use crate::{Result, report::Report};

/// Prints what lets a shell complete the words of a command line.
///
/// Example: tcnum completions bash > ~/.local/share/bash-completion/completions/tcnum
///
/// zsh: tcnum completions zsh > FOLDER/_tcnum, in a folder of $fpath. fish: tcnum completions fish > ~/.config/fish/completions/tcnum.fish.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The shell.
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
