//! The device `exec:`: the same bytes as `model:hopper` from an independent program, and one clear failure, with
//! nothing left running, from every program that misbehaves.

use std::{cell::Cell, fs, path::Path, process::Command, time::Duration};

use crate::{
    machine::{amount, has_python},
    program::{tcnum, validate_report},
};
use serde_json::Value;

use tcnum::{
    Error, Interruption,
    format::{Format, Overflow, Rounding},
    inputs::record_batch,
    interruptible,
    isa::{self, Case, Codes, Instruction, Tiles},
};
use tcnum_engine::device::{self, Device, ExecDevice, Execution, ExecutionKind};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
const INSTRUCTION: &str = "mma.m8n8k16.s32.s8.s8.s32";

/// How long an answer is waited for where one comes, or the end of the program does.
const TIMEOUT: Duration = Duration::from_secs(300);

fn open(options: &str) -> ExecDevice {
    ExecDevice::new(&format!("python3 '{PROGRAM}' {options}"), TIMEOUT).unwrap()
}

/// Ten tiles on a program with these options.
fn run(options: &str) -> Result<Codes, Error> {
    let instruction = isa::find(INSTRUCTION).unwrap();
    open(options).execute(&instruction, &Tiles::zeros(&instruction, 10))
}

fn failure(options: &str) -> String {
    let error = run(options).expect_err("the program misbehaves");
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
    if !has_python() {
        return;
    }
    let mut model = device::open(Some(&"model:hopper".into()), TIMEOUT).unwrap();
    let mut program = open("");
    for name in INSTRUCTIONS {
        let instruction = isa::find(name).unwrap();
        let outputs = instruction.m * instruction.n;
        let tiles = record_batch(&instruction, 7, amount(512, 4096) / outputs);
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

/// Tiles whose element (0, 0) is `2^-p + sign * 2^-q`, one tile for each q, each term a product of two powers of two.
fn two_terms(instruction: &Instruction, p: i32, sign: f64, q: std::ops::RangeInclusive<i32>) -> Tiles {
    let mut tiles = Tiles::zeros(instruction, q.clone().count());
    for (tile, q) in q.enumerate() {
        for (k, sign, exponent) in [(0, 1.0, -p), (1, sign, -q)] {
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
    if !has_python() {
        return;
    }
    let mut model = device::open(Some(&"model:hopper".into()), TIMEOUT).unwrap();
    let mut program = open("");
    for (name, p, sign, q, last, with_q, without_q) in [
        ("mma.m16n8k16.f32.bf16.bf16.f32", 149, -1.0, 150..=166, 133 + 25, 0, 1),
        ("mma.m16n8k8.f32.tf32.tf32.f32", 149, -1.0, 150..=166, 133 + 25, 0, 1),
        ("mma.m16n8k16.f16.f16.f16.f16", 25, 1.0, 26..=48, 21 + 25, 1, 0),
    ] {
        let instruction = isa::find(name).unwrap();
        let tiles = two_terms(&instruction, p, sign, q.clone());
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
    if !has_python() {
        return;
    }
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
    let mut device = device::open(Some(&device::DeviceName::from(echo)), TIMEOUT).unwrap();
    for _ in 0..2 {
        assert_eq!(device.execute(&instruction, &tiles).unwrap(), tiles.c);
    }
    assert_eq!(device.execute(&instruction, &tiles.slice(7, 9)).unwrap(), tiles.c.slice(7 * 64, 9 * 64));
    assert_eq!(device.execute(&instruction, &tiles.slice(0, 0)).unwrap().len(), 0);
}

#[test]
fn a_program_that_declines_makes_the_request_wrong() {
    if !has_python() {
        return;
    }
    let error = run("--refuse").unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("does not execute mma.m8n8k16.s32.s8.s8.s32: no arithmetic is"), "{error}");
    let block_scaled = isa::all().iter().find(|i| i.scale.is_some()).unwrap();
    let error = open("").prepare(block_scaled).unwrap_err();
    assert_eq!(error.exit_status(), 2);
}

#[test]
fn sparse_forms_send_the_stored_elements_and_their_positions() {
    if !has_python() {
        return;
    }
    for name in ["mma.sp.m16n8k32.s32.s8.u8.s32.ordered", "mma.sp.m16n8k64.s32.u8.s8.s32.satfinite"] {
        let i = isa::find(name).unwrap();
        let tiles = record_batch(&i, 3, 40);
        let d = open("").execute(&i, &tiles).unwrap();
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
    if !has_python() {
        return;
    }
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
    let d = ExecDevice::new(program, TIMEOUT).unwrap().execute(&i, &tiles).unwrap();
    assert_eq!([0, 1, 2].map(|tile| d.get(tile * 128)), [66, 68, 70]);
}

#[test]
fn a_program_that_dies_half_way_is_a_failure_that_says_how_far_it_got() {
    if !has_python() {
        return;
    }
    let message = failure("--die-after 3");
    assert!(message.contains("answered 3 of 10 tiles of mma.m8n8k16"), "{message}");
    assert!(message.contains("exit status: 7"), "{message}");
    assert!(message.contains("the last line of its standard error: something broke"), "{message}");
}

#[test]
fn a_program_that_answers_short_is_a_failure_that_says_how_far_it_got() {
    if !has_python() {
        return;
    }
    let message = failure("--short");
    assert!(message.contains("answered 9 of 10 tiles"), "{message}");
    assert!(message.contains("exit status: 0"), "{message}");
}

#[test]
fn a_program_that_answers_too_much_is_a_failure() {
    if !has_python() {
        return;
    }
    let message = failure("--surplus");
    assert!(message.contains("answered 10 of 10 tiles"), "{message}");
    assert!(message.contains("wrote more bytes than the protocol allows"), "{message}");
}

#[test]
fn a_program_that_floods_its_output_is_a_failure() {
    for first in ["", "echo '{\"ok\":true}'; head -c 4 >/dev/null;"] {
        let command = format!("sh -c 'read line; {} exec cat /dev/zero'", first.replace('\'', "'\\''"));
        let error = ExecDevice::new(&command, TIMEOUT)
            .unwrap()
            .execute(&isa::find(INSTRUCTION).unwrap(), &Tiles::zeros(&isa::find(INSTRUCTION).unwrap(), 10))
            .unwrap_err();
        assert_eq!(error.exit_status(), 3, "{error}");
    }
}

#[test]
fn a_program_that_never_answers_is_stopped_after_the_timeout() {
    let instruction = isa::find(INSTRUCTION).unwrap();
    let mut device = ExecDevice::new("sleep 1000", Duration::from_millis(300)).unwrap();
    let error = device.prepare(&instruction).unwrap_err();
    assert_eq!(error.exit_status(), 3, "{error}");
    let expected = "answered no tile: before its first line it gave no answer for 0.3 s (‹timeout›) and was stopped";
    assert!(error.to_string().contains(expected), "{error}");
}

/// A program that answers `answer` to the greeting in `offer`, and then outputs of zero.
fn answering(answer: &str) -> String {
    format!(
        r#"exec:python3 -c "
import json, sys, struct
i, o = sys.stdin.buffer, sys.stdout.buffer
offer = json.loads(i.readline())
o.write(json.dumps({answer}).encode() + b'\n'); o.flush()
m, n, k = offer['m'], offer['n'], offer['k']
while t := struct.unpack('<I', i.read(4))[0]:
    i.read(t * (m * k * 2 + k * n * 2 + m * n * 4)); o.write(bytes(t * m * n * 4)); o.flush()
""#
    )
}

fn prepared(answer: &str, instruction: &str) -> Result<Execution, Error> {
    let mut device = device::open(Some(&device::DeviceName::from(&*answering(answer))), TIMEOUT).unwrap();
    device.prepare(&isa::find(instruction).unwrap())
}

#[test]
fn the_greeting_says_everything_that_decides_results() {
    if !has_python() {
        return;
    }
    let said = |instruction: &str| {
        let error = prepared("{'protocol': 2, 'ok': False, 'error': json.dumps(offer)}", instruction).unwrap_err();
        assert!(error.is_unavailable());
        let text = error.to_string();
        serde_json::from_str::<Value>(&text[text.rfind("{\"protocol\"").unwrap()..])
            .unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let names = [
        "tcgen05.m128n16k32.s32.s8.s8.s32",
        "tcgen05.m128n16k32.s32.s8.s8.s32.satfinite",
        "mma.sp.m16n8k64.s32.s4.s4.s32",
    ];
    let [plain, saturating, sparse] = names.map(said);
    assert_eq!((&plain["saturate"], &saturating["saturate"]), (&false.into(), &true.into()));
    assert_eq!(saturating["name"], names[1]);
    assert_eq!(sparse["sparse"].to_string(), r#"{"length":8,"kept":4,"together":2,"order":"any"}"#);
    assert!(plain["sparse"].is_null() && plain["protocol"] == 2);
}

#[test]
fn programs_of_the_first_protocol_go_on_working() {
    if !has_python() {
        return;
    }
    let external = Execution { kind: ExecutionKind::External, opcodes: Vec::new() };
    for answer in [
        // One that does not look at the number, one that refuses another, and one that ends.
        "{'ok': True}",
        "{'ok': offer['protocol'] == 1, 'error': 'what is this?'}",
        "{'ok': {1: True}[offer['protocol']]}",
    ] {
        assert_eq!(prepared(answer, "mma.m16n8k8.f32.f16.f16.f32").as_ref(), Ok(&external), "{answer}");
        let error = prepared(answer, "tcgen05.m128n16k32.s32.s8.s8.s32.satfinite").unwrap_err();
        assert_ne!(error.exit_status(), 0, "{answer}: {error}");
    }
    let error = prepared("{'ok': True}", "tcgen05.m128n16k32.s32.s8.s8.s32.satfinite").unwrap_err();
    assert!(
        error.is_unavailable() && error.to_string().contains("does not say that the instruction saturates"),
        "{error}"
    );
    let error = prepared("{'ok': True, 'protocol': 3}", INSTRUCTION).unwrap_err();
    assert!(error.exit_status() == 3 && error.to_string().contains("protocol 3"), "{error}");
}

#[test]
fn a_program_is_compared_with_the_model_that_it_names() {
    if !has_python() {
        return;
    }
    let probe = |answer: &str, more: &[&str]| {
        let device = answering(answer);
        let arguments = ["probe", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--op", "multiply", "--samples", "10"];
        tcnum(&[&arguments[..], &["--device", &device, "--output", "json"], more].concat())
    };
    let compared = |answer: &str, more: &[&str]| {
        let report = validate_report(&probe(answer, more).stdout);
        (report["tables"]["profile"][0]["model"].as_str().unwrap().to_string(), report["notes"].to_string())
    };
    let named = "{'protocol': 2, 'ok': True, 'model': 'turing'}";
    let (model, notes) = compared(named, &[]);
    assert!(model == "turing" && notes.contains("asks to be compared with the model 'turing'"), "{model}: {notes}");
    let (model, notes) = compared(named, &["--model", "ampere"]);
    assert!(model == "ampere" && !notes.contains("asks to be compared"), "{model}: {notes}");
    let (model, notes) = compared("{'protocol': 2, 'ok': True}", &[]);
    assert!(model == "hopper" && notes.contains("compared with the model 'hopper'"), "{model}: {notes}");
    let unknown = probe("{'protocol': 2, 'ok': True, 'model': 'hoper'}", &[]);
    assert_eq!(unknown.status, 2);
    assert!(
        unknown.stderr.contains("the model that exec:") && unknown.stderr.contains("'hopper'"),
        "{}",
        unknown.stderr
    );
}

/// The checks of `exec-check` that failed, each with what was found; the exit status has to agree.
fn failed_checks(arguments: &[&str]) -> Vec<(String, String)> {
    let run = tcnum(&[&["exec-check", "--timeout", "300", "--output", "json"], arguments].concat());
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["exec_checks"].as_array().unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_string();
    let failed = rows.iter().filter(|row| row["passed"] == false);
    let failed: Vec<_> = failed.map(|row| (text(row, "check"), text(row, "found"))).collect();
    assert_eq!(run.status, i32::from(!failed.is_empty()), "{}", run.stdout);
    failed
}

const PYTHON_TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/exec/sequential.py");
const C_TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/exec/sequential.c");

/// The template in C, as a program in `folder`.
fn compiled(folder: &Path) -> String {
    let program = folder.join("sequential").to_string_lossy().into_owned();
    let status = Command::new("cc")
        .args(["-O1", "-ffp-contract=off", "-Wall", "-Werror", "-o", &program, C_TEMPLATE, "-lm"])
        .status();
    assert!(status.expect("there is a C compiler").success());
    program
}

#[test]
fn the_templates_pass_all_checks_and_compute_what_they_say() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    let instructions =
        ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16", "mma.m16n8k16.f32.bf16.bf16.f32"];
    let chosen = instructions.iter().take(amount(1, 3)).flat_map(|name| ["--instr", name]).collect::<Vec<_>>();
    for command in [&["python3", PYTHON_TEMPLATE][..], &[program.as_str()]] {
        assert_eq!(failed_checks(&[&chosen, command].concat()), [], "{command:?}");
    }
    let hopper = format!("exec:python3 '{PROGRAM}'");
    let of_all_they_know = [&[program.as_str()][..], &["python3", PYTHON_TEMPLATE], &[&hopper]];
    for command in of_all_they_know.into_iter().take(amount(1, 3)) {
        assert_eq!(failed_checks(command), [], "{command:?}");
    }

    // A chain of fused multiply-adds is a model, too.
    let model = folder.path().join("chain.toml");
    fs::write(
        &model,
        "name = \"chain\"\ntitle = \"a chain\"\nversion = 1\n[[rule]]\ninstructions = [\"mma.*\"]\nevidence = [{ assumed = \"a test\" }]\nstep = \
         \"fma\"\nresult = { format = \"f32\", rounding = \"RNE\" }\nnan = \"0x7fffffff\"\n",
    )
    .unwrap();
    let verify = ["verify", "--instr", instructions[0], "--device", &format!("exec:{program}"), "--cases", "20000"];
    let run = tcnum(&[&verify, &["--model", model.to_str().unwrap(), "--output", "json"][..]].concat());
    let differing = validate_report(&run.stdout)["tables"]["mismatches"].to_string();
    // NaNs are the host's.
    assert!(run.status == 0 || differing.contains("NaN"), "{}", run.stdout);
}

#[test]
fn programs_that_break_the_protocol_fail_the_check_of_it() {
    if !has_python() {
        return;
    }
    let only = |answer: &str, batch: &str, more: &[&str]| {
        let program = format!(
            "import json, os, random, struct, sys, time
i, o = sys.stdin.buffer, sys.stdout.buffer
offer = json.loads(i.readline()); known = offer['instruction'].startswith('mma.')
o.write(json.dumps({answer}).encode() + b'\\n'); o.flush()
def batch(t):
    data = i.read(t * 512)
    {batch}
    o.flush()
while known and len(head := i.read(4)) == 4 and (t := struct.unpack('<I', head)[0]): batch(t)
"
        );
        let command = [&["--instr", INSTRUCTION], more, &["python3", "-c", &program]].concat();
        failed_checks(&command).into_iter().map(|(check, _)| check).collect::<Vec<_>>()
    };
    let (knows, right) = ("{'protocol': 2, 'ok': known, 'error': 'no'}", "o.write(bytes(t * 256))");
    assert_eq!(only(knows, right, &[]), [""; 0]);
    assert_eq!(only("{'protocol': 2, 'ok': True}", right, &[]), ["declines an unknown instruction"]);
    assert_eq!(only("{'protocol': 2, 'ok': False, 'error': 'no'}", right, &[]), ["greeting"]);
    assert_eq!(only(knows, "o.write(bytes(t * 256 - 1)); sys.exit()", &[]), ["batches"]);
    assert_eq!(only(knows, "o.write(bytes(t * 256 + 1))", &[]), ["batches"]);
    assert_eq!(only(knows, "o.write(bytes(256)); t > 1 and sys.exit()", &[]), ["batches"]);
    assert_eq!(only(knows, "o.write(b'\\1' * (t * 256))", &[]), ["zeros"]);
    assert_eq!(
        only(knows, "o.write(bytes(t * 256) if not any(data) else os.urandom(t * 256))", &[]),
        ["repeats itself"]
    );
    assert_eq!(only(knows, "o.write(bytes(t * 256) if t < 20 else b'\\1' * (t * 256))", &[]), ["repeats itself"]);

    // A program with another instruction is sound; nothing was executed.
    let declines = ["python3", "tests/exec/hopper.py", "--refuse"];
    let run = tcnum(&[&["exec-check", "--output", "json"], &declines[..]].concat());
    let report = validate_report(&run.stdout);
    let answer = report["answer"].as_str().unwrap();
    assert!(answer.starts_with("The program declines properly each of the 10 instructions"), "{answer}");
    assert_eq!((run.status, &report["verdict"]), (1, &"nothing was executed or compared".into()));
    assert!(report["tables"]["exec_checks"].as_array().unwrap().iter().all(|row| row["passed"] == true), "{report}");

    let run = tcnum(&["exec-check", "/nowhere/program"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("cannot be started"), "{}", run.stderr);
}

/// A unit that rounds at random, with the same random numbers in each session, and that declines without saying by which protocol.
#[test]
fn a_unit_that_rounds_at_random_does_not_repeat_itself_and_what_it_declines_is_declined() {
    if !has_python() {
        return;
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/stochastic.py");
    let failed = failed_checks(&["python3", program]);
    let checks: Vec<&str> = failed.iter().map(|(check, _)| check.as_str()).collect();
    assert_eq!(checks, ["repeats itself"], "{failed:?}");
    assert!(failed[0].1.contains("in another session, after other tiles"), "{failed:?}");
}

#[test]
fn a_unit_that_rounds_at_random_as_its_model_says_passes_and_one_with_fewer_bits_fails() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("unit.toml");
    let rule = "name = \"unit\"\ntitle = \"a unit\"\nversion = 1\n[[rule]]\ninstructions = [\"mma*\"]\n\
                evidence = [{ assumed = \"a test\" }]\nstep = \"exact\"\nresult = { format = \"f64\", rounding = \"RNE\" }\n\
                output = { rounding = \"SR\", random-bits = 8 }\nnan = \"0x7fc00000\"\n";
    fs::write(&model, rule).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/stochastic.py");
    let run = |command: &str, bits: &str| {
        let instruction = ["--instr", "mma.m16n8k8.f32.f16.f16.f32"];
        let model = model.to_str().unwrap();
        let unit = format!("exec:python3 {program} {model} {bits}");
        let words = match command {
            "verify" => ["verify", "--cases", "30000", "--device", &unit].to_vec(),
            _ => [command].to_vec(),
        };
        let program = if command == "verify" { vec![] } else { vec![&unit[..]] };
        tcnum(&[&words[..1], &instruction, &words[1..], &program].concat())
    };
    for command in ["exec-check", "verify"] {
        let right = run(command, "8");
        assert_eq!(right.status, 0, "{command}: {} {}", right.stdout, right.stderr);
        assert!(right.stdout.contains("a chance that is off by 1/"), "{}", right.stdout);
        let wrong = run(command, "2");
        assert_eq!(wrong.status, 1, "{command}: {} {}", wrong.stdout, wrong.stderr);
    }
    let power = tcnum(&["power", "--model", model.to_str().unwrap(), "--instr", "mma.m16n8k8.f32.f16.f16.f32"]);
    assert!(power.status == 2 && power.stderr.contains("no function of the operands"), "{}", power.stderr);
}

#[test]
fn sessions_of_a_program_share_the_tiles_and_give_the_answers_of_one() {
    if !has_python() {
        return;
    }
    let i = isa::find("mma.m8n8k4.f16.f16.f16.f16").unwrap();
    let command = format!("python3 {}/tests/exec/hopper.py", env!("CARGO_MANIFEST_DIR"));
    let tiles = record_batch(&i, 1, 7);
    let answers = |sessions| {
        let mut device = ExecDevice::new(&command, Duration::from_secs(60)).unwrap();
        device.share(sessions);
        device.execute(&i, &tiles).unwrap()
    };
    let one = answers(1);
    assert!([2, 3, 20].into_iter().all(|sessions| answers(sessions) == one));
}

/// An instruction, a format and a model of the user's own, in `folder`.
fn user_files(folder: &Path) -> (String, String) {
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_string_lossy().into_owned()
    };
    write(
        "small.toml",
        "name = \"fp5-e3m1\"\nexponent_bits = 3\ntrailing_bits = 1\nbias = 3\nzeros = \"both\"\nspecials = \"ieee\"\n",
    );
    let instruction = write(
        "dot.toml",
        "name = \"rtl.m3n5k8.f32.fp5.f16.f32\"\nspelling = \"mma.sync.mine\"\nm = 3\nn = 5\nk = 8\na = \"small.toml\"\nb = \
         \"f16\"\nc = \"f32\"\nd = \"f32\"\n",
    );
    let model = write(
        "mine.toml",
        "name = \"mine\"\ntitle = \"my RTL\"\nversion = 1\n[[rule]]\ninstructions = [\"rtl.*\"]\nevidence = [{ assumed = \"a test\" }]\nstep = \
         \"fma\"\nresult = { format = \"f32\", rounding = \"RNE\" }\nnan = \"0x7fffffff\"\n",
    );
    (instruction, model)
}

#[test]
fn instructions_of_the_users_own_are_probed_recorded_verified_chained_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let (instruction, model) = user_files(folder.path());
    let (device, trace) =
        (format!("model:{model}"), folder.path().join("own.safetensors").to_string_lossy().into_owned());
    let with = ["--instr", &instruction, "--device", &device, "--output", "json"];
    let run = |arguments: &[&str]| {
        let run = tcnum(arguments);
        assert_eq!(run.status, 0, "{arguments:?}: {}{}", run.stderr, run.stdout);
        validate_report(&run.stdout)
    };
    let probed = run(&[&["probe", "--samples", "50"], &with[..]].concat());
    assert_eq!(probed["tables"]["profile"][0]["instruction"], "rtl.m3n5k8.f32.fp5.f16.f32");
    let verified = run(&[&["verify", "--cases", "5000"], &with[..]].concat());
    assert_eq!(verified["tables"]["verification"][0]["compared"], 5010);
    run(&[&["chain", "--length", "2", "--chains", "3"], &with[..]].concat());
    run(&[&["record", "--tiles", "20", "--out", &trace], &with[..]].concat());
    // The recording says itself what it is of.
    let replayed = run(&["verify", &trace, "--model", &model, "--output", "json"]);
    assert_eq!(replayed["tables"]["verification"][0]["compared"], 300);
    run(&["explain", "--trace", &trace, "--model", &model, "--output", "json"]);
    let operands = ["--a", "1,2", "--b", "1,0.5", "--c", "10"];
    let explained =
        run(&[&["explain", "--instr", &instruction, "--model", &model, "--output", "json"], &operands[..]].concat());
    assert!(explained["tables"].to_string().contains("0x41400000"), "{}", explained["tables"]);
    // Shipped models do not cover it.
    let run = tcnum(&["verify", "--instr", &instruction, "--device", &device, "--model", "hopper"]);
    assert!(run.status == 2 && run.stderr.contains("'hopper' does not cover rtl.m3n5k8"), "{}", run.stderr);
}

#[test]
fn instructions_of_the_users_own_take_formats_by_table() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = user_files(folder.path());
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_string_lossy().into_owned()
    };
    write("ternary.toml", "name = \"ternary\"\nvalues = [0, 1, -1, \"nan\"]\n");
    let description = "name = \"rtl.m4n4k8.f32.ternary.nf4.f32\"\nm = 4\nn = 4\nk = 8\na = \"ternary.toml\"\nb = \"nf4\"\nc = \
                       \"f32\"\nd = \"f32\"\n";
    let instruction = write("table.toml", description);
    let (device, trace) =
        (format!("model:{model}"), folder.path().join("table.safetensors").to_string_lossy().into_owned());
    let with = ["--instr", &instruction, "--device", &device, "--output", "json"];
    let run = |arguments: &[&str]| {
        let run = tcnum(arguments);
        assert_eq!(run.status, 0, "{arguments:?}: {}{}", run.stderr, run.stdout);
        validate_report(&run.stdout)
    };
    run(&[&["verify", "--cases", "2000"], &with[..]].concat());
    run(&[&["probe", "--samples", "50"], &with[..]].concat());
    run(&[&["record", "--tiles", "20", "--out", &trace], &with[..]].concat());
    // The recording has the table.
    let replayed = run(&["verify", &trace, "--model", &model, "--output", "json"]);
    assert_eq!(replayed["tables"]["verification"][0]["compared"], 320);
    let operands = ["--a", "1,-1", "--b", "1,-1", "--c", "10"];
    let explained =
        run(&[&["explain", "--instr", &instruction, "--model", &model, "--output", "json"], &operands[..]].concat());
    assert!(explained["tables"].to_string().contains("0x41400000"), "{}", explained["tables"]);
    // Every kind of format is an operand: directed and random cases, special values too.
    for (a, b) in [("hif8", "posit8"), ("iq4nl", "binary8p1se"), ("binary8p3ue", "ue5m3"), ("binary6p3sf", "nf4")] {
        let text = description
            .replace("ternary.toml", a)
            .replace("ternary", a)
            .replace("b = \"nf4\"", &format!("b = \"{b}\""));
        let file = write(&format!("{a}.toml"), &text.replace(".nf4.", &format!(".{b}.")));
        let with = ["--instr", &file, "--device", &device, "--output", "json"];
        run(&[&["verify", "--cases", "2000"], &with[..]].concat());
        run(&[&["probe", "--samples", "20"], &with[..]].concat());
        for distribution in ["special", "log-uniform"] {
            run(&[&["probe", "--samples", "20", "--dist", distribution], &with[..]].concat());
        }
    }
    // A sum has a format with fields.
    let sum = write("sum.toml", &description.replace("d = \"f32\"", "d = \"hif8\""));
    let run = tcnum(&["verify", "--instr", &sum, "--device", &device]);
    assert!(run.status == 2 && run.stderr.contains("'d': hif8 is a format by table"), "{}", run.stderr);
}

#[test]
fn parts_of_an_instruction_of_the_users_own_are_merged_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (instruction, model) = user_files(folder.path());
    let device = format!("model:{model}");
    let parts = ["1/2", "2/2"].map(|shard| {
        let out = folder.path().join(format!("part-{}.json", &shard[..1])).to_string_lossy().into_owned();
        let arguments = ["verify", "--instr", &instruction, "--device", &device, "--cases", "200000", "--shard", shard];
        let run = tcnum(&[&arguments[..], &["--output", "json", "--out", &out]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        out
    });
    let merge = ["merge", &parts[0], &parts[1], "--output", "json"];
    let unknown = tcnum(&merge);
    assert!(unknown.status == 2 && unknown.stderr.contains("--instr FILE.toml"), "{}", unknown.stderr);
    let merged = tcnum(&[&merge[..], &["--instr", &instruction]].concat());
    assert_eq!(merged.status, 0, "{}", merged.stderr);
    let compared = &validate_report(&merged.stdout)["tables"]["verification"][0]["compared"];
    assert!(compared.as_u64().unwrap() >= 200_000, "{compared}");
}

#[test]
fn instructions_of_the_users_own_have_every_form_of_operands() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = user_files(folder.path());
    let forms = [
        ("k = 8\na = \"f16\"\nb = \"f16\"\nsparse = { length = 4, kept = 2 }", "fma"),
        ("k = 8\na = \"e4m3\"\nb = \"e2m1\"\nscale = { format = \"e8m0\", block = 4 }", "fma"),
        ("k = 1\na = \"bf16\"\nb = \"f16\"", "fma"),
    ];
    for (at, (form, _)) in forms.into_iter().enumerate() {
        for (m, n) in [(1, 1), (2, 7), (33, 3)] {
            let file = folder.path().join(format!("form-{at}-{m}-{n}.toml"));
            let text = format!("name = \"rtl.{at}.m{m}n{n}\"\nm = {m}\nn = {n}\n{form}\nc = \"f32\"\nd = \"f32\"\n");
            fs::write(&file, text).unwrap();
            let device = format!("model:{model}");
            for command in [&["probe", "--samples", "20"][..], &["verify", "--cases", "3000"]] {
                let run = tcnum(&[command, &["--instr", file.to_str().unwrap(), "--device", &device]].concat());
                let has_scales = form.contains("scale");
                // A chain of multiply-adds has no block scales.
                assert_eq!(run.status, if has_scales { 2 } else { 0 }, "{form} {command:?}: {}", run.stderr);
                assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
            }
        }
    }
    // The exec protocol has them all.
    let description = folder.path().join("form-1-2-7.toml");
    let sizes = r#"import json, struct, sys
i, o = sys.stdin.buffer, sys.stdout.buffer
offer = json.loads(i.readline()); ok = offer['scale'] == {'format': 'e8m0', 'block': 4} and offer['instruction'] == 'rtl.1.m2n7'
o.write(json.dumps({'protocol': 2, 'ok': ok, 'error': 'no'}).encode() + b'\n'); o.flush()
while t := struct.unpack('<I', i.read(4) or bytes(4))[0]:
    i.read(t * (2 * 8 + 8 * 7 + 2 * 7 * 4 + 2 * 2 + 2 * 7)); o.write(bytes(t * 2 * 7 * 4)); o.flush()
"#;
    assert_eq!(failed_checks(&["--instr", description.to_str().unwrap(), "python3", "-c", sizes]), []);
}

#[test]
fn wrong_descriptions_of_instructions_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    let right = "name = \"mine\"\nm = 2\nn = 2\nk = 8\na = \"f16\"\nb = \"f16\"\nc = \"f32\"\nd = \"f32\"\n";
    for (from, to, expected) in [
        ("name = \"mine\"", "name = \"Mine!\"", "'name' needs"),
        ("name = \"mine\"", "name = \"mma.m16n8k8.f32.f16.f16.f32\"", "names an instruction of the program"),
        ("m = 2", "m = 0", "'m' is 0"),
        ("k = 8", "k = 5000", "'k' is 5000"),
        ("k = 8", "k = 6", "has 6 stored elements"),
        ("k = 8", "k = 256", "has 256 stored elements"),
        ("a = \"f16\"", "a = \"f17\"", "'a': "),
        ("m = 2\n", "", "missing field `m`"),
        ("m = 2\n", "m = 2\nrows = 3\n", "unknown field `rows`"),
        ("d = \"f32\"", "d = \"f32\"\nsparse = { length = 3, kept = 1 }", "a multiple of the length of 'sparse'"),
        ("d = \"f32\"", "d = \"f32\"\nsparse = { length = 4, kept = 4 }", "'sparse' must have"),
        ("d = \"f32\"", "d = \"f32\"\nsparse = { length = 4, kept = 2, together = 0 }", "'sparse' must have"),
        ("d = \"f32\"", "d = \"f32\"\nscale = { format = \"e8m0\", block = 0 }", "a multiple of the block of 'scale'"),
    ] {
        fs::write(&file, right.replace(from, to)).unwrap();
        let run = tcnum(&["probe", "--instr", file.to_str().unwrap(), "--device", "model:hopper"]);
        assert_eq!(run.status, 2, "{to}: {}", run.stdout);
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(expected), "{to}: {}", run.stderr);
        assert!(run.stderr.contains("wrong.toml"), "{to}: {}", run.stderr);
    }
    let run = tcnum(&["probe", "--instr", "nowhere.toml"]);
    assert!(run.status == 2 && run.stderr.contains("nowhere.toml cannot be read"), "{}", run.stderr);
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_a_failure() {
    if !has_python() {
        return;
    }
    assert!(failure("--garbage").contains("answered no tile: its first line is not"));
    let instruction = isa::find(INSTRUCTION).unwrap();
    for (command, status, expected) in [
        ("true", 3, "before its first line it ended (exit status: 0)"),
        (
            "sh -c 'echo \"no licence\" >&2; exit 3'",
            3,
            "exit status: 3; the last line of its standard error: no licence",
        ),
        ("sh -c 'echo 1; cat >/dev/null'", 3, "its first line is not"),
        ("/nowhere/program", 2, "'/nowhere/program' cannot be started"),
        ("/", 2, "cannot be started"),
    ] {
        let mut device = ExecDevice::new(command, TIMEOUT).unwrap();
        let error = device.prepare(&instruction).unwrap_err();
        assert_eq!(error.exit_status(), status, "{command}: {error}");
        assert!(error.to_string().contains(expected), "{command}: {error}");
    }
    for command in ["", "  ", "'a", "''"] {
        let error = ExecDevice::new(command, TIMEOUT).err().unwrap();
        assert_eq!(error.exit_status(), 2, "{command:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_closes_its_output_and_runs_on_is_a_failure_at_once() {
    // Waiting for the timeout, or for the end of the program, would take a day.
    let timeout = Duration::from_secs(86_400);
    let instruction = isa::find(INSTRUCTION).unwrap();
    for (script, expected) in [
        (
            "exec >&-; sleep 86400",
            "answered no tile: before its first line it closed its standard output, ran on and was stopped",
        ),
        (
            r#"read offer; echo '{\"ok\":true}'; exec >&-; sleep 86400"#,
            "answered 0 of 3 tiles of mma.m8n8k16.s32.s8.s8.s32, then closed its standard output, ran on and was stopped",
        ),
    ] {
        let mut device = ExecDevice::new(&format!("sh -c \"{script}\""), timeout).unwrap();
        let error = device.execute(&instruction, &Tiles::zeros(&instruction, 3)).unwrap_err();
        assert_eq!(error.exit_status(), 3, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn an_interruption_ends_the_wait_for_a_program() {
    let instruction = isa::find(INSTRUCTION).unwrap();
    for script in ["sleep 86400", r#"read offer; echo '{\"ok\":true}'; sleep 86400"#] {
        let mut device = ExecDevice::new(&format!("sh -c \"{script}\""), Duration::from_secs(86_400)).unwrap();
        let asked = Cell::new(0);
        let stop = move || {
            asked.set(asked.get() + 1);
            (asked.get() > 9).then_some(Interruption::TimeLimit)
        };
        let outcome = interruptible(stop, || device.execute(&instruction, &Tiles::zeros(&instruction, 3)));
        assert_eq!(outcome.err(), Some(Error::Interrupted { by: Interruption::TimeLimit }), "{script}");
    }
}

#[test]
fn the_device_can_be_used_again_after_a_failure() {
    if !has_python() {
        return;
    }
    let instruction = isa::find(INSTRUCTION).unwrap();
    let mut device = open("--die-after 3");
    let tiles = Tiles::zeros(&instruction, 10);
    assert!(device.execute(&instruction, &tiles).is_err());
    assert_eq!(device.execute(&instruction, &tiles.slice(0, 3)).unwrap().len(), 3 * 64);
}

#[test]
fn verify_reports_a_failing_program_with_status_3() {
    if !has_python() {
        return;
    }
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");
    let verify = |options: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args(["verify", trace, "--timeout", "300", "--model", &format!("exec:python3 '{PROGRAM}' {options}")])
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
