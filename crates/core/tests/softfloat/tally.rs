//! Counts of comparisons, and their failures.

use rayon::prelude::*;
use tcnum_core::{
    format::Format,
    softfloat::mpfr::Reference,
    softfloat::{Converter, Environment, Operation, Unit},
};

/// Number of differences that are kept for the message.
const SHOWN: usize = 20;

/// Number of agreeing comparisons, and the first differences.
#[derive(Default)]
pub(crate) struct Tally {
    agreed: u64,
    differing: u64,
    shown: Vec<String>,
}

impl Tally {
    /// Compares one operation in the soft-float and in the reference.
    pub(crate) fn operation(
        &mut self,
        reference: &mut Reference,
        unit: &Unit,
        operation: Operation,
        operands: [u64; 3],
    ) {
        let outcome = unit.apply(operation, operands);
        let expected = reference.apply(unit.format(), unit.environment(), operation, operands);
        if outcome == expected {
            self.agreed += 1;
            return;
        }
        let operands = &operands[..operation.operands()];
        self.differs(|| {
            format!(
                "{} {} {operands:x?}: {outcome:x?}, expected {expected:x?}, in {:?} of {:?}",
                unit.format(),
                operation.name(),
                unit.environment(),
                unit.format().encoding
            )
        });
    }

    /// Compares one conversion in the soft-float and in the reference.
    pub(crate) fn conversion(
        &mut self,
        reference: &mut Reference,
        from: &Format,
        to: &Format,
        environment: &Environment,
        code: u64,
    ) {
        let outcome = Converter::new(from, to, *environment).convert(code);
        let expected = reference.convert(from, to, environment, code);
        if outcome == expected {
            self.agreed += 1;
            return;
        }
        self.differs(|| {
            format!(
                "{from} to {to} {code:x?}: {outcome:x?}, expected {expected:x?}, in {environment:?} of {:?} to {:?}",
                from.encoding, to.encoding
            )
        });
    }

    fn differs(&mut self, message: impl Fn() -> String) {
        self.differing += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(message());
        }
    }

    fn and(mut self, other: Tally) -> Tally {
        self.agreed += other.agreed;
        self.differing += other.differing;
        self.shown.extend(other.shown.into_iter().take(SHOWN - self.shown.len().min(SHOWN)));
        self
    }

    /// Tallies of many parts, on all threads; each part adds its comparisons.
    pub(crate) fn over<I: IntoParallelIterator>(
        parts: I,
        compare: impl Fn(&mut Tally, &mut Reference, I::Item) + Sync + Send,
    ) -> Tally {
        let tally = |reference: &mut Reference, part| {
            let mut tally = Tally::default();
            compare(&mut tally, reference, part);
            tally
        };
        parts.into_par_iter().map_init(Reference::new, tally).reduce(Tally::default, Tally::and)
    }

    /// Checks that comparisons were made and all agree.
    ///
    /// # Panics
    /// If a comparison differs, or none was made.
    pub(crate) fn agree(&self) {
        assert!(self.differing == 0, "{} differ, as\n{}", self.differing, self.shown.join("\n"));
        assert!(self.agreed > 0, "nothing was compared");
    }

    /// Prints the count.
    ///
    /// # Panics
    /// If a comparison differs, or none was made.
    pub(crate) fn settle(&self, what: &str) {
        println!("{what}: {} agree, {} differ", self.agreed, self.differing);
        self.agree();
    }
}
