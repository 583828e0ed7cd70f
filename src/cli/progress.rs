//! What is being done, on standard error: a line that overwrites itself on a terminal, a line for each step with `-v`, and where there
//! is no terminal a line now and then that says how far long work is.

use std::{
    io::Write,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::OutputDestination;

/// How often a bar is drawn in a second.
const DRAWN: u8 = 5;
/// How often long work says how far it is where there is no terminal.
const EVERY: Duration = Duration::from_secs(30);

/// Says what is being done, until it is dropped.
pub(super) struct Progress {
    /// A line for each step, that stays.
    lines: bool,
    /// How often long work says how far it is, in lines that stay; never where it is to be quiet, or where a bar says it.
    every: Option<Duration>,
    /// One line of a terminal, that the next step overwrites; nothing where there is no terminal.
    line: ProgressBar,
}

impl Progress {
    /// As the flags say: lines that stay with `-v`, nothing with `-q`, else one changing line where standard error is a terminal.
    pub(super) fn new(destination: &OutputDestination) -> Self {
        let target = match destination.quiet || destination.verbose {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(DRAWN),
        };
        Progress::on(target, destination.verbose, destination.quiet)
    }

    /// One changing line where standard error is a terminal, unless it is to be quiet.
    pub(super) fn quiet_if(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(DRAWN) };
        Progress::on(target, false, quiet)
    }

    fn on(target: ProgressDrawTarget, lines: bool, quiet: bool) -> Self {
        let line = ProgressBar::with_draw_target(None, target);
        Progress { lines, every: (!quiet && line.is_hidden()).then_some(EVERY), line }
    }

    /// Says that `what` is being done now.
    pub(super) fn step(&self, what: &str) {
        if self.lines {
            // A closed standard error is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{what}");
        } else if !self.line.is_hidden() {
            self.line.set_style(style("{wide_msg}"));
            self.line.set_message(what.to_string());
            self.line.force_draw();
        }
    }

    /// Reports a detail, if a line for each step was asked for.
    pub(super) fn note(&self, what: &str) {
        if self.lines {
            self.step(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// A bar with share, rate, time left and what was found to differ, where the progress is one passing line; else a line now and then.
pub(super) struct Bar<'a> {
    line: &'a ProgressBar,
    account: Option<Account>,
}

/// How far work is, for lines that stay.
struct Account {
    name: String,
    total: u64,
    /// What was done before it began.
    before: u64,
    /// What a step counts in the rate.
    each: u64,
    begun: Instant,
    every: Duration,
    /// When it was last said, in milliseconds from the beginning.
    said: AtomicU64,
}

impl Account {
    /// The line, if it is time for one.
    fn line(&self, done: u64, differing: u64, now: Instant) -> Option<String> {
        let (passed, last) = (now.duration_since(self.begun).as_millis() as u64, self.said.load(Ordering::Relaxed));
        if u128::from(passed.saturating_sub(last)) < self.every.as_millis() {
            return None;
        }
        // One of several threads says it.
        self.said.compare_exchange(last, passed, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let rate = done.saturating_sub(self.before) as f64 / now.duration_since(self.begun).as_secs_f64();
        let share = 100.0 * done as f64 / self.total.max(1) as f64;
        let left = self.total.saturating_sub(done) as f64 / rate;
        let left = if left.is_finite() { format!(", {left:.0} s left") } else { String::new() };
        Some(format!("{}: {share:.1} %, {:.3e}/s{left}, {differing} differ", self.name, rate * self.each as f64))
    }
}

impl<'a> Bar<'a> {
    /// A bar of `total` steps of the work called `name`, of which `done` are done before it begins. Each counts as `each` in the rate.
    pub(super) fn new(progress: &'a Progress, name: &str, total: u64, done: u64, each: u64) -> Self {
        let line = &progress.line;
        let share = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = write!(to, "{:.1}%", 100.0 * state.pos() as f64 / state.len().unwrap_or(1).max(1) as f64);
        };
        let rate = move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = write!(to, "{:.3e}/s", state.per_sec() * each as f64);
        };
        let shown = style("{msg} [{bar:30}] {share}  {rate}  {eta_precise} left{prefix}").progress_chars("#.");
        line.set_style(shown.with_key("share", share).with_key("rate", rate));
        line.set_message(name.to_string());
        line.set_prefix("");
        line.set_length(total);
        line.reset();
        // What was done before says nothing about the rate.
        line.set_position(done);
        line.tick();
        line.reset_eta();
        let account = progress.every.map(|every| Account {
            name: name.to_string(),
            total,
            before: done,
            each,
            begun: Instant::now(),
            every,
            said: AtomicU64::new(0),
        });
        Bar { line, account }
    }

    /// Shows that `done` steps are done, and `differing` results differ.
    pub(super) fn show(&self, done: u64, differing: u64) {
        if !self.line.is_hidden() {
            self.line.set_prefix(match differing {
                0 => String::new(),
                count => format!("  {count} differ"),
            });
            self.line.set_position(done);
        }
        if let Some(line) = self.account.as_ref().and_then(|account| account.line(done, differing, Instant::now())) {
            // A closed standard error is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template of this file")
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what is written.
    #[derive(Debug, Clone, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            100
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(&format!("{text}\n"))
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.write_str("\r")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a terminal is shown from then on.
    fn shown(paper: &Paper) -> String {
        std::mem::take(&mut paper.0.lock().unwrap())
    }

    fn on_paper(lines: bool) -> (Progress, Paper) {
        let paper = Paper::default();
        (Progress::on(ProgressDrawTarget::term_like(Box::new(paper.clone())), lines, false), paper)
    }

    #[test]
    fn a_bar_shows_share_rate_time_left_and_what_differs() {
        let (progress, paper) = on_paper(false);
        let bar = Bar::new(&progress, "mma", 4_000_000_000_000, 1_000_000_000_000, 128);
        let begun = shown(&paper);
        assert!(begun.contains("mma [#######.......................] 25.0%"), "{begun:?}");
        bar.show(2_000_000_000_000, 0);
        let half = shown(&paper);
        assert!(half.contains("50.0%") && half.contains("/s  ") && half.contains(" left"), "{half}");
        assert!(!half.contains("differ"), "{half}");
        bar.show(4_000_000_000_000, 3);
        progress.line.force_draw();
        let end = shown(&paper);
        assert!(end.contains(&"#".repeat(30)) && end.contains("100.0%") && end.contains(" left  3 differ"), "{end}");
        progress.step("reducing");
        let next = shown(&paper);
        assert!(next.contains("reducing") && !next.contains('#'), "{next}");
    }

    #[test]
    fn a_long_step_is_cut_to_the_width_of_the_terminal() {
        let (progress, paper) = on_paper(false);
        progress.step(&"x".repeat(300));
        let step = shown(&paper);
        let longest = step.split(|c| c != 'x').map(str::len).max();
        assert_eq!(longest, Some(100), "{step:?}");
    }

    #[test]
    fn where_there_is_no_terminal_a_line_now_and_then_says_how_far_it_is() {
        let begun = Instant::now();
        let (every, said) = (Duration::from_secs(30), AtomicU64::new(0));
        let account = Account { name: "mma".into(), total: 400, before: 100, each: 128, begun, every, said };
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(account.line(150, 0, after(29)), None);
        assert_eq!(account.line(200, 3, after(50)).unwrap(), "mma: 50.0 %, 2.560e2/s, 100 s left, 3 differ");
        assert_eq!(account.line(300, 3, after(79)), None);
        assert_eq!(account.line(400, 4, after(100)).unwrap(), "mma: 100.0 %, 3.840e2/s, 0 s left, 4 differ");
        assert!(Progress::on(ProgressDrawTarget::hidden(), false, true).every.is_none());
        assert!(Progress::on(ProgressDrawTarget::hidden(), false, false).every.is_some());
    }

    #[test]
    fn lines_that_stay_leave_the_terminal_to_them() {
        let (progress, paper) = on_paper(true);
        progress.step("reading");
        drop(progress);
        assert!(!shown(&paper).contains("reading"));
    }
}
