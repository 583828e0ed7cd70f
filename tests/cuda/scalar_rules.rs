//! The rules of scalar instructions: those in CUDA C++, compiled by a C++ compiler of the host, are those of the reference,
//! input by input; the table agrees with what was measured; and every kernel compiles.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    path::Path,
    process::Command,
};

use crate::machine::{NO_NVRTC, Need, amount, cpp_compiler, skip};
use rayon::prelude::*;
use tcnum::{
    arithmetic::scalar_rule::ScalarRule,
    inputs::space::{CHUNK, Space},
    isa::scalar::{Form, all},
};
use tcnum_engine::device::cuda::{
    architecture::{ARCHITECTURES, Architecture},
    compile, executable_scalar, sass,
    sweeper::rule,
};

/// Forms in a source.
const TOGETHER: usize = 24;
/// Seed of sampled inputs.
const SEED: u64 = 11;

/// What the device code takes from CUDA.
const HOST: &str = r#"
#include <cstdio>
#define __device__
#define __constant__
#define __forceinline__ inline
#define __noinline__
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
"#;

/// Prints the operands and the result of every STEP-th input, lane by lane.
const RUN: &str = r#"
inline void run(Word step, Word size) {
    for (Word index = 0; index < size; index += step) {
        Word number = index;
        for (int lane = 0; lane < LANES; ++lane) {
            const Operands x = operands_of(SEED, index, lane, number);
            if (SPREAD == 1) number = permuted((unsigned)number);
            const Word words[4] = {x.code[0], x.code[1], x.code[2], model(x.code[0], x.code[1], x.code[2])};
            std::fwrite(words, sizeof words, 1, stdout);
        }
    }
}
"#;

fn forms() -> Vec<&'static Form> {
    all().iter().filter(|form| form.missing().is_none() && !form.is_of_processors()).collect()
}

/// The distance of so many inputs: odd, so that every operand varies.
fn step(space: &Space<'_>, inputs: u64) -> u64 {
    (space.size() / inputs).max(1) | 1
}

fn source(forms: &[&Form], inputs: u64) -> String {
    let mut text = format!("{HOST}#define SEED {SEED}ull\n");
    let mut calls = String::new();
    for (number, form) in forms.iter().enumerate() {
        let source = rule(form, SEED).expect("the form has a rule");
        let _ = writeln!(text, "namespace form{number} {{  // {form}\n{source}{RUN}}}");
        for line in source.lines().filter_map(|line| line.strip_prefix("#define ")) {
            let end = line.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(line.len());
            let _ = writeln!(text, "#undef {}", &line[..end]);
        }
        let space = Space::new(form, SEED);
        let _ = writeln!(calls, "    form{number}::run({}ull, {}ull);", step(&space, inputs), space.size());
    }
    text + "int main() {\n" + &calls + "    return 0;\n}\n"
}

