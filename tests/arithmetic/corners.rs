//! What Hopper answers to its corners, derived by hand from the rules of a fused dot-product-add: exact unnormalised
//! products aligned to the largest exponent (never below a floor), cut to F bits below it, added, converted once.
//!
//! Exponents below are those of two. The leading terms of the families `width`, `tie`, `carry` and `group` are 2^0, or
//! 2^14 where operands or results end early.

use tcnum::{
    arithmetic::{Evaluator, Model},
    inputs::Corners,
    isa::{self, Case, Codes, Instruction},
};

/// The corners of an instruction and the model's answers.
struct Answers {
    instruction: Instruction,
    corners: Corners,
    d: Codes,
}

impl Answers {
    fn of(name: &str) -> Answers {
        Answers::by(&Model::load("hopper").unwrap(), name)
    }

    fn by(model: &Model, name: &str) -> Answers {
        let instruction = isa::find(name).unwrap();
        let corners = Corners::of(&instruction);
        let model: Evaluator = model.evaluator(&instruction).unwrap();
        let d = model.execute(&corners.tiles);
        Answers { instruction, corners, d }
    }

    fn get(&self, corner: &str) -> u64 {
        let position = self.corners.position(corner);
        let position = position.unwrap_or_else(|| panic!("{} has no corner {corner}", self.instruction));
        self.d.get(position.index(&self.instruction))
    }

    /// The corners whose names begin and end like this, with their answers; at least one.
    fn family(&self, begin: &str, end: &str) -> Vec<(&str, u64)> {
        let names = self.corners.names().filter(|name| name.starts_with(begin) && name.ends_with(end));
        let corners: Vec<_> = names.map(|name| (name, self.get(name))).collect();
        assert!(!corners.is_empty(), "{} has no corner {begin}...{end}", self.instruction);
        corners
    }

    fn check(&self, expected: &[(&str, u64)]) {
        for (corner, code) in expected {
            let answer = self.get(corner);
            assert_eq!(answer, *code, "{} {corner}: {answer:#x}, not {code:#x}", self.instruction);
        }
    }

    fn check_all(&self, begin: &str, end: &str, code: u64) {
        for (corner, answer) in self.family(begin, end) {
            assert_eq!(answer, code, "{} {corner}: {answer:#x}, not {code:#x}", self.instruction);
        }
    }
}

const F32_OUT: [&str; 4] = [
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k8.f32.tf32.tf32",
];
const F16_OUT: [&str; 2] = ["mma.m16n8k16.f16.f16.f16.f16", "wgmma.m64n8k16.f16.f16.f16"];

#[test]
fn alignment_keeps_25_bits_and_results_are_truncated_to_f32() {
    for name in F32_OUT {
        let answers = Answers::of(name);
        answers.check(&[
            // 1 - 1 + 2^-q: 2^-25 is the last bit kept. 2^-25 has the biased exponent 102.
            ("width/pair-25", 0x3300_0000),
            ("width/pair-26", 0),
            ("width/pair-minus-25", 0xb300_0000),
            // The magnitude is cut, and a zero sum is +0.
            ("width/pair-minus-26", 0),
            // 3/2 * 2^-25 is cut to 2^-25, 3/2 * 2^-26 to nothing.
            ("width/pair-three-halves-25", 0x3300_0000),
            ("width/pair-three-halves-26", 0),
            // 9/4 counts with exponent 0 although its leading bit is 2^1.
            ("width/nine-quarters-25", 0x3300_0000),
            ("width/nine-quarters-26", 0),
            // c is a term like the others: 1 - 1 with c = 1, and c = 2^-q.
            ("width/c-large-25", 0x3300_0000),
            ("width/c-large-26", 0),
            ("width/c-small-25", 0x3300_0000),
            ("width/c-small-26", 0),
            ("width/c-small-minus-26", 0),
            // Ties and all else are truncated: 1 + 2^-24 (+ 2^-25), 1 + 2^-23 + 2^-24 (- 2^-25).
            ("tie/even-24", 0x3f80_0000),
            ("tie/odd-24", 0x3f80_0001),
            ("tie/even-24-above-1", 0x3f80_0000),
            ("tie/odd-24-below-1", 0x3f80_0001),
            ("tie/minus-odd-24", 0xbf80_0001),
            // 1 + 1 + 2^-24 = 2; 2 - 2^-24 and 2 - 2^-25 are cut to 2 - 2^-23; 2^-26 is lost.
            ("carry/24", 0x4000_0000),
            ("carry/minus-24", 0x3fff_ffff),
            ("carry/minus-25", 0x3fff_ffff),
            ("carry/minus-26", 0x4000_0000),
        ]);
    }
    // 15 * 2^-25 = 3.75 * 2^-23 beside 1, 14 * 2^-25 = 1.75 * 2^-22 alone; 15 * 2^-26 are lost one by one.
    Answers::of("mma.m16n8k16.f32.bf16.bf16.f32").check(&[
        ("width/many-25", 0x3f80_0003),
        ("width/many-pair-25", 0x34e0_0000),
        ("width/many-26", 0x3f80_0000),
        ("width/many-pair-26", 0),
    ]);
}

