//! The device `cuda:N`: an NVIDIA GPU.
//!
//! Nothing of CUDA is needed to build. The driver is found at run time ([`loader`]); kernels are made from the
//! instruction record ([`specialise`]), compiled for exactly this GPU by NVRTC ([`compile`]) and kept on disk
//! (`cache`); what they contain is read back from their machine code ([`sass`]).

pub mod architecture;
pub mod arithmetic;
mod cache;
pub mod compile;
pub mod constants;
mod engine;
mod fragments;
pub mod gpu;
mod launch;
pub mod loader;
pub mod sass;
pub mod scalar;
pub mod specialise;
mod statement;

use std::{collections::HashMap, sync::Arc};

use cudarc::{
    driver::{CudaContext, CudaFunction},
    nvrtc::Ptx,
};
use rayon::prelude::*;

use super::{Device, Engine, Execution, ExecutionKind, Generation, Identity, Sweeper, Work};
use crate::{
    Error, Result,
    isa::{Codes, Instruction, Support, Tiles, scalar::Form, targets},
};
use architecture::Architecture;
use cache::{Compiled, Entry};
use engine::CudaEngine;
pub use engine::verifier;
pub use gpu::{Gpu, count};
use launch::Launcher;
use specialise::Specialised;

/// Blocks of a launch for each multiprocessor of the GPU: enough to fill it, the rest is a loop.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;

/// An NVIDIA GPU.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    architecture: &'static Architecture,
    blocks: u32,
    identity: Identity,
    prepared: HashMap<String, Prepared>,
}

/// A kernel that is loaded on the GPU.
struct Prepared {
    launcher: Launcher,
    execution: Execution,
}

impl CudaDevice {
    /// Opens the GPU `cuda:ordinal`.
    ///
    /// # Errors
    /// A device error: no driver (it says which library was looked for under which names), no such GPU, or one
    /// without matrix instructions that the program knows.
    pub fn open(ordinal: usize) -> Result<CudaDevice> {
        let gpu = gpu::get(ordinal)?;
        let (identity, architecture) = identify(&gpu)?;
        let context = CudaContext::new(ordinal).map_err(|e| gpu::failure("opening the GPU", e))?;
        Ok(CudaDevice {
            context,
            architecture,
            blocks: gpu.multiprocessors * BLOCKS_PER_MULTIPROCESSOR,
            identity,
            prepared: HashMap::new(),
        })
    }

    /// The kernel of `instruction`, loaded.
    fn prepared(&mut self, instruction: &Instruction) -> Result<&Prepared> {
        if !self.prepared.contains_key(&instruction.name) {
            let prepared = self.load(instruction)?;
            self.prepared.insert(instruction.name.clone(), prepared);
        }
        Ok(&self.prepared[&instruction.name])
    }

    fn load(&mut self, instruction: &Instruction) -> Result<Prepared> {
        let (kernel, support) =
            executable(instruction, self.architecture).map_err(|e| e.within(&self.identity.name))?;
        let compiled = compiled(&instruction.name, &kernel.source, self.architecture)?;
        self.note_compiler(&compiled.compiler);
        let function = self.function(&compiled, kernel.entry).map_err(|e| e.within(instruction))?;
        let execution = execution(support, compiled.opcodes);
        let stream = self.context.default_stream();
        Ok(Prepared { launcher: Launcher { stream, function, kernel, blocks: self.blocks }, execution })
    }

    fn function(&self, compiled: &Compiled, entry: &str) -> Result<CudaFunction> {
        let refused =
            |error| Error::device(format!("the driver does not load what {} compiled: {error}", compiled.compiler));
        let module = self.context.load_module(Ptx::from_binary(compiled.cubin.clone())).map_err(refused)?;
        module.load_function(entry).map_err(refused)
    }

    /// Keeps the compiler's version among the details of the device.
    fn note_compiler(&mut self, compiler: &str) {
        let detail = ("compiler".to_string(), compiler.to_string());
        if !self.identity.details.contains(&detail) {
            self.identity.details.push(detail);
        }
    }
}

