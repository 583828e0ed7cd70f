//! Every kernel compiles, by the function that the device uses, for every kind of machine code that architectures make of its
//! instruction, and the machine code is what the instruction table says. No GPU is needed: NVRTC and nvdisasm alone do it; without
//! them the test says that it is skipped (`tools/nvrtc` installs them). `TCNUM_TARGETS=sm_70,sm_90a` takes these architectures,
//! `TCNUM_TARGETS=all` every one.
//!
//! The arithmetic of every kernel must be that of the measured lowerings (`tests/facts`), opcode by opcode.

use std::collections::{BTreeMap, HashMap};

use crate::machine::{NO_NVRTC, Need, skip};
use rayon::prelude::*;
use tcnum::isa::{self, Instruction};
use tcnum_engine::device::cuda::{architecture::ARCHITECTURES, compile, executable, sass};

/// One compilation: an instruction, and the assembler target.
struct Job {
    instruction: Instruction,
    table: &'static str,
    target: &'static str,
}

/// Every executed instruction (wgmma also with its largest n) for the targets that NVRTC takes: those that are asked for, or the
/// last one of each kind of machine code.
fn jobs(targets: &[String], measured: &Measured) -> Vec<Job> {
    let largest = |i: &Instruction| isa::find(&i.name.replacen("m64n8k", "m64n256k", 1));
    let mut instructions: Vec<Instruction> = isa::all().iter().filter(|i| i.kernel.is_some()).cloned().collect();
    let wide: Vec<Instruction> = instructions
        .iter()
        .filter(|i| i.family().starts_with("wgmma") && !i.has_qualifier("satfinite"))
        .map(|i| largest(i).expect("n256 is a shape of every wgmma"))
        .collect();
    instructions.extend(wide);
    let only = std::env::var("TCNUM_TARGETS").unwrap_or_default();
    let asked = |target: &str| only.is_empty() || only == "all" || only.split(',').any(|name| name == target);
    let architectures = ARCHITECTURES.iter().filter(|a| a.target == a.table && asked(a.target));
    let all: Vec<Job> = architectures
        .filter(|a| targets.iter().any(|t| t == a.target.trim_end_matches('a')))
        .flat_map(|a| {
            let has = instructions.iter().filter(|i| i.support_on(a.table).is_some());
            has.map(|i| Job { instruction: i.clone(), table: a.table, target: a.target })
        })
        .collect();
    if !only.is_empty() {
        return all;
    }
    let last = all.into_iter().map(|job| (job.kind(measured), job)).collect::<BTreeMap<_, _>>();
    last.into_values().collect()
}

impl Job {
    /// How the architecture emulates the instruction, if it does.
    fn emulation(&self) -> Option<&'static str> {
        self.instruction.support_on(self.table).and_then(|support| support.emulation)
    }

    /// The instruction, how an architecture has it, and the opcodes that were measured there.
    fn kind(&self, measured: &Measured) -> (String, Option<&'static str>, &'static str, Vec<String>) {
        let opcodes =
            measured.get(&(self.instruction.ptx.clone(), self.table.to_string())).cloned().unwrap_or_default();
        (self.instruction.name.clone(), self.emulation(), matrix_unit(&self.instruction, self.table), opcodes)
    }
}

/// The machine code of one job, or why there is none.
fn compiled(job: &Job) -> Result<Vec<u8>, String> {
    let architecture = ARCHITECTURES.iter().find(|a| a.target == job.target).expect("an architecture of the table");
    let (kernel, _) = executable(&job.instruction, architecture).map_err(|error| error.to_string())?;
    compile::compile(&kernel.source, job.target).map_err(|error| error.to_string())
}

/// What is wrong with the machine code of one job, if anything is.
fn fault(job: &Job, disassembly: &str, measured: &Measured) -> Option<String> {
    let opcodes = sass::arithmetic(disassembly);
    let software = job.emulation() == Some("software");
    let recorded = measured.get(&(job.instruction.ptx.clone(), job.table.to_string()));
    if let Some(recorded) = recorded.filter(|_| !software)
        && common(recorded) != common(&opcodes)
    {
        return Some(format!("measured was {}, the machine code is {}", recorded.join("; "), opcodes.join("; ")));
    }
    // Reordering A and its metadata takes integer instructions, which are not listed.
    let native = job.emulation().is_none_or(|how| how == "reorder");
    if sass::is_native(&opcodes) != native {
        return Some(format!("the table says native: {native}, the machine code is {}", opcodes.join("; ")));
    }
    let unit = matrix_unit(&job.instruction, job.table);
    let matrix = if native { opcodes[0].starts_with(unit) } else { opcodes.iter().any(|o| o.contains(unit)) };
    (matrix == software).then(|| format!("expected {unit}, the machine code is {}", opcodes.join("; ")))
}

