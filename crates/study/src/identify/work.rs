//! The work of a search: the products that it has computed, and may compute.

use std::sync::atomic::{AtomicU64, Ordering};

/// Products that a search has computed, and may compute.
#[derive(Debug)]
pub(super) struct Work {
    /// Products of a case.
    k: u64,
    spent: AtomicU64,
    /// Products that one stage may compute.
    each: u64,
    /// Products that may be computed until the present stage ends, with all stages before it.
    most: AtomicU64,
    /// Whole stages that may be added where they are needed.
    reserve: AtomicU64,
}

/// Whole stages in the reserve of a search.
const RESERVE: u64 = 3;

impl Work {
    /// No work; a case has `k` products, and one stage may compute `each`.
    pub(super) fn new(k: usize, each: u64) -> Work {
        Work {
            k: k as u64,
            spent: AtomicU64::default(),
            each,
            most: AtomicU64::new(each),
            reserve: AtomicU64::new(RESERVE),
        }
    }

    /// Products computed so far.
    pub(super) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// Counts computed products.
    pub(super) fn spend(&self, products: u64) {
        self.spent.fetch_add(products, Ordering::Relaxed);
    }

    /// Counts computed cases.
    pub(super) fn spend_cases(&self, cases: usize) {
        self.spend(cases as u64 * self.k);
    }

    /// Begins a stage that may compute the products of a whole stage, divided by `part`.
    pub(super) fn begin_stage(&self, part: u64) {
        self.most.store(self.spent() + self.each / part, Ordering::Relaxed);
    }

    /// Begins a whole stage out of the reserve; false if that is used up.
    pub(super) fn draw_reserve(&self) -> bool {
        let drawn = self.reserve.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if drawn {
            self.begin_stage(1);
        }
        drawn
    }

    /// Products that the stage may still compute.
    pub(super) fn left(&self) -> u64 {
        self.most.load(Ordering::Relaxed).saturating_sub(self.spent())
    }
}
