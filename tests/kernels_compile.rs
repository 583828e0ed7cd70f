//! Every kernel compiles, by the function that the device uses, for every architecture that has its instruction, and
//! its machine code is what the instruction table says. No GPU is needed: NVRTC and nvdisasm alone do it; without
//! them the test says so and passes (`tools/nvrtc` installs them).

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tcnum::{
    device::cuda::{architecture::ARCHITECTURES, compile, executable, sass},
    isa::{self, Instruction},
};

/// One compilation: an instruction, and the assembler target.
struct Job {
    instruction: Instruction,
    table: &'static str,
    target: &'static str,
}

/// Every executed instruction (wgmma also with its largest n) for every target that NVRTC takes.
fn jobs(targets: &[String]) -> Vec<Job> {
    let largest = |i: &Instruction| isa::find(&i.name.replacen("m64n8k", "m64n256k", 1));
    let mut instructions: Vec<Instruction> = isa::all().iter().filter(|i| i.kernel.is_some()).cloned().collect();
    let wide: Vec<Instruction> = instructions
        .iter()
        .filter(|i| i.family() == "wgmma" && !i.has_qualifier("satfinite"))
        .map(|i| largest(i).expect("n256 is a shape of every wgmma"))
        .collect();
    instructions.extend(wide);
    let own = ARCHITECTURES.iter().filter(|a| a.target == a.table);
    own.filter(|a| targets.iter().any(|t| t == a.target.trim_end_matches('a')))
        .flat_map(|a| {
            let has = instructions.iter().filter(|i| i.support_on(a.table).is_some());
            has.map(|i| Job { instruction: i.clone(), table: a.table, target: a.target })
        })
        .collect()
}

/// What is wrong with one job, if anything is.
fn fault(job: &Job) -> Option<String> {
    let architecture = ARCHITECTURES.iter().find(|a| a.target == job.target)?;
    let (kernel, support) = match executable(&job.instruction, architecture) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    let cubin = match compile::compile(&kernel.source, job.target) {
        Ok(cubin) if cubin.starts_with(b"\x7fELF") => cubin,
        Ok(_) => return Some("the machine code is no ELF file".into()),
        Err(error) => return Some(error.to_string()),
    };
    let opcodes = sass::arithmetic(&sass::disassemble(&sass::disassembler()?, &cubin)?);
    let native = support.emulation.is_none();
    if sass::is_native(&opcodes) != native {
        return Some(format!("the table says native: {native}, the machine code is {}", opcodes.join("; ")));
    }
    let unit = matrix_unit(&job.instruction, job.table);
    let matches = opcodes.iter().any(|o| o.contains(unit)) == (support.emulation.as_deref() != Some("software"));
    (!matches || (native && !opcodes[0].starts_with(unit)))
        .then(|| format!("expected {unit}, the machine code is {}", opcodes.join("; ")))
}

/// The opcode, up to its first point, of the matrix unit that an instruction uses where one does.
fn matrix_unit(i: &Instruction, table: &str) -> &'static str {
    let eight_bits = i.a.bits == 8;
    let native = i.support_on(table).is_some_and(|s| s.emulation.is_none());
    match (i.family(), i.a.is_integer(), i.a.bits) {
        ("wgmma", true, _) => "IGMMA.",
        ("wgmma", false, _) if eight_bits => "QGMMA.",
        ("wgmma", ..) => "HGMMA.",
        (_, true, _) => "IMMA.",
        (_, _, 64) => "DMMA.",
        _ if eight_bits && native => "QMMA.",
        _ => "HMMA.",
    }
}

#[test]
fn every_kernel_compiles_for_every_architecture_that_has_its_instruction() {
    let targets = match compile::targets() {
        Ok(targets) => targets,
        Err(error) => return println!("skipped: {error}"),
    };
    let jobs = jobs(&targets);
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(fault) = fault(job) {
                        faults.lock().unwrap().push(format!("{} for {}: {fault}", job.instruction, job.target));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    let disassembled =
        if sass::disassembler().is_some() { "and disassembled" } else { "but not disassembled: no nvdisasm" };
    println!("{} kernels compiled {disassembled}", jobs.len());
    assert!(!jobs.is_empty() && faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
