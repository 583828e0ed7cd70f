//! Effect of the tininess rule: the underflow flag at or below the smallest normal number alone.

use rayon::prelude::*;
use tcnum_core::{
    format::{Format, Rounding},
    softfloat::{Environment, Flags, Operation, Outcome, Tininess, Unit},
};

use crate::{
    narrow::{carried, narrow, rounds},
    operands,
};

/// True if the code is a number at or below the smallest normal one in magnitude.
fn is_small(format: &Format, code: u64) -> bool {
    format.to_f64(code).abs() <= format.to_f64(format.smallest_normal())
}

fn check(format: &Format, operation: Operation, cases: impl Iterator<Item = [u64; 3]>) {
    let units: Vec<[Unit; 2]> = Rounding::DETERMINISTIC
        .into_iter()
        .map(|rounding| {
            [Tininess::Before, Tininess::After].map(|tininess| {
                Unit::new(format, Environment { rounding, tininess, ..Environment::default() }).unwrap()
            })
        })
        .collect();
    for operands in cases {
        for [before, after] in &units {
            let [b, a] = [before, after].map(|unit| unit.apply(operation, operands));
            let rounding = before.environment().rounding;
            assert_eq!(b.code, a.code, "{format} {operation:?} {rounding:?} {operands:x?}");
            // Tiny after rounding implies tiny before.
            let but_underflow = |outcome: Outcome| outcome.flags.without(Flags::UNDERFLOW);
            assert_eq!(but_underflow(b), but_underflow(a), "{format} {operation:?} {rounding:?} {operands:x?}");
            assert!(b.flags.contains(a.flags), "{format} {operation:?} {rounding:?} {operands:x?}");
            if b.flags != a.flags {
                assert!(is_small(format, b.code.unwrap()), "{format} {operation:?} {rounding:?} {operands:x?}");
            }
        }
    }
}

#[test]
fn the_rule_of_tininess_changes_only_the_underflow_flag_of_small_results() {
    for format in narrow(64) {
        let operations: Vec<Operation> = carried(format).into_iter().filter(|operation| rounds(*operation)).collect();
        operations.into_par_iter().for_each(|operation| match (format.bits, operation.operands()) {
            (..=8, ..=2) => {
                let codes = 0..=format.code_mask();
                check(format, operation, codes.clone().flat_map(|x| codes.clone().map(move |y| [x, y, 0])));
            }
            _ => check(format, operation, (0..20_000).map(|seed| operands::drawn(format, operation, seed))),
        });
    }
}