/// What two lists of opcodes must have in common: in alphabetic order, for the order of independent instructions is the
/// scheduler's; without integer instructions, which a kernel also has for itself; and unpacking to f16 without its
/// count, for it is exact and the compiler may do it before or after it selects between registers.
fn common(opcodes: &[String]) -> Vec<&str> {
    let mut common: Vec<&str> = opcodes
        .iter()
        .map(|opcode| (opcode.as_str(), opcode.split_once("x ").map_or(opcode.as_str(), |(_, name)| name)))
        .filter(|(_, name)| sass::is_listed(name))
        .map(|(counted, name)| if name.contains("UNPACK_B") { name } else { counted })
        .collect();
    common.sort_unstable();
    common
}

/// The measured arithmetic opcodes of an instruction's spelling on an architecture.
type Measured = HashMap<(String, String), Vec<String>>;

/// The measured lowerings.
fn measured() -> Measured {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/facts/ptx_instructions.csv");
    let mut reader = csv::Reader::from_path(path).expect("the facts are in the repository");
    let headers = reader.headers().expect("a header line").clone();
    let at = |name: &str| headers.iter().position(|h| h == name).expect("a column of the facts");
    let (ptx, arch, sass) = (at("ptx"), at("arch"), at("sass"));
    let rows = reader.records().map(|row| row.expect("a row of the facts")).filter(|row| !row[sass].is_empty());
    rows.map(|row| ((row[ptx].into(), row[arch].into()), row[sass].split(';').map(String::from).collect())).collect()
}

/// The opcode, up to its first point, of the matrix unit that an instruction uses where one does.
fn matrix_unit(i: &Instruction, table: &str) -> &'static str {
    let native = i.support_on(table).is_some_and(|s| s.emulation.is_none());
    match (i.family().starts_with("wgmma"), i.a.is_integer(), i.a.bits) {
        (true, true, 1) => "BGMMA.",
        (true, true, _) => "IGMMA.",
        (true, false, 8) => "QGMMA.",
        (true, ..) => "HGMMA.",
        // Blackwell expands bits to bytes.
        (_, true, 1) if !table.starts_with("sm_10") && !table.starts_with("sm_12") => "BMMA.",
        (_, true, _) => "IMMA.",
        (_, _, 64) => "DMMA.",
        (_, _, 8) if native => "QMMA.",
        _ => "HMMA.",
    }
}

#[test]
fn every_kernel_compiles_for_every_kind_of_machine_code_of_its_instruction() {
    let targets = match compile::targets() {
        Ok(targets) => targets,
        Err(_) => return skip(Need::Nvrtc, NO_NVRTC),
    };
    let measured = measured();
    let jobs = jobs(&targets, &measured);
    let compiled: Vec<Result<Vec<u8>, String>> = jobs.par_iter().map(compiled).collect();
    let cubins = jobs.iter().zip(&compiled).filter_map(|(job, cubin)| Some((job.target, &cubin.as_ref().ok()?[..])));
    let refused = |(job, cubin): (&Job, &Result<_, String>)| {
        Some(format!("{} for {}: {}", job.instruction, job.target, cubin.as_ref().err()?))
    };
    let mut faults: Vec<String> = jobs.iter().zip(&compiled).filter_map(refused).collect();
    println!("{} kernels compiled", jobs.len());
    match sass::disassembler() {
        None => skip(Need::Nvdisasm, "there is no nvdisasm, so the machine code is not compared"),
        Some(program) => {
            let texts = sass::disassemble(&program, &cubins.collect::<Vec<_>>());
            let compiled = jobs.iter().zip(&compiled).filter(|(_, cubin)| cubin.is_ok());
            faults.extend(compiled.zip(texts).filter_map(|((job, _), text)| {
                let fault = text.map_or(Some("nvdisasm refuses it".into()), |text| fault(job, &text, &measured))?;
                Some(format!("{} for {}: {fault}", job.instruction, job.target))
            }));
        }
    }
    assert!(!jobs.is_empty() && faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
