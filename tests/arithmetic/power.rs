//! The recorded inputs are sharp: an arithmetic that is wrong in one decision gives another answer to at least one named
//! corner, and every recording begins with the corners. Where a decision cannot be observed, the bound is stated.

use crate::{
    changed::{
        Changes::{self, Every, To},
        change, change_to_number, changed, hopper,
    },
    machine::amount,
};
use tcnum::{inputs::Corners, isa};
use tcnum_engine::rule::Change;

/// The corners of an instruction that the changed model answers otherwise.
fn caught(name: &str, change: &Change) -> Vec<String> {
    let i = isa::find(name).unwrap();
    let corners = Corners::of(&i);
    let truth = hopper().evaluator(&i).unwrap().execute(&corners.tiles);
    let other = changed(&i, change).execute(&corners.tiles);
    let differs = |index: usize| truth.get(index) != other.get(index);
    corners.list.iter().filter(|c| differs(c.position.index(&i))).map(|c| c.name.clone()).collect()
}

/// Every change is caught on every instruction, among others by a corner of one of the families that aim at it. Of the
/// instructions the first and every eighth one behind it is looked at, unless all is asked for.
fn all_caught(instructions: &[&str], changes: &[(Changes, &[&str])]) {
    for name in instructions.iter().step_by(amount(8, 1)) {
        let i = isa::find(name).unwrap();
        for (change, families) in
            changes.iter().flat_map(|(of, families)| of.of(&i).into_iter().map(move |c| (c, families)))
        {
            let corners = caught(name, &change);
            let aimed = corners.iter().any(|corner| families.iter().any(|family| corner.starts_with(family)));
            assert!(
                aimed,
                "{name}, {change:?}: none of {families:?} among the {} that differ: {corners:.200?}",
                corners.len()
            );
        }
    }
}

const F32_OUT: [&str; 6] = [
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k16.f32.f16.f16",
    "wgmma.m64n8k8.f32.tf32.tf32",
];
const F16_OUT: [&str; 2] = ["mma.m16n8k16.f16.f16.f16.f16", "wgmma.m64n8k16.f16.f16.f16"];
const FP8_F32: [&str; 4] = [
    "wgmma.m64n8k32.f32.e4m3.e4m3",
    "wgmma.m64n8k32.f32.e4m3.e5m2",
    "wgmma.m64n8k32.f32.e5m2.e4m3",
    "wgmma.m64n8k32.f32.e5m2.e5m2",
];
const FP8_F16: [&str; 4] = [
    "wgmma.m64n8k32.f16.e4m3.e4m3",
    "wgmma.m64n8k32.f16.e4m3.e5m2",
    "wgmma.m64n8k32.f16.e5m2.e4m3",
    "wgmma.m64n8k32.f16.e5m2.e5m2",
];
const EMULATED_F32: [&str; 4] = [
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "mma.m16n8k32.f32.e4m3.e5m2.f32",
    "mma.m16n8k32.f32.e5m2.e4m3.f32",
    "mma.m16n8k32.f32.e5m2.e5m2.f32",
];
const EMULATED_F16: [&str; 4] = [
    "mma.m16n8k32.f16.e4m3.e4m3.f16",
    "mma.m16n8k32.f16.e4m3.e5m2.f16",
    "mma.m16n8k32.f16.e5m2.e4m3.f16",
    "mma.m16n8k32.f16.e5m2.e5m2.f16",
];

#[test]
fn another_width_of_alignment_is_caught_everywhere() {
    let changes: [(Changes, &[&str]); 1] = [(Every("alignment.bits"), &["width/pair"])];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16, &EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &changes);
    }
}

#[test]
fn another_rounding_of_aligned_terms_is_caught_everywhere() {
    let changes: [(Changes, &[&str]); 2] =
        [(Every("alignment.rounding"), &["width/pair"]), (To("alignment.rounding", &["RD"]), &["width/pair-minus"])];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16, &EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &changes);
    }
}

