//! A running program with threads at its pipes, so that nothing it does, or fails to do, blocks the caller.

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

/// Bytes read from the program at a time, and how many such pieces may wait: what a program that never stops
/// writing can make this one hold.
const PIECE: usize = 1 << 16;
const PIECES: usize = 16;
/// Bytes of standard error that are kept: its end.
const ERRORS_KEPT: usize = 4096;
/// How long the end of its standard error is waited for after a program has ended. One that it has started may keep it open.
const ERRORS_PATIENCE: Duration = Duration::from_secs(10);

/// How long a wait lasts at most before a signal that has arrived is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// A running program. Dropping it kills the program, with all that it has started, and reaps it.
pub(super) struct Process {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_end: Receiver<()>,
    stopped: bool,
}

/// What arrived from the program.
pub(super) enum Arrival {
    /// Some bytes.
    Bytes(Vec<u8>),
    /// The program has closed its standard output, usually by ending.
    End,
    /// Nothing, for as long as was waited.
    Nothing,
    /// A signal to this program, which wants to stop.
    Signal(Interruption),
}

impl Process {
    /// Starts `words[0]` with the arguments `words[1..]`.
    pub(super) fn start(words: &[String]) -> io::Result<Process> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that it can be ended with all that it starts.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (input, to_write) = channel();
        let (read, output) = sync_channel(PIECES);
        let (errors_ended, errors_end) = channel();
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        // Where a thread cannot be made, the program is ended as the process is dropped.
        let process = Process { child, input: Some(input), output, errors, errors_end, stopped: false };
        // A thread ends when its pipe does; none is waited for, because a grandchild may keep a pipe open.
        let start = |work: Box<dyn FnOnce() + Send>| thread::Builder::new().spawn(work).map(drop);
        start(Box::new(move || write_all(stdin.expect("standard input is piped"), &to_write)))?;
        start(Box::new(move || read_all(stdout.expect("standard output is piped"), &read)))?;
        start(Box::new(move || {
            keep_end(stderr.expect("standard error is piped"), &kept);
            // Nobody may be waiting.
            let _ = errors_ended.send(());
        }))?;
        Ok(process)
    }

    /// Queues bytes for the program's standard input. That they cannot be written shows as missing output.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // The writer has ended: so has the program's interest.
            let _ = input.send(bytes);
        }
    }

    /// The next bytes of the program's standard output, if they come until `deadline`.
    pub(super) fn receive(&self, deadline: Instant) -> Arrival {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match (self.output.recv_timeout(left.min(NOTICE)), interrupt::pending()) {
                (Ok(bytes), _) => return Arrival::Bytes(bytes),
                (Err(RecvTimeoutError::Disconnected), _) => return Arrival::End,
                (Err(RecvTimeoutError::Timeout), Some(signal)) => return Arrival::Signal(signal),
                (Err(RecvTimeoutError::Timeout), None) if left <= NOTICE => return Arrival::Nothing,
                (Err(RecvTimeoutError::Timeout), None) => {}
            }
        }
    }

    /// Closes standard input after what is queued, and waits for the program to end: whether it did by itself, or `None` if it
    /// wrote something meanwhile.
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

    /// How the program ended, in words for a message, after it has closed its output; it is killed if it
    /// does not end before `patience` does.
    pub(super) fn ending(&mut self, patience: Duration) -> String {
        let how = match self.exit_within(patience) {
            Some(status) => status.to_string(),
            None => "it closed its standard output and kept running".into(),
        };
        self.stop();
        format!("{how}{}", self.complaint())
    }

    /// The last line of the program's standard error, introduced for a message; empty if there is none.
    pub(super) fn complaint(&self) -> String {
        // Whether or not the end came in time, what is there is shown.
        let _ = self.errors_end.recv_timeout(ERRORS_PATIENCE);
        let kept = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("; the last line of its standard error: {line}"),
            None => String::new(),
        }
    }

    /// Kills the program if it runs, with all that it has started, and reaps it.
    pub(super) fn stop(&mut self) {
        self.input = None;
        if self.stopped {
            return;
        }
        self.stopped = true;
        // What fails finds nothing left. The group has the program's number, and keeps it as long as any of it runs.
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn exit_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
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
