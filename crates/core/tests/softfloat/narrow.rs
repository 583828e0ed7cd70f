//! Every code, pair and triple of codes of the formats of 8 bits and fewer.

use tcnum_core::{
    format::{FORMATS, Format, find},
    softfloat::{Environment, Operation, Unit},
};

use crate::{environments, machine::amount, operands, tally::Tally};

/// Floating-point formats of at most `bits` bits: those of the table, and P3109's with and without a sign.
pub(crate) fn narrow(bits: u32) -> Vec<&'static Format> {
    let by_rule = ["binary8p4se", "binary6p3se", "binary6p2ue"].map(|name| find(name).expect("a format by rule"));
    let float = |format: &&Format| !format.is_integer() && format.bits <= bits;
    FORMATS.iter().chain(by_rule).filter(float).collect()
}

/// Operations that a format can represent.
pub(crate) fn carried(format: &Format) -> Vec<Operation> {
    let unit = Unit::new(format, Environment::default()).unwrap();
    Operation::all().filter(|operation| unit.carries(*operation).is_ok()).collect()
}

/// True if the result depends on more settings than flushing of operands and the rule for NaNs.
pub(crate) fn rounds(operation: Operation) -> bool {
    use Operation::*;
    matches!(operation, Add | Sub | Mul | Div | Sqrt | Fma | Rem | Rint | RintExact)
}

/// Checks every pair of codes (one operand: every code) in environments that depend on the first code.
/// In formats of 7 and 8 bits, one in `one_in` first codes.
fn all_pairs(one_in: usize, environments: fn(u64) -> Vec<Environment>) -> Tally {
    let parts = narrow(8).into_iter().flat_map(|format| {
        let operations = carried(format).into_iter().filter(|operation| operation.operands() < 3);
        // The judge of tables searches all values.
        let step = if format.bits <= 6 {
            1
        } else if format.table().is_some() {
            16 * one_in
        } else {
            one_in
        };
        operations
            .flat_map(move |operation| (0..=format.code_mask()).step_by(step).map(move |x| (format, operation, x)))
    });
    Tally::over(parts.collect::<Vec<_>>(), |tally, reference, (format, operation, x)| {
        let environments = if rounds(operation) { environments(x) } else { environments::unrounded(x) };
        let seconds = if operation.operands() == 2 { format.code_mask() } else { 0 };
        for environment in environments {
            let unit = Unit::new(format, environment).unwrap();
            for y in 0..=seconds {
                tally.operation(reference, &unit, operation, [x, y, 0]);
            }
        }
    })
}

/// Checks every triple of codes.
fn all_triples(formats: Vec<&'static Format>, environments: fn(u64) -> Vec<Environment>) -> Tally {
    let pairs = formats.into_iter().flat_map(|format| {
        let codes = 0..=format.code_mask();
        codes.clone().flat_map(move |x| codes.clone().map(move |y| (format, x, y)))
    });
    Tally::over(pairs.collect::<Vec<_>>(), |tally, reference, (format, x, y)| {
        for environment in environments(x + 7 * y) {
            let unit = Unit::new(format, environment).unwrap();
            for z in 0..=format.code_mask() {
                tally.operation(reference, &unit, Operation::Fma, [x, y, z]);
            }
        }
    })
}

fn carrying(operation: Operation, formats: Vec<&'static Format>) -> Vec<&'static Format> {
    formats.into_iter().filter(|format| carried(format).contains(&operation)).collect()
}

#[test]
fn formats_refuse_exactly_the_operations_that_they_cannot_carry() {
    use Operation::*;
    for format in FORMATS.iter().filter(|format| !format.is_integer()) {
        let refused: Vec<Operation> = Operation::all().filter(|o| !carried(format).contains(o)).collect();
        match format.name {
            "e8m0" => assert_eq!(refused, [Add, Sub, Sqrt, Fma, Rem, Rint, RintExact]),
            "ue4m3" | "ue5m3" => assert_eq!(refused, [Sub, Rem]),
            "iq4nl" => assert_eq!(refused, [Add, Sub, Sqrt, Fma, Rem, Rint, RintExact, Classify]),
            _ if format.table().is_some() => assert_eq!(refused, [Classify], "{format}"),
            _ => assert_eq!(refused, [], "{format}"),
        }
    }
}

#[test]
fn every_pair_of_codes_of_8_bits_and_fewer() {
    all_pairs(amount(9, 1), environments::covering).settle("pairs of codes of 8, 7, 6 and 4 bits");
}

#[test]
fn every_triple_of_codes_of_6_and_4_bits() {
    all_triples(carrying(Operation::Fma, narrow(6)), environments::rotating).settle("triples of codes of 6 and 4 bits");
}

#[test]
fn random_triples_of_codes_of_8_bits_in_every_rounding() {
    let formats = carrying(Operation::Fma, narrow(8)).into_iter().filter(|format| format.bits > 6);
    let parts = formats.flat_map(|format| {
        // The judge of tables searches all values.
        let fewer = if format.table().is_some() { 4 } else { 0 };
        (0..1u64 << (amount(18, 20) - fewer)).step_by(1 << 10).map(move |first| (format, first))
    });
    let tally = Tally::over(parts.collect::<Vec<_>>(), |tally, reference, (format, first)| {
        // The rule for tininess and the options change from one thousand of triples to the next.
        let environments = environments::rotating(first >> 10).into_iter().skip((first >> 10) as usize % 2).step_by(2);
        let units: Vec<Unit> = environments.map(|environment| Unit::new(format, environment).unwrap()).collect();
        for seed in first..first + (1 << 10) {
            let operands = operands::drawn(format, Operation::Fma, seed);
            units.iter().for_each(|unit| tally.operation(reference, unit, Operation::Fma, operands));
        }
    });
    tally.settle("triples of codes of 8 and 7 bits");
}

#[test]
#[ignore = "takes minutes: every environment"]
fn every_pair_of_codes_of_8_bits_and_fewer_in_every_environment() {
    all_pairs(1, environments::complete).settle("pairs of codes of 8, 7, 6 and 4 bits, every environment");
}

#[test]
#[ignore = "takes minutes: 2^24 triples a format"]
fn every_triple_of_codes_of_e4m3_and_e5m2_in_every_rounding() {
    for name in ["e4m3", "e5m2"] {
        all_triples(vec![find(name).unwrap()], environments::rotating).settle(&format!("triples of codes of {name}"));
    }
}

#[test]
#[ignore = "takes minutes: every environment"]
fn every_triple_of_codes_of_6_and_4_bits_in_every_environment() {
    all_triples(carrying(Operation::Fma, narrow(6)), environments::complete)
        .settle("triples of codes of 6 and 4 bits, every environment");
}

#[test]
fn bits_above_a_code_and_padding_are_ignored() {
    for format in narrow(64) {
        let padding = format.float().map_or(0, |float| (1u64 << float.padding_bits) - 1);
        let unused = !format.code_mask() | padding;
        let unit = Unit::new(format, Environment::default()).unwrap();
        for operation in carried(format) {
            for seed in 0..200 {
                let operands = operands::drawn(format, operation, seed);
                let [clean, dirty] = [operands.map(|code| code & !unused), operands.map(|code| code | unused)];
                let [clean, dirty] = [clean, dirty].map(|codes| unit.apply(operation, codes));
                assert_eq!(clean, dirty, "{format} {operation:?} {operands:x?}");
            }
        }
    }
}
