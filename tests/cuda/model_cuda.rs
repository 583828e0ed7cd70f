//! The arithmetic of a program in CUDA C++ is what the reference evaluator computes, bit for bit: its source, compiled by a C++
//! compiler of the host, for every rule of the shipped models and for random arithmetics.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    arithmetics::{arithmetics, cases},
    machine::{amount, cpp_compiler},
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use rayon::prelude::*;
use tcnum::{
    arithmetic::{Evaluator, Model, shipped},
    inputs::{Corners, stream},
    isa::{self, Case, Chunk, Instruction},
};
use tcnum_engine::device::cuda::{
    arithmetic::{arithmetic, is_fast},
    constants::constants,
};

/// Arithmetics in a source: compilers need memory for each.
const TOGETHER: usize = 12;
/// Random operands for each of them.
const RANDOM_CASES: usize = 400;
/// Operands of an arithmetic of a shipped model that are compared, of each kind.
const SHIPPED_CASES: usize = 1500;

/// What the device code takes from CUDA, for a C++ compiler of the host.
pub(crate) const HOST: &str = r#"
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#define __device__
#define __forceinline__ inline
#define __noinline__
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
template <class To, class From> To bits_of(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
inline float __uint_as_float(unsigned x) { return bits_of<float>(x); }
inline unsigned __float_as_uint(float x) { return bits_of<unsigned>(x); }
inline double __longlong_as_double(long long x) { return bits_of<double>(x); }
inline long long __double_as_longlong(double x) { return bits_of<long long>(x); }
template <class T> T fused(int direction, volatile T a, volatile T b, volatile T c) {
    std::fesetround(direction);
    volatile T result = std::fma((T)a, (T)b, (T)c);
    std::fesetround(FE_TONEAREST);
    return result;
}
template <class T> T multiplied(int direction, volatile T a, volatile T b) {
    std::fesetround(direction);
    volatile T result = a * b;
    std::fesetround(FE_TONEAREST);
    return result;
}
#define ROUNDED(suffix, direction) \
    inline float __fmaf_##suffix(float a, float b, float c) { return fused<float>(direction, a, b, c); } \
    inline double __fma_##suffix(double a, double b, double c) { return fused<double>(direction, a, b, c); } \
    inline float __fmul_##suffix(float a, float b) { return multiplied<float>(direction, a, b); } \
    inline double __dmul_##suffix(double a, double b) { return multiplied<double>(direction, a, b); }
ROUNDED(rn, FE_TONEAREST)
ROUNDED(rz, FE_TOWARDZERO)
ROUNDED(ru, FE_UPWARD)
ROUNDED(rd, FE_DOWNWARD)
typedef unsigned long long Input;
inline Input next() {
    Input word = 0;
    if (std::fread(&word, sizeof word, 1, stdin) != 1) std::puts("the input ends early");
    return word;
}
"#;

/// Reads a count and as many cases, and prints the codes of D.
const RUN: &str = r#"
inline void run() {
    A::Code a[STORED_K];
    B::Code b[K];
    unsigned char positions[STORED_K], scales[2][K];
    Factor row[STORED_K], column[K];
    for (Input left = next(); left > 0; --left) {
        for (int k = 0; k < STORED_K; ++k) row[k] = factor<FormatA, FactorA, true>(a[k] = (A::Code)next());
        for (int k = 0; k < K; ++k) column[k] = factor<FormatB, FactorB, false>(b[k] = (B::Code)next());
        const Input c = next();
        if (SPARSE) for (int k = 0; k < STORED_K; ++k) positions[k] = (unsigned char)next();
#ifdef SCALE_BLOCK
        for (int of = 0; of < 2; ++of) for (int i = 0; i < K / SCALE_BLOCK; ++i) scales[of][i] = (unsigned char)next();
        const Operands x = {row, column, a, b, positions, scales[0], scales[1]};
#else
        const Operands x = {row, column, a, b, positions};
#endif
        std::printf("%llx\n", model(x, c));
    }
}
"#;

/// An arithmetic and the operands to compare it on.
struct Subject {
    name: String,
    evaluator: Evaluator,
    cases: Vec<Case>,
}

impl Subject {
    /// The definitions that a kernel's prelude has for the instruction, of one row and one column, and the arithmetic.
    fn source(&self) -> String {
        let i = self.instruction();
        let chunk = i.chunk().unwrap_or(Chunk { length: 1, kept: 1, together: 1, any_order: false });
        let mut text = String::new();
        let sizes = [("M", 1), ("N", 1), ("K", i.k), ("STORED_K", i.stored_k()), ("SPARSE", i.is_sparse().into())];
        let chunks = [("CHUNK_LENGTH", chunk.length), ("CHUNK_KEPT", chunk.kept)];
        for (name, value) in sizes.into_iter().chain(chunks) {
            let _ = writeln!(text, "#define {name} {value}");
        }
        for (name, format) in [("A", i.a), ("B", i.b), ("C", i.c), ("D", i.d)] {
            text += &constants(&format!("Format{name}"), format);
            let code = ["unsigned char", "unsigned short", "unsigned", "unsigned long long"];
            let _ = writeln!(text, "struct {name} {{ typedef {} Code; }};", code[format.bytes().ilog2() as usize]);
        }
        if let Some(scale) = i.scale {
            text += &constants("FormatScale", scale.format);
            let _ = writeln!(text, "#define SCALE_BLOCK {}", scale.block);
        }
        text + &arithmetic(self.evaluator.program()) + RUN
    }

    fn instruction(&self) -> &Instruction {
        &self.evaluator.program().instruction
    }

    fn input(&self) -> Vec<u8> {
        let of =
            |case: &Case| [&case.a[..], &case.b, &[case.c], &case.positions, &case.scale_a, &case.scale_b].concat();
        let words = std::iter::once(self.cases.len() as u64).chain(self.cases.iter().flat_map(of));
        words.flat_map(u64::to_le_bytes).collect()
    }
}

/// What the compiled arithmetics print for their operands.
fn outputs(compiler: &str, subjects: &[Subject], folder: &Path) -> Vec<u64> {
    let mut text = String::from(HOST);
    for (number, subject) in subjects.iter().enumerate() {
        let source = subject.source();
        let _ = writeln!(text, "namespace subject{number} {{  // {}\n{source}\n}}", subject.name.replace('\n', " "));
        // The next arithmetic has its own macros.
        for name in source.lines().filter_map(|line| line.strip_prefix("#define ")) {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            let _ = writeln!(text, "#undef {}", &name[..end]);
        }
    }
    let calls: String = (0..subjects.len()).map(|number| format!("    subject{number}::run();\n")).collect();
    let _ = writeln!(text, "int main() {{\n{calls}    return 0;\n}}");
    let (source, program) = (folder.join("model.cpp"), folder.join("model"));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    let options = ["-std=c++17", "-O0", "-fwrapv", "-frounding-math", "-ffp-contract=off", "-w", "-o"];
    let output = command.args(options).arg(&program).arg(&source).output().unwrap();
    assert!(output.status.success(), "the model does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    let input: Vec<u8> = subjects.iter().flat_map(Subject::input).collect();
    if let Ok(folder) = std::env::var("TCNUM_DUMP") {
        std::fs::copy(&source, format!("{folder}/model.cpp")).unwrap();
        std::fs::write(format!("{folder}/model.in"), &input).unwrap();
    }
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap().lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

/// Compares every subject; says how many cases differ, and shows the first of each. At least `least_fast` of them have the
/// fast steps.
fn compare(subjects: Vec<Subject>, least_fast: usize) {
    let Some(compiler) = cpp_compiler() else { return };
    let fast = subjects.iter().filter(|subject| is_fast(subject.evaluator.program())).count();
    let differing: Vec<String> = subjects
        .par_chunks(TOGETHER)
        .flat_map_iter(|subjects| {
            let folder = tempfile::tempdir().unwrap();
            let outputs = outputs(compiler, subjects, folder.path());
            assert_eq!(outputs.len(), subjects.iter().map(|subject| subject.cases.len()).sum::<usize>());
            let mut rest = &outputs[..];
            let mut differing = Vec::new();
            for subject in subjects {
                let (results, others) = rest.split_at(subject.cases.len());
                rest = others;
                let wrong = || {
                    let all = subject.cases.iter().zip(results);
                    all.map(|(case, theirs)| (case, *theirs, subject.evaluator.dot(case))).filter(|(_, x, y)| x != y)
                };
                if let Some((case, theirs, ours)) = wrong().next() {
                    let fast = is_fast(subject.evaluator.program());
                    let count = wrong().count();
                    differing.push(format!(
                        "{} (fast: {fast}): {count} of {} differ: CUDA {theirs:#x}, reference {ours:#x}, {case:x?}\n{}",
                        subject.name,
                        results.len(),
                        subject
                            .evaluator
                            .explain(case)
                            .lines
                            .iter()
                            .map(|line| format!("  {line:?}\n"))
                            .collect::<String>(),
                    ));
                }
            }
            differing
        })
        .collect();
    let cases: usize = subjects.iter().map(|subject| subject.cases.len()).sum();
    println!("{} arithmetics, {fast} of them with fast steps, on {cases} cases", subjects.len());
    assert!(fast >= least_fast, "fast steps cover {fast} arithmetics, and did cover {least_fast}");
    assert!(differing.is_empty(), "{} arithmetics differ:\n{}", differing.len(), differing.join("\n"));
}

/// One instruction for each rule and each set of formats of it, the smallest; of these every second, or every sixteenth where a sample is enough.
fn shipped_subjects() -> Vec<Subject> {
    let mut subjects = BTreeMap::new();
    for name in shipped() {
        let model = Model::load(name).unwrap();
        let mut instructions: Vec<&Instruction> = isa::all().iter().collect();
        instructions.sort_by_key(|i| i.m * i.n * i.k);
        for i in instructions {
            let Ok(evaluator) = model.evaluator(i) else { continue };
            let text = arithmetic(evaluator.program());
            let key = (text, i.k, [i.a, i.b, i.c, i.d].map(|format| format.name), i.is_sparse());
            subjects.entry(key).or_insert_with(|| (format!("{name} {i}"), evaluator));
        }
    }
    let sampled = subjects.into_values().step_by(amount(16, 2));
    sampled.map(|(name, evaluator)| Subject { name, cases: operands(&evaluator), evaluator }).collect()
}

/// The adversarial stream and the named corners of an instruction.
fn operands(evaluator: &Evaluator) -> Vec<Case> {
    let i = &evaluator.program().instruction;
    let elements = i.m * i.n;
    let tiles = 48;
    let stream = stream::tiles(i, 1, 0, tiles);
    let step = (tiles * elements / SHIPPED_CASES).max(1) | 1;
    let corners = Corners::of(i);
    let corner_step = corners.list.len() / SHIPPED_CASES + 1;
    let of_stream =
        (0..tiles * elements).step_by(step).map(|at| stream.case(i, at / elements, at / i.n % i.m, at % i.n));
    let of_corners = corners.list.iter().step_by(corner_step).map(|corner| {
        let at = corner.position;
        corners.tiles.case(i, at.tile, at.row, at.column)
    });
    of_stream.chain(of_corners).collect()
}

#[test]
fn the_shipped_arithmetics_in_cuda_are_those_of_the_reference() {
    compare(shipped_subjects(), amount(8, 145));
}

#[test]
fn random_arithmetics_in_cuda_are_those_of_the_reference() {
    let count = std::env::var("TCNUM_ARITHMETICS").ok().and_then(|count| count.parse().ok()).unwrap_or(amount(6, 30));
    let mut runner = TestRunner::deterministic();
    let subject = |_| {
        let drawn = arithmetics().new_tree(&mut runner).unwrap().current();
        let operands = cases(drawn.instruction);
        let cases = (0..RANDOM_CASES).map(|_| operands.new_tree(&mut runner).unwrap().current()).collect();
        Subject { name: format!("{drawn:?}"), evaluator: drawn.evaluator(), cases }
    };
    compare((0..count).map(subject).collect(), count / 20);
}

/// Counterexamples: a product alone that D is made of has no operation of its own.
#[test]
fn a_group_of_one_product_is_that_product_rounded() {
    let i = isa::find("mma.m16n8k8.f32.bf16.bf16.f32").unwrap();
    let subject = |(step, product): (&str, &str)| {
        let text = format!(
            "name = 'test'\ntitle = 'a test'\nversion = 1\n[[rule]]\ninstructions = ['{i}']\nevidence = [{{ assumed = 'a test' }}]\n\
             step = '{step}'\ngroup = 1\nstart = 'product'\njoin = 'add'\n{product}result = {{ format = 'f32', rounding = 'RZ' }}\nnan = '0x7fffffff'\n"
        );
        let evaluator = Model::parse(&text, "test.toml").unwrap().evaluator(&i).unwrap();
        Subject { name: format!("{step} {product}"), cases: operands(&evaluator), evaluator }
    };
    let rounded = "product = { format = 'f16', rounding = 'RU' }\n";
    compare([("sequential", ""), ("pairwise", ""), ("sequential", rounded)].map(subject).into(), 0);
}
