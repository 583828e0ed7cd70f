//! Progress on standard error: a changing line on a terminal, a line for each step with `-v`,
//! a line every 30 s elsewhere.

use std::{
    io::Write,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::options::OutputDestination;
use crate::Stage;

/// Redraws of a bar per second.
const DRAWN: u8 = 5;
/// Seconds between progress lines without a terminal.
const INTERVAL: f64 = 30.0;
/// The environment variable that overrides them.
const INTERVAL_VARIABLE: &str = "TCNUM_PROGRESS_SECONDS";

/// Shows the current step until it is dropped.
pub(crate) struct Progress {
    /// True for a permanent line for each step.
    lines: bool,
    /// Permanent lines at intervals; `None` with `-q` or on a terminal.
    reporter: Option<Reporter>,
    /// The changing line of a terminal; hidden without one.
    line: ProgressBar,
}

impl Progress {
    /// Progress as the options ask: permanent lines with `-v`, none with `-q`.
    pub(crate) fn new(destination: &OutputDestination) -> Self {
        let target = match *destination.quiet || destination.verbose {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(DRAWN),
        };
        Progress::on(target, destination.verbose, *destination.quiet)
    }

    /// One changing line on a terminal, unless `quiet`.
    pub(crate) fn quiet_if(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(DRAWN) };
        Progress::on(target, false, quiet)
    }

    fn on(target: ProgressDrawTarget, lines: bool, quiet: bool) -> Self {
        let line = ProgressBar::with_draw_target(None, target);
        Progress { lines, reporter: (!quiet && line.is_hidden()).then(Reporter::default), line }
    }

    /// Shows that `what` begins.
    pub(crate) fn step(&self, what: &str) {
        self.at(Stage::of(what));
    }

    /// Shows a stage of the work.
    pub(crate) fn at(&self, stage: Stage) {
        let Stage { what, done, total } = stage;
        if self.lines {
            // A closed standard error does not stop the work.
            let _ = writeln!(std::io::stderr(), "{what}");
        } else if !self.line.is_hidden() {
            if total == 0 {
                self.line.set_style(style("{wide_msg}"));
            } else if self.line.length() != Some(total) || self.line.position() > done {
                self.line.set_style(shares(style("[{bar:20}] {share}  {eta_precise} left  {wide_msg}"), 1));
                self.line.set_length(total);
                self.line.reset();
                self.line.set_position(done);
                self.line.reset_eta();
            }
            self.line.set_message(what.to_string());
            self.line.set_position(done);
            self.line.force_draw();
        }
        if let Some(reporter) = &self.reporter {
            reporter.account().follow(stage);
            reporter.begin();
        }
    }

    /// Prints a line that stays above the bar.
    pub(crate) fn announce(&self, what: &str) {
        match self.lines {
            true => self.note(what),
            false => self.line.println(what),
        }
    }

    /// Prints a detail with `-v`.
    pub(crate) fn note(&self, what: &str) {
        if self.lines {
            let _ = writeln!(std::io::stderr(), "{what}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// A bar with share, rate, time left and mismatches; without a terminal, lines at intervals.
pub(crate) struct Bar<'a> {
    line: &'a ProgressBar,
    reporter: Option<&'a Reporter>,
}

impl<'a> Bar<'a> {
    /// A bar of `total` steps, `done` of them before it begins; a step counts as `each` in the rate.
    pub(crate) fn new(progress: &'a Progress, name: &str, total: u64, done: u64, each: u64) -> Self {
        let line = &progress.line;
        line.set_style(shares(style("{msg} [{bar:30}] {share}  {rate}  {eta_precise} left{prefix}"), each));
        line.set_message(name.to_string());
        line.set_prefix("");
        line.set_length(total);
        line.reset();
        // Steps done before must not count in the rate.
        line.set_position(done);
        line.tick();
        line.reset_eta();
        if let Some(reporter) = &progress.reporter {
            *reporter.account() = Account::new(name, total, done, each);
            reporter.begin();
        }
        Bar { line, reporter: progress.reporter.as_ref() }
    }

    /// Shows `done` steps and `differing` mismatches.
    pub(crate) fn show(&self, done: u64, differing: u64) {
        if !self.line.is_hidden() {
            self.line.set_prefix(match differing {
                0 => String::new(),
                count => format!("  {count} differ"),
            });
            self.line.set_position(done);
        }
        if let Some(reporter) = self.reporter {
            let mut account = reporter.account();
            (account.done, account.differing) = (done, differing);
        }
    }
}

/// State of the work, for lines at intervals.
struct Account {
    what: String,
    /// Number of steps; 0 if unknown.
    total: u64,
    done: u64,
    /// Steps done before the work began.
    before: u64,
    /// Weight of a step in the rate.
    each: u64,
    differing: u64,
    started_at: Instant,
}

impl Account {
    fn new(what: &str, total: u64, done: u64, each: u64) -> Account {
        Account { what: what.into(), total, done, before: done, each, differing: 0, started_at: Instant::now() }
    }

    /// Continues the same work, or begins another.
    fn follow(&mut self, Stage { what, done, total }: Stage) {
        if total == 0 || total != self.total || done < self.done {
            *self = Account::new(what, total, done, 1);
        }
        (self.what, self.done) = (what.into(), done);
    }

    /// The line to print.
    fn line(&self, now: Instant) -> String {
        let passed = now.duration_since(self.started_at).as_secs_f64();
        if self.total == 0 {
            return format!("{}: for {passed:.0} s", self.what);
        }
        let rate = self.done.saturating_sub(self.before) as f64 / passed;
        let share = 100.0 * self.done as f64 / self.total as f64;
        let left = self.total.saturating_sub(self.done) as f64 / rate;
        let left = if left.is_finite() { format!(", {left:.0} s left") } else { String::new() };
        let differing = if self.differing > 0 { format!(", {} differ", self.differing) } else { String::new() };
        format!("{}: {share:.1} %, {:.3e}/s{left}{differing}", self.what, rate * self.each as f64)
    }
}

impl Default for Account {
    fn default() -> Account {
        Account::new("", 0, 0, 1)
    }
}

/// Prints progress lines at intervals from a separate thread, however long a step takes.
#[derive(Default)]
struct Reporter {
    account: Arc<Mutex<Account>>,
    /// The thread and the sender whose drop ends it; `None` if no thread can be started.
    thread: OnceLock<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Reporter {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread once.
    fn begin(&self) {
        self.thread.get_or_init(|| {
            let (stop, stopped) = channel();
            let account = self.account.clone();
            let every = every();
            let work = move || {
                while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    let line = account.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now());
                    // A closed standard error does not stop the work.
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            };
            Builder::new().spawn(work).ok().map(|thread| (stop, thread))
        });
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if let Some(Some((stop, thread))) = self.thread.take() {
            drop(stop);
            // Joined, so that no line appears after the result.
            let _ = thread.join();
        }
    }
}

/// Interval between progress lines.
fn every() -> Duration {
    let asked = std::env::var(INTERVAL_VARIABLE).ok().and_then(|text| text.parse().ok());
    let seconds = asked.filter(|seconds: &f64| (0.01..1e6).contains(seconds)).unwrap_or(INTERVAL);
    Duration::from_secs_f64(seconds)
}

/// A style with share and rate; each step counts as `each`.
fn shares(style: ProgressStyle, each: u64) -> ProgressStyle {
    let share = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let _ = write!(to, "{:.1}%", 100.0 * state.pos() as f64 / state.len().unwrap_or(1).max(1) as f64);
    };
    let rate = move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let _ = write!(to, "{:.3e}/s", state.per_sec() * each as f64);
    };
    style.progress_chars("#.").with_key("share", share).with_key("rate", rate)
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

    /// A terminal that keeps its text.
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

    /// Text written to the terminal since the last call.
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
        let at_start = shown(&paper);
        assert!(at_start.contains("mma [#######.......................] 25.0%"), "{at_start:?}");
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
    fn where_there_is_no_terminal_lines_say_how_far_work_is() {
        let mut account = Account::new("mma", 400, 100, 128);
        let started_at = account.started_at;
        let after = |seconds| started_at + Duration::from_secs(seconds);
        (account.done, account.differing) = (200, 3);
        assert_eq!(account.line(after(50)), "mma: 50.0 %, 2.560e2/s, 100 s left, 3 differ");
        (account.done, account.differing) = (400, 0);
        assert_eq!(account.line(after(100)), "mma: 100.0 %, 3.840e2/s, 0 s left");
        account.follow(Stage::of("reducing"));
        assert_eq!(account.line(account.started_at + Duration::from_secs(7)), "reducing: for 7 s");
        account.follow(Stage { what: "first", done: 0, total: 4 });
        let started_at = account.started_at;
        account.follow(Stage { what: "second", done: 1, total: 4 });
        assert_eq!(account.line(started_at + Duration::from_secs(10)), "second: 25.0 %, 1.000e-1/s, 30 s left");
        assert!(Progress::on(ProgressDrawTarget::hidden(), false, true).reporter.is_none());
        assert!(Progress::on(ProgressDrawTarget::hidden(), false, false).reporter.is_some());
    }

    #[test]
    fn steps_of_known_number_show_their_share_on_a_terminal() {
        let (progress, paper) = on_paper(false);
        progress.at(Stage { what: "first", done: 0, total: 4 });
        let at_start = shown(&paper);
        assert!(at_start.contains("[....................] 0.0%") && at_start.contains("first"), "{at_start:?}");
        progress.at(Stage { what: "second", done: 1, total: 4 });
        let next = shown(&paper);
        assert!(next.contains("[#####...............] 25.0%") && next.contains(" left  second"), "{next:?}");
    }

    #[test]
    fn lines_that_stay_leave_the_terminal_to_them() {
        let (progress, paper) = on_paper(true);
        progress.step("reading");
        drop(progress);
        assert!(!shown(&paper).contains("reading"));
    }
}