#[test]
fn another_rounding_of_the_sum_is_caught_everywhere() {
    let to_nearest: [(Changes, &[&str]); 2] =
        [(Every("result.rounding"), &["tie/"]), (To("result.rounding", &["RD"]), &["tie/minus"])];
    let truncated: [(Changes, &[&str]); 2] =
        [(Every("result.rounding"), &["tie/"]), (To("result.rounding", &["RNA"]), &["tie/even"])];
    for instructions in [&F32_OUT[..], &FP8_F32, &EMULATED_F32] {
        all_caught(instructions, &to_nearest);
    }
    for instructions in [&F16_OUT[..], &FP8_F16, &EMULATED_F16] {
        all_caught(instructions, &truncated);
    }
}

#[test]
fn another_accumulator_is_caught() {
    all_caught(&FP8_F32, &[(To("result.format", &["f32"]), &["c/", "tie/"])]);
    for instructions in [&F32_OUT[..], &EMULATED_F32] {
        all_caught(instructions, &[(To("result.format", &["e8m13"]), &["c/", "tie/", "width/"])]);
    }
}

#[test]
fn another_group_is_caught() {
    let split: &[&str] = &["group/"];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16] {
        all_caught(instructions, &[(Every("group"), split)]);
    }
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &[(Every("group"), split), (To("join", &["add"]), split)]);
    }
}

#[test]
fn c_at_the_end_or_at_the_start_is_caught() {
    let last = [(To("c", &["last"]), &["width/c-", "group/pair-to"][..])];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16] {
        all_caught(instructions, &last);
    }
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &[(To("c", &["first"]), &["width/c-", "group/pair-to"])]);
    }
}

#[test]
fn another_order_of_the_emulated_halves_is_caught() {
    let changes: [(Changes, &[&str]); 3] = [
        (To("parts", &["{ period = 4, residues = [[2, 3], [0, 1]] }"]), &["group/"]),
        (Every("parts"), &["group/", "width/"]),
        (Every("addition.rounding"), &["tie/", "width/"]),
    ];
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &changes);
    }
}

#[test]
fn another_nan_and_another_overflow_are_caught_everywhere() {
    for instructions in [&F32_OUT[..], &FP8_F32, &EMULATED_F32] {
        all_caught(instructions, &[(Every("nan"), &["non-finite/"])]);
    }
    for instructions in [&F16_OUT[..], &FP8_F16, &EMULATED_F16] {
        all_caught(instructions, &[(Every("nan"), &["non-finite/"])]);
        let truncate_to_largest = (To("result.overflow", &["saturate"]), &["overflow/", "non-finite/"][..]);
        all_caught(instructions, &[truncate_to_largest]);
    }
    // Where products reach the end of the range, truncation gives infinity all the same.
    let wide = ["mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n8k16.f32.bf16.bf16"];
    all_caught(&wide, &[(To("result.overflow", &["standard"]), &["overflow/"])]);
}

/// The exponent of a product counts a subnormal operand as the smallest normal number; `unpack` to a wider format first makes
/// it a normal one.
#[test]
fn normalised_subnormal_operands_are_caught() {
    let normalised = [(To("unpack", &["f64"]), &["subnormal/"][..])];
    all_caught(&F32_OUT, &normalised);
    all_caught(&F16_OUT, &normalised);
    all_caught(&FP8_F32, &normalised);
    all_caught(&FP8_F16, &normalised);
    // Emulated, e4m3 operands become normal f16 numbers: seen where the other operand has a wide range.
    for name in ["mma.m16n8k32.f32.e4m3.e5m2.f32", "mma.m16n8k32.f32.e5m2.e4m3.f32"] {
        all_caught(&[name], &[(To("unpack", &["absent"]), &["subnormal/"])]);
    }
}

#[test]
fn the_floor_of_the_alignment_is_caught_where_the_operands_reach_it() {
    let changes: [(Changes, &[&str]); 1] = [(Every("alignment.floor"), &["floor/"])];
    for name in F32_OUT.iter().filter(|name| !name.contains(".f16.")).chain(&F16_OUT) {
        all_caught(&[name], &changes);
    }
}

