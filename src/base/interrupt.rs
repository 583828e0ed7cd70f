//! Signals that ask the program to stop: work that watches for them ends at its next unit, and what is done is reported.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::{Error, Interruption, Result};

/// The number of the signal that has arrived and is not yet answered; 0: none.
pub(super) static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Refuses to go on once a signal has arrived.
///
/// # Errors
/// [`Error::Interrupted`], until [`answered`].
pub(crate) fn check() -> Result<()> {
    match pending() {
        Some(by) => Err(Error::Interrupted { by }),
        None => Ok(()),
    }
}

/// The signal that has arrived and is not yet answered.
pub(crate) fn pending() -> Option<Interruption> {
    let number = PENDING.load(Ordering::Relaxed);
    [Interruption::Int, Interruption::Term].into_iter().find(|signal| signal.number() == number)
}

/// The signal has been handled: the rest of the program ends normally.
pub(crate) fn answered() {
    PENDING.store(0, Ordering::Relaxed);
}
