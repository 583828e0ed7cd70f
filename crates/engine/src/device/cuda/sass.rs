//! The arithmetic machine instructions of a compiled kernel, which show what actually runs.
//!
//! The disassembly is nvdisasm's or cuobjdump's. Matrix instructions, floating-point arithmetic and conversions are
//! kept, because only the tested instruction has any. Loads, stores, address arithmetic, moves and control are dropped.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    io::Write,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{cubin, loader};

/// Floating-point arithmetic and conversions, by the opcode before its first point.
const ARITHMETIC: &[&str] = &[
    "FADD",
    "FADD2",
    "FADD32I",
    "FMUL",
    "FMUL2",
    "FMUL32I",
    "FFMA",
    "FFMA2",
    "FFMA32I",
    "FMNMX",
    "FRND",
    "MUFU",
    "HADD2",
    "HADD2_32I",
    "HMUL2",
    "HMUL2_32I",
    "HFMA2",
    "HFMA2_32I",
    "HMNMX2",
    "DADD",
    "DMUL",
    "DFMA",
    "F2F",
    "F2FP",
    "F2I",
    "F2IP",
    "I2F",
    "I2FP",
];

/// Bytes of a machine instruction, from Volta on.
const INSTRUCTION_BYTES: usize = 16;

/// Finds the disassembler: nvdisasm or else cuobjdump, on PATH or in a CUDA toolkit.
pub fn disassembler() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(loader::toolkits().into_iter().map(|root| root.join("bin"))).collect();
    let program = |stem: &str| format!("{stem}{}", std::env::consts::EXE_SUFFIX);
    ["nvdisasm", "cuobjdump"]
        .iter()
        .find_map(|stem| folders.iter().map(|f| f.join(program(stem))).find(|path| path.is_file()))
}

/// Disassembles CUBINs, each with its target.
///
/// `None` stands where `program` cannot; it may be older than the compiler. nvdisasm takes 0.4 s to start, and next to nothing for
/// a kernel, so all of one target are given to it at once.
pub fn disassemble(program: &Path, cubins: &[(&str, &[u8])]) -> Vec<Option<String>> {
    let mut texts = vec![None; cubins.len()];
    let targets: BTreeSet<&str> = cubins.iter().map(|(target, _)| *target).collect();
    for target in targets {
        let places: Vec<usize> = (0..cubins.len()).filter(|place| cubins[*place].0 == target).collect();
        let of_target: Vec<&[u8]> = places.iter().map(|place| cubins[*place].1).collect();
        let together = disassemble_together(program, target, &of_target);
        let together = together.map(|texts| texts.into_iter().map(Some).collect::<Vec<_>>());
        let one_by_one = || of_target.iter().map(|cubin| disassemble_file(program, cubin)).collect();
        for (place, text) in places.into_iter().zip(together.unwrap_or_else(one_by_one)) {
            texts[place] = text;
        }
    }
    texts
}

/// Disassembles the machine code of CUBINs of one target in one run; `None` if `program` cannot.
fn disassemble_together(program: &Path, target: &str, cubins: &[&[u8]]) -> Option<Vec<String>> {
    if is_cuobjdump(program) {
        return None;
    }
    let functions: Vec<_> = cubins.iter().map(|cubin| cubin::functions(cubin)).collect::<Option<_>>()?;
    let code: Vec<&[u8]> = functions.iter().flatten().map(|(_, code)| *code).collect();
    let options = ["-ndf", "-b", &target.replace("sm_", "SM")];
    let text = run(program, &options, &code)?;
    let mut lines = text.lines().filter_map(|line| Some((address(line)?, line))).peekable();
    let mut end = 0;
    let mut of_function = |(name, code): &(&str, &[u8])| {
        let begin = end;
        end += code.len();
        let mut text = format!(".text.{name}:\n");
        let mut count = 0;
        while let Some((_, line)) = lines.next_if(|(address, _)| (begin..end).contains(address)) {
            count += 1;
            text += line;
            text.push('\n');
        }
        (count * INSTRUCTION_BYTES == code.len()).then_some(text)
    };
    functions.iter().map(|functions| functions.iter().map(&mut of_function).collect()).collect()
}

/// Disassembles the file of one CUBIN.
fn disassemble_file(program: &Path, cubin: &[u8]) -> Option<String> {
    run(program, &[if is_cuobjdump(program) { "-sass" } else { "-c" }], &[cubin])
}