/// Where products are too large, or c is added apart, a floor shows only from a bound on: with the floor `unseen` and all
/// below it every result is the same, with the next it is not.
///
/// The bounds: the last bit that alignment keeps at the floor, 2^(floor - F), must not exceed the smallest bit that terms at
/// the floor have and the result shows. That is
/// - f16 into f32: c = 2^-149 with F = 25: floor - 25 <= -149;
/// - FP8 wgmma into f32: c counts with -126 at least, so that any floor up to there is none;
/// - FP8 wgmma into f16: c = 2^-24 with F = 13 for e4m3, and the product 2^-32 (a tie is decided by it) for e5m2;
///   one of each has 2^-25, half of the smallest result;
/// - emulated FP8, F = 25: the smallest products, 2^-18, 2^-25 and 2^-32.
#[test]
fn a_floor_that_cannot_be_reached_has_a_bound() {
    for (name, unseen) in [
        ("mma.m16n8k16.f32.f16.f16.f32", -124),
        ("wgmma.m64n8k16.f32.f16.f16", -124),
        ("wgmma.m64n8k32.f32.e4m3.e4m3", -126),
        ("wgmma.m64n8k32.f32.e5m2.e5m2", -126),
        ("wgmma.m64n8k32.f16.e4m3.e4m3", -11),
        ("wgmma.m64n8k32.f16.e4m3.e5m2", -12),
        ("wgmma.m64n8k32.f16.e5m2.e5m2", -19),
        ("mma.m16n8k32.f32.e4m3.e4m3.f32", 7),
        ("mma.m16n8k32.f32.e4m3.e5m2.f32", 0),
        ("mma.m16n8k32.f32.e5m2.e5m2.f32", -7),
        ("mma.m16n8k32.f16.e4m3.e4m3.f16", 7),
        ("mma.m16n8k32.f16.e4m3.e5m2.f16", 0),
        ("mma.m16n8k32.f16.e5m2.e5m2.f16", -7),
    ] {
        let floor = |floor: i64| caught(name, &change_to_number(&isa::find(name).unwrap(), "alignment.floor", floor));
        assert_eq!(floor(unseen), [""; 0], "{name}: a floor of {unseen} shows");
        assert!(!floor(unseen + 1).is_empty(), "{name}: a floor of {} does not show", unseen + 1);
    }
}

#[test]
fn the_software_forms_have_their_order() {
    let f32_out = ["mma.m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.f32.f16.f16.f16"];
    let changes: [(Changes, &[&str]); 2] = [(To("c", &["first"]), &[""]), (Every("result.rounding"), &["tie/"])];
    all_caught(&f32_out, &changes);
    // The sum starts from +0: a first product of -0 is not handed on to c = -0.
    all_caught(&f32_out, &[(To("start", &["product"]), &["zeros/"])]);
    // In a chain c would enter nowhere: there is no such rule.
    let changes: [(Changes, &[&str]); 4] = [
        (Every("group"), &[""]),
        (To("c", &["last"]), &[""]),
        (To("result.rounding", &["RZ"]), &["tie/"]),
        (Every("nan"), &["non-finite/"]),
    ];
    all_caught(&["mma.m8n8k4.f16.f16.f16.f16"], &changes);
}

#[test]
fn another_rounding_or_nan_of_doubles_is_caught() {
    let shapes = ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"];
    let forms = shapes.iter().flat_map(|shape| ["", ".rz", ".rm", ".rp"].map(|suffix| (shape, suffix)));
    for (shape, suffix) in forms.step_by(amount(6, 1)) {
        let changes: [(Changes, &[&str]); 4] = [
            (Every("result.rounding"), &["tie/"]),
            (Every("nan-operands"), &["non-finite/"]),
            (Every("nan"), &["non-finite/"]),
            (To("c", &["last"]), &[""]),
        ];
        all_caught(&[&format!("mma.{shape}.f64.f64.f64.f64{suffix}")], &changes);
    }
}

#[test]
fn wrapping_for_saturation_and_the_reverse_are_caught_on_every_integer_form() {
    let integers = isa::all().iter().filter(|i| i.missing().is_none() && i.d.is_integer());
    for i in integers.step_by(amount(6, 1)) {
        let other = if i.has_qualifier("satfinite") { "wrap" } else { "saturate" };
        let corners = caught(&i.name, &change(i, "wrap", other));
        let has = |part: &str| corners.iter().any(|name| name.contains(part));
        assert!(has("highest-reached+1"), "{i}: {corners:?}");
        // Sums of unsigned products leave c's range at its upper end only.
        let signed = [i.a, i.b].iter().any(|format| format.decode(format.code_mask()).negative);
        assert_eq!(has("lowest-reached-1"), signed, "{i}: {corners:?}");
    }
}
