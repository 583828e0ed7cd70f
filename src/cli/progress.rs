//! What is being done, on standard error: a line that overwrites itself on a terminal, a line for each step with `-v`.

use std::io::{IsTerminal, Write};

use super::Destination;

/// Says what is being done, until it is dropped.
pub struct Progress {
    /// A line for each step, that stays.
    lines: bool,
    /// One line, that the next step overwrites.
    line: bool,
}

impl Progress {
    /// As the flags ask: `-v` lines that stay, `-q` nothing, neither a passing line where standard error is a terminal.
    pub fn new(destination: &Destination) -> Self {
        let passing = !destination.quiet && !destination.verbose && std::io::stderr().is_terminal();
        Progress { lines: destination.verbose, line: passing }
    }

    /// Says that `what` is being done now.
    pub fn step(&self, what: &str) {
        // A closed standard error is no reason to stop.
        let _ = match (self.lines, self.line) {
            (true, _) => writeln!(std::io::stderr(), "{what}"),
            (_, true) => write!(std::io::stderr(), "\r\x1b[K{what}").and_then(|()| std::io::stderr().flush()),
            _ => Ok(()),
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.line {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
