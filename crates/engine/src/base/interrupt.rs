//! Requests to stop, by a signal or a time limit: work ends at its next unit and reports its results.

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

/// Number of the pending signal; 0 for none.
pub(super) static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Origin of [`LIMIT`].
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Time limit in milliseconds after [`BEGUN`]; 0 for none.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Asks the host program if the work should stop.
type StopQuestion = Rc<dyn Fn() -> Option<Interruption>>;

thread_local! {
    static ASKED: RefCell<Option<StopQuestion>> = const { RefCell::new(None) };
    /// The host's pending answer.
    static SAID: Cell<Option<Interruption>> = const { Cell::new(None) };
    /// The interruption that was handled.
    static HANDLED: Cell<Option<Interruption>> = const { Cell::new(None) };
}

/// Does `work` on this thread, and interrupts it soon after `asked` returns an interruption.
/// It is for host programs that handle signals themselves; signals are not watched meanwhile. The work ends with
/// [`Error::Interrupted`] or with what it has.
pub fn interruptible<R>(asked: impl Fn() -> Option<Interruption> + 'static, work: impl FnOnce() -> R) -> R {
    /// Removes the question, also after a panic.
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

/// Fails once an interruption has arrived.
///
/// # Errors
/// [`Error::Interrupted`], until [`answered`].
pub fn check() -> Result<()> {
    match pending() {
        Some(by) => Err(Error::Interrupted { by }),
        None => Ok(()),
    }
}

/// Returns true if a host program is asked ([`interruptible`]).
#[cfg(feature = "figures")]
pub(super) fn is_asked() -> bool {
    ASKED.with_borrow(Option::is_some)
}

/// The pending interruption.
pub fn pending() -> Option<Interruption> {
    let told = match ASKED.with_borrow(Option::clone) {
        Some(asked) => {
            SAID.set(SAID.get().or_else(|| asked()));
            SAID.get()
        }
        None => {
            let number = PENDING.load(Ordering::Relaxed);
            Interruption::ALL.into_iter().find(|interruption| number > 0 && interruption.signal() == Some(number))
        }
    };
    told.or_else(|| (remaining() == Some(Duration::ZERO)).then_some(Interruption::TimeLimit))
}

/// Sets the time limit; the work stops then until the interruption is [`answered`].
pub fn limit(time: Duration) {
    let end = BEGUN.elapsed().saturating_add(time).as_millis();
    LIMIT.store(u64::try_from(end).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
}

/// Time until the limit; `None` without one.
pub fn remaining() -> Option<Duration> {
    match LIMIT.load(Ordering::Relaxed) {
        0 => None,
        end => Some(Duration::from_millis(end).saturating_sub(BEGUN.elapsed())),
    }
}

/// Returns true if a signal has asked the program to stop, handled or not.
pub(crate) fn is_stopped() -> bool {
    HANDLED.get().or_else(pending).is_some_and(|by| by.signal().is_some())
}

/// Returns true after an interruption was handled.
/// The rest of the command may take no more time than a piece of work.
pub(crate) fn is_over() -> bool {
    HANDLED.get().is_some()
}

/// Begins another command, which nothing has interrupted.
pub fn begin() {
    HANDLED.set(None);
}

/// Marks the interruption as handled: the rest of the program ends normally.
pub fn answered() {
    HANDLED.set(pending().or(HANDLED.get()));
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
