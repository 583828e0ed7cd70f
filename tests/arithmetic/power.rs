//! The recorded inputs are sharp: an arithmetic that is wrong in one decision gives another answer to at least one named
//! corner, and every recording begins with the corners. Where a decision cannot be observed, the bound is stated.

use crate::mutants::{
    Edit::{self, Add, Remove, Set},
    changed, hopper,
};
use tcnum::{inputs::Corners, isa};

/// The corners of an instruction that the changed model answers otherwise.
fn caught(name: &str, edit: &Edit) -> Vec<String> {
    let i = isa::find(name).unwrap();
    let corners = Corners::of(&i);
    let truth = hopper().evaluator(&i).unwrap().execute(&corners.tiles);
    let other = changed(&i, edit).execute(&corners.tiles);
    let differs = |index: usize| truth.get(index) != other.get(index);
    corners.list.iter().filter(|c| differs(c.position.index(&i))).map(|c| c.name.clone()).collect()
}

/// Every edit is caught on every instruction, among others by a corner of one of the families that aim at it.
fn all_caught(instructions: &[&str], edits: &[(Edit, &[&str])]) {
    for name in instructions {
        for (edit, families) in edits {
            let found = caught(name, edit);
            let aimed = found.iter().any(|corner| families.iter().any(|family| corner.starts_with(family)));
            assert!(
                aimed,
                "{name}, {edit:?}: none of {families:?} among the {} that differ: {found:.200?}",
                found.len()
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
    let edits: [(Edit, &[&str]); 2] =
        [(Add("alignment.bits", -1), &["width/pair"]), (Add("alignment.bits", 1), &["width/pair"])];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16, &EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &edits);
    }
}

#[test]
fn another_rounding_of_aligned_terms_is_caught_everywhere() {
    let edits: [(Edit, &[&str]); 3] = [
        (Set("alignment.rounding", "'RNE'"), &["width/pair-three-halves", "width/pair"]),
        (Set("alignment.rounding", "'RD'"), &["width/pair-minus"]),
        (Set("alignment.rounding", "'RU'"), &["width/pair"]),
    ];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16, &EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &edits);
    }
}

#[test]
fn another_rounding_of_the_sum_is_caught_everywhere() {
    let to_nearest: [(Edit, &[&str]); 2] =
        [(Set("result.rounding", "'RNE'"), &["tie/"]), (Set("result.rounding", "'RD'"), &["tie/minus"])];
    let truncated: [(Edit, &[&str]); 2] =
        [(Set("result.rounding", "'RZ'"), &["tie/"]), (Set("result.rounding", "'RNA'"), &["tie/even"])];
    for instructions in [&F32_OUT[..], &FP8_F32, &EMULATED_F32] {
        all_caught(instructions, &to_nearest);
    }
    for instructions in [&F16_OUT[..], &FP8_F16, &EMULATED_F16] {
        all_caught(instructions, &truncated);
    }
}

#[test]
fn another_accumulator_is_caught() {
    all_caught(&FP8_F32, &[(Set("result.format", "'f32'"), &["c/", "tie/"])]);
    for instructions in [&F32_OUT[..], &EMULATED_F32] {
        all_caught(instructions, &[(Set("result.format", "'e8m13'"), &["c/", "tie/", "width/"])]);
    }
}

#[test]
fn another_group_is_caught() {
    let split: &[&str] = &["group/"];
    all_caught(&F32_OUT[..2], &[(Set("group", "8"), split), (Set("group", "4"), split)]);
    all_caught(&F16_OUT, &[(Set("group", "8"), split), (Set("group", "4"), split)]);
    all_caught(&["mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n8k8.f32.tf32.tf32"], &[(Set("group", "4"), split)]);
    for instructions in [&FP8_F32, &FP8_F16] {
        all_caught(instructions, &[(Set("group", "16"), split), (Set("group", "8"), split)]);
    }
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &[(Set("group", "8"), split), (Set("join", "'add'"), split)]);
    }
}

#[test]
fn c_at_the_end_or_at_the_start_is_caught() {
    let last = [(Set("c", "'last'"), &["width/c-", "group/pair-to"][..])];
    for instructions in [&F32_OUT[..], &F16_OUT, &FP8_F32, &FP8_F16] {
        all_caught(instructions, &last);
    }
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &[(Remove("c"), &["width/c-", "group/pair-to"])]);
    }
}

#[test]
fn another_order_of_the_emulated_halves_is_caught() {
    let edits: [(Edit, &[&str]); 3] = [
        (Set("parts.residues", "[[2, 3], [0, 1]]"), &["group/"]),
        (Set("parts.residues", "[[0, 2], [1, 3]]"), &["group/", "width/"]),
        (Remove("parts"), &["group/", "width/"]),
    ];
    for instructions in [&EMULATED_F32, &EMULATED_F16] {
        all_caught(instructions, &edits);
    }
    all_caught(&EMULATED_F32, &[(Set("addition.rounding", "'RZ'"), &["tie/", "width/"])]);
    all_caught(&EMULATED_F16, &[(Set("addition.rounding", "'RZ'"), &["tie/", "width/"])]);
}