#[test]
fn alignment_keeps_25_bits_and_results_are_rounded_to_f16() {
    for name in F16_OUT {
        Answers::of(name).check(&[
            // 2^14 - 2^14 + 2^(14-q): 2^-11 has the biased exponent 4.
            ("width/pair-25", 0x1000),
            ("width/pair-26", 0),
            // 2^14 = 0x7400 has units of 2^4: 2^14 + 2^3 is a tie, to even.
            ("tie/even-11", 0x7400),
            ("tie/odd-11", 0x7402),
            ("tie/even-11-above-1", 0x7401),
            // 2^(14-11-14) = 2^-11 is the last bit kept: it decides the tie, 2^-12 does not.
            ("tie/even-11-above-14", 0x7401),
            ("tie/even-11-above-15", 0x7400),
            ("tie/odd-11-below-14", 0x7401),
            ("tie/odd-11-below-15", 0x7402),
            ("tie/minus-even-11", 0xf400),
            ("tie/c-even-11-above-14", 0x7401),
            ("tie/c-even-11-above-15", 0x7400),
        ]);
    }
}

#[test]
fn the_floors_are_minus_133_and_minus_21() {
    for name in F32_OUT {
        Answers::of(name).check(&[
            // The last bit kept is 2^(-133-25): 2^-149 - 2^-158 is below 2^-149 and cut to +0, 2^-159 is lost.
            ("floor/-149-minus-158", 0),
            ("floor/-149-minus-159", 1),
            ("floor/-148-minus-158", 1),
            ("floor/-148-minus-159", 2),
            // A pair of 2^-143 does not reach the floor.
            ("floor/pair-149-minus-158", 0),
            ("floor/pair-149-minus-159", 1),
            // A subnormal c counts with exponent -126, above the floor: 2^(-126-25) is the last bit.
            ("floor/c-149-minus-151", 0),
            ("floor/c-149-minus-152", 1),
            ("floor/c-minus-149-plus-151", 0),
            ("floor/c-minus-149-plus-152", 0x8000_0001),
        ]);
    }
    for name in F16_OUT {
        Answers::of(name).check(&[
            // The last bit kept is 2^(-21-25): it decides the tie at half of the smallest number, 2^-47 does not.
            ("floor/-25-plus-46", 1),
            ("floor/-25-plus-47", 0),
            // A pair of 2^-18 lies above the floor: 2^(-18-25) is the last bit.
            ("floor/pair-25-plus-43", 1),
            ("floor/pair-25-plus-44", 0),
        ]);
    }
}

#[test]
fn what_underflows_to_zero_is_plus_zero() {
    for name in F32_OUT {
        Answers::of(name).check(&[
            ("underflow/minus-150", 0),
            ("underflow/minus-150-c-minus-0", 0),
            ("underflow/minus-149", 0x8000_0001),
            ("underflow/minus-three-quarters", 0),
            ("underflow/minus-half-after-c", 0),
            ("underflow/plus-150", 0),
            // 2^-126 - 2^-149.
            ("underflow/plus-largest-subnormal", 0x007f_ffff),
        ]);
    }
    for name in F16_OUT {
        Answers::of(name).check(&[
            // A tie between 0 and -2^-24; three quarters are nearer to -2^-24.
            ("underflow/minus-25", 0),
            ("underflow/minus-25-c-minus-0", 0),
            ("underflow/minus-26", 0),
            ("underflow/minus-three-quarters", 0x8001),
            ("underflow/minus-24", 0x8001),
            ("underflow/minus-largest-subnormal", 0x83ff),
        ]);
    }
}

