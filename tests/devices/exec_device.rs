//! The device `exec:`: the same bytes as `model:hopper` from an independent program, and one clear failure, with
//! nothing left running, from every program that misbehaves.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use tcnum::{
    Error,
    device::{self, Device, ExecDevice, Execution, ExecutionKind},
    format::{Format, Overflow, Rounding},
    inputs::record_batch,
    isa::{self, Case, Codes, Instruction, Tiles},
};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
const INSTRUCTION: &str = "mma.m8n8k16.s32.s8.s8.s32";

fn open(options: &str, seconds: f64) -> ExecDevice {
    ExecDevice::new(&format!("python3 '{PROGRAM}' {options}"), Duration::from_secs_f64(seconds)).unwrap()
}

/// Ten tiles on a program with these options.
fn run(options: &str, seconds: f64) -> Result<Codes, Error> {
    let instruction = isa::find(INSTRUCTION).unwrap();
    open(options, seconds).execute(&instruction, &Tiles::zeros(&instruction, 10))
}

fn failure(options: &str, seconds: f64) -> String {
    let error = run(options, seconds).expect_err("the program misbehaves");
    assert_eq!(error.exit_status(), 3, "{error}");
    assert!(error.to_string().starts_with("exec:python3 "), "{error}");
    error.to_string()
}

/// Instructions of every arithmetic that the program knows, with tiles enough for every kind of input.
const INSTRUCTIONS: [&str; 22] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k8.f32.f16.f16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "mma.m16n8k4.f32.tf32.tf32.f32",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k32.f32.e4m3.e5m2",
    "wgmma.m64n8k32.f32.e5m2.e5m2",
    "wgmma.m64n8k32.f16.e4m3.e4m3",
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "mma.m16n8k32.f16.e5m2.e4m3.f16",
    "mma.m16n8k16.f32.e4m3.e5m2.f32",
    "mma.m8n8k4.f32.f16.f16.f32",
    "mma.m8n8k4.f32.f16.f16.f16",
    "mma.m8n8k4.f16.f16.f16.f16",
    "mma.m8n8k4.f64.f64.f64.f64",
    "mma.m16n8k8.f64.f64.f64.f64.rm",
    "mma.m16n8k4.f64.f64.f64.f64.rp",
    "mma.m16n8k16.f64.f64.f64.f64.rz",
    "mma.m16n8k32.s32.s8.u8.s32",
    "mma.m16n8k16.s32.s8.s8.s32.satfinite",
];

#[test]
fn an_independent_program_gives_the_bytes_of_the_hopper_model() {
    let mut model = device::open(Some("model:hopper"), Duration::from_secs(60)).unwrap();
    let mut program = open("", 60.0);
    for name in INSTRUCTIONS {
        let instruction = isa::find(name).unwrap();
        let outputs = instruction.m * instruction.n;
        let tiles = record_batch(&instruction, 7, 4096 / outputs);
        let execution = program.prepare(&instruction).unwrap();
        assert_eq!(execution, Execution { kind: ExecutionKind::External, opcodes: Vec::new() });
        let (of_program, of_model) =
            (program.execute(&instruction, &tiles).unwrap(), model.execute(&instruction, &tiles).unwrap());
        let differing = of_program.iter().zip(of_model.iter()).position(|(x, y)| x != y);
        if let Some(at) = differing {
            let Case { a, b, c, .. } =
                tiles.case(&instruction, at / outputs, at % outputs / instruction.n, at % instruction.n);
            let (program, model) = (of_program.get(at), of_model.get(at));
            panic!("{name}: A {a:#x?}, B {b:#x?}, C {c:#x}: program {program:#x}, model {model:#x}");
        }
        assert_eq!(of_program.len(), of_model.len());
    }
    assert_eq!(program.identity().description, "Hopper in Python integers");
}

/// Tiles whose element (0, 0) is `2^-whole + sign * 2^-q`, one tile for each q, each term a product of two powers of two.
fn two_terms(instruction: &Instruction, whole: i32, sign: f64, q: std::ops::RangeInclusive<i32>) -> Tiles {
    let mut tiles = Tiles::zeros(instruction, q.clone().count());
    for (tile, q) in q.enumerate() {
        for (k, sign, exponent) in [(0, 1.0, -whole), (1, sign, -q)] {
            let (x, y) = (sign * 2f64.powi(exponent / 2), 2f64.powi(exponent - exponent / 2));
            let code = |format: &Format, value| format.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap();
            tiles.a.set(tile * instruction.m * instruction.k + k, code(instruction.a, x));
            tiles.b.set((tile * instruction.k + k) * instruction.n, code(instruction.b, y));
        }
    }
    tiles
}

