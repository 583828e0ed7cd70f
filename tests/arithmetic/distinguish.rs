//! Comparisons of two arithmetics: reasons with their inputs, proofs, and test kits.

use std::collections::BTreeSet;

use tcnum::{
    Error, Result,
    arithmetic::{Evaluator, Model},
    isa::{self, Case, Codes, Instruction, Tiles},
};
use tcnum_engine::device::{Device, Execution, Identity, ModelDevice};
use tcnum_engine::distinction::{
    DeviceInstruction, DifferenceKind, Distinction, DistinctionVerdict, SearchLimits, candidates, distinguish,
    generations, kit,
};

const SEARCH: SearchLimits = SearchLimits { cases: 1 << 14, seed: 0, time: None };

/// Compares two sides `MODEL/INSTRUCTION`.
fn told(sides: [(&str, &str); 2]) -> Distinction {
    let mut devices = sides.map(|(model, _)| ModelDevice::open(model).unwrap());
    let instructions = sides.map(|(_, name)| isa::find(name).unwrap());
    let [x, y] = &mut devices;
    let side = |device, at: usize| DeviceInstruction { device, instruction: &instructions[at] };
    distinguish(side(x, 0), side(y, 1), &SEARCH).unwrap()
}

/// The keys of the reasons that inputs show, in their order.
fn shown(distinction: &Distinction) -> Vec<Vec<&str>> {
    let reasons = distinction.reasons.iter().filter(|reason| reason.witness.is_some());
    reasons.map(|reason| reason.keys.iter().map(|(key, _)| &key[..]).collect()).collect()
}

fn evaluator(model: &str, name: &str) -> Evaluator {
    Model::load(model).unwrap().evaluator(&isa::find(name).unwrap()).unwrap()
}

/// A case without each of its terms.
fn without_one(case: &Case) -> Vec<Case> {
    let mut fewer = Vec::new();
    for at in (0..case.a.len()).filter(|at| (case.a[*at], case.b[*at]) != (0, 0)) {
        let mut less = case.clone();
        (less.a[at], less.b[at]) = (0, 0);
        fewer.push(less);
    }
    if case.c != 0 {
        fewer.push(Case { c: 0, ..case.clone() });
    }
    fewer
}

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

#[test]
fn each_key_that_two_rules_differ_in_has_an_input_of_its_own() {
    let distinction = told([("ampere", BF16), ("hopper", BF16)]);
    assert_eq!(distinction.verdict, DistinctionVerdict::Differ);
    let keys: BTreeSet<Vec<&str>> = shown(&distinction).into_iter().collect();
    assert_eq!(keys, BTreeSet::from([vec!["alignment.bits"], vec!["alignment.floor"], vec!["group"]]));
    assert_eq!(distinction.reasons.len(), 3);
    let width = distinction.reasons.iter().find(|reason| reason.keys[0].0 == "alignment.bits").unwrap();
    assert_eq!(
        width.sentence(["ampere", "hopper"]),
        "Fraction bits kept by the alignment: 24 in ampere, 25 in hopper."
    );
}

#[test]
fn on_every_input_that_is_shown_the_two_differ_and_without_any_of_its_terms_the_reason_is_gone() {
    for (sides, terms) in [
        ([("ampere", BF16), ("hopper", BF16)], 2),
        ([("volta", "mma.m8n8k4.f32.f16.f16.f32.row.row"), ("hopper", "mma.m8n8k4.f32.f16.f16.f32.row.row")], 3),
    ] {
        let distinction = told(sides);
        let [x, y] = sides.map(|(model, name)| evaluator(model, name));
        assert!(!distinction.reasons.is_empty());
        for witness in distinction.reasons.iter().filter_map(|reason| reason.witness.as_ref()) {
            assert_eq!([x.dot(&witness.case), y.dot(&witness.case)], witness.d, "{witness:?}");
            assert_ne!(witness.d[0], witness.d[1]);
            assert!(without_one(&witness.case).len() <= terms, "{witness:?}");
        }
        // Of a reason that alone makes the difference, no smaller input does.
        let same = |case: &Case| x.dot(case) == y.dot(case);
        let simplest = distinction.reasons[0].witness.as_ref().unwrap();
        assert!(without_one(&simplest.case).iter().all(same), "{simplest:?}");
    }
}

