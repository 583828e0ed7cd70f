//! Kits: what their programs print is a recording, which identifies the arithmetic.

use std::{fs, process::Command};

use tcnum::{arithmetic::Model, isa};
use tcnum_engine::trace::read_printed;

use crate::{
    machine::aarch64_tools,
    program::{tcnum, validate_report},
};

/// An H200 printed this for the kit of three instructions with seed 0, compiled by nvcc 13.0.
const H200: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/kits/h200.txt");
/// A Xeon of Intel with AMX printed this for a kit in C with seed 0, compiled by GCC.
const XEON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/kits/xeon.txt");
const INSTRUCTIONS: [&str; 3] =
    ["mma.m16n8k32.f32.e4m3.e4m3.f32", "wgmma.m64n8k32.f32.e4m3.e4m3", "mma.sp.m16n8k32.f32.bf16.bf16.f32"];
/// Instructions of other languages, and one without a kernel.
const FMA: &str = "vfmadd.m1n16k1.f32.f32.f32.f32";
const MFMA: &str = "mfma.16x16x16.f32.f16.f16.f32";
const TCGEN05: &str = "tcgen05.m128n16k16.f32.f16.f16.f32";
const SCALED: &str = "mma.m16n8k32.f32.e4m3.e2m1.f32.ue8m0.block32";

#[test]
fn the_answers_of_a_processor_to_a_kit_identify_its_instructions() {
    let run = tcnum(&["identify", "--answers", XEON, "--output", "json", "-q"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["identified"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["instruction"].as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for (row, family) in rows.iter().zip(["tdpbf16ps", "vdpbf16ps", "tdpbssd", "vfmadd"]) {
        let name = row["instruction"].as_str().unwrap_or_default();
        assert!(name.starts_with(family), "{name}");
        assert_eq!((&row["outcome"], &row["like"]), (&"identified".into(), &"as x86".into()), "{name}");
    }
}

#[test]
fn the_answers_of_an_h200_to_a_kit_are_those_of_the_model_and_identify_it() {
    let hopper = Model::load("hopper").unwrap();
    let traces = read_printed(H200.as_ref()).unwrap();
    assert_eq!(traces.iter().map(|trace| &trace.instruction.name[..]).collect::<Vec<_>>(), INSTRUCTIONS);
    for trace in &traces {
        let d = hopper.evaluator(&trace.part()).unwrap().execute(&trace.tiles(0, trace.count()));
        assert_eq!(d, trace.d, "{}", trace.instruction);
    }
    let run = tcnum(&["identify", "--answers", H200, "--output", "json", "-q"]);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["identified"].as_array().unwrap();
    assert_eq!((run.status, rows.len()), (0, 3), "{}", run.stderr);
    for row in rows {
        assert_eq!((&row["outcome"], &row["like"]), (&"identified".into(), &"as hopper".into()), "{row}");
    }
}

#[test]
fn wrong_answers_to_a_kit_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let name = INSTRUCTIONS[0];
    for (content, message) in [
        ("", "it is empty"),
        ("tile 0 A=00", "line 1: answers begin with"),
        ("tcnum-kit 2 mma 8x8", "version '2' of the answers is unknown"),
        ("tcnum-kit 1 mma.m1n1k1.f8.f8.f8.f8 8x8", "mma.m1n1k1.f8.f8.f8.f8"),
        (&format!("tcnum-kit 1 {name} 8x9"), "'8x9' is no part of D"),
        (&format!("tcnum-kit 1 {name} 1x1\nend 1"), "line 2: 'end 1' after 0 tiles"),
        (&format!("tcnum-kit 1 {name} 1x1\nend 0"), "no tile"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 1 A=00"), "tile 0 is expected, not '1'"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 0 A=0g"), "a has 32 codes of 1 bytes"),
        (&format!("tcnum-kit 1 {name} 1x1\ntile 0 B=00"), "'A=' is expected"),
    ] {
        fs::write(&file, content).unwrap();
        let run = tcnum(&["identify", "--answers", file.to_str().unwrap()]);
        assert_eq!(run.status, 2, "{content}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{content}: {}", run.stderr);
    }
}

#[test]
fn answers_that_end_early_are_taken_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let all = fs::read_to_string(H200).unwrap();
    fs::write(&file, all.lines().take(5).collect::<Vec<_>>().join("\n")).unwrap();
    let traces = read_printed(&file).unwrap();
    assert_eq!((traces.len(), traces[0].count()), (1, 3));
    assert!(traces[0].metadata.contains_key("incomplete"));
}