/// Prints of `program` about a file with these contents.
fn run(program: &Path, options: &[&str], contents: &[&[u8]]) -> Option<String> {
    let mut file = tempfile::Builder::new().suffix(".cubin").tempfile().ok()?;
    contents.iter().try_for_each(|part| file.write_all(part)).ok()?;
    file.flush().ok()?;
    let output = Command::new(program).args(options).arg(file.path()).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_cuobjdump(program: &Path) -> bool {
    program.file_stem() == Some(OsStr::new("cuobjdump"))
}

/// Address of an instruction in a line such as `/*06c0*/ EXIT ;`.
fn address(line: &str) -> Option<usize> {
    usize::from_str_radix(line.trim_start().strip_prefix("/*")?.split_once("*/")?.0, 16).ok()
}

/// Lists the distinct arithmetic opcodes of a disassembly, in the order of first appearance.
/// A count above 1 stands before the opcode: `12x F2FP.F16.E4M3.UNPACK_B`.
///
/// `(C=0)` marks a matrix instruction without addend, `(C=prev)` one that adds to an earlier result.
pub fn arithmetic(disassembly: &str) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    let mut results = HashSet::new();
    for instruction in disassembly.lines().filter_map(SassLine::parse) {
        if instruction.is_arithmetic() {
            let name = instruction.described(&results);
            match counted.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counted.push((name, 1)),
            }
        }
        if let Some(&destination) = instruction.operands.first() {
            if instruction.is_matrix() {
                results.insert(destination);
            } else {
                results.remove(destination);
            }
        }
    }
    counted.into_iter().map(|(name, count)| if count == 1 { name } else { format!("{count}x {name}") }).collect()
}

/// Lists the machine instructions in the innermost loop of each kernel: lines of `ENTRY COUNT OPCODE`.
/// Opcodes stand in the order of first appearance.
pub fn loops(disassembly: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (entry, text) in functions(disassembly) {
        for (opcode, count) in innermost(text) {
            lines.push(format!("{entry} {count} {opcode}"));
        }
    }
    lines
}

/// The opcodes of `entry` among the lines of [`loops`], with counts.
pub fn body(lines: &[String], entry: &str) -> Vec<(String, u32)> {
    let of = |line: &String| {
        let mut words = line.split(' ');
        let is_entry = words.next()? == entry;
        let count = words.next()?.parse().ok()?;
        is_entry.then(|| Some((words.next()?.to_string(), count)))?
    };
    lines.iter().filter_map(of).collect()
}

/// Splits a disassembly into functions.
/// nvdisasm begins them with `.text.NAME:`, cuobjdump with `Function : NAME`.
fn functions(disassembly: &str) -> Vec<(&str, Vec<&str>)> {
    let mut functions: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in disassembly.lines() {
        let text = line.trim();
        let name = text.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':'));
        if let Some(name) = name.or_else(|| text.strip_prefix("Function : ")) {
            functions.push((name, Vec::new()));
        } else if let Some((_, lines)) = functions.last_mut() {
            lines.push(text);
        }
    }
    functions
}

/// The opcodes of the shortest loop with a matrix instruction, with counts.
/// Without one, the shortest loop with a call counts, then one with other arithmetic.
fn innermost(lines: Vec<&str>) -> Vec<(String, u32)> {
    // Targets of branches: labels or addresses.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut instructions: Vec<SassLine> = Vec::new();
    let [mut shortest, mut calling, mut scalar]: [Option<Range<usize>>; 3] = [None, None, None];
    for line in lines {
        if let Some(label) = line.strip_suffix(':') {
            places.insert(label.to_string(), instructions.len());
        }
        let Some(instruction) = SassLine::parse(line) else { continue };
        places.insert(format!("{:#x}", address(line).unwrap_or(usize::MAX)), instructions.len());
        let target = instruction.operands.last().copied().filter(|_| instruction.opcode.starts_with("BRA"));
        let target = target.map(|name| name.trim_matches(['`', '(', ')']).to_string());
        instructions.push(instruction);
        let Some(&first) = target.as_ref().and_then(|name| places.get(name)) else { continue };
        let range = first..instructions.len();
        // The branch to itself after the end of a kernel is not a loop.
        let body = &instructions[range.clone()];
        let kinds: [(&mut Option<Range<usize>>, bool); 3] = [
            (&mut shortest, body.iter().any(SassLine::is_matrix)),
            (&mut calling, body.iter().any(|instruction| is_call(instruction.opcode))),
            (&mut scalar, body.iter().any(SassLine::is_arithmetic)),
        ];
        for (known, has) in kinds {
            if has && known.as_ref().is_none_or(|known| range.len() < known.len()) {
                *known = Some(range.clone());
            }
        }
    }
    let mut counted: Vec<(String, u32)> = Vec::new();
    for instruction in &instructions[shortest.or(calling).or(scalar).unwrap_or_default()] {
        match counted.iter_mut().find(|(opcode, _)| opcode == instruction.opcode) {
            Some((_, count)) => *count += 1,
            None => counted.push((instruction.opcode.to_string(), 1)),
        }
    }
    counted
}