#[test]
fn another_nan_and_another_overflow_are_caught_everywhere() {
    for instructions in [&F32_OUT[..], &FP8_F32, &EMULATED_F32] {
        all_caught(instructions, &[(Set("nan", "'0x7fc00000'"), &["non-finite/"])]);
    }
    for instructions in [&F16_OUT[..], &FP8_F16, &EMULATED_F16] {
        all_caught(instructions, &[(Set("nan", "'0x7e00'"), &["non-finite/"])]);
        let truncate_to_largest = (Set("result.overflow", "'saturate'"), &["overflow/", "non-finite/"][..]);
        all_caught(instructions, &[truncate_to_largest]);
    }
    // Where products reach the end of the range, truncation gives infinity all the same.
    let wide = ["mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n8k16.f32.bf16.bf16"];
    all_caught(&wide, &[(Set("result.overflow", "'standard'"), &["overflow/"])]);
}

/// The exponent of a product counts a subnormal operand as the smallest normal number; `unpack` to a wider format first makes
/// it a normal one.
#[test]
fn normalised_subnormal_operands_are_caught() {
    let normalised = [(Set("unpack", "'f64'"), &["subnormal/"][..])];
    all_caught(&F32_OUT, &normalised);
    all_caught(&F16_OUT, &normalised);
    all_caught(&FP8_F32, &normalised);
    all_caught(&FP8_F16, &normalised);
    // Emulated, e4m3 operands become normal f16 numbers: seen where the other operand has a wide range.
    for name in ["mma.m16n8k32.f32.e4m3.e5m2.f32", "mma.m16n8k32.f32.e5m2.e4m3.f32"] {
        all_caught(&[name], &[(Remove("unpack"), &["subnormal/"])]);
    }
}

#[test]
fn the_floor_of_the_alignment_is_caught_where_the_operands_reach_it() {
    let edits: [(Edit, &[&str]); 2] =
        [(Add("alignment.floor", -1), &["floor/"]), (Add("alignment.floor", 1), &["floor/"])];
    for name in F32_OUT.iter().filter(|name| !name.contains(".f16.")).chain(&F16_OUT) {
        all_caught(&[name], &edits);
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
        let floor = |floor: i64| {
            let i = isa::find(name).unwrap();
            let rule = hopper().rule(&i).unwrap().alignment.unwrap();
            caught(name, &Add("alignment.floor", floor - i64::from(rule.floor.expect("the rule has a floor"))))
        };
        assert_eq!(floor(unseen), [""; 0], "{name}: a floor of {unseen} shows");
        assert!(!floor(unseen + 1).is_empty(), "{name}: a floor of {} does not show", unseen + 1);
    }
}

#[test]
fn the_software_forms_have_their_order() {
    let f32_out = ["mma.m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.f32.f16.f16.f16"];
    let edits: [(Edit, &[&str]); 2] = [(Remove("c"), &[""]), (Set("result.rounding", "'RZ'"), &["tie/"])];
    all_caught(&f32_out, &edits);
    // The sum starts from +0: a first product of -0 is not handed on to c = -0.
    all_caught(&f32_out, &[(Set("start", "'product'"), &["zeros/"])]);
    let edits: [(Edit, &[&str]); 5] = [
        (Remove("join"), &[""]),
        (Remove("group"), &[""]),
        (Set("c", "'last'"), &[""]),
        (Set("result.rounding", "'RZ'"), &["tie/"]),
        (Set("nan", "'0x7e00'"), &["non-finite/"]),
    ];
    all_caught(&["mma.m8n8k4.f16.f16.f16.f16"], &edits);
}

#[test]
fn another_rounding_or_nan_of_doubles_is_caught() {
    for shape in ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"] {
        for (suffix, roundings) in [
            ("", ["'RZ'", "'RNA'", "'RD'"]),
            (".rz", ["'RNE'", "'RD'", "'RU'"]),
            (".rm", ["'RNE'", "'RZ'", "'RU'"]),
            (".rp", ["'RNE'", "'RZ'", "'RD'"]),
        ] {
            let name = format!("mma.{shape}.f64.f64.f64.f64{suffix}");
            for rounding in roundings {
                all_caught(&[&name], &[(Set("result.rounding", rounding), &["tie/"])]);
            }
            for order in ["['a', 'b', 'c']", "['b', 'a', 'c']", "['c', 'b', 'a']", "['a', 'c', 'b']", "['c', 'a', 'b']"]
            {
                all_caught(&[&name], &[(Set("nan-operands", order), &["non-finite/"])]);
            }
            let edits: [(Edit, &[&str]); 3] = [
                (Set("nan", "'0x7ff8000000000000'"), &["non-finite/"]),
                (Remove("nan-operands"), &["non-finite/"]),
                (Set("c", "'last'"), &[""]),
            ];
            all_caught(&[&name], &edits);
        }
    }
}

#[test]
fn wrapping_for_saturation_and_the_reverse_are_caught_on_every_integer_form() {
    for i in isa::all().iter().filter(|i| i.missing().is_none() && i.d.is_integer()) {
        let other = if i.has_qualifier("satfinite") { "'wrap'" } else { "'saturate'" };
        let found = caught(&i.name, &Set("wrap", other));
        let has = |part: &str| found.iter().any(|name| name.contains(part));
        assert!(has("highest-reached+1"), "{i}: {found:?}");
        // Sums of unsigned products leave c's range at its upper end only.
        let signed = [i.a, i.b].iter().any(|format| format.decode(format.code_mask()).negative);
        assert_eq!(has("lowest-reached-1"), signed, "{i}: {found:?}");
    }
}
