//! Model files without trust: whatever is accepted evaluates, and whatever is not is refused with file, rule and key.

use proptest::{prelude::*, sample::select};
use tcnum::{arithmetic::Model, inputs::Corners, isa};
use toml::{Table, Value};

const MODEL: &str = include_str!("../models/hopper.toml");

/// One instruction for each kind of rule.
const INSTRUCTIONS: [&str; 9] = [
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k32.f32.e4m3.e5m2",
    "mma.m16n8k32.f16.e5m2.e4m3.f16",
    "mma.m8n8k4.f16.f16.f16.f16",
    "mma.m16n8k8.f64.f64.f64.f64",
    "mma.m16n8k32.s32.s8.u8.s32",
    "mma.m16n8k32.s32.s8.u8.s32.satfinite",
];

/// Keys and values, most of them allowed somewhere.
const EDITS: &[(&str, &[&str])] = &[
    ("step", &["'fused'", "'exact'", "'fma'", "'sequential'", "'pairwise'", "'integer'"]),
    ("unpack-c", &["'f32'", "'f64'", "'e4m3'", "'s32'"]),
    ("operand-subnormals", &["'keep'", "'signed-zero'", "'positive-zero'"]),
    ("result-subnormals", &["'keep'", "'signed-zero'", "'positive-zero'"]),
    ("product", &TARGETS),
    ("product-limit", &["-2147483648", "-100", "0", "128", "100000", "100001"]),
    ("normalised", &["true", "false"]),
    (
        "lanes",
        &[
            "{ period = 0, bits = 24, rounding = 'RD' }",
            "{ period = 2, bits = 24, rounding = 'RD' }",
            "{ period = 9223372036854775807, bits = 60, rounding = 'RO' }",
            "{ period = 3, bits = 61, rounding = 'RU' }",
        ],
    ),
    (
        "late",
        &[
            "{ sum-bits = 31, c-bits = 24, rounding = 'RD', drop = 25, floor = -126 }",
            "{ sum-bits = 60, c-bits = 60, rounding = 'RU', drop = -100000, floor = 100000 }",
            "{ sum-bits = 0, c-bits = 0, rounding = 'RNA' }",
            "{ sum-bits = 61, c-bits = 0, rounding = 'RZ' }",
            "{ sum-bits = 0, c-bits = 0, rounding = 'RZ', floor = 2147483647 }",
        ],
    ),
    ("scale-sums", &["0", "1", "16", "9223372036854775807"]),
    ("zero", &["'positive'", "'negative'", "'ieee'"]),
    ("between", &TARGETS),
    ("output", &["{ rounding = 'RZ' }", "{ rounding = 'RU', overflow = 'saturate' }"]),
    ("unpack", &["'f16'", "'f32'", "'f64'", "'e2m1'", "'e8m0'", "'s32'", "'u4'", "'ue4m3'", "'e4m3fnuz'"]),
    ("group", &["0", "1", "3", "1000", "9223372036854775807", "-1"]),
    (
        "parts",
        &[
            "{ period = 0, residues = [] }",
            "{ period = 0, residues = [[]] }",
            "{ period = 1, residues = [[0]] }",
            "{ period = 3, residues = [[2], [], [0, 1]] }",
            "{ period = 3, residues = [[2], [0, 2]] }",
            "{ period = 9223372036854775807, residues = [[0]] }",
        ],
    ),
    ("start", &["'c'", "'product'"]),
    ("join", &["'chain'", "'add'"]),
    ("c", &["'first'", "'last'"]),
    (
        "alignment",
        &[
            "{ bits = 60, rounding = 'RU', floor = -2147483648 }",
            "{ bits = 60, rounding = 'RNA', floor = 2147483647 }",
            "{ bits = 60, rounding = 'RO', floor = -100000 }",
            "{ bits = 0, rounding = 'RD', floor = 100000 }",
            "{ bits = 61, rounding = 'RZ', floor = 0 }",
            "{ bits = -1, rounding = 'RZ', floor = 0 }",
            "{ bits = 60, rounding = 'RNE', floor = -5000 }",
        ],
    ),
    ("result", &TARGETS),
    ("addition", &TARGETS),
    ("wrap", &["'wrap'", "'saturate'"]),
    ("nan-operands", &["[]", "['a']", "['c', 'c', 'b']"]),
    ("nan", &["'0x7fffffff'", "'0x7fff'", "'0xfff8000000000000'", "'0x0'", "'0x17fff'", "'0xffffffffffffffff'"]),
];

