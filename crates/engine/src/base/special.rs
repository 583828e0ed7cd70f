//! Writing to pipes and devices, which cannot be replaced and may have no reader.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::Path,
    thread::sleep,
    time::Duration,
};

use super::interrupt;

/// Pause between attempts.
const AGAIN: Duration = Duration::from_millis(20);

/// An open pipe or device.
/// An interruption ends the wait for room. Any signal, even a handled one, ends the wait for a reader. Both give an
/// error of the kind [`ErrorKind::WouldBlock`].
pub(super) struct Special(File);

impl Special {
    /// Opens a path, and waits for a pipe's reader.
    pub(super) fn open(path: &Path) -> io::Result<Special> {
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
        waiting(interrupt::is_stopped, || options.open(path).map(Special))
    }
}

impl Write for Special {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        waiting(|| interrupt::pending().is_some(), || self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Repeats an attempt until there is a reader or room, or until it should stop.
fn waiting<T>(stop: impl Fn() -> bool, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match attempt() {
            Err(error) if must_wait(&error) && stop() => {
                return Err(ErrorKind::WouldBlock.into());
            }
            Err(error) if must_wait(&error) => sleep(AGAIN),
            outcome => return outcome,
        }
    }
}

#[cfg(unix)]
fn must_wait(error: &io::Error) -> bool {
    let no_reader = error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
    no_reader || error.kind() == ErrorKind::WouldBlock
}

#[cfg(not(unix))]
fn must_wait(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use crate::{
        Error, Interruption,
        base::{atomic, interrupt::interruptible},
    };

    #[test]
    fn an_interruption_ends_the_wait_for_a_reader_of_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let written = interruptible(|| Some(Interruption::Term), || atomic::write(&pipe, b"nobody reads this"));
        assert_eq!(written, Err(Error::Interrupted { by: Interruption::Term }));
    }
}
