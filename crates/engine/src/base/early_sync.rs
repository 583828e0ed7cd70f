//! Early synchronisation of a large file with its disk while the rest is written.

use std::{
    fs::File,
    io,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{Builder, JoinHandle},
};

/// Bytes between two synchronisations: many, because each takes about as long as writing some of them.
const STEP: u64 = 32 << 20;

/// The thread that synchronises a file.
#[derive(Debug)]
pub(super) struct EarlySync {
    written: AtomicU64,
    wake: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl EarlySync {
    /// Starts the thread for a file of `length` bytes.
    /// Returns `None` for small files, or without a thread: the end does all.
    pub(super) fn of(file: &File, length: u64) -> Option<EarlySync> {
        if length < 2 * STEP {
            return None;
        }
        let file = file.try_clone().ok()?;
        let (wake, woken) = sync_channel(1);
        let thread = Builder::new().spawn(move || sync(&file, &woken)).ok()?;
        Some(EarlySync { written: AtomicU64::new(0), wake, thread })
    }

    /// Counts written bytes.
    pub(super) fn wrote(&self, bytes: u64) {
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before / STEP != (before + bytes) / STEP {
            // A running synchronisation takes these bytes along.
            let _ = self.wake.try_send(());
        }
    }

    /// Waits for the pending synchronisation.
    ///
    /// # Errors
    /// Errors of the system, which reports each only once.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.wake);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes to the disk has failed")))
    }
}

fn sync(file: &File, woken: &Receiver<()>) -> io::Result<()> {
    woken.iter().try_for_each(|()| file.sync_data())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_brought_to_its_disk_early_and_a_small_one_is_not() {
        let file = tempfile::tempfile().unwrap();
        let sync = EarlySync::of(&file, 2 * STEP).unwrap();
        (0..3).for_each(|_| sync.wrote(STEP));
        sync.finish().unwrap();
        assert!(EarlySync::of(&file, STEP).is_none());
    }

    #[test]
    fn an_error_of_the_disk_is_told_at_the_end() {
        // A pipe cannot be synchronised.
        let (_reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let sync = EarlySync::of(&file, 2 * STEP).unwrap();
        sync.wrote(STEP);
        assert_eq!(sync.finish().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