#[test]
fn a_kit_is_a_program_with_a_kernel_for_each_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kit.cu");
    let path = file.to_str().unwrap();
    let run = tcnum(&["kit", "--instr", INSTRUCTIONS[0], "--instr", INSTRUCTIONS[1], "--out", path, "-q"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&file).unwrap();
    for (at, name) in [INSTRUCTIONS[0], INSTRUCTIONS[1]].into_iter().enumerate() {
        let ptx = &isa::find(name).unwrap().ptx;
        assert!(text.contains(&format!("{ptx} ")) && text.contains(&format!("instruction_{at}::answer();")), "{name}");
    }
    for (arguments, message) in [
        (&["kit", "--instr", INSTRUCTIONS[0]][..], "no file is named"),
        (&["kit", "--out", path], "no instruction is chosen"),
        (&["kit", "--instr", INSTRUCTIONS[0], "--out", "kit.rs"], "the ending says the language"),
        (&["kit", "--instr", FMA, "--out", path], "name a file that ends in .c"),
        (&["kit", "--instr", MFMA, "--out", path], "name a file that ends in .hip"),
        (&["kit", "--instr", INSTRUCTIONS[0], "--out", "kit.c"], "no processor executes it"),
        (&["kit", "--instr", INSTRUCTIONS[0], "--out", "kit.hip"], "MFMA and WMMA instructions"),
        (&["kit", "--instr", TCGEN05, "--out", path], "a kit has the kernels of cuda:N"),
        (&["kit", "--instr", SCALED, "--out", "kit.py"], "name a file that ends in .cu"),
        (&["kit", "--instr", "vwmma.16x16x16.f32.f16.f16.f32.w64", "--out", "kit.hip"], "waves of 32 lanes"),
        (&["kit", "--instr", FMA, "--instr", "smmla.m2n2k8.s32.s8.s8.s32", "--out", "kit.c"], "write a kit for each"),
    ] {
        let run = tcnum(arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

/// The lines of the first instruction that the H200 answered.
fn one_instruction() -> Vec<String> {
    let text = fs::read_to_string(H200).unwrap();
    let lines = text.lines().map(String::from);
    let mut ended = false;
    lines.take_while(|line| !std::mem::replace(&mut ended, line.starts_with("end"))).collect()
}

#[test]
fn the_answers_to_a_kit_of_one_instruction_are_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let path = file.to_str().unwrap();
    let lines = one_instruction();
    fs::write(&file, lines.join("\n")).unwrap();
    let run = tcnum(&["verify", path, "--model", "hopper", "-q"]);
    assert!(run.status == 0 && run.stdout.contains("448 recorded outputs"), "{}{}", run.stdout, run.stderr);
    let device = format!("trace:{path}");
    let run = tcnum(&["identify", "--device", &device, "-q"]);
    assert!(run.status == 0 && run.stdout.contains("hopper"), "{}{}", run.stdout, run.stderr);
    let run = tcnum(&["verify", H200, "--model", "hopper"]);
    assert!(run.status == 2 && run.stderr.contains("a recording is of one instruction"), "{}", run.stderr);
    let cut = lines.join("\n");
    fs::write(&file, &cut[..cut.len() - 100]).unwrap();
    let run = tcnum(&["verify", path, "--model", "hopper"]);
    assert!(run.status == 2 && run.stderr.contains("d has 64 codes of 4 bytes"), "{}", run.stderr);
}

#[test]
fn altered_lines_have_another_digest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    let name = "vfmadd.m1n8k1.f64.f64.f64.f64";
    let [a, b, c, d] = ["00", "01", "02", "03"].map(|byte| byte.repeat(8));
    let text = |end: &str| format!("tcnum-kit 1 {name} 1x1\ntile 0 A={a} B={b} C={c} D={d}\nend 1{end}\n");
    fs::write(&file, text("")).unwrap();
    assert!(read_printed(&file).is_ok());
    fs::write(&file, text(" 0123456789abcdef")).unwrap();
    let message = read_printed(&file).unwrap_err().to_string();
    let digest = message.split("the digest ").nth(1).unwrap().split(',').next().unwrap();
    assert!(message.contains("not as the program printed them"), "{message}");
    fs::write(&file, text(&format!(" {digest}"))).unwrap();
    assert!(read_printed(&file).is_ok());
}

#[test]
fn answers_that_no_rule_gives_name_the_nearest_rule_and_the_next_kit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.txt");
    // Each code of D has other low bits, as no arithmetic gives them.
    let lines = one_instruction();
    let altered = lines.iter().map(|line| match line.rsplit_once("D=") {
        None => line.clone(),
        Some((before, digits)) => {
            let codes = digits.as_bytes().chunks(8).map(|code| String::from_utf8_lossy(code));
            let codes = codes.map(|code| u32::from_str_radix(&code, 16).unwrap() ^ 0x0500_0000);
            format!("{before}D={}", codes.map(|code| format!("{code:08x}")).collect::<String>())
        }
    });
    fs::write(&file, altered.collect::<Vec<_>>().join("\n")).unwrap();
    let run = tcnum(&["identify", "--answers", file.to_str().unwrap(), "--output", "json", "-q"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    assert_eq!(report["tables"]["identified"][0]["outcome"], "approximated");
    assert!(
        run.stdout.contains("The nearest") && run.stdout.contains("--tiles 64 --seed 1 --out next.cu"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_kit_in_c_identifies_the_fused_multiply_add_of_this_processor() {
    let compiler = ["cc", "gcc", "clang"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let (Some(compiler), true) = (compiler, tcnum(&["probe", "--instr", FMA, "--device", "cpu", "-q"]).status != 2)
    else {
        eprintln!("skipped: no C compiler, or a processor without FMA");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [source, program, answers] = ["kit.c", "kit", "answers.txt"].map(|name| folder.path().join(name));
    let run = tcnum(&["kit", "--instr", FMA, "--out", source.to_str().unwrap(), "-q"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let compiled =
        Command::new(compiler).args(["-O1", "-Wall", "-Werror", "-o"]).args([&program, &source]).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    fs::write(&answers, &run.stdout).unwrap();
    let run = tcnum(&["identify", "--answers", answers.to_str().unwrap(), "-q"]);
    assert!(run.status == 0 && run.stdout.contains("as x86"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_kit_in_c_runs_outer_products_of_sme_on_qemu_which_computes_as_the_model_says() {
    let Some([compiler, emulator]) = aarch64_tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [source, program, answers] = ["kit.c", "kit", "answers.txt"].map(|name| folder.path().join(name));
    for name in ["fmopa.m16n16k1.f32.f32.f32.f32", "fmopa.m8n8k1.f64.f64.f64.f64"] {
        let run = tcnum(&["kit", "--instr", name, "--out", source.to_str().unwrap(), "-q"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let flags = ["-O1", "-static", "-Wall", "-Wno-unused-function", "-Werror", "-o"];
        let compiled = Command::new(compiler).args(flags).args([&program, &source]).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let run = Command::new(emulator).args(["-cpu", "max,sme512=on"]).arg(&program).output().unwrap();
        if String::from_utf8_lossy(&run.stderr).contains("does not have SME_") {
            eprintln!("skipped: this QEMU has no SME");
            return;
        }
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        fs::write(&answers, &run.stdout).unwrap();
        let run = tcnum(&["verify", answers.to_str().unwrap(), "--model", "arm-sme", "-q"]);
        assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    }
}

#[test]
fn kits_in_each_language_have_the_instruction() {
    let folder = tempfile::tempdir().unwrap();
    for (ending, name, text) in [
        ("hip", MFMA, "EXECUTE(__builtin_amdgcn_mfma_f32_16x16x16f16, 16, 16, 16, 1, 4, Operand, Result, 2, 4)"),
        ("hip", "vwmma.16x16x32.s32.s4.u4.s32.clamp", "wmma_i32_16x16x32_iu4_w32_gfx12(true, a, false, b, c, true)"),
        ("py", INSTRUCTIONS[0], "sys.exit(main(INSTRUCTIONS))"),
        ("cu", SCALED, "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}, %14, {0, 0}, %15, {0, 0};"),
        ("cu", SCALED, "#define B_SHIFT 2"),
    ] {
        let file = folder.path().join(format!("kit.{ending}"));
        let run = tcnum(&["kit", "--instr", name, "--out", file.to_str().unwrap(), "-q"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(fs::read_to_string(&file).unwrap().contains(text), "{ending}");
    }
}
