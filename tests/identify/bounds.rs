//! What bounds `tcnum identify`: devices that give one thing for everything, time, few executions, files that cannot be written.

use std::{fs, time::Duration};

use serde_json::Value;
use tcnum::{
    Error, Result,
    arithmetic::Model,
    inputs::record_batch,
    isa::{Codes, Instruction, Tiles},
};
use tcnum_engine::{
    device::{Device, Execution, Generation, Identity},
    trace::Trace,
};
use tcnum_study::{
    features::{Features, measure, measure_all},
    identify::{HeldOut, Plan, Uniform, WORK, confirm, identify, identify_recording},
};

use crate::{
    black_box::BlackBox,
    machine::has_python,
    program::{tcnum, validate_report},
    shipped::listed,
};

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const SHORT: &str = "mma.m16n8k8.f32.bf16.bf16.f32";

pub(crate) fn plan(catalogue: bool, time: Duration) -> Plan {
    Plan { seed: 1, budget: 20_000, time, catalogue, found_rules: Vec::new(), withheld: Vec::new(), work: WORK }
}

/// A device that gives `code` of each output's number.
fn giving(code: impl Fn(u64) -> u64 + 'static) -> BlackBox {
    BlackBox::with_fault(&Model::load("hopper").unwrap(), move |_, _, executed, codes| {
        (0..codes.len()).for_each(|at| codes.set(at, code(executed + at as u64)));
        Ok(())
    })
}

#[test]
fn a_device_that_gives_one_thing_for_everything_is_asked_no_further() {
    let f32 = listed(BF16).d;
    for (code, given) in
        [(0x7fff_ffff, Uniform::Nan), (0xff80_0000, Uniform::Infinity), (0x3fc0_0000, Uniform::Code(f32, 0x3fc0_0000))]
    {
        let mut device = giving(move |_| code);
        for catalogue in [true, false] {
            let before = device.executed;
            let identification = identify(&mut device, listed(BF16), plan(catalogue, Duration::MAX)).unwrap();
            assert_eq!((identification.uniform, identification.rule.is_none()), (Some(given), true), "{given}");
            assert!(device.executed - before < 1000, "{given}: {} tiles", device.executed - before);
        }
        assert_eq!(measure(&mut device, listed(BF16)).unwrap().uniform, Some(given), "{given}");
    }
}

#[test]
fn a_device_that_answers_at_random_has_no_features() {
    let mut device = giving(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33);
    let error = measure(&mut device, listed(SHORT)).unwrap_err();
    assert_eq!(error.exit_status(), 3, "{error}");
    assert!(error.to_string().starts_with("hidden is not a function of its operands: "), "{error}");
}

#[test]
fn asking_ends_with_its_time_and_what_was_found_until_then_is_the_result() {
    let mut device = BlackBox::new(&Model::load("hopper").unwrap());
    let identification = identify(&mut device, listed(SHORT), plan(true, Duration::from_nanos(1))).unwrap();
    assert_eq!((identification.executions, device.executed, identification.spent), (1, 1, true));
    assert!(identification.rule.is_some() && !identification.asked.d.is_empty() && identification.misses == 0);
    let held_out = HeldOut { seed: 2, cases: 1 << 40, budget: None, time: Some(Duration::ZERO) };
    let confirmation = confirm(&mut device, &identification, held_out, &mut |_| Ok(())).unwrap();
    assert_eq!(confirmation.stopped, None);
    assert!(confirmation.part.state.compared() > 0 && !confirmation.part.state.finished);
}

/// A device that counts how often it is asked, and says of which generation it is.
struct Counted(BlackBox, Identity, u64);

impl Device for Counted {
    fn identity(&self) -> &Identity {
        &self.1
    }

    fn prepare(&mut self, i: &Instruction) -> Result<Execution> {
        self.0.prepare(i)
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.2 += 1;
        self.0.execute(i, tiles)
    }
}

fn counted(arithmetic: &str, generation: &str) -> Counted {
    let hidden = BlackBox::new(&Model::load(arithmetic).unwrap());
    let identity = Identity { generation: Generation::Named(generation.into()), ..hidden.identity().clone() };
    Counted(hidden, identity, 0)
}

/// The features of instructions, and how often the device was asked for them.
fn executions(device: &mut Counted, instructions: &[Instruction]) -> (Vec<Features>, u64) {
    let mut all = Vec::new();
    measure_all(device, instructions, &mut |_, features| {
        all.push(features?);
        Ok(())
    })
    .unwrap();
    (all, device.2)
}

#[test]
fn features_of_a_device_that_computes_as_its_generation_take_few_executions() {
    let names = [SHORT, BF16, "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k32.s32.s8.u8.s32.satfinite"];
    let instructions: Vec<Instruction> = names.iter().map(|name| listed(name).clone()).collect();
    let (expected, count) = executions(&mut counted("hopper", "hopper"), &instructions);
    // Three each, and some for the first batches, which are small.
    assert!(count <= 8 * names.len() as u64, "{count} executions");
    // Of another arithmetic the same is found, with more executions.
    let (features, more) = executions(&mut counted("hopper", "ampere"), &instructions);
    assert_eq!(features, expected);
    assert!(more > 2 * count, "{more} executions");
    // So it is where the generation has none of the instructions.
    let (features, _) = executions(&mut counted("hopper", "x86"), &instructions[..1]);
    assert_eq!(features, expected[..1]);
}