/// Returns true for exactly one matrix instruction.
///
/// Volta and Turing issue one instruction in steps (`HMMA.884.F32.F32.STEP0`, `STEP1`...), which count as one.
pub fn is_native(opcodes: &[String]) -> bool {
    let distinct: HashSet<&str> = opcodes.iter().map(|o| o.split(".STEP").next().unwrap_or(o)).collect();
    distinct.len() == 1 && distinct.iter().all(|o| is_matrix(o) && !o.contains(' ') && !o.contains('('))
}

/// Returns true if an opcode calls a routine, which may emulate an instruction.
pub fn is_call(opcode: &str) -> bool {
    opcode.starts_with("CALL")
}

/// Returns true if an opcode is a matrix instruction.
pub fn is_matrix(opcode: &str) -> bool {
    opcode.split('.').next().is_some_and(|base| base.ends_with("MMA"))
}

/// Returns true if [`arithmetic`] lists this opcode.
pub fn is_listed(opcode: &str) -> bool {
    let base = opcode.split(['.', '(']).next().unwrap_or(opcode);
    base.ends_with("MMA") || ARITHMETIC.contains(&base)
}

/// One line of a disassembly: the opcode with its modifiers, and the operands.
struct SassLine<'a> {
    opcode: &'a str,
    operands: Vec<&'a str>,
}

impl<'a> SassLine<'a> {
    /// Parses `/*06c0*/ @P0 HMMA.16816.F32.BF16 R8, R12, R18, R8 ;`.
    /// Returns `None` for other lines, and for instructions that never execute.
    fn parse(line: &'a str) -> Option<Self> {
        address(line)?;
        let mut text = line.split_once("*/")?.1.split_once(';')?.0.trim();
        if let Some(predicated) = text.strip_prefix('@') {
            let (predicate, instruction) = predicated.split_once(char::is_whitespace)?;
            if matches!(predicate, "!PT" | "!UPT") {
                return None;
            }
            text = instruction.trim_start();
        }
        let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands = operands.split(',').map(|o| o.trim().trim_end_matches(".reuse")).filter(|o| !o.is_empty());
        Some(SassLine { opcode, operands: operands.collect() })
    }

    fn is_matrix(&self) -> bool {
        is_matrix(self.opcode)
    }

    fn is_arithmetic(&self) -> bool {
        let base = self.opcode.split('.').next().unwrap_or(self.opcode);
        // Compilers also load constants with a half-precision unit: 0 * 0 + constant.
        let constant = base == "HFMA2" && self.operands.iter().skip(1).take(2).all(|o| o.trim_matches('-') == "RZ");
        is_listed(self.opcode) && !constant
    }

    /// The opcode, with a mark of a matrix instruction's C.
    fn described(&self, results: &HashSet<&str>) -> String {
        let c = if self.opcode.contains("GMMA") { self.warpgroup_addend() } else { self.operands.get(3).copied() };
        let addend = match c {
            _ if !self.is_matrix() => "",
            Some("RZ" | "!UPT") => "(C=0)",
            Some(register) if results.contains(register) => "(C=prev)",
            _ => "",
        };
        format!("{}{addend}", self.opcode)
    }