#[test]
fn a_reason_alone_is_one_that_either_rule_with_the_value_of_the_other_confirms() {
    let distinction = told([("ampere", BF16), ("hopper", BF16)]);
    let group = distinction.reasons.iter().find(|reason| reason.keys[0].0 == "group").unwrap();
    let witness = group.witness.as_ref().unwrap();
    assert!(witness.alone);
    let changed = |model: &str, from: &str, to: &str| {
        let text = Model::load(model).unwrap().text().replacen(from, to, 1);
        Model::parse(&text, "changed.toml").unwrap().evaluator(&isa::find(BF16).unwrap()).unwrap()
    };
    assert_eq!(changed("ampere", "group = 8", "group = 16").dot(&witness.case), witness.d[1]);
    assert_eq!(changed("hopper", "group = 16", "group = 8").dot(&witness.case), witness.d[0]);
}

#[test]
fn a_chain_and_two_chains_of_amx_differ_by_two_products_and_c() {
    let text = r#"
        name = "guide"
        title = "TDPBF16PS by the Intrinsics Guide"
        version = 1
        [[rule]]
        instructions = ["tdpbf16ps.*"]
        evidence = [{ literature = "Intel Intrinsics Guide" }]
        step = "fma"
        operand-subnormals = "signed-zero"
        result-subnormals = "signed-zero"
        result-tininess = "after, unbounded exponent"
        result = { format = "f32", rounding = "RNE" }
        nan-operands = ["a", "b", "c"]
        nan = "0xffc00000"
    "#;
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32";
    let distinction = told([("x86", name), (file.path().to_str().unwrap(), name)]);
    assert_eq!(distinction.verdict, DistinctionVerdict::Differ);
    // The shape of the sum is one reason; what it does to numbers, to the signs of zeros and to NaN is shown once each.
    let kinds: Vec<Option<DifferenceKind>> = distinction.reasons.iter().map(|reason| reason.kind).collect();
    assert_eq!(kinds.len(), kinds.iter().map(|kind| kind.unwrap().name()).collect::<BTreeSet<_>>().len());
    let witness = distinction.reasons[0].witness.as_ref().unwrap();
    assert_eq!(
        (distinction.reasons[0].kind, without_one(&witness.case).len()),
        (Some(DifferenceKind::Finite), 3),
        "{witness:?}"
    );
    assert_ne!(witness.case.c, 0);
    assert!(witness.step.is_some());
}

#[test]
fn two_instructions_of_the_same_formats_are_told_apart_and_the_rest_of_the_longer_one_is_zero() {
    let distinction =
        told([("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"), ("blackwell", "tcgen05.m128n16k32.f32.e4m3.e4m3.f32")]);
    let keys: BTreeSet<Vec<&str>> = shown(&distinction).into_iter().collect();
    assert_eq!(keys, BTreeSet::from([vec!["alignment.bits"], vec!["result.format"]]));
    // One step of 16 products, 8 of which are zero, is one of 8.
    let distinction = told([("hopper", "mma.m16n8k8.f32.bf16.bf16.f32"), ("hopper", BF16)]);
    assert_eq!((distinction.shared.k, distinction.reasons.len()), (8, 0));
    assert!(matches!(distinction.verdict, DistinctionVerdict::Same(_)), "{distinction:?}");
    // With other operands there is nothing to compare.
    let mut devices = ["hopper", "hopper"].map(|name| ModelDevice::open(name).unwrap());
    let instructions = [BF16, "mma.m16n8k16.f32.f16.f16.f32"].map(|name| isa::find(name).unwrap());
    let [x, y] = &mut devices;
    let sides = [
        DeviceInstruction { device: x, instruction: &instructions[0] },
        DeviceInstruction { device: y, instruction: &instructions[1] },
    ];
    let [x, y] = sides;
    let error = distinguish(x, y, &SEARCH).unwrap_err();
    assert!(error.exit_status() == 2 && error.to_string().contains("the same operands"), "{error}");
}

#[test]
fn what_is_the_same_is_proved() {
    for (x, y, name) in [
        ("hopper", "hopper", BF16),
        ("hopper", "blackwell", BF16),
        ("ampere", "ada", "mma.m16n8k16.f32.f16.f16.f32"),
        ("ampere", "hopper", "mma.m8n8k4.f64.f64.f64.f64"),
        ("ampere", "hopper", "mma.m16n8k16.s32.s8.s8.s32"),
        ("blackwell", "blackwell", "tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue4m3.block16"),
    ] {
        let distinction = told([(x, name), (y, name)]);
        assert!(
            matches!(distinction.verdict, DistinctionVerdict::Same(_)) && distinction.tried == 0,
            "{x} {y} {name}: {distinction:?}"
        );
    }
}

