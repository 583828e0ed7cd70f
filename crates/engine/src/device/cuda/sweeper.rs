//! Sweeps of scalar instructions on the GPU: operands, instruction, rule and comparison in one kernel.

use std::{fmt::Write, sync::Arc, time::Instant};

use cudarc::driver::{CudaFunction, CudaStream, DriverError, PushKernelArg};

use super::{arithmetic, constants::constants, launch::grid};
use crate::{
    Error, Result,
    arithmetic::scalar_rule::ScalarRule,
    device::{Chunks, DifferenceGroup, Execution, Sweeper, Swept},
    format::{Format, Overflow, Rounding},
    inputs::space::{CHUNK, Space},
    isa::scalar::{Clamp, Form, NanResult, ScalarOperation, container_bits},
    kernels::source,
    softfloat::ResultTarget,
};

/// Threads of a block.
const THREADS: u32 = 256;

/// Classes of data.
const CLASSES: usize = 5;
/// Combinations of the classes of three operands and two results.
const BUCKETS: usize = CLASSES.pow(5);

/// Generates the device functions `operands_of` and `model` of a form, without the instruction itself.
/// They are plain C++17 where `__device__` and the intrinsics are defined. `None` for random rounding and for
/// processors.
pub fn rule(form: &Form, seed: u64) -> Option<String> {
    let rule = ScalarRule::new(form).filter(|_| !form.is_of_processors())?;
    let result =
        ResultTarget { format: form.result, rounding: rule.rounding(), overflow: form.overflow, nan: nan(form) };
    let mut text = constants("FormatA", form.source) + &arithmetic::record("Result", &result);
    text += &unbounded(form, &rule);
    let flags = [
        ("OPERATION", ScalarOperation::ALL.iter().position(|o| *o == form.operation).expect("in the list") as u64),
        ("FLUSH_INPUTS", form.flush_inputs.into()),
        ("FLUSH_RESULTS", form.flush_results.is_some().into()),
        ("CLAMP", [Clamp::None, Clamp::Relu, Clamp::Unit].iter().position(|c| *c == form.clamp).unwrap_or(0) as u64),
        (
            "NAN_RULE",
            match form.nan {
                NanResult::Code(_) | NanResult::First(_) => 0,
                NanResult::Copy => 1,
                NanResult::Quiet => 2,
                NanResult::Cut => 3,
                NanResult::Below => 4,
            },
        ),
        ("NAN_OPERANDS", form.nan_operands.into()),
        ("XOR_SIGN", form.xor_sign.into()),
        ("OUT_OF_BOUNDS", form.out_of_bounds.is_some().into()),
        ("OUT_OF_BOUNDS_CODE", form.out_of_bounds.unwrap_or(0)),
        ("ONE_CODE", rule.one()),
        ("RESULT_BITS", container_bits(form.result).into()),
    ];
    for (name, value) in flags {
        let _ = writeln!(text, "#define {name} ({value}ull)");
    }
    text += &Space::new(form, seed).definitions();
    text += source("model_value.cuh");
    text += source("scalar_rule.cuh");
    text += source("scalar_operands.cuh");
    Some(text)
}

/// Generates the complete kernel of a form; `None` for random rounding.
pub fn kernel(form: &Form) -> Option<String> {
    Some([rule(form, 0)?.as_str(), &issue(form), source("sweep.cu")].join("\n"))
}

fn nan(form: &Form) -> u64 {
    match form.nan {
        NanResult::Code(code) => code,
        _ => form.result.nan().unwrap_or(0),
    }
}

/// The target that detects tiny results, and the code of its smallest normal number.
fn unbounded(form: &Form, rule: &ScalarRule<'_>) -> String {
    let Some((format, rounding)) = rule.unbounded() else {
        return "typedef TargetResult TargetUnbounded;\n#define UNBOUNDED_SMALLEST_NORMAL 0ull\n".into();
    };
    let overflow = Overflow::Standard;
    let target = ResultTarget { format: leaked(format), rounding: *rounding, overflow, nan: format.nan().unwrap_or(0) };
    let smallest = form.result.value(form.result.smallest_normal());
    let code = format.encode(&smallest, Rounding::Rne, overflow).unwrap_or(0);
    arithmetic::record("Unbounded", &target) + &format!("#define UNBOUNDED_SMALLEST_NORMAL {code:#x}ull\n")
}