#[test]
fn truncation_stops_at_the_largest_number_and_overflow_is_infinity() {
    for name in F32_OUT {
        let answers = Answers::of(name);
        answers.check(&[
            // The largest number is 2^128 - 2^104; 2^103 more is cut off, 2^104 more is 2^128.
            ("overflow/largest-alone", 0x7f7f_ffff),
            ("overflow/largest-outward-half-unit+0", 0x7f7f_ffff),
            ("overflow/largest-outward-half-unit+1", 0x7f80_0000),
            ("overflow/largest-inward-half-unit+0", 0x7f7f_fffe),
            ("overflow/minus-largest-outward-half-unit+1", 0xff80_0000),
            ("overflow/twice-2^127", 0x7f80_0000),
            ("overflow/minus-twice-2^127", 0xff80_0000),
            ("overflow/all-2^127", 0x7f00_0000),
            ("overflow/all-2^128", 0x7f80_0000),
            // Products of 2^254 are finite terms: 2^127 is far below what alignment keeps beside them.
            ("overflow/product-2^254", 0x7f80_0000),
            ("overflow/products-cancel-and-1", 0),
            ("overflow/products-cancel-and-largest", 0),
            ("overflow/products-cancel-and-c-largest", 0),
            ("overflow/products-2^152-cancel-and-2^127", 0x7f00_0000),
            ("overflow/products-2^153-cancel-and-2^127", 0),
        ]);
        // One group holds all k: 2^127 + 2^127 - 2^127 is finite wherever the third is.
        answers.check_all("overflow/back-at-", "", 0x7f00_0000);
        answers.check_all("overflow/minus-back-at-", "", 0xff00_0000);
        answers.check_all("overflow/products-cancel-at-", "", 0);
    }
    for name in F16_OUT {
        let answers = Answers::of(name);
        answers.check(&[
            // 65504 + 16 is a tie, to 65536 = infinity; 65504 - 16 one to 65472.
            ("overflow/largest-outward-half-unit-1", 0x7bff),
            ("overflow/largest-outward-half-unit+0", 0x7c00),
            ("overflow/largest-outward-less-than-half-unit", 0x7bff),
            ("overflow/largest-inward-half-unit+0", 0x7bfe),
            ("overflow/minus-largest-outward-half-unit+0", 0xfc00),
            ("overflow/twice-2^15", 0x7c00),
            ("overflow/all-2^15", 0x7800),
            ("overflow/all-2^16", 0x7c00),
        ]);
        answers.check_all("overflow/back-at-", "", 0x7800);
    }
}

#[test]
fn zero_products_neither_widen_the_alignment_nor_leave_a_sign() {
    for (names, smallest) in [(&F32_OUT[..], -149), (&F16_OUT[..], -24)] {
        for name in names {
            let answers = Answers::of(name);
            // The smallest number of D beside zero times the largest; as c it keeps its sign.
            answers.check(&[
                (&format!("zeros/0-times-largest-and-2^{smallest}"), 1),
                (&format!("zeros/largest-times-minus-0-and-2^{smallest}"), 1),
                (&format!("zeros/0-times-largest-and-c-2^{smallest}"), 1),
            ]);
            let minus = 1 << (answers.instruction.d.bits - 1) | 1;
            answers.check(&[(&format!("zeros/largest-times-minus-0-and-c-minus-2^{smallest}"), minus)]);
            for (begin, end) in [("zeros/0-times", "c-0"), ("zeros/0-times", "c-minus-0"), ("zeros/minus-0-times", "0")]
            {
                answers.check_all(begin, end, 0);
            }
            for family in ["zeros/1-cancelled", "zeros/minus-1-cancelled"] {
                answers.check_all(family, "", 0);
            }
        }
    }
}

