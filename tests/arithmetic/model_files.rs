//! Model files without trust: whatever is accepted evaluates, and whatever is not is refused with file, rule and key.

use proptest::{prelude::*, sample::select};
use tcnum::{
    arithmetic::{ElementaryOperation, Model, Source},
    inputs::Corners,
    isa,
};
use toml::{Table, Value};

use crate::machine::amount;

const MODEL: &str = include_str!("../../models/hopper.toml");

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
    ("c-subnormals", &["'keep'", "'signed-zero'", "'positive-zero'"]),
    ("specials", &["'steps'", "'operands'"]),
    ("zero-terms", &["'ignored'", "'products'", "'all'"]),
    ("result-subnormals", &["'keep'", "'signed-zero'", "'positive-zero'"]),
    ("product", &TARGETS),
    (
        "alignment",
        &[
            "{ bits = 25, rounding = 'RZ', sticky = true }",
            "{ bits = 0, rounding = 'RD', floor = -126, sticky = true }",
            "{ bits = 60, rounding = 'RU', sticky = false }",
            "{ bits = 25, rounding = 'RZ', sticky = true, reach = 1 }",
            "{ bits = 25, rounding = 'RNE', sticky = true, reach = 60 }",
            "{ bits = 25, rounding = 'RNE', sticky = true, reach = 0 }",
            "{ bits = 25, rounding = 'RNE', sticky = true, reach = 61 }",
            "{ bits = 25, rounding = 'RNE', reach = 3 }",
            "{ bits = 25, rounding = 'RNE', carry = 0 }",
            "{ bits = 25, rounding = 'RZ', sticky = true, carry = 60, saturates = true }",
            "{ bits = 25, rounding = 'RNE', carry = 61 }",
            "{ bits = 25, rounding = 'RZ', sticky = true, sticky-place = 1 }",
            "{ bits = 25, rounding = 'RZ', sticky = true, sticky-place = 33 }",
            "{ bits = 25, rounding = 'RZ', sticky-place = 1 }",
            "{ bits = 25, rounding = 'RZ', complement = true, sticky = true }",
            "{ bits = 25, rounding = 'RNE', saturates = true }",
            "{ bits = 61, rounding = 'RZ', sticky = true }",
        ],
    ),
    ("product-bits", &["0", "24", "60", "61", "-1"]),
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
    ("zero", &["'positive'", "'negative'", "'ieee'", "'exact-positive'", "'common'"]),
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
    ("accumulator", &["0", "1", "24", "32", "33", "4294967295"]),
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
    #![proptest_config(ProptestConfig::with_cases(amount(150, 1500)))]

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
        (bf16, &[("step", Some("'pairwise'")), ("alignment", None), ("nan-operands", Some("['a']"))], "'nan-operands'"),
        (bf16, &[("split", Some("{ a = [4, 5] }"))], "'split.a'"),
        (bf16, &[("split", Some("{ b = [0, 8] }"))], "'split'"),
        (bf16, &[("node", Some("{ x = { kind = 'add', terms = ['c'], result = 'aligned' } }"))], "'node'"),
        ("mma.m16n8k8.f64.f64.f64.f64", &[("start", Some("'product'"))], "'nan-operands'"),
        (
            bf16,
            &[("step", Some("'fma'")), ("alignment", None), ("group", Some("4")), ("start", Some("'product'"))],
            "'start'",
        ),
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
        assert!(error.to_string().contains("/dev/zero is not a regular file"), "{error}");
    }
}

#[test]
fn a_nan_keeps_its_leading_bits_in_any_format_until_an_addition() {
    let evaluate = |name: &str, edits: &[(&str, Option<&str>)], a: u64, c: u64| {
        let i = isa::find(name).unwrap();
        let evaluator = Model::parse(&edited(&i, edits), "edited.toml").unwrap().evaluator(&i).unwrap();
        let (zeros, mut one_nan) = (vec![0; i.k], vec![0; i.k]);
        one_nan[3] = a;
        evaluator.dot(&isa::Case::dense(one_nan, zeros, c))
    };
    let fma = [("step", Some("'fma'")), ("alignment", None), ("nan-operands", Some("['c', 'a', 'b']"))];
    let (bf16, f16) = ("mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k16.f16.f16.f16.f16");
    assert_eq!(evaluate(bf16, &fma, 0xff85, 0), 0xffc5_0000);
    assert_eq!(evaluate(bf16, &fma, 0xff85, 0x7f80_1234), 0x7fc0_1234);
    assert_eq!(evaluate(bf16, &fma, 0x7f80, 0), 0x7fff_ffff, "an invalid operation");
    let fused = [("nan-operands", Some("['a', 'c']"))];
    assert_eq!(evaluate(bf16, &fused, 0xff85, 0x7f80_1234), 0xffc5_0000);
    assert_eq!(evaluate(bf16, &fused, 0, 0x7f80_1234), 0x7fc0_1234);
    let last = [("c", Some("'last'")), ("addition", Some("{ format = 'f64', rounding = 'RNE' }"))];
    assert_eq!(evaluate(f16, &[&fma[..], &last].concat(), 0xfd01, 0), 0x7fff);
    assert_eq!(evaluate(f16, &[&fma[..], &last[..1]].concat(), 0xfd01, 0x7c00), 0x7fff);
}