/// Targets keep their formats as long as the program runs; there are at most two of these.
fn leaked(format: &Format) -> &'static Format {
    use std::sync::Mutex;
    static LEAKED: Mutex<Vec<&'static Format>> = Mutex::new(Vec::new());
    let mut known = LEAKED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(same) = known.iter().find(|other| **other == format) {
        return same;
    }
    let copy: &'static Format = Box::leak(Box::new(Format { ..*format }));
    known.push(copy);
    copy
}

/// Bytes of an operand register in C++.
pub(super) fn source_bytes(form: &Form) -> usize {
    match source_bits(form) {
        16 => 2,
        64 => 8,
        _ => 4,
    }
}

/// Bits of an operand register.
fn source_bits(form: &Form) -> u32 {
    container_bits(form.source) * if form.packed { form.lanes as u32 } else { 1 }
}

/// Number of operand registers.
pub(super) fn sources(form: &Form) -> usize {
    if form.packed || form.lanes == 1 { form.operation.operands() } else { form.lanes }
}

fn result_bits(form: &Form) -> u32 {
    container_bits(form.result) * form.lanes as u32
}

/// `Word issue(const Operands (&x)[LANES])`.
/// It packs the operands, executes the instruction, and returns its register.
fn issue(form: &Form) -> String {
    let (from, lanes) = (container_bits(form.source), form.lanes);
    let code = |lane: usize, operand: usize| format!("x[{lane}].code[{operand}]");
    let inputs: Vec<String> = match form.packed {
        // The first operand belongs to the highest lane.
        false if lanes > 1 => (0..lanes).rev().map(|lane| code(lane, 0)).collect(),
        false => (0..form.operation.operands()).map(|operand| code(0, operand)).collect(),
        true => (0..form.operation.operands())
            .map(|operand| {
                let parts = (0..lanes).map(|lane| format!("{} << {}", code(lane, operand), from as usize * lane));
                parts.collect::<Vec<_>>().join(" | ")
            })
            .collect(),
    };
    let bits = result_bits(form);
    let mask = if bits == 64 { "~0ull".into() } else { format!("{:#x}ull", (1u64 << bits) - 1) };
    format!(
        "__device__ __forceinline__ Word issue(const Operands (&x)[LANES]) {{\n    {} d;\n    {};\n    return (Word)d & {mask};\n}}\n",
        register(bits.max(32)).0,
        statement(form, &inputs)
    )
}

/// `Result repeat(Result, const Source (&)[SOURCES])`, with its types.
/// It executes the instruction on its previous result and on the other operands.
pub(super) fn repeat(form: &Form) -> String {
    let inputs: Vec<String> =
        (0..sources(form)).map(|at| if at == 0 { "before".into() } else { format!("x[{at}]") }).collect();
    format!(
        "#define SOURCES {}\ntypedef {} Source;\ntypedef {} Result;\n\
         __device__ __forceinline__ Result repeat(Result before, const Source (&x)[SOURCES]) {{\n    Result d;\n    {};\n    return d;\n}}\n",
        inputs.len(),
        register(source_bits(form)).0,
        register(result_bits(form).max(32)).0,
        statement(form, &inputs)
    )
}