#[test]
fn a_subnormal_operand_counts_with_the_smallest_normal_exponent() {
    for name in ["mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k16.f32.bf16.bf16"] {
        // 2^-133 * 2^127 = 2^-6 counts with -126 + 127 = 1: 2^-24 = 2^(-6-18) is the last bit kept.
        Answers::of(name).check(&[
            ("subnormal/a-18", 0x3c80_0020),
            ("subnormal/a-19", 0x3c80_0000),
            ("subnormal/b-18", 0x3c80_0020),
            ("subnormal/b-19", 0x3c80_0000),
            ("subnormal/a-pair-18", 0x3380_0000),
            ("subnormal/a-pair-19", 0),
        ]);
    }
    for name in F16_OUT {
        // 2^-24 * 2^15 counts with 1: 2^-24 is the last bit kept, and the tie with 2^-25 never arises.
        Answers::of(name).check(&[("subnormal/a-pair-tie", 1), ("subnormal/b-pair-tie", 1)]);
    }
    // 2^-9 * 2^8 = 2^-1 counts with -6 + 8 = 2: with F = 13 the last bit kept is 2^-11 = 2^(-1-10).
    Answers::of("wgmma.m64n8k32.f32.e4m3.e4m3").check(&[
        ("subnormal/a-10", 0x3f00_2000),
        ("subnormal/a-11", 0x3f00_0000),
        ("subnormal/b-pair-10", 0x3a00_0000),
        ("subnormal/b-pair-11", 0),
    ]);
    // Unpacked to f16, 2^-9 is normal: 2^-9 * 2^15 = 2^6 counts with 6, and 2^-19 is the last bit kept (F = 25).
    let mixed = Answers::of("mma.m16n8k32.f32.e4m3.e5m2.f32");
    mixed.check(&[("subnormal/a-pair-25", 0x3600_0000), ("subnormal/a-pair-26", 0)]);
}

#[test]
fn positions_of_one_group_are_alike() {
    for name in F32_OUT {
        let answers = Answers::of(name);
        // 2^-30 is lost beside a pair of 1 wherever the three are, and as c.
        for family in ["group/pair-first-small-at-", "group/pair-last-small-at-", "group/pair-to-"] {
            answers.check_all(family, "", 0);
        }
        // 1 + 2^-q - 1, with -1 or c at either end.
        answers.check_all("group/split-at-", "-24", 0x3380_0000);
        answers.check_all("group/split-at-", "-25", 0x3300_0000);
        // 1 - 1 + 2^-25 + 2^-9 + 2^-5, in every position.
        answers.check_all("group/rotated-by-", "", 0x3d08_0008);
    }
    for name in F16_OUT {
        let answers = Answers::of(name);
        answers.check_all("group/pair-first-small-at-", "", 0);
        // 2^14 + 2^(14-11) - 2^14 = 2^3: biased exponent 18.
        answers.check_all("group/split-at-", "-11", 0x4800);
    }
}

#[test]
fn fp8_wgmma_keeps_13_bits_in_one_group_of_32() {
    for name in ["wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e4m3.e4m3.rs"] {
        let answers = Answers::of(name);
        answers.check(&[
            // 2^14 - 2^14 + 2^(14-q).
            ("width/pair-13", 0x4000_0000),
            ("width/pair-14", 0),
            ("width/c-small-13", 0x4000_0000),
            ("width/c-small-14", 0),
            // The sum of 2^14 + 2^14 + 2^1 has 15 bits and is cut to 14; 2^15 - 2 has 14.
            ("carry/12", 0x4700_0400),
            ("carry/13", 0x4700_0000),
            ("carry/minus-13", 0x46ff_fc00),
            ("carry/minus-14", 0x4700_0000),
            // c alone is cut to 13 fraction bits.
            ("c/1-and-2^-13", 0x3f80_0400),
            ("c/1-and-2^-14", 0x3f80_0000),
        ]);
        for family in ["group/pair-first-small-at-", "group/pair-last-small-at-", "group/pair-to-"] {
            answers.check_all(family, "", 0);
        }
    }
    Answers::of("wgmma.m64n8k32.f16.e4m3.e4m3").check(&[("width/pair-13", 0x4000), ("width/pair-14", 0)]);
}

