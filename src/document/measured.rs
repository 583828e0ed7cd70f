//! The commands of a document, each in its own process, so that a failed device ends one command only.

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::Work;
use crate::{
    Error, Interruption, Result, Stage,
    base::interrupt,
    report::{self, Declaration, Kept},
};

/// Time between two looks at the running command and at signals.
const NOTICE: Duration = Duration::from_millis(20);
/// Time for a command to end by itself after the time limit, and again after a signal.
const PATIENCE: Duration = Duration::from_secs(3);

/// The results of commands.
#[derive(Default)]
pub(crate) struct Measured {
    /// Results, the partial result of an interrupted command among them.
    pub(crate) kept: Vec<Kept>,
    /// Errors of commands that failed.
    pub(crate) wrong: Vec<Error>,
    /// The interruption.
    pub(crate) interrupted: Option<Interruption>,
    /// Number of finished commands.
    pub(crate) finished: usize,
}

/// Runs commands on devices and reads their results.
/// An interruption stops the running command, whose partial result is read.
///
/// # Errors
/// This program cannot be started.
pub(crate) fn measured(commands: &[Work], declared: &[Declaration], watch: &dyn Fn(Stage)) -> Result<Measured> {
    let unusable = |error: std::io::Error| Error::request(format!("‹device›: its commands cannot be run: {error}"));
    let folder = tempfile::tempdir().map_err(unusable)?;
    let program = std::env::current_exe().map_err(unusable)?;
    let said = folder.path().join("said");
    let mut all = Measured::default();
    for (number, work @ Work { words, devices, place }) in commands.iter().enumerate() {
        let command = words.first().map_or("", String::as_str);
        let shown = visible_line(words);
        let (option, out) = match place {
            Some(place) => (if place.also { "--also" } else { "--out" }, place.file.clone()),
            None => ("--out", folder.path().join(format!("{command}-{}.json", number + 1))),
        };
        if let Some(kept) = place.as_ref().and_then(|_| done(work, &out, declared)) {
            all.kept.push(kept);
            all.finished += 1;
            continue;
        }
        let what = format!("running {shown} on {} ({} of {})", devices.join(", "), number + 1, commands.len());
        watch(Stage { what: &what, done: number as u64, total: commands.len() as u64 });
        if let Some(by) = interrupt::pending() {
            all.interrupted = Some(by);
            break;
        }
        let mut run = Command::new(&program);
        run.args(words).args(devices.iter().flat_map(|device| ["--device", device]));
        run.args(["--quiet", "--output", "json", option]).arg(&out);
        if let Some(left) = interrupt::remaining() {
            run.args(["--time-limit", &left.as_secs().max(1).to_string()]);
        }
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).map_err(unusable)?);
        // With a process group, an interrupt from the keyboard reaches the command once, through this program.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut run, 0);
        let (ended, stopped) = wait(run.spawn().map_err(unusable)?).map_err(unusable)?;
        let result = report::result(&out, declared).ok();
        let device_failed = ended.code().is_none_or(|status| status == i32::from(Error::device("").exit_status()));
        if stopped.is_none() && (result.is_none() || device_failed) {
            all.wrong.push(failure(work, &said, device_failed));
        }
        all.interrupted = stopped.or(result.as_ref().and_then(|result| result.report.interrupted));
        all.kept.extend(result);
        if all.interrupted.is_some() {
            break;
        }
        all.finished += 1;
    }
    Ok(all)
}

/// The result of an earlier run of the same command, if it is complete.
fn done(work: &Work, file: &Path, declared: &[Declaration]) -> Option<Kept> {
    report::result(file, declared).ok().filter(|result| work.is_done_by(result))
}

/// The words of a command, of which a long line keeps the first.
fn visible_line(words: &[String]) -> String {
    const SHOWN: usize = 16;
    match words.len() {
        0..=SHOWN => words.join(" "),
        _ => format!("{} ...", words[..SHOWN].join(" ")),
    }
}

/// The error of a command that failed: its message, else its last line.
fn failure(work: &Work, said: &Path, device_failed: bool) -> Error {
    let said = std::fs::read(said).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let lines = || said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let why = lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| lines().next()).unwrap_or("no message");
    let devices: String = work.devices.iter().map(|device| format!(" --device {device}")).collect();
    let message = format!("tcnum {}{devices}: {why}", visible_line(&work.words));
    if device_failed { Error::device(message) } else { Error::request(message) }
}

/// Waits for a command to end, and passes a signal on to it.
/// Returns its status, and the interruption if one came.
/// After the time limit and [`PATIENCE`] it gets SIGTERM. A command that runs on gets another one each time [`PATIENCE`] has passed: the second ends it at once.
fn wait(mut child: Child) -> std::io::Result<(ExitStatus, Option<Interruption>)> {
    let mut stopped = None;
    let mut next: Option<Instant> = None;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok((ended, stopped));
        }
        if let Some(by) = interrupt::pending() {
            stopped = stopped.or(Some(by));
            let wait = if by == Interruption::TimeLimit { PATIENCE } else { Duration::ZERO };
            if Instant::now() >= *next.get_or_insert_with(|| Instant::now() + wait) {
                stop(&child, by);
                next = Some(Instant::now() + PATIENCE);
            }
        }
        thread::sleep(NOTICE);
    }
}

/// Sends a command the signal that arrived, else SIGTERM.
#[cfg(unix)]
fn stop(child: &Child, by: Interruption) {
    let signal = match by {
        Interruption::Int => rustix::process::Signal::INT,
        Interruption::Term | Interruption::TimeLimit => rustix::process::Signal::TERM,
    };
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // The command may have ended meanwhile.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(not(unix))]
fn stop(_: &Child, _: Interruption) {}