    /// `!UPT` among the operands of a warpgroup instruction means that it does not add C.
    fn warpgroup_addend(&self) -> Option<&'a str> {
        self.operands.iter().copied().find(|o| *o == "!UPT")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMULATED: &str = "
        .text.execute:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   HFMA2.MMA R9, -RZ, RZ, 0, 0 ;
        /*0020*/                   F2FP.F16.E4M3.UNPACK_B R4, R2 ;
        /*0030*/                   F2FP.F16.E4M3.UNPACK_B R5, R2.H1 ;
        /*0040*/                   HMMA.16816.F32 R12, R4, R8, RZ ;   /* 0x0000000804 */
                                                                      /* 0x004fe200000018ff */
        /*0050*/              @!PT HMMA.16816.F32 R12, R4, R8, RZ ;
        /*0060*/                   HMMA.16816.F32 R12, R4, R8.reuse, R12 ;
        /*0070*/                   FADD R12, R12, R20 ;
        /*0080*/                   STG.E desc[UR8][R2.64], R12 ;
        /*0090*/                   IMAD.MOV.U32 R1, RZ, RZ, R2 ;
        /*00a0*/                   EXIT ;";

    #[test]
    fn arithmetic_is_listed_in_order_with_counts_and_addends() {
        let expected = ["2x F2FP.F16.E4M3.UNPACK_B", "HMMA.16816.F32(C=0)", "HMMA.16816.F32(C=prev)", "FADD"];
        assert_eq!(arithmetic(EMULATED), expected);
    }

    #[test]
    fn one_matrix_instruction_is_native_and_anything_else_is_not() {
        let native = |opcodes: &[&str]| is_native(&opcodes.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(native(&["HMMA.16816.F32.BF16"]));
        assert!(native(&["HMMA.884.F32.F32.STEP0", "HMMA.884.F32.F32.STEP1"]));
        assert!(!native(&["HMMA.16816.F32", "FADD"]));
        assert!(!native(&["2x DMMA.8x8x4"]));
        assert!(!native(&["DMMA.8x8x4", "DMMA.8x8x4(C=prev)"]));
        assert!(!native(&["FFMA"]));
        assert!(!native(&[]));
    }

    #[test]
    fn the_innermost_loop_with_matrix_instructions_is_listed_for_each_kernel() {
        let text = "\t.section .text.cost_1\n.text.cost_1:\n.L_x_0:\n        /*0000*/ MOV R1, R2 ;\n.L_x_1:\n        /*0010*/ HMMA.16816.F32 R8, R4, R6, R8 ;\n\
                            /*0020*/ IADD3 R1, R1, 0x1, RZ ;\n        /*0030*/ HMMA.16816.F32 R8, R4, R6, R8 ;\n\
                            /*0040*/ @P0 BRA `(.L_x_1) ;\n        /*0050*/ @P1 BRA `(.L_x_0) ;\n        /*0060*/ EXIT ;\n.L_x_2:\n        /*0070*/ BRA `(.L_x_2);\n\
                    .text.cost_2:\n        /*0000*/ DMMA.8x8x4 R8, R4, R6, R8 ;\n        /*0010*/ @P0 BRA 0x0 ;";
        let lines = loops(text);
        assert_eq!(lines[..3], ["cost_1 2 HMMA.16816.F32", "cost_1 1 IADD3", "cost_1 1 BRA"]);
        assert_eq!(body(&lines, "cost_1")[0], ("HMMA.16816.F32".to_string(), 2));
        assert_eq!(body(&lines, "cost_2"), [("DMMA.8x8x4".to_string(), 1), ("BRA".to_string(), 1)]);
    }

    #[test]
    fn an_overwritten_result_is_no_addend() {
        let lines = "/*0000*/ DMMA.8x8x4 R8, R4, R6, R8 ;\n/*0010*/ LDG.E.64 R8, desc[UR4][R2.64] ;\n\
                     /*0020*/ DMMA.8x8x4 R8, R4, R6, R8 ;";
        assert_eq!(arithmetic(lines), ["2x DMMA.8x8x4"]);
    }

    #[test]
    fn a_warpgroup_instruction_that_drops_c_is_marked() {
        assert_eq!(arithmetic("/*0860*/ HGMMA.64x8x16.F32 R24, gdesc[UR4], !UPT, gsb0 ;"), ["HGMMA.64x8x16.F32(C=0)"]);
        assert_eq!(arithmetic("/*0860*/ HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0 ;"), ["HGMMA.64x8x16.F32"]);
    }
}
