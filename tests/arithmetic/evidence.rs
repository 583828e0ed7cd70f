//! The evidence of the shipped models: what it says that recordings decide is what they decide, and each key rests on what it names.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde_json::Value;

use crate::machine::amount;
use tcnum::{
    arithmetic::{Evidence, EvidenceKind, EvidenceSource, Model, settings, shipped},
    isa,
};
use tcnum_engine::{
    rule::{ChangeVerdict, Changed, Decision, RefutingData, Tested, decided, refute, sentences, summaries},
    trace::Trace,
};

/// The recordings of one GPU's units that others made, by the index beside them.
fn recorded(gpu: &str) -> Vec<RefutingData> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/vectors");
    let index = std::fs::read_to_string(folder.join("index.tsv")).expect("the recordings are in the repository");
    let lines = index.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let source = |line: Vec<&str>| {
        let trace = Trace::read(&folder.join(format!("{}.safetensors", line[0]))).expect("a recording");
        RefutingData::recorded(line[0], trace)
    };
    lines.filter(|line| line[1] == gpu).map(source).collect()
}

/// What data decide of the rules of a model that they are of.
fn tested(model: &Model, sources: &[RefutingData]) -> Vec<Tested> {
    let mut all = Vec::new();
    refute(model, sources, &mut all, &mut |_| ()).unwrap();
    all
}

/// A recording of the H200 in this repository.
fn h200(instruction: &str) -> RefutingData {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/h200");
    let trace = Trace::read(&folder.join(format!("{instruction}.safetensors"))).expect("a recording");
    RefutingData::recorded(instruction, trace)
}

/// Each rule of a model that recordings of others are of says in its evidence what these decide: the first rule, unless all is
/// asked for.
fn says_what_they_decide(name: &str, gpu: &str) {
    let model = Model::load(name).unwrap();
    let rule = |source: &RefutingData| Changed::of(&model, source.instruction()).unwrap().index;
    let mut sources = recorded(gpu);
    let rules: BTreeSet<usize> = sources.iter().map(rule).collect();
    let looked_at: Vec<usize> = rules.into_iter().take(amount(1, usize::MAX)).collect();
    sources.retain(|source| looked_at.contains(&rule(source)));
    says(name, &format!("NVIDIA {gpu}"), &tested(&model, &sources));
}

fn says(name: &str, device: &str, tested: &[Tested]) {
    let model = Model::load(name).unwrap();
    assert!(!tested.is_empty(), "{name}: nothing is recorded");
    let missing: Vec<String> = tested
        .iter()
        .filter_map(|tested| {
            assert_eq!(tested.refuted, None, "{name}: rule {}", tested.rule.index + 1);
            missing(&model, tested.rule.index, device, tested)
        })
        .collect();
    assert!(missing.is_empty(), "models/{name}.toml does not say:\n{}", missing.join("\n"));
}

/// What the rule at `index` should say that the recordings of `device` (or in that folder) decide and leave open, if it does not.
fn missing(model: &Model, index: usize, device: &str, tested: &Tested) -> Option<String> {
    let recorded = |evidence: &&Evidence| match &evidence.source {
        EvidenceSource::Recorded { device: Some(of), .. } => of == device,
        EvidenceSource::Recorded { files: Some(folder), .. } => folder == device,
        _ => false,
    };
    let evidence = model.rules[index].evidence.iter().find(recorded);
    let (keys, leaves) = decided(&summaries(tested));
    let says = evidence.is_some_and(|evidence| (&evidence.keys, &evidence.leaves) == (&keys, &leaves));
    (!says).then(|| format!("rule {}: keys = {keys:?}, leaves = {leaves:?}", index + 1))
}

/// What the recordings of Volta decide; two tests ask.
static VOLTA: LazyLock<Vec<Tested>> = LazyLock::new(|| tested(&Model::load("volta").unwrap(), &recorded("V100")));

#[test]
fn the_rules_of_volta_say_what_the_recordings_decide() {
    says("volta", "NVIDIA V100", &VOLTA);
}