/// The inline assembly that executes the instruction on the registers `inputs` and writes `d`.
fn statement(form: &Form, inputs: &[String]) -> String {
    let (source_bits, result_bits) = (source_bits(form), result_bits(form));
    let mut statement = String::from("{ ");
    for number in 0..inputs.len() {
        statement += &read(number, source_bits, form.source.is_integer());
    }
    let (declare, write) = written(result_bits, form.result.is_integer());
    let names: Vec<String> = (0..inputs.len()).map(|number| format!("s{number}")).collect();
    let arguments = if form.lanes == 4 { format!("{{{}}}", names.join(", ")) } else { names.join(", ") };
    let _ = write!(statement, "{declare}{} d, {arguments}; {write} }}", form.ptx);
    let letter = register(result_bits.max(32)).1;
    let (source_type, source_letter) = register(source_bits);
    let operands: Vec<String> =
        inputs.iter().map(|input| format!("\"{source_letter}\"(({source_type})({input}))")).collect();
    format!("asm volatile(\"{statement}\" : \"={letter}\"(d) : {})", operands.join(", "))
}

/// The C++ type and the assembly constraint of a register with `bits` bits.
fn register(bits: u32) -> (&'static str, char) {
    match bits {
        64 => ("unsigned long long", 'l'),
        16 => ("unsigned short", 'h'),
        _ => ("unsigned", 'r'),
    }
}

/// PTX that declares the source register `sN` and sets it from argument N + 1.
/// Untyped registers go with every type.
fn read(number: usize, bits: u32, integer: bool) -> String {
    let argument = number + 1;
    match bits {
        8 if integer => format!(".reg .b16 s{number}; cvt.u16.u32 s{number}, %{argument}; "),
        8 => {
            let [a, b, c] = ["t", "u", "v"].map(|name| format!("{name}{number}"));
            format!(".reg .b8 s{number}, {a}, {b}, {c}; mov.b32 {{s{number}, {a}, {b}, {c}}}, %{argument}; ")
        }
        _ => format!(".reg .b{bits} s{number}; mov.b{bits} s{number}, %{argument}; "),
    }
}

/// PTX that declares the register `d`, and PTX that returns it.
fn written(bits: u32, integer: bool) -> (String, String) {
    match bits {
        8 if integer => (".reg .b32 d; ".into(), "mov.b32 %0, d;".into()),
        8 => (".reg .b8 d; .reg .b16 w; ".into(), "mov.b16 w, {d, d}; cvt.u32.u16 %0, w;".into()),
        // Asked for half a register, assemblers may use the slower conversion to a whole one (F2F for F2FP).
        16 => (".reg .b16 d; ".into(), "mov.b32 %0, {d, d};".into()),
        _ => (format!(".reg .b{bits} d; "), format!("mov.b{bits} %0, d;")),
    }
}

/// The loaded kernel of a form.
pub struct CudaSweeper {
    /// Stream of all work.
    pub stream: Arc<CudaStream>,
    /// Entry of the kernel.
    pub function: CudaFunction,
    /// Blocks of a launch, at most.
    pub blocks: u32,
    /// The instruction.
    pub form: &'static Form,
    /// Seed of sampled inputs.
    pub seed: u64,
    /// Execution that reports show.
    pub execution: Execution,
}

impl Sweeper for CudaSweeper {
    fn execution(&self) -> &Execution {
        &self.execution
    }

    fn sweep(&mut self, chunks: Chunks) -> Result<Swept> {
        let failed = |error| Error::device(format!("{}: the sweep of {chunks:?} failed: {error}", self.form));
        let (tallies, digests, _, seconds) = self.launch(chunks, false).map_err(failed)?;
        let swept = self.swept(&tallies, digests, seconds);
        let size = Space::new(self.form, self.seed).size();
        let (asked, compared) = (chunks.inputs(size) * self.form.lanes as u64, swept.compared.iter().sum::<u64>());
        match compared == asked {
            true => Ok(swept),
            false => Err(Error::device(format!("{}: the GPU compared {compared} results of {asked}", self.form))),
        }
    }

    fn results(&mut self, chunk: u64) -> Result<Vec<u64>> {
        let chunks = Chunks { first: chunk, step: 1, count: 1 };
        let failed = |error| Error::device(format!("{}: executing chunk {chunk} failed: {error}", self.form));
        let (_, _, codes, _) = self.launch(chunks, true).map_err(failed)?;
        let size = Space::new(self.form, self.seed).size();
        Ok(codes[..chunks.inputs(size) as usize].to_vec())
    }
}