#[test]
fn what_was_measured_of_a_device_that_fails_is_kept() {
    let mut left = 10;
    let mut device = BlackBox::with_fault(&Model::load("hopper").unwrap(), move |_, _, _, _| {
        left -= 1;
        if left > 0 { Ok(()) } else { Err(Error::device("it broke")) }
    });
    let mut all = Vec::new();
    let outcome = measure_all(&mut device, &[listed(SHORT).clone()], &mut |_, features| {
        all.push(features?);
        Ok(())
    });
    assert_eq!(outcome, Err(Error::device("it broke")));
    assert!(
        all.len() == 1 && all[0].finding("subnormal A, B").is_some() && all[0].finding("result").is_none(),
        "{all:?}"
    );
}

#[test]
fn a_recording_with_two_outputs_for_one_tile_is_a_failure_that_names_both_tiles() {
    let i = listed(SHORT);
    let part = Instruction { m: 2, n: 2, ..i.clone() };
    let mut inputs = record_batch(&part, 1, 5);
    inputs.extend(&inputs.slice(1, 2));
    let mut d = Model::load("hopper").unwrap().evaluator(&part).unwrap().execute(&inputs);
    let trace = |d: Codes| Trace {
        m: 2,
        n: 2,
        k: i.k,
        inputs: inputs.clone(),
        d,
        metadata: Default::default(),
        instruction: i.clone(),
    };
    assert_eq!(identify_recording(&trace(d.clone()), true).unwrap().misses, 0);
    d.set(5 * 4 + 3, d.get(5 * 4 + 3) ^ 1);
    let error = identify_recording(&trace(d), true).unwrap_err();
    assert_eq!(error.exit_status(), 3);
    let said = error.to_string();
    assert!(said.contains("tiles 1 and 5 have equal operands") && said.contains("row 1, column 1"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_file_that_cannot_be_written_keeps_nothing_else_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ok.txt");
    let arguments = ["identify", "-q", "--cases", "1000", "--instr", SHORT, "--device", "model:hopper"];
    let run = tcnum(&[&arguments[..], &["--model-out", "/dev/full", "--out", file.to_str().unwrap()]].concat());
    assert_eq!((run.status, &run.stdout[..]), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("/dev/full cannot be written"), "{}", run.stderr);
    let kept = fs::read_to_string(&file).unwrap();
    assert!(
        kept.starts_with("NVIDIA Hopper (model) computes mma.m16n8k8.f32.bf16.bf16.f32: 8 products and c "),
        "{kept}"
    );
}

#[test]
fn the_answer_says_what_is_found_and_how_sure_it_is() {
    let answer = |arguments: &[&str], status: i32| {
        let run = tcnum(&[&["identify", "-q", "--output", "json"], arguments].concat());
        assert_eq!(run.status, status, "{}", run.stderr);
        let report: Value = validate_report(&run.stdout);
        report["answer"].as_str().unwrap().to_string()
    };
    let on_ampere = ["--device", "model:ampere", "--instr", SHORT];
    let said = answer(&[&on_ampere[..], &["--cases", "1000"]].concat(), 0);
    let words = "NVIDIA Ampere (model) computes mma.m16n8k8.f32.bf16.bf16.f32: 8 products and c in one sum, aligned, cut at 24 \
                 bits RZ, exponent at least -132, rounded to f32 (24 bits), RZ. ";
    assert!(said.starts_with(words) && said.contains(" Shipped rule: ampere. "), "{said}");
    assert!(said.ends_with(" asked outputs and all 1,024 held-out ones."), "{said}");
    let said = answer(&[&on_ampere[..], &["--quick"]].concat(), 0);
    assert!(said.contains(" as ampere, "), "{said}");
    let features = tcnum(&[&["features", "-q", "--output", "json"], &on_ampere[..]].concat());
    let said = validate_report(&features.stdout)["answer"].to_string();
    assert!(said.contains("alignment 24 bits, RZ; result RZ"), "{said}");
    let said = answer(&[&on_ampere[..], &["--instr", BF16, "--cases", "1000"]].concat(), 0);
    assert_eq!(said, "2 instructions of NVIDIA Ampere (model): 2 identified, all as ampere.");
    if has_python() {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
        let device = format!("exec:python3 '{program}' --fault jammed");
        let integers = "mma.m8n8k16.s32.s8.s8.s32";
        let said = answer(&["--device", &device, "--instr", integers, "--cases", "2000"], 1);
        assert!(
            said.starts_with("No rule that was found gives all answers of ") && said.contains(" held-out ones."),
            "{said}"
        );
        assert!(said.contains(" The nearest: 16 products and c in one exact sum, modulo 2^32. "), "{said}");
    }
}