#[test]
fn emulated_fp8_sums_two_halves_and_then_adds_c_to_nearest() {
    let answers = Answers::of("mma.m16n8k32.f32.e4m3.e4m3.f32");
    for at in 2..32 {
        // 2^14 - 2^14 at 0 and 1, 2^-16 at `at`: lost in the first half, summed alone in the second.
        let expected = if at % 4 >= 2 { 0x3780_0000 } else { 0 };
        answers.check(&[(&format!("group/pair-first-small-at-{at}"), expected)]);
    }
    // At 30 and 31, in the second half, the pair swallows what the first half left.
    answers.check_all("group/pair-last-small-at-", "", 0);
    // c meets the pair when it has cancelled, wherever it is.
    answers.check_all("group/pair-to-", "-small-c", 0x3780_0000);
    answers.check(&[
        ("width/pair-25", 0x3a00_0000),
        ("width/pair-26", 0),
        // The halves are truncated, the last addition is rounded: c = 2^14 and 2^-10 (+ 2^-11).
        ("tie/even-24", 0x4680_0000),
        ("tie/odd-24", 0x4680_0001),
        ("tie/c-even-24", 0x4680_0000),
        ("tie/c-even-24-above-1", 0x4680_0001),
    ]);
}

#[test]
fn the_software_form_adds_c_to_a_chain_from_zero() {
    // -1 + 2^-24 is a number, -1 + 2^-25 a tie to -1; then c = 1 is added.
    Answers::of("mma.m8n8k4.f32.f16.f16.f32").check(&[
        ("width/c-large-24", 0x3380_0000),
        ("width/c-large-25", 0),
        ("tie/even-24", 0x3f80_0000),
        // One term after the other: 1 + 2^-24 is a tie to 1, then 2^-23 is added.
        ("tie/odd-24", 0x3f80_0001),
    ]);
}

#[test]
fn doubles_are_chains_of_fused_multiply_adds() {
    for shape in ["m8n8k4", "m16n8k16"] {
        // (1+u)^2 - 1 = 2^-51 + 2^-104 exactly, a tie to even: rounded up where the direction says so. As a product it is
        // rounded to 1 + 2u, or up to 1 + 3u, before 1 + 2u is taken away.
        for (suffix, with_c, products, cancelled) in [
            ("", 0x3cc0_0000_0000_0000, 0, 0),
            (".rz", 0x3cc0_0000_0000_0000, 0, 0),
            (".rm", 0x3cc0_0000_0000_0000, 0x8000_0000_0000_0000, 0x8000_0000_0000_0000),
            (".rp", 0x3cc0_0000_0000_0001, 0x3cb0_0000_0000_0000, 0),
        ] {
            Answers::of(&format!("mma.{shape}.f64.f64.f64.f64{suffix}")).check(&[
                ("cancel/(1+u)(1+u)-c", with_c),
                ("cancel/(1+u)(1+u)-(1+2u)", products),
                ("zeros/1-cancelled-c-0", cancelled),
            ]);
        }
    }
}

#[test]
fn infinities_and_nans_count_in_every_position() {
    for (name, infinity, nan) in [
        ("mma.m16n8k16.f32.bf16.bf16.f32", 0x7f80_0000, 0x7fff_ffff),
        ("mma.m16n8k8.f32.tf32.tf32.f32", 0x7f80_0000, 0x7fff_ffff),
        ("mma.m16n8k16.f16.f16.f16.f16", 0x7c00, 0x7fff),
        ("wgmma.m64n8k32.f32.e5m2.e5m2", 0x7f80_0000, 0x7fff_ffff),
        ("wgmma.m64n8k32.f16.e5m2.e5m2", 0x7c00, 0x7fff),
        ("mma.m16n8k32.f32.e5m2.e5m2.f32", 0x7f80_0000, 0x7fff_ffff),
        ("mma.m16n8k32.f16.e5m2.e5m2.f16", 0x7c00, 0x7fff),
    ] {
        let answers = Answers::of(name);
        let (k, minus) = (answers.instruction.k, infinity | 1 << (answers.instruction.d.bits - 1));
        for at in 0..k {
            answers.check(&[
                (&format!("non-finite/a{at}-infinity"), infinity),
                (&format!("non-finite/a{at}-infinity-times-minus-1"), minus),
                (&format!("non-finite/a{at}-infinity-times-0"), nan),
                (&format!("non-finite/a{at}-infinity-c-opposite-infinity"), nan),
                (&format!("non-finite/b{at}-minus-infinity"), minus),
                (&format!("non-finite/b{at}-minus-infinity-times-minus-1"), infinity),
                (&format!("non-finite/b{at}-minus-infinity-times-0"), nan),
                (&format!("non-finite/b{at}-minus-infinity-c-opposite-infinity"), nan),
                // Infinity times minus infinity is one term; in different positions they are two.
                (&format!("non-finite/a{at}-infinity-b{at}-minus-infinity"), minus),
            ]);
            for other in (0..8).filter(|&other| other != at) {
                answers.check(&[(&format!("non-finite/a{at}-infinity-b{other}-minus-infinity"), nan)]);
            }
            answers.check_all(&format!("non-finite/a{at}-nan"), "", nan);
            answers.check_all(&format!("non-finite/a{at}-minus-signalling-nan"), "", nan);
            answers.check_all(&format!("non-finite/b{at}-minus-signalling-nan"), "", nan);
        }
        for alone in ["", "-alone"] {
            answers.check(&[
                (&format!("non-finite/c-infinity{alone}"), infinity),
                (&format!("non-finite/c-minus-infinity{alone}"), minus),
                (&format!("non-finite/c-nan{alone}"), nan),
                (&format!("non-finite/c-minus-signalling-nan{alone}"), nan),
            ]);
        }
    }
    // e4m3 has one NaN of each sign, and no infinity.
    for (name, nan) in [("wgmma.m64n8k32.f32.e4m3.e4m3", 0x7fff_ffff), ("mma.m16n8k32.f16.e4m3.e4m3.f16", 0x7fff)] {
        let answers = Answers::of(name);
        for at in 0..32 {
            for operand in ["a", "b"] {
                answers.check_all(&format!("non-finite/{operand}{at}-nan"), "", nan);
                answers.check_all(&format!("non-finite/{operand}{at}-minus-nan"), "", nan);
            }
        }
    }
}