/// What the compiled rules print: four words for each lane of each input.
fn outputs(compiler: &str, forms: &[&Form], inputs: u64, folder: &Path) -> Vec<[u64; 4]> {
    let (file, program) = (folder.join("rules.cpp"), folder.join("rules"));
    std::fs::write(&file, source(forms, inputs)).unwrap();
    let options = ["-std=c++17", "-O1", "-fwrapv", "-w", "-o"];
    let output = Command::new(compiler).args(options).arg(&program).arg(&file).output().unwrap();
    assert!(output.status.success(), "the rules do not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    let bytes = Command::new(&program).output().unwrap().stdout;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    bytes.chunks_exact(32).map(|row| std::array::from_fn(|at| word(&row[8 * at..][..8]))).collect()
}

#[test]
fn rules_and_operands_in_cuda_are_those_of_the_reference() {
    let Some(compiler) = cpp_compiler() else { return };
    let (each, inputs) = amount((4, 2_000), (1, 40_000));
    let forms: Vec<&Form> = forms().into_iter().step_by(each).collect();
    let differing: Vec<String> = forms
        .par_chunks(TOGETHER)
        .flat_map_iter(|forms| {
            let folder = tempfile::tempdir().unwrap();
            let outputs = outputs(compiler, forms, inputs, folder.path());
            let mut rows = outputs.iter();
            let mut differing = Vec::new();
            for form in forms {
                let (space, rule) = (Space::new(form, SEED), ScalarRule::new(form).unwrap());
                let mut count = 0;
                for index in (0..space.size()).step_by(step(&space, inputs) as usize) {
                    for lane in 0..form.lanes {
                        let [a, b, c, theirs] = *rows.next().expect("a row for each lane");
                        let operands = space.operands(index, lane);
                        let ours = rule.result(operands);
                        if ([a, b, c], theirs) != (operands, ours) {
                            count += 1;
                            if count == 1 {
                                let both = format!(
                                    "CUDA {a:x} {b:x} {c:x} -> {theirs:x}, reference {operands:x?} -> {ours:x}"
                                );
                                differing.push(format!("{form}, input {index:#x} lane {lane}: {both}"));
                            }
                        }
                    }
                }
            }
            assert!(rows.next().is_none());
            differing
        })
        .collect();
    assert!(differing.is_empty(), "{} forms differ:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn every_kernel_of_a_scalar_instruction_compiles_to_the_machine_code_of_the_table() {
    let known = match compile::targets() {
        Ok(known) => known,
        Err(_) => return skip(Need::Nvrtc, NO_NVRTC),
    };
    // One target of each generation, unless others are asked for: the forms differ little within one.
    let only = std::env::var("TCNUM_TARGETS").unwrap_or_else(|_| "sm_90a".into());
    let asked = |target: &str| only == "all" || only.split(',').any(|name| name == target);
    let targets = ARCHITECTURES.iter().filter(|a| a.target == a.table && asked(a.target));
    let jobs: Vec<_> = targets
        .filter(|a| known.iter().any(|target| target == a.target.trim_end_matches('a')))
        .flat_map(|a| forms().into_iter().filter(|form| form.support_on(a.table).is_some()).map(move |form| (a, form)))
        .collect();
    let compiled = |(architecture, form): &(&'static Architecture, &'static Form)| {
        let (source, _) = executable_scalar(form, architecture).expect("the table says so");
        compile::compile(&source, architecture.target)
            .unwrap_or_else(|e| panic!("{form} for {}: {e}", architecture.target))
    };
    let compiled: Vec<Vec<u8>> = jobs.par_iter().map(compiled).collect();
    println!("{} kernels compiled", jobs.len());
    let Some(disassembler) = sass::disassembler() else {
        return skip(Need::Nvdisasm, "there is no nvdisasm, so the machine code is not compared");
    };
    let cubins: Vec<_> =
        jobs.iter().zip(&compiled).map(|((architecture, _), c)| (architecture.target, &c[..])).collect();
    let texts = sass::disassemble(&disassembler, &cubins);
    let faults: Vec<String> = jobs
        .iter()
        .zip(texts)
        .filter(|((architecture, _), _)| architecture.table == "sm_90a")
        .filter_map(|((_, form), text)| {
            let opcodes = sass::arithmetic(&text.expect("nvdisasm takes the machine code")).join(";");
            (opcodes != form.opcode).then(|| format!("{form}: the table has {}, the kernel {opcodes}", form.opcode))
        })
        .collect();
    assert!(!jobs.is_empty() && faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// What a row of the measured lowerings says of an instruction on an architecture: `None` where it is none, else how it is emulated.
type Lowerings = HashMap<(String, String), Option<Option<String>>>;

/// The lowerings that one version of the assembler gave, of conversions.
fn lowerings(file: &str) -> Lowerings {
    let path = format!("{}/tests/facts/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(path).expect("the facts are in the repository");
    let headers = reader.headers().unwrap().clone();
    let at = |name: &str| headers.iter().position(|h| h == name).expect("a column of the facts");
    let (family, ptx, arch, assembles, native, lowering) =
        (at("family"), at("ptx"), at("arch"), at("assembles"), at("native"), at("lowering"));
    let rows = reader.records().map(Result::unwrap).filter(|row| row[family].starts_with("cvt"));
    let told = rows.map(|row| {
        // Accepted below sm_80 and compiled to nothing: not an instruction there.
        let has = &row[assembles] == "yes" && &row[lowering] != "none";
        let emulation = (&row[native] != "yes").then(|| row[lowering].to_string());
        ((row[ptx].to_string(), row[arch].to_string()), has.then_some(emulation))
    });
    told.collect()
}

#[test]
fn the_table_agrees_with_the_measured_lowerings() {
    let (mut told, newer) = (lowerings("ptx_instructions.csv"), lowerings("ptx_instructions_13_5.csv"));
    // What a newer assembler has besides counts too, on the architectures of the table.
    let architectures: HashSet<String> = told.keys().map(|(_, arch)| arch.clone()).collect();
    for (key, support) in newer.into_iter().filter(|((_, arch), _)| architectures.contains(arch)) {
        let known = told.entry(key).or_default();
        *known = known.take().or(support);
    }
    let mut compared = 0;
    for ((ptx, arch), expected) in &told {
        let Some(form) = all().iter().find(|form| form.ptx == *ptx) else {
            // Of fixed-point formats the program has none; what nothing assembles is no instruction.
            assert!(ptx.contains("s2f6") || expected.is_none(), "{ptx} on {arch}");
            continue;
        };
        let support = form.support_on(arch).map(|support| support.emulation.map(str::to_string));
        assert_eq!(support, *expected, "{form} on {arch}");
        compared += 1;
    }
    assert!(compared > 1000, "{compared} rows of the facts are in the table");
}

#[test]
fn chunks_of_the_digest_are_those_of_the_kernel() {
    let text = include_str!("../../kernels/sweep.cu");
    assert_eq!(CHUNK, 1 << 16);
    assert!(text.contains("(first + at * step) << 16") && text.contains("i < 1u << 16"));
}