impl Device for CudaDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn generation(&self) -> Generation {
        targets::find(self.architecture.table).map_or(Generation::Unknown, Generation::Target)
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        Ok(self.prepared(instruction)?.execution.clone())
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.prepared(instruction)?.launcher.run(instruction, tiles)
    }

    fn engine(&mut self, work: &Work) -> Result<Option<Box<dyn Engine>>> {
        let evaluator = work.model.evaluator(work.instruction)?;
        executable(work.instruction, self.architecture).map_err(|e| e.within(&self.identity.name))?;
        let Some(kernel) = verifier(evaluator.program(), work.sequence) else { return Ok(None) };
        let compiled = compiled(&work.instruction.name, &kernel.source, self.architecture)?;
        self.note_compiler(&compiled.compiler);
        let function = self.function(&compiled, kernel.entry).map_err(|e| e.within(work.instruction))?;
        Ok(Some(Box::new(CudaEngine {
            stream: self.context.default_stream(),
            function,
            kernel,
            blocks: self.blocks,
            instruction: work.instruction.clone(),
            sequence: work.sequence,
        })))
    }

    fn prepare_sweeps(&mut self, forms: &[&'static Form]) -> Vec<(&'static Form, Error)> {
        // Into the cache: without one, each is compiled when its turn comes.
        if cache::folder().is_none() {
            return Vec::new();
        }
        let architecture = self.architecture;
        let refusal = |form: &&'static Form| {
            let (source, _) = executable_scalar(form, architecture).ok()?;
            compiled(&form.ptx, &source, architecture).err().map(|error| (*form, error))
        };
        forms.par_iter().filter_map(refusal).collect()
    }

    fn sweeper(&mut self, form: &'static Form, seed: u64) -> Result<Option<Box<dyn Sweeper>>> {
        let (source, support) =
            executable_scalar(form, self.architecture).map_err(|e| e.within(&self.identity.name))?;
        let compiled = compiled(&form.ptx, &source, self.architecture)?;
        self.note_compiler(&compiled.compiler);
        let function = self.function(&compiled, "sweep").map_err(|e| e.within(form))?;
        let opcodes = compiled.opcodes;
        let kind = match support.emulation {
            None => ExecutionKind::Native,
            Some(_) => ExecutionKind::Emulated,
        };
        Ok(Some(Box::new(scalar::CudaSweeper {
            stream: self.context.default_stream(),
            function,
            blocks: self.blocks,
            form,
            seed,
            execution: Execution { kind, opcodes: opcodes.unwrap_or_default() },
        })))
    }
}

/// What a GPU is, for reports, and its architecture.
///
/// # Errors
/// A device error if its compute capability is not known.
pub fn identify(gpu: &Gpu) -> Result<(Identity, &'static Architecture)> {
    let name = format!("cuda:{}", gpu.ordinal);
    let (major, minor) = gpu.capability;
    let architecture = architecture::of_capability(gpu.capability).ok_or_else(|| {
        Error::device(format!(
            "{name} ({}) has compute capability {major}.{minor}, whose matrix instructions, if any, are not known to \
             this version",
            gpu.name
        ))
    })?;
    let (cuda, driver) = gpu::driver_version()?;
    let mut details = vec![
        ("compute_capability".to_string(), format!("{major}.{minor}")),
        ("architecture".to_string(), architecture.target.to_string()),
        ("driver_cuda".to_string(), cuda),
    ];
    details.extend(driver.map(|version| ("driver".to_string(), version)));
    Ok((Identity { name, description: gpu.name.clone(), details }, architecture))
}

/// The N of `cuda:N`; `None` if the name is no name of a GPU.
///
/// # Errors
/// A request error if what follows `cuda:` is no number.
pub fn ordinal(name: &str) -> Option<Result<usize>> {
    let number = name.strip_prefix("cuda:")?;
    Some(number.parse().map_err(|_| {
        Error::request(format!("'{name}' is no GPU: write cuda:0 for the first one. `tcnum devices` lists all"))
    }))
}

/// The kernel of `instruction`, and how `architecture` has it.
///
/// # Errors
/// A request error: the architecture does not have it (the message says which do), or no kernel executes it.
pub fn executable(instruction: &Instruction, architecture: &Architecture) -> Result<(Specialised, &'static Support)> {
    let support = instruction.support_on(architecture.table).ok_or_else(|| {
        Error::request(format!(
            "{} does not have {instruction}; {} do",
            architecture.target,
            instruction.architectures()
        ))
    })?;
    let kernel = specialise::specialise(instruction).ok_or_else(|| {
        Error::request(format!("{instruction}: {}", instruction.missing().unwrap_or("there is no kernel for it yet")))
    })?;
    Ok((kernel, support))
}