#[test]
fn c_alone_is_handed_on_except_the_sign_of_zero() {
    let f32_out = ["mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.tf32.tf32.f32", "mma.m16n8k32.f32.e4m3.e4m3.f32"];
    let f16_out = ["mma.m16n8k16.f16.f16.f16.f16", "wgmma.m64n8k32.f16.e4m3.e4m3"];
    let fp8 = ["wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e5m2.e5m2"];
    // The bits of c that survive: FP8 wgmma cuts ten of them, also of subnormal numbers.
    for (names, kept, sign) in
        [(&f32_out[..], u64::MAX, 1u64 << 31), (&f16_out[..], u64::MAX, 1 << 15), (&fp8[..], !0x3ff, 1 << 31)]
    {
        for name in names {
            let answers = Answers::of(name);
            let i = &answers.instruction;
            for (corner, answer) in answers.family("c/", "") {
                let at = answers.corners.position(corner).unwrap();
                let Case { c, .. } = answers.corners.tiles.case(i, at.tile, at.row, at.column);
                let expected = if c & kept & !sign == 0 { 0 } else { c & kept };
                assert_eq!(answer, expected, "{name} {corner}, c = {c:#x}");
            }
        }
    }
}

#[test]
fn the_low_13_bits_of_tf32_containers_are_nothing() {
    for name in ["mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n8k8.f32.tf32.tf32"] {
        let answers = Answers::of(name);
        for operand in ["a", "b"] {
            for bits in ["low-bit", "top-bit", "all-bits"] {
                let times = |base: &str, other: &str| format!("padding/{operand}-{base}-{bits}-times-{other}");
                answers.check(&[
                    // A container that is subnormal, or NaN, in the low bits alone is zero, or infinity.
                    (&times("0", "largest-power"), 0),
                    (&times("0", "infinity"), 0x7fff_ffff),
                    (&times("infinity", "1"), 0x7f80_0000),
                    (&times("minus-infinity", "1"), 0xff80_0000),
                    (&times("infinity", "0"), 0x7fff_ffff),
                    (&times("nan", "1"), 0x7fff_ffff),
                    (&times("1", "1"), 0x3f80_0000),
                    (&times("minus-largest", "1"), 0xff7f_e000),
                    // 2^-136 is 2^13 times the smallest f32.
                    (&times("smallest", "1"), 0x0000_2000),
                ]);
            }
        }
    }
}