/// The alignment floors: below 2^(floor - 25) a term is cut off however small the others are. With f32 output,
/// 2^-149 - 2^-q truncates to zero as long as 2^-q takes part; with f16 output, 2^-25 is a tie that 2^-q breaks.
#[test]
fn program_and_model_have_the_alignment_floors_of_the_hardware() {
    let mut model = device::open(Some("model:hopper"), Duration::from_secs(60)).unwrap();
    let mut program = open("", 60.0);
    for (name, whole, sign, q, last, with_q, without_q) in [
        ("mma.m16n8k16.f32.bf16.bf16.f32", 149, -1.0, 150..=166, 133 + 25, 0, 1),
        ("mma.m16n8k8.f32.tf32.tf32.f32", 149, -1.0, 150..=166, 133 + 25, 0, 1),
        ("mma.m16n8k16.f16.f16.f16.f16", 25, 1.0, 26..=48, 21 + 25, 1, 0),
    ] {
        let instruction = isa::find(name).unwrap();
        let tiles = two_terms(&instruction, whole, sign, q.clone());
        for device in [model.as_mut(), &mut program] {
            let d = device.execute(&instruction, &tiles).unwrap();
            for (tile, q) in q.clone().enumerate() {
                let expected = if q <= last { with_q } else { without_q };
                let code = d.get(tile * instruction.m * instruction.n);
                assert_eq!(code, expected, "{name} on {}, q = {q}", device.identity().name);
            }
        }
    }
}

#[test]
fn a_session_goes_on_over_several_executions_and_large_batches() {
    // Echoes C as D: 5,000 tiles are more than one batch.
    let echo = r#"exec:python3 -c "
import json, sys, struct
i, o = sys.stdin.buffer, sys.stdout.buffer
json.loads(i.readline()); o.write(b'{\"ok\":true}\n'); o.flush(); sessions = 0
while t := struct.unpack('<I', i.read(4))[0]:
    i.read(t * 256); o.write(i.read(t * 256)); o.flush()
""#;
    let instruction = isa::find(INSTRUCTION).unwrap();
    let mut tiles = Tiles::zeros(&instruction, 5000);
    (0..tiles.c.len()).for_each(|at| tiles.c.set(at, at as u64));
    let mut device = device::open(Some(echo), Duration::from_secs(60)).unwrap();
    for _ in 0..2 {
        assert_eq!(device.execute(&instruction, &tiles).unwrap(), tiles.c);
    }
    assert_eq!(device.execute(&instruction, &tiles.slice(7, 9)).unwrap(), tiles.c.slice(7 * 64, 9 * 64));
    assert_eq!(device.execute(&instruction, &tiles.slice(0, 0)).unwrap().len(), 0);
}

#[test]
fn a_program_that_declines_makes_the_request_wrong() {
    let error = run("--refuse", 60.0).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("does not execute mma.m8n8k16.s32.s8.s8.s32: no arithmetic is"), "{error}");
    let block_scaled = isa::all().iter().find(|i| i.scale.is_some()).unwrap();
    let error = open("", 60.0).prepare(block_scaled).unwrap_err();
    assert_eq!(error.exit_status(), 2);
}