type Launched = (Vec<u64>, Vec<u64>, Vec<u64>, f64);

impl CudaSweeper {
    /// Launches the kernel; with `keep`, it also stores the result of every input.
    #[allow(unsafe_code)]
    fn launch(&self, chunks: Chunks, keep: bool) -> std::result::Result<Launched, DriverError> {
        let mut tallies = self.stream.alloc_zeros::<u64>(CLASSES + 2 * BUCKETS)?;
        let mut digests = self.stream.alloc_zeros::<u64>(chunks.count as usize)?;
        let mut codes = keep.then(|| self.stream.alloc_zeros::<u64>((chunks.count * CHUNK) as usize)).transpose()?;
        let blocks = chunks.count.clamp(1, self.blocks.into()) as u32;
        let size = Space::new(self.form, self.seed).size();
        let none = 0u64;
        self.stream.synchronize()?;
        let start = Instant::now();
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&self.seed).arg(&chunks.first).arg(&chunks.step).arg(&chunks.count).arg(&size);
        launch.arg(&mut tallies).arg(&mut digests);
        match &mut codes {
            Some(codes) => launch.arg(codes),
            None => launch.arg(&none),
        };
        // SAFETY: the kernel takes five words and three pointers: to CLASSES + 2 * BUCKETS words, to a word per chunk,
        // and to a word per input of the chunks or to nothing. The arguments match.
        unsafe { launch.launch(grid(blocks, THREADS))? };
        self.stream.synchronize()?;
        let seconds = start.elapsed().as_secs_f64();
        let read = |words| self.stream.clone_dtoh(words);
        let kept = codes.as_ref().map(read).transpose()?.unwrap_or_default();
        Ok((read(&tallies)?, read(&digests)?, kept, seconds))
    }

    fn swept(&self, tallies: &[u64], digests: Vec<u64>, seconds: f64) -> Swept {
        let lanes = self.form.lanes as u64;
        let (counts, firsts) = tallies[CLASSES..].split_at(BUCKETS);
        let mut differences: Vec<DifferenceGroup> = counts
            .iter()
            .zip(firsts)
            .enumerate()
            .filter(|(_, (count, _))| **count > 0)
            .map(|(kind, (count, first))| DifferenceGroup {
                kind,
                count: *count,
                index: !first / lanes,
                lane: (!first % lanes) as usize,
            })
            .collect();
        differences.sort_by_key(|difference| (difference.index, difference.lane));
        let compared = std::array::from_fn(|class| tallies[class]);
        Swept { compared, differences, digests, seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::scalar::{all, find};

    #[test]
    fn every_form_that_rounds_by_rule_has_a_kernel() {
        for form in all().iter().filter(|form| !form.is_of_processors()) {
            assert_eq!(kernel(form).is_some(), form.missing().is_none(), "{form}");
        }
    }

    #[test]
    fn the_statement_takes_the_highest_lane_first() {
        let text = issue(find("cvt.rn.satfinite.e4m3x2.f32").unwrap());
        assert!(text.contains("cvt.rn.satfinite.e4m3x2.f32 d, s0, s1;"), "{text}");
        assert!(text.contains("\"r\"((unsigned)(x[1].code[0])), \"r\"((unsigned)(x[0].code[0]))"), "{text}");
        let text = issue(find("fma.rn.f16x2").unwrap());
        assert!(text.contains("\"r\"((unsigned)(x[0].code[2] << 0 | x[1].code[2] << 16))"), "{text}");
    }

    #[test]
    fn tininess_of_flushed_results_has_a_target_of_its_own() {
        let text = rule(find("mul.rn.ftz.f16").unwrap(), 0).unwrap();
        assert!(
            text.contains("struct FormatUnbounded") && text.contains("UNBOUNDED_SMALLEST_NORMAL 0xc400ull"),
            "{text}"
        );
    }
}
