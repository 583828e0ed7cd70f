//! Signals that ask the program to stop: work that watches for them ends at its next unit, and what is done is reported.

use std::{
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{iterator::Signals, low_level::emulate_default_handler};

use super::error::{Error, Interruption, Result};

/// The number of the signal that has arrived and is not yet answered; 0: none.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Signals that arrive so soon after the first one are the same request: `timeout` of GNU sends two at once.
const SAME: Duration = Duration::from_millis(500);

/// From now on the first such signal is waited for by [`check`], and a later one ends the program at once. (Without it, the first
/// one does.)
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Signals that cannot be watched end the program, as they do without all this.
        if let Ok(signals) = Signals::new([Interruption::Int, Interruption::Term].map(|signal| signal.number() as i32))
        {
            let _ = thread::Builder::new().name("signals".into()).spawn(move || receive(signals));
        }
    });
}

/// Notes the first signal, and ends the program by one that comes later.
fn receive(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    for signal in signals.forever() {
        match first {
            None => {
                first = Some(Instant::now());
                PENDING.store(signal as usize, Ordering::Relaxed);
            }
            Some(first) if first.elapsed() < SAME => {}
            Some(_) => {
                let _ = emulate_default_handler(signal);
            }
        }
    }
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
