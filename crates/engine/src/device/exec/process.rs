//! A running program, with a thread at each pipe so that it cannot block the caller.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{Interruption, base::interrupt};

/// Bytes read from the program at a time.
const PIECE: usize = 1 << 16;
/// Pieces that may wait: they bound what an endless writer makes this program hold.
const PIECES: usize = 16;
/// Bytes kept of the end of standard error.
const ERRORS_KEPT: usize = 4096;
/// Longest wait for the end of a program that closed its standard output.
const ENDING: Duration = Duration::from_secs(1);
/// Longest wait for the end of standard error after the program's end; its children may keep it open.
const ERRORS_PATIENCE: Duration = Duration::from_secs(1);

/// Longest wait before an interruption is noticed.
const NOTICE: Duration = Duration::from_millis(50);
/// Time between two looks at a program that is ending.
const LOOK: Duration = Duration::from_millis(2);

/// A running program. Drop kills and reaps it with all its children.
pub(super) struct Process {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_end: Receiver<()>,
    stopped: bool,
}

/// An event from the program.
pub(super) enum Arrival {
    /// Bytes of standard output.
    Bytes(Vec<u8>),
    /// The program closed its standard output, usually by ending.
    End,
    /// Nothing before the deadline.
    Nothing,
    /// A signal to this program to stop.
    Signal(Interruption),
}

impl Process {
    /// Starts `words[0]` with the arguments `words[1..]`.
    pub(super) fn start(words: &[String]) -> io::Result<Process> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group, to end it with all its children.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (input, to_write) = channel();
        let (read, output) = sync_channel(PIECES);
        let (errors_ended, errors_end) = channel();
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        // If a thread cannot be made, dropping the process ends the program.
        let process = Process { child, input: Some(input), output, errors, errors_end, stopped: false };
        // A thread ends with its pipe. None is joined, because a grandchild may keep a pipe open.
        let start = |work: Box<dyn FnOnce() + Send>| thread::Builder::new().spawn(work).map(drop);
        start(Box::new(move || write_all(stdin.expect("standard input is piped"), &to_write)))?;
        start(Box::new(move || read_all(stdout.expect("standard output is piped"), &read)))?;
        start(Box::new(move || {
            keep_end(stderr.expect("standard error is piped"), &kept);
            // The receiver may be gone.
            let _ = errors_ended.send(());
        }))?;
        Ok(process)
    }

    /// Queues bytes for standard input. A failed write shows as missing output.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // A closed queue means that the program no longer reads.
            let _ = input.send(bytes);
        }
    }

    /// The next bytes of standard output before `deadline`.
    pub(super) fn receive(&self, deadline: Instant) -> Arrival {
        let arrived = before(deadline, |time| match self.output.recv_timeout(time) {
            Ok(bytes) => Some(Arrival::Bytes(bytes)),
            Err(RecvTimeoutError::Disconnected) => Some(Arrival::End),
            Err(RecvTimeoutError::Timeout) => None,
        });
        arrived.unwrap_or_else(|| interrupt::pending().map_or(Arrival::Nothing, Arrival::Signal))
    }

    /// Closes standard input after the queue is written, and waits for the program to end.
    /// Returns true if it ended by itself, `None` if it wrote something meanwhile.
    pub(super) fn finish(&mut self, patience: Duration) -> Option<bool> {
        self.input = None;
        let ended = match self.receive(Instant::now() + patience) {
            Arrival::Bytes(_) => None,
            Arrival::End => Some(self.exit_within(patience).is_some()),
            Arrival::Nothing | Arrival::Signal(_) => Some(false),
        };
        self.stop();
        ended
    }

    /// Describes how a program closed its output: "ended (exit status: 1)"; stops it if it still runs.
    pub(super) fn ending(&mut self) -> String {
        let ended = self.exit_within(ENDING);
        self.stop();
        let complaint = self.complaint();
        match ended {
            Some(status) => format!("ended ({status}{complaint})"),
            None => format!("closed its standard output, ran on and was stopped{complaint}"),
        }
    }

    /// The last line of standard error, as the end of a message; empty if there is none.
    pub(super) fn complaint(&self) -> String {
        // The text is shown even if its end did not come in time.
        before(Instant::now() + ERRORS_PATIENCE, |time| match self.errors_end.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => None,
            _ => Some(()),
        });
        let kept = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("; the last line of its standard error: {line}"),
            None => String::new(),
        }
    }

    /// Kills the program and its children if it runs, and reaps it.
    pub(super) fn stop(&mut self) {
        self.input = None;
        if self.stopped {
            return;
        }
        self.stopped = true;
        // Failures mean that nothing runs any more. The group keeps the program's number while any member runs.
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn exit_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        before(Instant::now() + patience, |time| {
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_none() {
                thread::sleep(time.min(LOOK));
            }
            ended
        })
    }
}

/// Repeats `wait` until it gives something, the deadline passes or an interruption arrives.
/// `wait` waits no longer than the time that it gets.
fn before<T>(deadline: Instant, mut wait: impl FnMut(Duration) -> Option<T>) -> Option<T> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let came = wait(left.min(NOTICE));
        if came.is_some() || left.is_zero() || interrupt::pending().is_some() {
            return came;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn write_all(mut stdin: ChildStdin, queue: &Receiver<Vec<u8>>) {
    for bytes in queue {
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_all(mut stdout: ChildStdout, pieces: &SyncSender<Vec<u8>>) {
    let mut buffer = vec![0; PIECE];
    while let Ok(count @ 1..) = read_some(&mut stdout, &mut buffer) {
        if pieces.send(buffer[..count].to_vec()).is_err() {
            return;
        }
    }
}

fn keep_end(mut stderr: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; ERRORS_KEPT];
    while let Ok(count @ 1..) = read_some(&mut stderr, &mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(ERRORS_KEPT);
        kept.drain(..surplus);
    }
}

fn read_some(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