#[test]
fn the_rules_of_ampere_say_what_the_recordings_decide() {
    says_what_they_decide("ampere", "A100");
}

#[test]
fn the_rules_of_ada_say_what_the_recordings_decide() {
    says_what_they_decide("ada", "L40S");
}

#[test]
fn the_rules_of_hopper_say_what_the_recordings_decide() {
    says_what_they_decide("hopper", "H100");
}

#[test]
fn the_rules_of_x86_say_what_the_recordings_of_processors_decide() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/cpu");
    let files = ["", "zen5", "sapphire-rapids"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    let mut files: Vec<_> = files.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "safetensors"));
    files.sort();
    let source = |file: &PathBuf| RefutingData::recorded("", Trace::read(file).expect("a recording"));
    let sources: Vec<RefutingData> = files.iter().map(source).collect();
    says("x86", "tests/recordings/cpu", &tested(&Model::load("x86").unwrap(), &sources));
}

/// Nobody recorded Volta's form with f16 results and c in f32. Before the conversion at the end it is the form with f32
/// results, and what the recordings decide of that they decide of it.
#[test]
fn the_converting_form_of_volta_says_what_the_recordings_of_the_other_decide() {
    let model = Model::load("volta").unwrap();
    let rule = |name: &str| Changed::of(&model, &isa::find(name).unwrap()).unwrap();
    let [summing, converting] = ["wmma.m16n16k16.f32.f16.f16.f32", "wmma.m16n16k16.f16.f16.f16.f32"].map(rule);
    let shared = |rule: &Changed| {
        let mut entries = rule.rule.entries();
        entries.retain(|(key, _)| !["instructions", "evidence", "output", "nan"].contains(&&key[..]));
        entries
    };
    assert_eq!(shared(&summing), shared(&converting));
    let tested = VOLTA.iter().find(|tested| tested.rule.index == summing.index).expect("it is recorded");
    assert_eq!(missing(&model, converting.index, "NVIDIA V100", tested), None);
}

fn decision(tested: &Tested, key: &str) -> Decision {
    summaries(tested).into_iter().find(|summary| summary.key == key).expect("the rule has the key").decision
}

/// Widths that the recorded f16 results of three generations are known to leave open.
#[test]
fn survivors_that_were_found_by_hand_are_found() {
    let known = [
        ("volta", "V100", &[22, 24, 25, 29][..]),
        ("ampere", "A100", &[25, 26, 30]),
        ("ada", "L40S", &[23, 25, 26, 30]),
    ];
    for (name, gpu, widths) in known.into_iter().take(amount(1, 3)) {
        let sources: Vec<RefutingData> = recorded(gpu).into_iter().filter(|s| s.name.ends_with("f16_f16")).collect();
        let tested = tested(&Model::load(name).unwrap(), &sources).remove(0);
        let surviving: Vec<i64> = tested
            .changes
            .iter()
            .filter(|(change, verdict)| change.key == "alignment.bits" && *verdict == ChangeVerdict::Survives)
            .filter_map(|(change, _)| change.to.as_ref()?.number())
            .collect();
        assert!(widths.iter().all(|bits| surviving.contains(bits)), "{name}: {surviving:?}");
        assert_eq!(decision(&tested, "alignment.bits"), Decision::Partly);
        assert_ne!(decision(&tested, "result.rounding"), Decision::Undecided);
        assert_eq!(decision(&tested, "result.overflow"), Decision::Undecided);
        assert_eq!(decision(&tested, "result-subnormals"), Decision::Undecided);
    }
}