const TARGETS: [&str; 12] = [
    "{ format = 'f64', rounding = 'RNE' }",
    "{ format = 'f32', rounding = 'RU', overflow = 'nan' }",
    "{ format = 'f16', rounding = 'RD', overflow = 'saturate' }",
    "{ format = 'e4m3', rounding = 'RO', overflow = 'infinity' }",
    "{ format = 'e4m3fnuz', rounding = 'RNA' }",
    "{ format = 'e5m2', rounding = 'RZ', overflow = 'nan' }",
    "{ format = 'e8m13', rounding = 'RZ' }",
    "{ format = 'e2m1', rounding = 'RNE', overflow = 'nan' }",
    "{ format = 'e8m0', rounding = 'RNE' }",
    "{ format = 'ue4m3', rounding = 'RNE' }",
    "{ format = 's32', rounding = 'RNE' }",
    "{ format = 'u4', rounding = 'RNE', overflow = 'infinity' }",
];

/// The model with these edits made to the rule of `instruction`; an edit without a value removes the key.
fn edited(instruction: &isa::Instruction, edits: &[(&str, Option<&str>)]) -> String {
    let shipped = Model::parse(MODEL, "hopper").unwrap();
    let rule = shipped.rule(instruction).unwrap();
    let index = shipped.rules.iter().position(|other| other.instructions == rule.instructions).unwrap();
    let mut model: Table = MODEL.parse().unwrap();
    let rule = model["rule"][index].as_table_mut().unwrap();
    for (key, value) in edits {
        match value {
            Some(text) => {
                let value: Value = format!("value = {text}").parse::<Table>().unwrap()["value"].clone();
                rule.insert((*key).into(), value);
            }
            None => {
                rule.remove(*key);
            }
        }
    }
    model.to_string()
}

