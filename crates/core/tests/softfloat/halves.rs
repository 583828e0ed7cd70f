//! f16 and bf16: every code in operations with one operand, random operands in the others.

use tcnum_core::{
    format::{Format, find},
    softfloat::{Operation, Unit},
};

use crate::{
    environments,
    narrow::{carried, rounds},
    operands,
    tally::Tally,
};

fn halves() -> [&'static Format; 2] {
    ["f16", "bf16"].map(|name| find(name).unwrap())
}

#[test]
fn every_code_of_f16_and_bf16_in_every_operation_of_one_operand() {
    let parts = halves().into_iter().flat_map(|format| {
        let unary = carried(format).into_iter().filter(|operation| operation.operands() == 1);
        unary.flat_map(move |operation| (0..=0xff).map(move |high| (format, operation, high << 8)))
    });
    let tally = Tally::over(parts.collect::<Vec<_>>(), |tally, reference, (format, operation, first)| {
        let seed = first >> 8;
        let environments = if rounds(operation) { environments::covering(seed) } else { environments::unrounded(seed) };
        for environment in environments {
            let unit = Unit::new(format, environment).unwrap();
            (first..=first + 0xff).for_each(|x| tally.operation(reference, &unit, operation, [x, 0, 0]));
        }
    });
    tally.settle("codes of f16 and bf16");
}

/// Checks random cases of each format and each rounding operation with more than one operand.
fn random(cases: u64) {
    let operations = [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div, Operation::Rem, Operation::Fma];
    const PART: u64 = 1 << 12;
    for format in halves() {
        for operation in operations {
            let tally = Tally::over(0..cases.div_ceil(PART), |tally, reference, part| {
                for seed in part * PART..(part + 1) * PART {
                    let unit = Unit::new(format, environments::drawn(seed)).unwrap();
                    tally.operation(reference, &unit, operation, operands::drawn(format, operation, seed));
                }
            });
            tally.settle(&format!("random cases of {format} {}", operation.name()));
        }
    }
}

#[test]
fn random_operands_of_f16_and_bf16() {
    random(200_000);
}

#[test]
#[ignore = "takes minutes: 10^7 cases of each of twelve operations"]
fn a_hundred_million_random_operands_of_f16_and_bf16() {
    random(10_000_000);
}
