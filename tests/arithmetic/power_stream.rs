//! The adversarial stream finds wrong models soon: of each instruction, models that are wrong in one decision are caught within
//! a bounded number of dot-product-adds.

use crate::mutants::{
    Edit::{self, Add, Remove, Set},
    changed, hopper,
};
use tcnum::{
    inputs::stream::{self, Regime},
    isa::{self, Instruction},
};

/// Dot-product-adds within which each wrong model must be caught.
const LIMIT: usize = 1 << 20;

/// When a wrong model was caught: after how many dot-product-adds, and how many of the first `LIMIT` of each regime differ.
struct Catch {
    after: usize,
    by_regime: [usize; Regime::ALL.len()],
}

fn catch(i: &Instruction, edit: &Edit, limit: usize) -> Option<Catch> {
    let (truth, other) = (hopper().evaluator(i).unwrap(), changed(i, edit));
    let each = i.m * i.n;
    let chunk = (1 << 13) / each;
    let mut found: Option<Catch> = None;
    for first in (0..limit / each).step_by(chunk) {
        let tiles = stream::tiles(i, 1, first as u64, chunk);
        let (x, y) = (truth.execute(&tiles), other.execute(&tiles));
        for at in (0..x.len()).filter(|at| x.get(*at) != y.get(*at)) {
            let regime = stream::regime(i, 1, (first + at / each) as u64);
            let index = Regime::ALL.iter().position(|r| *r == regime).unwrap();
            let found = found.get_or_insert(Catch { after: first * each + at + 1, by_regime: [0; Regime::ALL.len()] });
            found.by_regime[index] += 1;
        }
        if found.is_some() && std::env::var_os("TCNUM_POWER_ALL").is_none() {
            break;
        }
    }
    found
}

/// Checks that every edit is caught on every instruction, and prints when.
fn all_caught(instructions: &[&str], edits: &[Edit]) {
    let mut missed = Vec::new();
    for name in instructions {
        let i = isa::find(name).unwrap();
        for edit in edits {
            match catch(&i, edit, LIMIT) {
                Some(Catch { after, by_regime }) => println!("{name}: {edit:?}: after {after} {by_regime:?}"),
                None => missed.push(format!("{name}: {edit:?}")),
            }
        }
    }
    assert!(missed.is_empty(), "not caught in {LIMIT} dot-product-adds: {missed:#?}");
}

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";
const TF32: &str = "mma.m16n8k8.f32.tf32.tf32.f32";
const F16_OUT: &str = "mma.m16n8k16.f16.f16.f16.f16";
const FP8: [&str; 2] = ["wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e5m2.e5m2"];
const FP8_F16: [&str; 2] = ["wgmma.m64n8k32.f16.e4m3.e4m3", "wgmma.m64n8k32.f16.e5m2.e5m2"];
const EMULATED: [&str; 2] = ["mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f32.e5m2.e5m2.f32"];
const EMULATED_F16: [&str; 2] = ["mma.m16n8k32.f16.e4m3.e4m3.f16", "mma.m16n8k32.f16.e5m2.e5m2.f16"];

#[test]
fn another_alignment_is_caught() {
    let edits = [
        Add("alignment.bits", -1),
        Add("alignment.bits", 1),
        Set("alignment.rounding", "'RNE'"),
        Set("alignment.rounding", "'RD'"),
        Set("alignment.rounding", "'RO'"),
    ];
    let all = [&[BF16, F16, TF32, F16_OUT], &FP8[..], &FP8_F16, &EMULATED, &EMULATED_F16].concat();
    all_caught(&all, &edits);
    let normalised = [Set("normalised", "true")];
    all_caught(&[&[BF16, F16, TF32, F16_OUT], &FP8[..], &FP8_F16].concat(), &normalised);
}

#[test]
fn another_floor_is_caught() {
    all_caught(&[BF16, TF32, F16_OUT], &[Add("alignment.floor", -1), Add("alignment.floor", 1)]);
}

#[test]
fn another_rounding_or_format_of_the_result_is_caught() {
    all_caught(&[BF16, F16, TF32], &[Set("result.rounding", "'RNE'"), Set("result.format", "'e8m13'")]);
    all_caught(&[F16_OUT], &[Set("result.rounding", "'RZ'"), Set("result.overflow", "'saturate'")]);
    all_caught(&[BF16, TF32], &[Set("result.overflow", "'saturate'")]);
    all_caught(&FP8, &[Set("result.format", "'f32'"), Set("result.rounding", "'RNE'")]);
    all_caught(&FP8_F16, &[Set("result.rounding", "'RZ'"), Set("result.overflow", "'saturate'")]);
    all_caught(&EMULATED, &[Set("addition.rounding", "'RZ'"), Set("result.rounding", "'RNE'")]);
}

#[test]
fn another_sign_of_zero_is_caught() {
    let all = [&[BF16, F16, TF32, F16_OUT], &FP8[..], &FP8_F16].concat();
    all_caught(&all, &[Set("zero", "'negative'"), Set("zero", "'ieee'")]);
}

#[test]
fn another_grouping_is_caught() {
    all_caught(
        &[BF16, F16, F16_OUT],
        &[Set("group", "8"), Set("group", "4"), Set("c", "'last'"), Set("join", "'add'")],
    );
    all_caught(&[TF32], &[Set("group", "4"), Set("c", "'last'")]);
    let fp8 = [&FP8[..], &FP8_F16].concat();
    all_caught(&fp8, &[Set("group", "16"), Set("c", "'last'")]);
    let emulated = [&EMULATED[..], &EMULATED_F16].concat();
    let order = [
        Set("group", "8"),
        Set("parts.residues", "[[2, 3], [0, 1]]"),
        Set("parts.residues", "[[0, 2], [1, 3]]"),
        Remove("parts"),
        Remove("c"),
        Set("join", "'add'"),
    ];
    all_caught(&emulated, &order);
}

#[test]
fn another_nan_is_caught() {
    all_caught(&[BF16, F16, TF32, FP8[0], FP8[1], EMULATED[0]], &[Set("nan", "'0x7fc00000'")]);
    all_caught(&[F16_OUT, FP8_F16[0], EMULATED_F16[1]], &[Set("nan", "'0x7e00'")]);
}

#[test]
fn other_arithmetics_of_doubles_and_integers_are_caught() {
    let doubles = ["mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k16.f64.f64.f64.f64"];
    let edits = [
        Set("result.rounding", "'RZ'"),
        Set("result.rounding", "'RNA'"),
        Set("result.rounding", "'RU'"),
        Set("c", "'last'"),
        Set("nan", "'0x7ff8000000000000'"),
        Set("nan-operands", "['a', 'b', 'c']"),
        Set("nan-operands", "['c', 'b', 'a']"),
        Set("nan-operands", "['b', 'a', 'c']"),
        Set("nan-operands", "['a', 'c', 'b']"),
        Set("nan-operands", "['c', 'a', 'b']"),
    ];
    all_caught(&doubles, &edits);
    all_caught(&["mma.m16n8k32.s32.s8.s8.s32", "mma.m16n8k32.s32.u8.u8.s32"], &[Set("wrap", "'saturate'")]);
    all_caught(&["mma.m16n8k32.s32.s8.u8.s32.satfinite"], &[Set("wrap", "'wrap'")]);
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
                        changed(&i, &Add("alignment.floor", (largest - floor).into()))
                    }
                });
                truth.dot(&case) != other.dot(&case)
            })
        });
        let tile = caught.unwrap_or_else(|| panic!("{name}: not caught"));
        println!("{name}: zero products take part: in tile {tile}");
    }
}