#[test]
fn integers_wrap_or_saturate_at_both_ends() {
    for i in isa::all().iter().filter(|i| i.missing().is_none() && i.d.is_integer()) {
        let answers = Answers::of(&i.name);
        let (low, high) = (0x8000_0000, 0x7fff_ffff);
        let beyond = if i.has_qualifier("satfinite") { (low, high) } else { (high, low) };
        let places = ["highest", "lowest", "1", "minus-1", "alternating"];
        let mut reached = 0;
        for (a, b) in places.iter().flat_map(|a| places.map(|b| (a, b))) {
            let name = |end: &str| format!("integer/{a}-times-{b}-c-{end}");
            for (end, expected) in [
                ("highest-reached+0", high),
                ("highest-reached-1", high - 1),
                ("highest-reached+1", beyond.1),
                ("lowest-reached+0", low),
                ("lowest-reached+1", low + 1),
                ("lowest-reached-1", beyond.0),
            ] {
                if answers.corners.position(&name(end)).is_some() {
                    answers.check(&[(&name(end), expected)]);
                    reached += 1;
                }
            }
        }
        assert!(reached >= 27, "{i}: {reached}");
    }
}

/// The FP8 forms of CDNA 3, which have no -0 among their operands: only a zero times a negative number is -0.
const CDNA3_FP8: [&str; 4] = [
    "mfma.16x16x32.f32.e4m3fnuz.e4m3fnuz.f32",
    "mfma.16x16x32.f32.e4m3fnuz.e5m2fnuz.f32",
    "mfma.16x16x32.f32.e5m2fnuz.e4m3fnuz.f32",
    "mfma.32x32x16.f32.e5m2fnuz.e5m2fnuz.f32",
];

#[test]
fn a_corner_tells_the_sign_of_a_zero_result_of_the_fp8_forms_of_cdna_3() {
    let corner = "zeros/0-times-minus-1-c-minus-0";
    let text = include_str!("../../models/cdna3.toml");
    let changed = |sign: &str| {
        let changed = text.replace("\nlanes = {", &format!("\nzero = \"{sign}\"\nlanes = {{"));
        assert_ne!(changed, text);
        Model::parse(&changed, "changed").unwrap()
    };
    for name in CDNA3_FP8 {
        let answers = Answers::by(&Model::load("cdna3").unwrap(), name);
        // Every term is -0, and the result is +0.
        let at = answers.corners.position(corner).unwrap();
        let case = answers.corners.tiles.case(&answers.instruction, at.tile, at.row, at.column);
        let (a, b) = (answers.instruction.a, answers.instruction.b);
        assert!(case.a.iter().all(|code| a.to_f64(*code) == 0.0) && case.b.iter().all(|code| b.to_f64(*code) < 0.0));
        assert_eq!(case.c, 0x8000_0000);
        answers.check(&[(corner, 0), ("zeros/1-cancelled-c-0", 0), ("zeros/1-cancelled-c-minus-0", 0)]);
        for sign in ["ieee", "negative"] {
            Answers::by(&changed(sign), name).check(&[(corner, 0x8000_0000)]);
        }
    }
}

#[test]
fn an_overflowed_product_on_cdna_3_is_an_infinity_like_any_other() {
    let instruction = isa::find("mfma.32x32x8.f32.bf16.bf16.f32").unwrap();
    let model = Model::load("cdna3").unwrap().evaluator(&instruction).unwrap();
    let d = |terms: &[(u64, u64)], c: u64| {
        let mut case = Case::zeros(&instruction);
        for (k, (a, b)) in terms.iter().enumerate() {
            (case.a[k], case.b[k]) = (*a, *b);
        }
        Case { c, ..case }
    };
    let (huge, two, minus_two) = (0x7f00, 0x4000, 0xc000);
    let (infinity, minus_infinity, nan) = (0x7f80_0000, 0xff80_0000, 0xffc0_0000);
    for (terms, c, expected) in [
        (vec![(huge, two)], 0, infinity),
        (vec![(huge, minus_two)], 0, minus_infinity),
        (vec![(huge, two)], infinity, infinity),
        // The published programs give c here: models/cdna3.toml.
        (vec![(huge, two)], minus_infinity, nan),
        (vec![(huge, minus_two)], infinity, nan),
        (vec![(huge, two), (huge, minus_two)], 0, nan),
        // 0 * 2^127 does not cut off 2^-130; in the program of Xie et al. it does.
        (vec![(0, huge), (0x1f00, 0x1f00)], 0, 0x0008_0000),
    ] {
        let answer = model.dot(&d(&terms, c));
        assert_eq!(answer, expected, "{terms:x?} + {c:#x}: {answer:#x}, not {expected:#x}");
    }
}
