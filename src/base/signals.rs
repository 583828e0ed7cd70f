//! Signals that ask the program to stop, and those that limits on its memory and its files raise.

use std::{
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGABRT, SIGXFSZ},
    flag,
    iterator::Signals,
    low_level::emulate_default_handler,
};

use super::{
    error::Interruption,
    interrupt::{PENDING, is_asked},
};

/// Signals that arrive so soon after the first one are the same request: `timeout` of GNU sends two at once.
const SAME: Duration = Duration::from_millis(500);

/// From now on the first such signal is noticed by [`check`](super::interrupt::check), and a later one ends the program at once. (Without it, the first
/// one does.)
pub(crate) fn watch() {
    if is_asked() {
        return;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let watched: Vec<usize> = Interruption::ALL.into_iter().filter_map(Interruption::signal).collect();
        for &signal in &watched {
            // A signal that cannot be watched ends the program, as it does without all this.
            let _ = flag::register_usize(signal as i32, &PENDING, signal);
        }
        // Without a thread for it, a later signal is as good as the first one.
        if let Ok(signals) = Signals::new(watched.iter().map(|&signal| signal as i32)) {
            let _ = thread::Builder::new().name("signals".into()).spawn(move || end_by_a_later(signals));
        }
    });
}

/// The exit status of a program that lacks memory.
const WITHOUT_MEMORY: i32 = 3;

/// Ends the work at a limit on memory or on files with a message and an exit status, not by a signal: to write beyond the size that
/// a file may have (`ulimit -f`) is an error like a full disk, and a lack of memory (`ulimit -v`), which the standard library
/// reports and answers with SIGABRT, has the status of a device that failed. A panic, which ends in SIGABRT too, stays one. For a
/// process that is this program alone.
pub(crate) fn outlive_limits() {
    static BEYOND: AtomicBool = AtomicBool::new(false);
    static IS_MEMORY: AtomicBool = AtomicBool::new(true);
    // A signal that cannot be watched ends the program, as it does without all this.
    let _ = flag::register(SIGXFSZ, &BEYOND);
    let _ = flag::register_conditional_shutdown(SIGABRT, WITHOUT_MEMORY, &IS_MEMORY);
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        IS_MEMORY.store(false, Ordering::SeqCst);
        told(panic);
    }));
}

/// Ends the program by a signal that comes later than the first one.
fn end_by_a_later(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    for signal in signals.forever() {
        if first.get_or_insert_with(Instant::now).elapsed() >= SAME {
            let _ = emulate_default_handler(signal);
        }
    }
}
