//! Signals that ask the program to stop: work that watches for them ends at its next unit, and what is done is reported.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::error::{Error, Interruption, Result};

/// The number of the signal that has arrived and is not yet answered; 0: none.
pub(super) static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Says whether the program that this one is a part of wants the work to stop.
type Asked = Rc<dyn Fn() -> Option<Interruption>>;

thread_local! {
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
    /// What it has said, and is not yet answered.
    static SAID: Cell<Option<Interruption>> = const { Cell::new(None) };
}

/// Does `work` on this thread, which ends with [`Error::Interrupted`], or with what it has, soon after `asked` says so: for programs
/// that deal with signals themselves. Signals are not watched meanwhile.
pub fn interruptible<R>(asked: impl Fn() -> Option<Interruption> + 'static, work: impl FnOnce() -> R) -> R {
    /// Takes the question away again, also where the work panics.
    struct Restored(Option<Asked>);
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

/// The signal that has arrived and is not yet answered.
pub(crate) fn pending() -> Option<Interruption> {
    if let Some(asked) = ASKED.with_borrow(Option::clone) {
        SAID.set(SAID.get().or_else(|| asked()));
        return SAID.get();
    }
    let number = PENDING.load(Ordering::Relaxed);
    [Interruption::Int, Interruption::Term].into_iter().find(|signal| signal.number() == number)
}

/// The signal has been handled: the rest of the program ends normally.
pub(crate) fn answered() {
    PENDING.store(0, Ordering::Relaxed);
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