/// The tree of the design's example, and what is wrong with trees like it.
#[test]
fn a_wrong_tree_is_refused_with_file_line_and_node() {
    let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    let head = "name = 'tree'\ntitle = 'a tree'\nversion = 1\n[[rule]]\ninstructions = ['mma.m16n8k16.f32.f16.f16.f32']\n\
                evidence = [{ assumed = 'a test' }]\nnan = '0x7fffffff'\n";
    let to = "{ format = 'f32', rounding = 'RNE' }";
    let good = [
        format!("node.even = {{ kind = 'fma', products = '0::2', result = {to} }}\n"),
        format!(
            "node.odd = {{ kind = 'sum', products = '1::2', alignment = {{ bits = 24, rounding = 'RZ' }}, result = {to} }}\n"
        ),
        format!("node.both = {{ kind = 'add', terms = ['even', 'odd'], result = {to} }}\n"),
        format!("node.d = {{ kind = 'add', terms = ['c', 'both'], result = {to} }}\n"),
    ];
    let evaluate = |lines: &[String]| Model::parse(&format!("{head}{}", lines.concat()), "tree.toml")?.evaluator(&i);
    let evaluator = evaluate(&good).unwrap();
    let ones = isa::Case::dense(vec![0x3c00; 16], vec![0x3c00; 16], 0x3f80_0000);
    assert_eq!(evaluator.dot(&ones), u64::from(f32::to_bits(17.0)));
    for (line, new, named) in [
        (0, format!("node.even = {{ kind = 'fma', products = '0:16', result = {to} }}\n"), "line 9: for mma.m16n8k16.f32.f16.f16.f32: node 'odd': k = 1 is named twice"),
        (0, format!("node.even = {{ kind = 'fma', products = '2::2', result = {to} }}\n"), "node 'd': no node of the tree names k = 0"),
        (0, format!("node.even = {{ kind = 'fma', products = '0:18:2', result = {to} }}\n"), "line 8: for mma.m16n8k16.f32.f16.f16.f32: node 'even': 'products' names k = 16"),
        (0, "node.even = { kind = 'fma', products = '0::2' }\n".into(), "line 8: node 'even': the key 'result' is missing"),
        (0, "node.even = { kind = 'fma', products = '0::2', result = 'aligned' }\n".into(), "line 8: node 'even': 'result' of a node of kind 'fma' must be a format"),
        (0, format!("node.even = {{ kind = 'fma', products = '0::2', zero = 'ieee', result = {to} }}\n"), "line 8: node 'even': 'zero' has no effect"),
        (0, format!("node.even = {{ kind = 'fma', products = '0::2', start = 'd', result = {to} }}\n"), "gives D"),
        (2, format!("node.both = {{ kind = 'add', terms = ['even', 'odds'], result = {to} }}\n"), "can give D"),
        (2, format!("node.both = {{ kind = 'add', terms = ['even', 'odd', 'x'], result = {to} }}\n"), "line 10: node 'both': 'x' is neither"),
        (2, format!("node.both = {{ kind = 'add', terms = ['even', 'odd', 'product'], result = {to} }}\n"), "line 10: node 'both': 'product' is neither"),
        (2, format!("node.both = {{ kind = 'add', terms = ['even', 'odd', 'c'], result = {to} }}\n"), "c is used twice"),
        (3, format!("node.d = {{ kind = 'add', terms = ['both'], result = {to} }}\n"), "no node has c"),
        (3, "node.d = { kind = 'sum', terms = ['c', 'both'], alignment = { bits = 61, rounding = 'RZ' }, result = { format = 'f32', rounding = 'RZ' } }\n".into(), "line 11: node 'd': 'alignment.bits' is 61"),
        (3, format!("node.d = {{ kind = 'sum', terms = [{{ term = 'c', bits = 3 }}, 'both'], result = {to} }}\n"), "without 'alignment'"),
        (3, format!("node.d = {{ kind = 'add', pieces = [[0, 0]], terms = ['c', 'both'], result = {to} }}\n"), "without the rule's 'split'"),
    ] {
        let mut lines = good.clone();
        lines[line] = new;
        let error = evaluate(&lines).unwrap_err().to_string();
        assert!(error.starts_with("tree.toml: rule 1") && error.contains(named), "{}: {error}", lines[line]);
    }
}

