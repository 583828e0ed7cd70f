//! Signals that ask the program to stop, and signals of memory and file limits.

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

/// Signals this close together are one request: GNU `timeout` sends two.
const SAME: Duration = Duration::from_millis(500);

/// Watches signals:
/// [`check`](super::interrupt::check) notices the first, and a later one ends the program.
/// Unwatched, the first one ends it.
pub fn watch() {
    if is_asked() {
        return;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let watched: Vec<usize> = Interruption::ALL.into_iter().filter_map(Interruption::signal).collect();
        for &signal in &watched {
            // An unwatched signal ends the program.
            let _ = flag::register_usize(signal as i32, &PENDING, signal);
        }
        // Without a thread, later signals act like the first one.
        if let Ok(signals) = Signals::new(watched.iter().map(|&signal| signal as i32)) {
            let _ = thread::Builder::new().name("signals".into()).spawn(move || end_by_a_later(signals));
        }
    });
}

/// Exit status of a program that lacks memory.
const WITHOUT_MEMORY: i32 = 3;

/// Turns limits on memory and files into exit statuses with messages.
/// A file beyond its size limit (`ulimit -f`) is an error like a full disk. A lack of memory (`ulimit -v`), which the
/// standard library answers with SIGABRT, has the status of a failed device. A panic, which also ends in SIGABRT, stays
/// a panic. Only for processes that run this program alone.
pub fn outlive_limits() {
    static BEYOND: AtomicBool = AtomicBool::new(false);
    static IS_MEMORY: AtomicBool = AtomicBool::new(true);
    // An unwatched signal ends the program.
    let _ = flag::register(SIGXFSZ, &BEYOND);
    let _ = flag::register_conditional_shutdown(SIGABRT, WITHOUT_MEMORY, &IS_MEMORY);
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        IS_MEMORY.store(false, Ordering::SeqCst);
        told(panic);
    }));
}

/// Ends the program at a signal that comes later than the first.
fn end_by_a_later(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    for signal in signals.forever() {
        if first.get_or_insert_with(Instant::now).elapsed() >= SAME {
            let _ = emulate_default_handler(signal);
        }
    }
}
