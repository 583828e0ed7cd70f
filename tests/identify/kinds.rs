//! Instructions of every kind: single terms, sparse and scaled operands, bits, integers of any width, flushing, instructions of the
//! user's.

use std::time::Duration;

use tcnum::{
    arithmetic::Model,
    isa::{self, Case, Instruction},
};
use tcnum_study::identify::{Plan, WORK, identify};

use crate::{
    arithmetics::Arithmetic,
    black_box::{BlackBox, held_out},
    machine::{amount, thorough},
    shipped::listed,
};

/// Instructions of the user's, and how they compute.
const OF_USER: [(&str, &str); 5] = [
    (
        r#"{ name = "own.m4n4k8.f32.e4m3.e4m3.f32", m = 4, n = 4, k = 8, a = "e4m3", b = "e4m3", c = "f32", d = "f32" }"#,
        r#"step = "fused"
        group = 4
        alignment = { bits = 13, rounding = "RZ" }
        result = { format = "f32", rounding = "RZ", overflow = "infinity" }
        nan = "0x7fffffff""#,
    ),
    (
        r#"{ name = "own.m2n2k8.s16.s8.s8.s16", m = 2, n = 2, k = 8, a = "s8", b = "s8", c = "s16", d = "s16" }"#,
        r#"step = "integer"
        wrap = "wrap""#,
    ),
    (
        r#"{ name = "own.m2n2k8.s16.s8.s8.s16.sat", m = 2, n = 2, k = 8, a = "s8", b = "s8", c = "s16", d = "s16", saturate = true }"#,
        r#"step = "integer"
        wrap = "saturate""#,
    ),
    (
        r#"{ name = "own.m1n1k1.f16.f16.f16.f16", m = 1, n = 1, k = 1, a = "f16", b = "f16", c = "f16", d = "f16" }"#,
        r#"step = "fma"
        result = { format = "f16", rounding = "RNE" }
        operand-subnormals = "signed-zero"
        result-subnormals = "signed-zero"
        nan = "0x7e00""#,
    ),
    (
        r#"{ name = "own.m1n16k4.f32.bf16.bf16.f32", m = 1, n = 16, k = 4, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
        r#"step = "fma"
        operand-subnormals = "signed-zero"
        result = { format = "f32", rounding = "RNE" }
        result-subnormals = "signed-zero"
        nan = "0xffc00000""#,
    ),
];

/// An instruction of the user's, from then on found by its name.
pub(crate) fn described(description: &str) -> &'static Instruction {
    let description: toml::Table = format!("own = {description}").parse().unwrap();
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), description["own"].as_table().unwrap().to_string()).unwrap();
    Box::leak(Box::new(isa::resolve(file.path().to_str().unwrap()).unwrap()))
}

/// The arithmetic of such an instruction.
fn arithmetic_of(description: &str, rule: &str) -> Arithmetic {
    let instruction = described(description);
    let text = format!(
        "name = \"own\"\ntitle = \"own\"\nversion = 1\n\n[[rule]]\ninstructions = [\"{}\"]\nevidence = [{{ assumed = \"a test\" }}]\n{rule}\n",
        instruction.name
    );
    Arithmetic { instruction, text }
}

/// Shipped rules of every kind that the search reaches from nothing in little time.
const SHIPPED: [(&str, &str); 7] = [
    ("hopper", "mma.sp.m16n8k32.f32.f16.f16.f32"),
    ("hopper", "mma.m16n8k4.f32.tf32.tf32.f32"),
    ("hopper", "mma.m8n8k128.s32.b1.b1.s32.xor.popc"),
    ("hopper", "mma.m16n8k4.f64.f64.f64.f64.rm"),
    ("x86", "vpdpwssds.m1n16k2.s32.s16.s16.s32"),
    ("arm", "smmla.m2n2k8.s32.s8.s8.s32"),
    ("cdna3", "mfma.32x32x8.f32.f16.f16.f32"),
];

#[test]
fn instructions_of_every_kind_are_identified_from_nothing() {
    let shipped = SHIPPED.iter().map(|(name, instruction)| (listed(instruction), Model::load(name).unwrap()));
    // Those that take longer.
    let slow = |i: &&'static Instruction| i.name.starts_with("mfma") || i.name.starts_with("mma.sp") || i.k == 8;
    let of_user = OF_USER.map(|(description, rule)| {
        let arithmetic = arithmetic_of(description, rule);
        let model = Model::parse(&arithmetic.text, "own.toml").unwrap();
        let zero = Case::zeros(arithmetic.instruction);
        assert_eq!(arithmetic.evaluator().dot(&zero), 0, "{arithmetic:?}");
        (arithmetic.instruction, model)
    });
    for (i, model) in shipped.chain(of_user).filter(|(i, _)| thorough() || !slow(i)).step_by(amount(3, 1)) {
        for catalogue in [false, true].into_iter().take(amount(1, 2)) {
            let plan = Plan {
                seed: 1,
                budget: 20_000,
                time: Duration::MAX,
                catalogue,
                found_rules: Vec::new(),
                withheld: Vec::new(),
                work: WORK,
            };
            let identification = identify(&mut BlackBox::new(&model), i, plan).unwrap();
            let what = format!("{i}, catalogue {catalogue}:\n{}", identification.text());
            assert_eq!((identification.misses, held_out(&identification, &model, i, 10_000)), (0, 0), "{what}");
            assert_eq!((identification.failure, identification.spent), (None, false), "{what}");
        }
    }
}
