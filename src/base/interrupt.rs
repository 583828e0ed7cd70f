//! Signals that ask the program to stop: work that watches for them ends at its next unit, and what is done is reported.

use std::sync::{
    Once,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use super::error::{Error, Interruption, Result};

/// The number of the signal that has arrived and is not yet answered; 0: none.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// Whether one has arrived at any time: the next one ends the program.
static ARRIVED: AtomicBool = AtomicBool::new(false);

/// From now on the first such signal is waited for by [`check`], and a second one ends the program at once. (Without it, the first
/// one does.)
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [Interruption::Int, Interruption::Term] {
            // A signal that cannot be watched ends the program, as it does without all this.
            let _ = register(signal);
        }
    });
}

fn register(signal: Interruption) -> std::io::Result<()> {
    use signal_hook::flag;
    let number = signal.number();
    flag::register_conditional_default(number as i32, &ARRIVED)?;
    flag::register(number as i32, &ARRIVED)?;
    flag::register_usize(number as i32, &PENDING, number)?;
    Ok(())
}

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
