//! Requests to stop, by a signal or a limit of time: work that checks for them ends at its next unit, and what is done is reported.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        LazyLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::error::{Error, Interruption, Result};

/// The number of the signal that has arrived and is not yet answered; 0: none.
pub(super) static PENDING: AtomicUsize = AtomicUsize::new(0);

/// When the program began to look at the clock.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// When the limit of time is reached, in milliseconds after [`BEGUN`]; 0: there is none.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Says whether the program that this one is a part of wants the work to stop.
type StopQuestion = Rc<dyn Fn() -> Option<Interruption>>;

thread_local! {
    static ASKED: RefCell<Option<StopQuestion>> = const { RefCell::new(None) };
    /// What it has said, and is not yet answered.
    static SAID: Cell<Option<Interruption>> = const { Cell::new(None) };
    /// Whether a signal was answered.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` on this thread, which ends with [`Error::Interrupted`], or with what it has, soon after `asked` says so: for programs
/// that deal with signals themselves. Signals are not watched meanwhile.
pub fn interruptible<R>(asked: impl Fn() -> Option<Interruption> + 'static, work: impl FnOnce() -> R) -> R {
    /// Takes the question away again, also where the work panics.
    struct Restored(Option<StopQuestion>);
    impl Drop for Restored {
        fn drop(&mut self) {
            ASKED.set(self.0.take());
            SAID.set(None);
        }
    }
    let _restored = Restored(ASKED.replace(Some(Rc::new(asked))));
    work()
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

/// Whether another program is asked whether the work is to stop ([`interruptible`]).
pub(super) fn is_asked() -> bool {
    ASKED.with_borrow(Option::is_some)
}

/// The interruption that has arrived and is not yet answered.
pub(crate) fn pending() -> Option<Interruption> {
    let told = match ASKED.with_borrow(Option::clone) {
        Some(asked) => {
            SAID.set(SAID.get().or_else(|| asked()));
            SAID.get()
        }
        None => {
            let number = PENDING.load(Ordering::Relaxed);
            Interruption::ALL.into_iter().find(|own| number > 0 && own.signal() == Some(number))
        }
    };
    told.or_else(|| (remaining() == Some(Duration::ZERO)).then_some(Interruption::TimeLimit))
}

/// Stops the work so long from now, until the interruption is [`answered`].
pub(crate) fn limit(time: Duration) {
    let end = BEGUN.elapsed().saturating_add(time).as_millis();
    LIMIT.store(u64::try_from(end).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
}

/// The time that is left until the limit; nothing where there is none.
pub(crate) fn remaining() -> Option<Duration> {
    match LIMIT.load(Ordering::Relaxed) {
        0 => None,
        end => Some(Duration::from_millis(end).saturating_sub(BEGUN.elapsed())),
    }
}

/// Whether a signal has asked the program to stop, answered or not.
pub(crate) fn is_stopped() -> bool {
    STOPPED.get() || pending().is_some_and(|by| by.signal().is_some())
}

/// Another command begins: nothing has asked it to stop.
pub(crate) fn begin() {
    STOPPED.set(false);
}

/// The interruption has been handled: the rest of the program ends normally.
pub(crate) fn answered() {
    STOPPED.set(is_stopped());
    PENDING.store(0, Ordering::Relaxed);
    LIMIT.store(0, Ordering::Relaxed);
    SAID.set(None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_another_program_is_interrupted_when_that_says_so_until_it_is_answered() {
        let asked = Rc::new(Cell::new(0));
        let counted = asked.clone();
        let stop = move || {
            counted.set(counted.get() + 1);
            (counted.get() == 3).then_some(Interruption::Int)
        };
        let interrupted = Err(Error::Interrupted { by: Interruption::Int });
        let outcomes = interruptible(stop, || {
            let mut outcomes: Vec<Result<()>> = (0..4).map(|_| check()).collect();
            answered();
            outcomes.push(check());
            outcomes
        });
        assert_eq!(outcomes, [Ok(()), Ok(()), interrupted.clone(), interrupted, Ok(())]);
        assert_eq!((asked.get(), check()), (4, Ok(())));
    }
}