/// The recordings of the H200, which begin with directed corners, decide the floor of bf16 and tf32; of f16 with results in f32
/// no operands could.
#[test]
fn the_floor_of_hopper_is_decided_for_bf16_and_cannot_be_observed_for_f16() {
    let model = Model::load("hopper").unwrap();
    for (name, expected) in [
        ("mma.m16n8k16.f32.bf16.bf16.f32", Decision::Decided),
        ("mma.m16n8k8.f32.tf32.tf32.f32", Decision::Decided),
        ("mma.m16n8k16.f16.f16.f16.f16", Decision::Decided),
        ("mma.m16n8k16.f32.f16.f16.f32", Decision::CannotBeObserved),
    ] {
        let tested = tested(&model, &[h200(name)]).remove(0);
        println!("{name}: {}", sentences(&summaries(&tested)));
        let neighbours = tested.changes.iter().filter(|(change, _)| change.key == "alignment.floor" && !change.ranged);
        for (change, verdict) in neighbours {
            let decision = match verdict {
                ChangeVerdict::Refuted(_) => Decision::Decided,
                ChangeVerdict::Survives => Decision::Undecided,
                ChangeVerdict::CannotBeObserved(_) => Decision::CannotBeObserved,
            };
            assert_eq!(decision, expected, "{name}: {change:?}");
        }
    }
}

/// Where a proof says that no operands can tell, the adversarial stream does not tell either. What is refuted is never called
/// unobservable: `nan` and `saturate` also change what becomes of an infinite c, which an earlier proof had overlooked.
#[test]
fn what_cannot_be_observed_is_not_observed_by_the_stream() {
    let model = Model::load("hopper").unwrap();
    for (name, key, values) in [
        ("mma.m16n8k16.f32.f16.f16.f32", "alignment.floor", &["-134", "-132", "absent"][..]),
        ("wgmma.m64n8k32.f32.e4m3.e4m3", "alignment.floor", &["-134", "-132", "absent"]),
        ("mma.m16n8k16.f32.f16.f16.f32", "result.overflow", &["standard", "saturate-finite"]),
        ("wgmma.m64n8k32.f32.e5m2.e5m2", "result.overflow", &["standard", "saturate-finite"]),
        ("mma.m16n8k16.f16.f16.f16.f16", "result.overflow", &["standard"]),
    ] {
        let source = RefutingData::stream(&isa::find(name).unwrap(), 1, 1 << 16);
        let tested = tested(&model, &[source]).remove(0);
        for (change, verdict) in tested.changes.iter().filter(|(change, _)| change.key == key && !change.ranged) {
            match values.contains(&change.to().as_str()) {
                true => {
                    assert!(matches!(verdict, ChangeVerdict::CannotBeObserved(_)), "{name}: {change:?}: {verdict:?}")
                }
                false => assert!(matches!(verdict, ChangeVerdict::Refuted(_)), "{name}: {change:?}: {verdict:?}"),
            }
        }
    }
}

/// A key that is added to the language gets near values, or a reason to have none.
#[test]
fn every_key_of_the_language_has_near_values() {
    let without = [
        ("instructions", "names no arithmetic"),
        ("evidence", "names no arithmetic"),
        ("step", "another step needs other keys"),
        ("node", "its keys are changed"),
        ("alignment", "its keys are changed"),
        ("result", "its keys are changed"),
        ("kind", "another kind needs other keys"),
        ("products", "every k is summed once"),
        ("pieces", "every pair is multiplied once"),
        ("terms", "every node is a term once"),
        ("output.random-bits", "results are drawn, and are no function"),
    ];
    // A rule that flushes says so by result-subnormals, and one with another test of overflow by overflow-test; a target that does is
    // rare, and only a search tries it.
    let is_target =
        |path: &str| [".subnormals", ".tininess", ".overflow-test"].iter().any(|ending| path.ends_with(ending));
    for (path, setting) in settings().filter(|(path, _)| !is_target(path)) {
        let is_exempt = without.iter().any(|(key, _)| *key == path);
        assert_ne!(setting.has_near_values(), is_exempt, "{path}");
    }
}

