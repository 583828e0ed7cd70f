//! What is being done, on standard error: a line that overwrites itself on a terminal, a line for each step with `-v`.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use super::OutputDestination;

/// Says what is being done, until it is dropped.
pub(super) struct Progress {
    /// A line for each step, that stays.
    lines: bool,
    /// One line, that the next step overwrites.
    line: bool,
}

impl Progress {
    /// As the flags say: lines that stay with `-v`, nothing with `-q`, else one changing line where standard error is a terminal.
    pub(super) fn new(destination: &OutputDestination) -> Self {
        let passing = !destination.quiet && !destination.verbose && std::io::stderr().is_terminal();
        Progress { lines: destination.verbose, line: passing }
    }

    /// Says that `what` is being done now.
    pub(super) fn step(&self, what: &str) {
        // A closed standard error is no reason to stop.
        let _ = match (self.lines, self.line) {
            (true, _) => writeln!(std::io::stderr(), "{what}"),
            (_, true) => write!(std::io::stderr(), "\r\x1b[K{what}").and_then(|()| std::io::stderr().flush()),
            _ => Ok(()),
        };
    }

    /// Reports a detail, if a line for each step was asked for.
    pub(super) fn note(&self, what: &str) {
        if self.lines {
            self.step(what);
        }
    }
}

/// How often a bar is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Characters of a bar.
const BAR_WIDTH: usize = 30;

/// A bar with rate and time left, where the progress is one passing line.
pub(super) struct Bar<'a> {
    progress: &'a Progress,
    name: &'a str,
    total: f64,
    /// When the bar began, and how much was done then.
    start: Option<(Instant, f64)>,
    drawn: Option<Instant>,
}

impl<'a> Bar<'a> {
    /// A bar of `total` steps of the work called `name`.
    pub(super) fn new(progress: &'a Progress, name: &'a str, total: f64) -> Self {
        Bar { progress, name, total, start: None, drawn: None }
    }

    /// Shows that `done` steps are done, each of which counts as `each` in the rate.
    pub(super) fn show(&mut self, done: f64, each: f64) {
        let &mut (start, before) = self.start.get_or_insert((Instant::now(), done));
        if !self.progress.line || self.drawn.is_some_and(|drawn| drawn.elapsed() < DRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let speed = (done - before) / start.elapsed().as_secs_f64().max(1e-9);
        let share = (done / self.total).clamp(0.0, 1.0);
        let filled = (share * BAR_WIDTH as f64) as usize;
        let left = if speed > 0.0 { clock((self.total - done) / speed) } else { "-".into() };
        let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR_WIDTH - filled));
        let (name, percent, rate) = (self.name, 100.0 * share, speed * each);
        self.progress.step(&format!("{name} [{bar}] {percent:.1}%  {rate:.3e}/s  {left} left"));
    }
}

/// Seconds as hours, minutes and seconds.
fn clock(seconds: f64) -> String {
    let seconds = seconds.min(1e9) as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.line {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