#[test]
fn sparse_forms_send_the_stored_elements_and_their_positions() {
    for name in ["mma.sp.m16n8k32.s32.s8.u8.s32.ordered", "mma.sp.m16n8k64.s32.u8.s8.s32.satfinite"] {
        let i = isa::find(name).unwrap();
        let tiles = record_batch(&i, 3, 40);
        let d = open("", 60.0).execute(&i, &tiles).unwrap();
        for (at, code) in d.iter().enumerate() {
            let case = tiles.case(&i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
            let value = |format: &Format, code| format.to_f64(code) as i64;
            let product = |at: usize| value(i.a, case.a[at]) * value(i.b, case.b[case.logical(&i, at)]);
            let sum = value(i.c, case.c) + (0..i.stored_k()).map(product).sum::<i64>();
            let expected =
                if i.has_qualifier("satfinite") { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum } as u32;
            assert_eq!(code, u64::from(expected), "{name}, element {at}: {case:?}");
        }
    }
}

#[test]
fn scale_codes_come_last() {
    // Answers with the sum of the scales of row and column in the first element of D, if the offer says that there are any.
    let program = r#"python3 -c "
import json, struct, sys
i, o = sys.stdin.buffer, sys.stdout.buffer
offer = json.loads(i.readline()); ok = offer['scale'] == {'format': 'ue4m3', 'block': 16} and offer['sparse'] is None
o.write(json.dumps({'ok': ok, 'error': str(offer)}).encode() + b'\n'); o.flush()
while t := struct.unpack('<I', i.read(4))[0]:
    i.read(t * 16 * 64); i.read(t * 64 * 8); i.read(t * 16 * 8 * 4); a = i.read(t * 16 * 4); b = i.read(t * 4 * 8)
    o.write(b''.join(struct.pack('<I', sum(a[n*64:n*64+4]) + sum(b[n*32:n*32+32:8])) + bytes(508) for n in range(t)))
    o.flush()
""#;
    let i = isa::find("mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16").unwrap();
    let mut tiles = Tiles::zeros(&i, 3);
    for tile in 0..3 {
        let case = Case { scale_a: vec![tile, 1, 2, 3], scale_b: vec![10, 20, 30, tile], ..Case::zeros(&i) };
        tiles.place(&i, tile as usize, 0, 0, &case);
    }
    let d = ExecDevice::new(program, Duration::from_secs(60)).unwrap().execute(&i, &tiles).unwrap();
    assert_eq!([0, 1, 2].map(|tile| d.get(tile * 128)), [66, 68, 70]);
}

#[test]
fn a_program_that_dies_half_way_is_a_failure_that_says_how_far_it_got() {
    let message = failure("--die-after 3", 60.0);
    assert!(message.contains("answered 3 of 10 tiles of mma.m8n8k16"), "{message}");
    assert!(message.contains("exit status: 7"), "{message}");
    assert!(message.contains("the last line of its standard error: something broke"), "{message}");
}

#[test]
fn a_program_that_answers_short_is_a_failure_that_says_how_far_it_got() {
    let message = failure("--short", 60.0);
    assert!(message.contains("answered 9 of 10 tiles"), "{message}");
    assert!(message.contains("exit status: 0"), "{message}");
}

#[test]
fn a_program_that_answers_too_much_is_a_failure() {
    let message = failure("--surplus", 60.0);
    assert!(message.contains("answered 10 of 10 tiles"), "{message}");
    assert!(message.contains("wrote bytes that the protocol does not have there"), "{message}");
}

#[test]
fn a_program_that_floods_its_output_is_a_failure() {
    for first in ["", "echo '{\"ok\":true}'; sleep 0.2;"] {
        let command = format!("sh -c 'read line; {} exec cat /dev/zero'", first.replace('\'', "'\\''"));
        let error = ExecDevice::new(&command, Duration::from_secs(60))
            .unwrap()
            .execute(&isa::find(INSTRUCTION).unwrap(), &Tiles::zeros(&isa::find(INSTRUCTION).unwrap(), 10))
            .unwrap_err();
        assert_eq!(error.exit_status(), 3, "{error}");
    }
}

#[test]
fn a_program_that_hangs_or_never_reads_is_stopped_after_the_timeout() {
    let begin = Instant::now();
    let message = failure("--hang", 1.5);
    assert!(message.contains("answered 0 of 10 tiles"), "{message}");
    assert!(message.contains("gave no answer for 1.5 s (--timeout) and was stopped"), "{message}");

    // More input than a pipe holds.
    let instruction = isa::find(INSTRUCTION).unwrap();
    let error = open("--deaf", 1.5).execute(&instruction, &Tiles::zeros(&instruction, 4000)).unwrap_err();
    assert_eq!(error.exit_status(), 3);
    assert!(error.to_string().contains("answered 0 of 4000 tiles"), "{error}");

    let silent = ExecDevice::new("sleep 1000", Duration::from_millis(300)).unwrap().prepare(&instruction);
    let error = silent.unwrap_err();
    assert!(error.to_string().contains("answered no tile: before its first line it gave no answer"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_a_failure() {
    assert!(failure("--garbage", 60.0).contains("answered no tile: its first line is not"));
    let instruction = isa::find(INSTRUCTION).unwrap();
    for (command, status, expected) in [
        ("true", 3, "it ended before its first line (exit status: 0)"),
        (
            "sh -c 'echo \"no licence\" >&2; exit 3'",
            3,
            "exit status: 3; the last line of its standard error: no licence",
        ),
        ("sh -c 'echo 1; cat >/dev/null'", 3, "its first line is not"),
        ("/nowhere/program", 2, "'/nowhere/program' cannot be started"),
        ("/", 2, "cannot be started"),
    ] {
        let mut device = ExecDevice::new(command, Duration::from_secs(60)).unwrap();
        let error = device.prepare(&instruction).unwrap_err();
        assert_eq!(error.exit_status(), status, "{command}: {error}");
        assert!(error.to_string().contains(expected), "{command}: {error}");
    }
    for command in ["", "  ", "'a", "''"] {
        let error = ExecDevice::new(command, Duration::from_secs(60)).err().unwrap();
        assert_eq!(error.exit_status(), 2, "{command:?}");
    }
}

#[test]
fn the_device_can_be_used_again_after_a_failure() {
    let instruction = isa::find(INSTRUCTION).unwrap();
    let mut device = open("--die-after 3", 60.0);
    let tiles = Tiles::zeros(&instruction, 10);
    assert!(device.execute(&instruction, &tiles).is_err());
    assert_eq!(device.execute(&instruction, &tiles.slice(0, 3)).unwrap().len(), 3 * 64);
}

#[test]
fn verify_reports_a_failing_program_with_status_3() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");
    let verify = |options: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args(["verify", trace, "--timeout", "30", "--model", &format!("exec:python3 '{PROGRAM}' {options}")])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(verify(""), (Some(0), String::new()));
    let (status, errors) = verify("--die-after 2");
    assert_eq!(status, Some(3));
    assert!(errors.starts_with("error: exec:python3 ") && errors.contains("answered 2 of 3 tiles"), "{errors}");
    assert_eq!(verify("--refuse").0, Some(2));
}