/// The folders of the repository that evidence names are there, and what was measured says on what, when and how often.
#[test]
fn every_source_of_a_shipped_rule_can_be_looked_up() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for model in shipped().map(|name| Model::load(name).unwrap()) {
        for (rule, evidence) in
            model.rules.iter().flat_map(|rule| rule.evidence.iter().map(move |evidence| (rule, evidence)))
        {
            let what = format!("{}, {}: {evidence}", model.name, rule.instructions[0]);
            if let EvidenceSource::Measured { date, cases, files, .. } = &evidence.source {
                assert!(date.is_some() && cases.is_some() && files.is_some(), "{what}");
            }
            let files = evidence.source.files();
            assert!(files.is_some() || !matches!(evidence.source, EvidenceSource::Recorded { .. }), "{what}");
            assert!(files.is_none_or(|files| repository.join(files).exists()), "{what}");
        }
    }
}

/// The H200 was compared in as many cases as its rules say, instruction by instruction.
#[test]
fn measured_cases_are_those_of_the_reports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/h200/verify");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("all.json")).unwrap()).unwrap();
    let model = Model::load("hopper").unwrap();
    let mut looked_at = 0;
    for row in document["tables"]["verification"].as_array().unwrap() {
        let rule = model.rule(&isa::find(row["instruction"].as_str().unwrap()).unwrap()).expect("it is covered");
        let EvidenceSource::Measured { cases: Some(cases), .. } = &rule.evidence[0].source else { panic!("{rule:?}") };
        // Whole tiles: up to a tile of each regime is missing.
        assert!(row["compared"].as_u64().unwrap() + 100_000 >= *cases && row["differing"] == 0, "{row}");
        looked_at += 1;
    }
    assert!(looked_at > 290, "{looked_at}");
}

/// Of several sources the first that covers a key for an instruction holds, and what none covers is assumed.
#[test]
fn each_key_rests_on_the_first_source_that_covers_it() {
    use EvidenceKind::{Assumed, Literature, Measured, Recorded, Specification};
    for (model, instruction, key, expected) in [
        ("volta", "wmma.m16n16k16.f32.f16.f16.f32", "alignment.bits", Recorded),
        ("volta", "wmma.m16n16k16.f32.f16.f16.f32", "group", Literature),
        ("volta", "wmma.m16n16k16.f32.f16.f16.f32", "zero", Assumed),
        ("volta", "wmma.m16n16k16.f32.f16.f16.f32", "c", Recorded),
        ("volta", "wmma.m16n16k16.f32.f16.f16.f16", "c", Assumed),
        ("ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", "group", Recorded),
        ("ada", "mma.m16n8k32.f32.e4m3.e5m2.f32", "group", Assumed),
        ("ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", "result.overflow", Assumed),
        ("ampere", "mma.m16n8k32.s32.s8.s8.s32", "wrap", Specification),
        ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32", "zero", Measured),
        ("cdna2", "mfma.32x32x8.f32.f16.f16.f32", "operand-subnormals", Specification),
        ("cdna2", "mfma.32x32x8.f32.f16.f16.f32", "zero", Assumed),
        ("cdna2", "mfma.32x32x8.f32.f16.f16.f32", "alignment.bits", Literature),
        ("cdna4", "mfma.32x32x8.f32.f16.f16.f32", "group", Assumed),
        ("x86", "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32", "result.rounding", Measured),
        ("x86", "tdphf8ps.m16n16k64.f32.e4m3.e4m3.f32", "nan", Specification),
        ("x86", "vdpphps.m1n16k2.f32.f16.f16.f32", "nan", Assumed),
        ("x86", "vdpphps.m1n16k2.f32.f16.f16.f32", "parts", Specification),
    ] {
        let model = Model::load(model).unwrap();
        let rule = model.rule(&isa::find(instruction).unwrap()).expect(instruction);
        assert_eq!(rule.grounds(Some(instruction), &[key]).kind, expected, "{}, {instruction}, {key}", model.name);
    }
    let model = Model::load("volta").unwrap();
    let of = |keys: &[&str]| model.rules[0].grounds(None, keys).kind;
    // The weakest of several; a key that the rule does not have says nothing.
    assert_eq!([of(&["c", "group"]), of(&["c", "output"])], [Literature, Recorded]);
}