#[test]
fn integers_that_wrap_and_integers_that_saturate_are_told_apart() {
    let distinction =
        told([("hopper", "mma.m16n8k16.s32.s8.s8.s32"), ("hopper", "mma.m16n8k16.s32.s8.s8.s32.satfinite")]);
    assert_eq!(shown(&distinction), [["wrap"]]);
}

#[test]
fn a_kit_tells_all_known_arithmetics_of_the_operands_apart_and_has_no_input_too_many() {
    for name in ["mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n8k32.f16.e4m3.e4m3", "mma.m16n8k16.s32.s8.s8.s32"] {
        let i = isa::find(name).unwrap();
        let kit = kit(&i).unwrap();
        let known: BTreeSet<&Vec<u64>> = kit.known.iter().map(|known| &known.answers).collect();
        assert_eq!(known.len(), kit.known.len(), "{name}");
        assert!(kit.known.len() > 1, "{name}");
        // Those that answer alike have no input that tells them apart: there is none where each stands alone.
        let all = candidates(&i).len();
        assert_eq!(kit.known.iter().map(|known| known.candidates.len()).sum::<usize>(), all, "{name}");
        for known in &kit.known {
            for candidate in &known.candidates {
                let answers: Vec<u64> = kit.cases.iter().map(|case| candidate.evaluator().dot(case)).collect();
                assert_eq!(answers, known.answers, "{name}");
            }
        }
        for gone in 0..kit.cases.len() {
            let less = |answers: &Vec<u64>| {
                let kept = answers.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, code)| *code);
                kept.collect::<Vec<u64>>()
            };
            let left: BTreeSet<Vec<u64>> = kit.known.iter().map(|known| less(&known.answers)).collect();
            assert!(left.len() < kit.known.len(), "{name}: the input {gone} is one too many");
        }
        let hopper = evaluator("hopper", name);
        let answers: Vec<u64> = kit.cases.iter().map(|case| hopper.dot(case)).collect();
        let matching = kit.matching(&answers).unwrap();
        assert!(matching.candidates.iter().any(|known| known.origins.iter().any(|origin| origin.model == "hopper")));
    }
}

#[test]
fn generations_that_compute_an_instruction_alike_stand_together() {
    let of = |name: &str| generations(&isa::find(name).unwrap()).unwrap();
    let groups = of(BF16);
    let alike: Vec<&[&str]> = groups.alike.iter().map(Vec::as_slice).collect();
    assert_eq!(alike, [&["ampere", "ada"][..], &["hopper", "blackwell", "rubin", "blackwell-rtx"]]);
    assert!(groups.proved);
    let instruction: Instruction = isa::find("wgmma.m64n8k32.f32.e4m3.e4m3").unwrap();
    assert_eq!(generations(&instruction).unwrap().alike, [["hopper"]]);
}

/// A device that fails after so many tiles.
struct Failing(ModelDevice, usize);

impl Device for Failing {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn prepare(&mut self, i: &Instruction) -> Result<Execution> {
        self.0.prepare(i)
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.1 = self.1.checked_sub(tiles.count).ok_or_else(|| Error::device("it broke"))?;
        self.0.execute(i, tiles)
    }
}

#[test]
fn what_tells_two_apart_before_a_device_fails_is_kept() {
    let i = isa::find(BF16).unwrap();
    let told = |tiles: usize| {
        let mut known = ModelDevice::open("ampere").unwrap();
        let mut device = Failing(ModelDevice::open("hopper").unwrap(), tiles);
        let [x, y]: [&mut dyn Device; 2] = [&mut known, &mut device];
        distinguish(
            DeviceInstruction { device: x, instruction: &i },
            DeviceInstruction { device: y, instruction: &i },
            &SEARCH,
        )
    };
    let broke = Error::device("it broke");
    assert_eq!(told(0).unwrap_err(), broke);
    // After the first batch of corners, later, and in the reductions.
    for distinction in [512, 600, 1200].map(|tiles| told(tiles).unwrap()) {
        assert_eq!((&distinction.verdict, &distinction.stopped), (&DistinctionVerdict::Differ, &Some(broke.clone())));
        let witness = distinction.reasons.iter().find_map(|reason| reason.witness.as_ref()).unwrap();
        let d = ["ampere", "hopper"].map(|model| evaluator(model, BF16).dot(&witness.case));
        assert_eq!((witness.d, d[0] != d[1]), (d, true));
    }
}