fn edit() -> impl Strategy<Value = (&'static str, Option<&'static str>)> {
    let of_key = |(key, values): (&'static str, &'static [&'static str])| {
        (Just(key), prop::option::weighted(0.9, select(values)))
    };
    select(EDITS).prop_flat_map(of_key)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn an_edited_rule_evaluates_or_is_refused_by_name(name in select(&INSTRUCTIONS[..]), edits in prop::collection::vec(edit(), 1..5)) {
        let i = isa::find(name).unwrap();
        match Model::parse(&edited(&i, &edits), "edited.toml").and_then(|model| model.evaluator(&i)) {
            Ok(evaluator) => {
                let corners = Corners::of(&i).tiles;
                let d = evaluator.execute(&corners.slice(0, corners.count.min(4)));
                prop_assert!(d.iter().all(|code| code <= i.d.code_mask()));
            }
            Err(error) => {
                prop_assert_eq!(error.exit_status(), 2);
                let message = error.to_string();
                prop_assert!(message.starts_with("edited.toml: "), "{}", message);
                prop_assert!(EDITS.iter().any(|(key, _)| message.contains(key)), "{}", message);
            }
        }
    }
}

#[test]
fn impossible_rules_are_refused_with_file_rule_and_key() {
    let bf16 = "mma.m16n8k16.f32.bf16.bf16.f32";
    for (name, edits, key) in [
        (bf16, &[("parts", Some("{ period = 0, residues = [[]] }"))][..], "'parts.residues'"),
        (bf16, &[("parts", Some("{ period = 9223372036854775807, residues = [[0]] }"))], "'parts.residues'"),
        (bf16, &[("alignment", Some("{ bits = 25, rounding = 'RZ', floor = -2147483648 }"))], "'alignment.floor'"),
        (bf16, &[("unpack", Some("'e4m3'"))], "'unpack'"),
        (bf16, &[("unpack", Some("'s32'"))], "'unpack'"),
        (bf16, &[("result", Some("{ format = 'e2m1', rounding = 'RNE' }"))], "'result.format'"),
        (bf16, &[("addition", Some("{ format = 'e8m0', rounding = 'RNE' }"))], "'addition.format'"),
        (
            bf16,
            &[
                ("step", Some("'integer'")),
                ("wrap", Some("'wrap'")),
                ("alignment", None),
                ("result", None),
                ("nan", None),
                ("group", None),
            ],
            "'step'",
        ),
        (bf16, &[("step", Some("'fma'"))], "'alignment'"),
        (bf16, &[("lanes", Some("{ period = 1025, bits = 24, rounding = 'RD' }"))], "'lanes.period'"),
        (bf16, &[("late", Some("{ sum-bits = 61, c-bits = 24, rounding = 'RD' }"))], "'late.sum-bits'"),
        (bf16, &[("late", Some("{ sum-bits = 31, c-bits = -1, rounding = 'RD' }"))], "'late.c-bits'"),
        (bf16, &[("product-limit", Some("100001"))], "'product-limit'"),
        (bf16, &[("scale-sums", Some("16"))], "'scale-sums'"),
        (bf16, &[("unpack-c", Some("'f16'"))], "'unpack-c'"),
        (bf16, &[("group", Some("0"))], "'group'"),
        (bf16, &[("nan", Some("'0x7f800000'"))], "'nan'"),
        (bf16, &[("step", Some("'fma'")), ("alignment", None), ("nan-operands", Some("['a']"))], "'nan-operands'"),
        ("mma.m16n8k8.f64.f64.f64.f64", &[("start", Some("'product'"))], "'nan-operands'"),
        ("mma.m16n8k32.s32.s8.u8.s32", &[("wrap", None)], "'wrap'"),
    ] {
        let i = isa::find(name).unwrap();
        let text = edited(&i, edits);
        let error = Model::parse(&text, "edited.toml").and_then(|model| model.evaluator(&i)).unwrap_err().to_string();
        assert!(error.starts_with("edited.toml: rule ") && error.contains(key), "{name} {edits:?}: {error}");
    }
}

#[test]
fn a_file_without_rules_or_without_end_is_refused() {
    let error = Model::parse("name = ''\ntitle = ''\nversion = 1\nrule = []\n", "empty.toml").unwrap_err();
    assert!(error.to_string().contains("no [[rule]]"), "{error}");
    if cfg!(target_os = "linux") {
        let error = Model::load("/dev/zero").unwrap_err();
        assert!(error.to_string().contains("/dev/zero has more than 16 MiB"), "{error}");
    }
}

/// An addition of another format than the fused multiply-adds has no NaN that could be handed on.
#[test]
fn a_nan_handed_on_stays_within_the_format_of_d() {
    let i = isa::find("mma.m16n8k16.f16.f16.f16.f16").unwrap();
    let edits = [
        ("step", Some("'fma'")),
        ("alignment", None),
        ("nan-operands", Some("['a', 'b', 'c']")),
        ("c", Some("'last'")),
        ("addition", Some("{ format = 'f64', rounding = 'RNE' }")),
    ];
    let refused = Model::parse(&edited(&i, &edits), "edited.toml").unwrap().evaluator(&i).unwrap_err();
    assert!(refused.to_string().contains("one format"), "{refused}");
    let evaluator = Model::parse(&edited(&i, &edits[..4]), "edited.toml").unwrap().evaluator(&i).unwrap();
    let (zeros, mut one_nan) = (vec![0; i.k], vec![0; i.k]);
    one_nan[3] = 0xfd01;
    assert_eq!(evaluator.dot(&isa::Case::dense(one_nan.clone(), zeros.clone(), 0)), 0x7fff);
    assert_eq!(evaluator.dot(&isa::Case::dense(one_nan, zeros, 0x7c00)), 0x7fff);
}