/// The kernel that sweeps a scalar instruction, and how `architecture` has it.
///
/// # Errors
/// A request error: the architecture does not have it (the message says which do), or no kernel executes it.
pub fn executable_scalar(form: &Form, architecture: &Architecture) -> Result<(String, &'static Support)> {
    let support = form.support_on(architecture.table).ok_or_else(|| {
        Error::request(format!("{} does not have {form}; {} do", architecture.target, form.architectures()))
    })?;
    let source = scalar::kernel(form)
        .ok_or_else(|| Error::request(format!("{form}: {}", form.missing().unwrap_or("there is no kernel for it"))))?;
    Ok((source, support))
}

/// The compiled kernel, from the cache or else from the compiler, with its opcodes where there is a disassembler.
fn compiled(label: &str, source: &str, architecture: &Architecture) -> Result<Compiled> {
    let target = architecture.target;
    let entry = cache::folder().map(|folder| Entry::new(&folder, label, source, target));
    let cached = entry.as_ref().and_then(Entry::read);
    let known = cached.clone();
    let mut compiled = match cached {
        Some(cached) if cached.opcodes.is_some() => return Ok(cached),
        Some(cached) => cached,
        None => Compiled {
            cubin: compile::compile(source, target).map_err(|e| e.within(label))?,
            compiler: format!("NVRTC {}", compile::version()?),
            opcodes: None,
        },
    };
    compiled.opcodes = sass::disassembler()
        .and_then(|program| sass::disassemble(&program, &compiled.cubin))
        .map(|disassembly| sass::arithmetic(&disassembly));
    if let Some(entry) = entry
        && known.as_ref() != Some(&compiled)
    {
        entry.write(&compiled);
    }
    Ok(compiled)
}

/// What runs: by the machine code where it was disassembled, else by the instruction table.
fn execution(support: &Support, opcodes: Option<Vec<String>>) -> Execution {
    let native = opcodes.as_ref().map_or(support.emulation.is_none(), |opcodes| sass::is_native(opcodes));
    let kind = if native { ExecutionKind::Native } else { ExecutionKind::Emulated };
    Execution { kind, opcodes: opcodes.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    fn sm(target: &str) -> &'static Architecture {
        architecture::ARCHITECTURES.iter().find(|a| a.target == target).unwrap()
    }

    #[test]
    fn what_is_not_executed_says_what_is_missing() {
        let scaled = isa::all().iter().find(|i| i.scale.is_some()).unwrap();
        let error = executable(scaled, sm("sm_120a")).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains(scaled.missing().unwrap()), "{error}");
    }

    #[test]
    fn an_instruction_of_other_architectures_names_them() {
        let bf16 = isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap();
        let error = executable(&bf16, sm("sm_75")).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().starts_with("sm_75 does not have") && error.to_string().contains("sm_80"), "{error}");
        assert!(executable(&bf16, sm("sm_87")).is_ok());
    }

    #[test]
    fn the_machine_code_outranks_the_table() {
        let native = Support { architecture: "sm_90a", emulation: None };
        let emulated = Support { architecture: "sm_90a", emulation: Some("convert") };
        let one = || Some(vec!["HMMA.16816.F32".to_string()]);
        let two = || Some(vec!["2x HMMA.1688.F32".to_string()]);
        assert_eq!(execution(&native, None).kind, ExecutionKind::Native);
        assert_eq!(execution(&emulated, None).kind, ExecutionKind::Emulated);
        assert_eq!(execution(&native, two()).kind, ExecutionKind::Emulated);
        assert_eq!(execution(&emulated, one()).kind, ExecutionKind::Native);
        assert_eq!(execution(&native, one()).opcodes, ["HMMA.16816.F32"]);
    }

    #[test]
    fn a_gpu_is_named_by_its_number() {
        assert_eq!(ordinal("cuda:12"), Some(Ok(12)));
        assert_eq!(ordinal("model:hopper"), None);
        assert_eq!(ordinal("cuda:-1").unwrap().unwrap_err().exit_status(), 2);
    }
}
