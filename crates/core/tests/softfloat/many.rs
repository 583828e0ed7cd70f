//! Operations on many operands at once, compiled for each format of the table.

use tcnum_core::softfloat::{Flags, Outcome, Unit};

use crate::{
    environments,
    narrow::{carried, narrow},
    operands,
};

#[test]
fn many_operands_at_once_give_what_each_gives_alone() {
    const COUNT: u64 = 500;
    for format in narrow(64) {
        for operation in carried(format) {
            for environment in environments::rotating(u64::from(format.bits)) {
                let unit = Unit::new(format, environment).unwrap();
                let drawn: Vec<[u64; 3]> = (0..COUNT).map(|seed| operands::drawn(format, operation, seed)).collect();
                let [x, y, z] = [0, 1, 2].map(|i| drawn.iter().map(|operands| operands[i]).collect::<Vec<u64>>());
                let mut codes = vec![0; drawn.len()];
                let mapped = unit.map(operation, [&x, &y, &z], &mut codes);
                let alone: Vec<_> = drawn.iter().map(|operands| unit.apply(operation, *operands)).collect();
                let expected: Vec<u64> = alone.iter().map(|outcome| outcome.code.unwrap_or(0)).collect();
                assert_eq!(codes, expected, "{format} {operation:?} {environment:?}");
                assert_eq!(mapped.flags, alone.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.flags));
                assert_eq!(mapped.without_code, alone.iter().filter(|outcome| outcome.code.is_none()).count());
                let mut outcomes = vec![Outcome { code: None, flags: Flags::NONE }; drawn.len()];
                unit.outcomes(operation, [&x, &y, &z], &mut outcomes);
                assert_eq!(outcomes, alone, "{format} {operation:?} {environment:?}");
            }
        }
    }
}