/// Of an instruction with few k a slice may have none.
#[test]
fn a_chain_without_products_is_zero_whatever_it_would_start_from() {
    let to = "result = { format = 'f32', rounding = 'RNE' }";
    for start in ["+0", "product"] {
        let text = format!(
            "nan = '0x7fffffff'\nnode.none = {{ kind = 'fma', products = '8::', start = '{start}', {to} }}\n\
             node.d = {{ kind = 'sum', products = '::', terms = ['c', 'none'], {to} }}\n"
        );
        let operations = operations("mma.m16n8k8.f32.tf32.tf32.f32", &text);
        let [_, ElementaryOperation::Sum(sum), _] = &operations[..] else { panic!("{operations:?}") };
        assert_eq!(sum.addends[1].source, Source::Zero);
    }
}

/// The operations of an instruction in an arithmetic with this rule, under a head.
fn operations(name: &str, rule: &str) -> Vec<ElementaryOperation> {
    let text = format!(
        "name = 'test'\ntitle = 'a test'\nversion = 1\n[[rule]]\ninstructions = ['{name}']\nevidence = [{{ assumed = 'a test' }}]\n{rule}"
    );
    let evaluator = Model::parse(&text, "test.toml").and_then(|model| model.evaluator(&isa::find(name).unwrap()));
    evaluator.unwrap_or_else(|error| panic!("{error}")).program().operations().cloned().collect()
}

#[test]
fn shorthand_and_trees_are_the_same_operations() {
    let to = "result = { format = 'f32', rounding = 'RNE' }";
    for (name, shorthand, tree) in [
        (
            "mma.m16n8k8.f32.tf32.tf32.f32",
            format!("step = 'fused'\ngroup = 4\nalignment = {{ bits = 24, rounding = 'RZ', floor = -132 }}\n{to}\n"),
            format!(
                "node.first = {{ kind = 'sum', products = '0:4', terms = ['c'], alignment = {{ bits = 24, rounding = 'RZ', floor = -132 }}, {to} }}\n\
                 node.second = {{ kind = 'sum', products = '4:8', terms = ['first'], alignment = {{ bits = 24, rounding = 'RZ', floor = -132 }}, {to} }}\n"
            ),
        ),
        (
            "mfma.32x32x8.f32.f16.f16.f32",
            format!(
                "step = 'fused'\nalignment = {{ bits = 24, rounding = 'RZ' }}\nproduct-limit = 128\n\
                 late = {{ sum-bits = 31, c-bits = 24, rounding = 'RD', floor = -126 }}\n{to}\n"
            ),
            format!(
                "node.products = {{ kind = 'sum', products = '::', product-limit = 128, alignment = {{ bits = 24, rounding = 'RZ' }}, result = 'aligned' }}\n\
                 node.d = {{ kind = 'sum', terms = [{{ term = 'products', bits = 31 }}, {{ term = 'c', bits = 24 }}], \
                 alignment = {{ bits = 31, rounding = 'RD', floor = -126 }}, {to} }}\n"
            ),
        ),
        (
            "mma.m8n8k4.f64.f64.f64.f64",
            "step = 'fma'\nresult = { format = 'f64', rounding = 'RNE' }\nnan-operands = ['b', 'c', 'a']\n".into(),
            "node.d = { kind = 'fma', products = '0:4', start = 'c', result = { format = 'f64', rounding = 'RNE' }, nan-operands = ['b', 'c', 'a'] }\n"
                .into(),
        ),
        (
            "mma.m16n8k8.f32.tf32.tf32.f32",
            format!("step = 'sequential'\ngroup = 4\nstart = 'product'\nc = 'last'\n{to}\n"),
            format!(
                "node.first = {{ kind = 'add', products = '0:4', {to} }}\n\
                 node.rest = {{ kind = 'add', terms = ['first'], products = '4:8', {to} }}\n\
                 node.d = {{ kind = 'add', terms = ['rest', 'c'], {to} }}\n"
            ),
        ),
    ] {
        let nan = if name.contains("f64") { "nan = '0x7ff8000000000000'\n" } else { "nan = '0x7fffffff'\n" };
        assert_eq!(operations(name, &format!("{nan}{shorthand}")), operations(name, &format!("{nan}{tree}")), "{name}");
    }
}

#[test]
fn the_example_of_a_tree_in_the_readme_of_the_models_is_one() {
    let readme = include_str!("../../models/README.md");
    let example = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let text = format!("name = 'example'\ntitle = 'an example'\nversion = 1\n{example}");
    let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    let evaluator = Model::parse(&text, "README.md").and_then(|model| model.evaluator(&i)).unwrap();
    assert_eq!(evaluator.program().operations().len(), 8 + 3 + 1 + 1);
    assert!(evaluator.is_fast());
}
