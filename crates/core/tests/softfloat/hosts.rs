//! The host's own f32 and f64 as a third opinion on soft-float and reference: values, to nearest even.

use proptest::prelude::*;
use tcnum_core::{
    format::{Class, find},
    softfloat::mpfr::Reference,
    softfloat::{Environment, Operation, Unit},
};

use crate::operands;

/// Compares a host's result with the two others; all NaNs are equal.
fn agree(name: &str, operation: Operation, operands: [u64; 3], host: u64) {
    let format = find(name).unwrap();
    let nan = |code: u64| format.decode(code).class == Class::Nan;
    let environment = Environment::default();
    let unit = Unit::new(format, environment).unwrap().apply(operation, operands);
    let reference = Reference::new().apply(format, &environment, operation, operands);
    for code in [unit.code.unwrap(), reference.code.unwrap()] {
        assert!(code == host || nan(code) && nan(host), "{name} {operation:?} {operands:x?}: {code:x}, host {host:x}");
    }
}

const OPERATIONS: [Operation; 6] =
    [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div, Operation::Sqrt, Operation::Fma];

/// Operation of the host, whose two types have the same methods and no common trait.
macro_rules! on_host {
    ($operation:expr, $x:expr, $y:expr, $z:expr) => {
        match $operation {
            Operation::Add => $x + $y,
            Operation::Sub => $x - $y,
            Operation::Mul => $x * $y,
            Operation::Div => $x / $y,
            Operation::Sqrt => $x.sqrt(),
            _ => $x.mul_add($y, $z),
        }
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_host_agrees_on_f32(seed: u64) {
        for operation in OPERATIONS {
            let operands = operands::drawn(find("f32").unwrap(), operation, seed).map(|code| code & 0xffff_ffff);
            let [x, y, z] = operands.map(|code| f32::from_bits(code as u32));
            let host = on_host!(operation, x, y, z);
            agree("f32", operation, operands, host.to_bits().into());
        }
    }

    #[test]
    fn the_host_agrees_on_f64(seed: u64) {
        for operation in OPERATIONS {
            let operands = operands::drawn(find("f64").unwrap(), operation, seed);
            let [x, y, z] = operands.map(f64::from_bits);
            let host = on_host!(operation, x, y, z);
            agree("f64", operation, operands, host.to_bits());
        }
    }
}
