//! The adversarial stream finds wrong models soon: of each instruction, every one-step change of its rule is refuted within a
//! bounded number of dot-product-adds, except for those that are known to stay open.

use crate::{
    changed::{change_to_number, changed, hopper},
    machine::{amount, thorough},
};
use tcnum::{inputs::stream, isa};
use tcnum_engine::rule::{Change, ChangeVerdict, RefutingData, refute};

/// Dot-product-adds within which each change must be refuted.
const LIMIT: usize = 1 << 17;

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";
const TF32: &str = "mma.m16n8k8.f32.tf32.tf32.f32";
const F16_OUT: &str = "mma.m16n8k16.f16.f16.f16.f16";

/// Checks that the changes that the stream leaves open are these, and prints when each other one is refuted: of the first
/// instruction and every sixteenth one behind it, unless all is asked for.
fn left_open(instructions: &[&str], expected: &[(&str, &str)]) {
    for name in instructions.iter().step_by(amount(16, 1)) {
        let source = RefutingData::stream(&isa::find(name).unwrap(), 1, LIMIT as u64);
        let mut tested = Vec::new();
        refute(&hopper(), &[source], &mut tested, &mut |_| ()).unwrap();
        let tested = tested.remove(0);
        assert_eq!(tested.refuted, None, "{name}");
        let mut open = Vec::new();
        // The stream seldom has a c that is the largest number beside a part of its last place, which decides the test of overflow.
        let is_seldom = |change: &Change| change.ranged || change.key == "overflow-test";
        for (change, verdict) in tested.changes.iter().filter(|(change, _)| !is_seldom(change)) {
            match verdict {
                ChangeVerdict::Refuted(place) => {
                    println!("{name}: {} = {}: after {}", change.key, change.to(), place.case)
                }
                ChangeVerdict::Survives => open.push((change.key.as_str(), change.to())),
                ChangeVerdict::CannotBeObserved(reason) => {
                    println!("{name}: {} = {}: {reason}", change.key, change.to())
                }
            }
        }
        let open: Vec<(&str, &str)> = open.iter().map(|(key, to)| (*key, to.as_str())).collect();
        assert_eq!(open, expected, "{name}: left open");
    }
}

#[test]
fn every_change_of_the_native_forms_is_refuted() {
    let wide = ["wgmma.m64n8k32.f16.e4m3.e4m3", "wgmma.m64n8k32.f16.e5m2.e5m2"];
    let chained = ["mma.m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.f16.f16.f16.f16"];
    left_open(&[&[BF16, F16, TF32, F16_OUT][..], &chained, &wide].concat(), &[]);
}

/// A subnormal c in f64 has a smaller exponent. It matters only beside nothing, as every product is larger, and what is cut of it
/// then the result cannot hold.
#[test]
fn every_change_of_the_fp8_forms_but_a_wider_c_and_the_sign_of_what_underflows_is_refuted() {
    left_open(
        &["wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e5m2.e5m2"],
        &[("unpack-c", "f64"), ("zero", "exact-positive")],
    );
}

/// A sum of negative terms that is zero holds nothing but zeros: with these ranges, no two terms are far enough apart to be cut to nothing.
#[test]
fn every_change_of_the_emulated_forms_but_the_common_sign_of_zeros_is_refuted() {
    left_open(
        &["mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f32.e5m2.e5m2.f32", "mma.m16n8k32.f16.e4m3.e4m3.f16"],
        &[("zero", "common")],
    );
}

/// Operands in a wider format than f16 have the exponents of their leading bits: seldom seen in results in f16.
#[test]
fn every_change_of_an_emulated_form_in_f16_but_wider_operands_is_refuted() {
    if thorough() {
        let wider = [("unpack", "bf16"), ("unpack", "f32"), ("unpack", "f64")];
        left_open(&["mma.m16n8k32.f16.e5m2.e5m2.f16"], &wider);
    }
}

/// The sum in f32 is converted to f16 behind, where a subnormal number is zero and the largest one infinite.
#[test]
fn every_change_that_a_conversion_behind_the_sum_does_not_hide_is_refuted() {
    let hidden = [("result-subnormals", "signed-zero"), ("result.overflow", "saturate")];
    left_open(&["wmma.m16n16k16.f16.f16.f16.f32"], &hidden);
    if thorough() {
        left_open(&["wmma.m16n16k16.f32.f16.f16.f16"], &[("unpack-c", "f64")]);
    }
}

#[test]
fn every_change_of_doubles_and_integers_is_refuted() {
    left_open(&["mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k16.f64.f64.f64.f64"], &[]);
    left_open(
        &["mma.m16n8k32.s32.s8.s8.s32", "mma.m16n8k32.s32.u8.u8.s32", "mma.m16n8k32.s32.s8.u8.s32.satfinite"],
        &[],
    );
}

/// A product with a zero operand has no exponent. A model in which it has one aligns to the largest of those too, which is
/// the same as a floor there.
#[test]
fn zero_products_that_take_part_in_the_alignment_are_caught() {
    for name in [BF16, F16, TF32, F16_OUT] {
        let i = isa::find(name).unwrap();
        let truth = hopper().evaluator(&i).unwrap();
        let floor = hopper().rule(&i).unwrap().alignment.unwrap().floor.unwrap();
        let mut others = std::collections::BTreeMap::new();
        let caught = (0..LIMIT / (i.m * i.n)).find(|&tile| {
            let tiles = stream::tiles(&i, 1, tile as u64, 1);
            (0..i.m * i.n).step_by(5).any(|at| {
                let case = tiles.case(&i, 0, at / i.n, at % i.n);
                let exponent = |format: &tcnum::format::Format, code| {
                    let decoded = format.decode(code);
                    (decoded.exponent + format.fraction_bits() as i32, decoded.significand == 0)
                };
                let zeros = case.a.iter().zip(&case.b).filter_map(|(a, b)| {
                    let ((a, a_zero), (b, b_zero)) = (exponent(i.a, *a), exponent(i.b, *b));
                    (a_zero || b_zero).then_some(a + b)
                });
                let largest = zeros.max().filter(|largest| *largest > floor).unwrap_or(floor);
                let other = others.entry(largest).or_insert_with(|| {
                    if largest == floor {
                        truth.clone()
                    } else {
                        changed(&i, &change_to_number(&i, "alignment.floor", largest.into()))
                    }
                });
                truth.dot(&case) != other.dot(&case)
            })
        });
        let tile = caught.unwrap_or_else(|| panic!("{name}: not caught"));
        println!("{name}: zero products take part: in tile {tile}");
    }
}
