//! The device `cuda:N`: an NVIDIA GPU.
//!
//! Building needs nothing of CUDA. The driver is found at run time ([`loader`]). Kernels are generated from the
//! instruction record ([`specialise`]), compiled for exactly this GPU by NVRTC ([`compile`]) on all cores (`pool`) and
//! cached on disk (`cache`). Their machine code shows what actually runs ([`sass`]).

pub mod architecture;
pub mod arithmetic;
mod cache;
pub mod chains;
pub mod compile;
pub mod constants;
mod cubin;
pub mod cublaslt;
mod engine;
mod fragments;
pub mod gpu;
mod launch;
pub mod loader;
mod meter;
mod nvml;
mod pool;
pub mod products;
pub mod sass;
pub mod specialise;
mod statement;
pub mod sweeper;

use std::{collections::HashMap, sync::Arc, time::Instant};

use cudarc::{
    driver::{CudaContext, CudaFunction},
    nvrtc::Ptx,
};

use super::{
    CampaignWork, Campaigns, Chains, Device, DeviceName, Engine, Execution, ExecutionKind, Generation, Gpu, Identity,
    Meter, Metered, Meters, Preparation, ProductShape, Sweeper, Sweeps, WholeProducts,
};
use crate::{
    Error, Result,
    arithmetic::Program,
    base::digest::fnv1a,
    isa::{Codes, Instruction, Support, Tiles, scalar::Form, targets},
};
use architecture::Architecture;
use cache::Compiled;
use chains::{CudaChains, ProductOperands};
use engine::CudaEngine;
pub use engine::{STREAM, verifier};
pub use gpu::count;
use launch::Launcher;
use meter::CudaMeter;
use nvml::Nvml;
use pool::{Job, KernelPool, KernelTimes, SassListing};
use products::CudaProducts;
use specialise::Specialised;

/// Source of a kernel that executes an instruction on tiles, for any compiler of CUDA C++.
///
/// The kernel is `execute(a, b, c, positions, d, tiles)`.
///
/// # Errors
/// A request error: no kernel executes it.
pub fn kernel_source(instruction: &Instruction) -> Result<String> {
    let kernel = specialise::specialise(instruction).ok_or_else(|| {
        Error::request(format!("{instruction}: {}", instruction.missing().unwrap_or("there is no kernel for it")))
    })?;
    Ok(kernel.source)
}

/// Blocks of a launch per multiprocessor: they fill the GPU, and a loop does the rest.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;

/// An NVIDIA GPU.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    architecture: &'static Architecture,
    blocks: u32,
    /// Address on the PCI bus.
    place: String,
    identity: Identity,
    pool: Arc<KernelPool>,
    launchers: HashMap<String, Launcher>,
    /// Entries of the kernels that sum steps.
    chained: HashMap<String, [CudaFunction; 3]>,
    /// Seconds spent loading kernels.
    loading: f64,
}

impl CudaDevice {
    /// Opens the GPU `cuda:ordinal`.
    ///
    /// # Errors
    /// A device error: no driver (with the names that were looked for), no such GPU, or one without known matrix
    /// instructions.
    pub fn open(ordinal: usize) -> Result<CudaDevice> {
        let gpu = gpu::get(ordinal)?;
        let (identity, architecture) = identify(&gpu)?;
        let context = CudaContext::new(ordinal).map_err(|e| gpu::failure("opening the GPU", e))?;
        Ok(CudaDevice {
            context,
            architecture,
            blocks: gpu.multiprocessors * BLOCKS_PER_MULTIPROCESSOR,
            place: gpu.place,
            identity,
            pool: KernelPool::shared(),
            launchers: HashMap::new(),
            chained: HashMap::new(),
            loading: 0.0,
        })
    }

    /// Returns the loaded kernel of `instruction`.
    fn launcher(&mut self, instruction: &Instruction) -> Result<&Launcher> {
        if !self.launchers.contains_key(&instruction.name) {
            let (kernel, _) = self.executable(instruction)?;
            let compiled = self.compiled(execute(instruction, &kernel, self.architecture))?;
            let function = self.function(&compiled, kernel.entry).map_err(|e| e.within(instruction))?;
            let stream = self.context.default_stream();
            let launcher = Launcher { stream, function, kernel, blocks: self.blocks };
            self.launchers.insert(instruction.name.clone(), launcher);
        }
        Ok(&self.launchers[&instruction.name])
    }

    fn executable<'a>(&self, instruction: &'a Instruction) -> Result<(Specialised, &'a Support)> {
        executable(instruction, self.architecture).map_err(|e| e.within(&self.identity.name))
    }

    /// Prepares the product of A (m x k) and B (k x n) by `program`; `None` if no kernel does it.
    ///
    /// # Errors
    /// A device error: the kernel cannot be compiled or loaded, or the operands do not fit into GPU memory.
    ///
    /// # Panics
    /// Panics if A or B has another number of codes.
    pub fn chains(
        &mut self,
        program: &Program,
        shape: ProductShape,
        a: &Codes,
        b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>> {
        let Some(source) = chains::kernel(program) else { return Ok(None) };
        let i = &program.instruction;
        Ok(Some(Box::new(CudaChains {
            operands: self.operands(i, source, chains::ENTRIES, shape, [a, b])?,
            step: i.k,
            widths: (a.width(), b.width()),
            d: i.d,
            seconds: 0.0,
        })))
    }

    /// Copies the operands of a product to GPU memory, and loads the kernel that sums its steps.
    fn operands(
        &mut self,
        instruction: &Instruction,
        source: String,
        entries: [&str; 3],
        shape: ProductShape,
        [a, b]: [&Codes; 2],
    ) -> Result<ProductOperands> {
        let ProductShape { m, n, k } = shape;
        assert!(a.len() == m * k && b.len() == k * n, "codes of the operands");
        let functions = self.summing(instruction, source, entries)?;
        let stream = self.context.default_stream();
        let failed = |error| Error::device(format!("copying operands to the GPU failed: {error}"));
        let [a, b] = [a, b].map(|codes| stream.clone_htod(codes.as_bytes()).map_err(failed));
        Ok(ProductOperands { functions, shape, a: a?, b: b?, stream })
    }

    /// Loads the entries of a kernel that sums the steps of `instruction`.
    fn summing(&mut self, instruction: &Instruction, source: String, entries: [&str; 3]) -> Result<[CudaFunction; 3]> {
        let key = format!("{instruction} {:016x}", fnv1a(source.as_bytes()));
        if !self.chained.contains_key(&key) {
            let label = format!("{instruction}-{}", entries[2]);
            let job = Job { label, source, target: self.architecture.target, listing: SassListing::Nothing };
            let compiled = self.compiled(job)?;
            let functions = self.functions(&compiled, entries).map_err(|error| error.within(instruction))?;
            self.chained.insert(key.clone(), functions);
        }
        Ok(self.chained[&key].clone())
    }

    /// Waits for a compiled kernel.
    fn compiled(&mut self, job: Job) -> Result<Arc<Compiled>> {
        let compiled = self.pool.get(job)?;
        self.note_compiler(&compiled.compiler);
        Ok(compiled)
    }

    /// Loads the timing loops of `metered`, one entry per number of independent sums.
    fn timed(&mut self, metered: &Metered, job: Job, independent: &[u32]) -> Result<Box<dyn Meter>> {
        let chained = !matches!(metered, Metered::Matrix(i) if i.c != i.d);
        let label = job.label.clone();
        let compiled = self.compiled(job)?;
        let entries: Vec<String> = independent.iter().map(|count| meter::entry(*count)).collect();
        let functions = self.all_functions(&compiled, &entries).map_err(|error| error.within(&label))?;
        let mut ways = meter::ways(chained, independent, &functions)?;
        for (way, entry) in ways.iter_mut().zip(&entries) {
            way.machine = compiled.opcodes.as_ref().map(|lines| meter::counted(metered, sass::body(lines, entry)));
        }
        Ok(Box::new(CudaMeter {
            stream: self.context.default_stream(),
            functions,
            ways,
            metered: metered.clone(),
            multiprocessors: self.blocks / BLOCKS_PER_MULTIPROCESSOR,
            nvml: Nvml::open(&self.place),
            operands: Vec::new(),
        }))
    }

    fn function(&mut self, compiled: &Compiled, entry: &str) -> Result<CudaFunction> {
        self.functions(compiled, [entry]).map(|[function]| function)
    }

    fn functions<const COUNT: usize>(
        &mut self,
        compiled: &Compiled,
        entries: [&str; COUNT],
    ) -> Result<[CudaFunction; COUNT]> {
        let functions = self.all_functions(compiled, &entries)?;
        Ok(functions.try_into().unwrap_or_else(|_| unreachable!("one function for each entry")))
    }

    fn all_functions(&mut self, compiled: &Compiled, entries: &[impl AsRef<str>]) -> Result<Vec<CudaFunction>> {
        let refused =
            |error| Error::device(format!("the driver cannot load what {} compiled: {error}", compiled.compiler));
        let start = Instant::now();
        let module = self.context.load_module(Ptx::from_binary(compiled.cubin.clone())).map_err(refused)?;
        let functions = entries.iter().map(|entry| module.load_function(entry.as_ref()).map_err(refused)).collect();
        self.loading += start.elapsed().as_secs_f64();
        functions
    }

    /// Adds the compiler's version to the details of the device.
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

    fn has(&mut self, instruction: &Instruction) -> Result<()> {
        self.executable(instruction).map(drop)
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        let (kernel, support) = self.executable(instruction)?;
        let compiled = self.compiled(execute(instruction, &kernel, self.architecture))?;
        Ok(execution(support, compiled.opcodes.clone()))
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.launcher(instruction)?.run(instruction, tiles)
    }

    fn preparation(&mut self) -> Option<&mut dyn Preparation> {
        Some(self)
    }

    fn campaigns(&mut self) -> Option<&mut dyn Campaigns> {
        Some(self)
    }

    fn sweeps(&mut self) -> Option<&mut dyn Sweeps> {
        Some(self)
    }

    fn products(&mut self) -> Option<&mut dyn WholeProducts> {
        Some(self)
    }

    fn meters(&mut self) -> Option<&mut dyn Meters> {
        Some(self)
    }
}

impl Preparation for CudaDevice {
    fn announce(&mut self, instructions: &[Instruction]) {
        let architecture = self.architecture;
        let job = |instruction: &Instruction| {
            executable(instruction, architecture).ok().map(|(kernel, _)| execute(instruction, &kernel, architecture))
        };
        self.pool.announce(instructions.iter().filter_map(job));
    }

    fn kernels(&self) -> Option<(usize, usize)> {
        let (done, all) = self.pool.kernels();
        (done < all).then_some((done, all))
    }

    fn times(&self) -> String {
        let KernelTimes { compiled, cached, compiling, disassembling, waiting } = self.pool.times();
        format!(
            "kernels: {compiled} compiled, {cached} cached; all threads: {compiling:.1} s compiling, {disassembling:.1} s \
             disassembling; GPU thread: {waiting:.1} s waiting for kernels, {:.1} s loading them",
            self.loading
        )
    }
}

impl Campaigns for CudaDevice {
    fn announce(&mut self, work: &[CampaignWork]) {
        let architecture = self.architecture;
        // Errors are reported when the work is requested.
        let jobs = |work: &CampaignWork| {
            let (kernel, _) = executable(work.instruction, architecture).ok()?;
            let verifier = verify(work, architecture).ok()?.map(|(_, job)| job);
            Some([execute(work.instruction, &kernel, architecture)].into_iter().chain(verifier))
        };
        self.pool.announce(work.iter().filter_map(jobs).flatten());
    }

    fn engine(&mut self, work: &CampaignWork) -> Result<Option<Box<dyn Engine>>> {
        self.executable(work.instruction)?;
        let Some((kernel, job)) = verify(work, self.architecture)? else { return Ok(None) };
        let compiled = self.compiled(job)?;
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
}

impl Sweeps for CudaDevice {
    fn prepare(&mut self, forms: &[&'static Form]) -> Vec<(&'static Form, Error)> {
        let job = |form: &'static Form| Some((form, sweep(form, self.architecture).ok()?.0));
        let jobs: Vec<(&'static Form, Job)> = forms.iter().copied().filter_map(job).collect();
        self.pool.announce(jobs.iter().map(|(_, job)| job.clone()));
        jobs.into_iter().filter_map(|(form, job)| Some((form, self.pool.get(job).err()?))).collect()
    }

    fn sweeper(&mut self, form: &'static Form, seed: u64) -> Result<Box<dyn Sweeper>> {
        let (job, support) = sweep(form, self.architecture).map_err(|e| e.within(&self.identity.name))?;
        let compiled = self.compiled(job)?;
        let function = self.function(&compiled, "sweep").map_err(|e| e.within(form))?;
        let kind = match support.emulation {
            None => ExecutionKind::Native,
            Some(_) => ExecutionKind::Emulated,
        };
        Ok(Box::new(sweeper::CudaSweeper {
            stream: self.context.default_stream(),
            function,
            blocks: self.blocks,
            form,
            seed,
            execution: Execution { kind, opcodes: compiled.opcodes.clone().unwrap_or_default() },
        }))
    }
}

impl WholeProducts for CudaDevice {
    fn chains(
        &mut self,
        instruction: &Instruction,
        promoted: bool,
        shape: ProductShape,
        a: &Codes,
        b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>> {
        self.executable(instruction)?;
        let Some(source) = products::kernel(instruction, promoted) else { return Ok(None) };
        Ok(Some(Box::new(CudaProducts {
            operands: self.operands(instruction, source, products::ENTRIES, shape, [a, b])?,
            instruction: instruction.clone(),
            promoted,
            seconds: 0.0,
        })))
    }
}

impl Meters for CudaDevice {
    fn announce(&mut self, metered: &[Metered]) {
        let architecture = self.architecture;
        self.pool.announce(metered.iter().filter_map(|metered| Some(repeat(metered, architecture).ok()?.0)));
    }

    fn meter(&mut self, metered: &Metered) -> Result<Box<dyn Meter>> {
        let (job, independent) = repeat(metered, self.architecture).map_err(|e| e.within(&self.identity.name))?;
        self.timed(metered, job, &independent)
    }
}

/// The job to compile the kernel that executes `instruction` and list its arithmetic.
fn execute(instruction: &Instruction, kernel: &Specialised, architecture: &Architecture) -> Job {
    let (label, source) = (instruction.name.clone(), kernel.source.clone());
    Job { label, source, target: architecture.target, listing: SassListing::Arithmetic }
}

/// The job to compile the kernel that repeats `metered`, and the independent sums of its entries.
fn repeat(metered: &Metered, architecture: &Architecture) -> Result<(Job, Vec<u32>)> {
    let (source, independent) = repeating(metered, architecture)?;
    let label = format!("{}-cost", metered.name().replace(", ", "-").replace(' ', "-"));
    let listing = if matches!(metered, Metered::Load(_)) { SassListing::Nothing } else { SassListing::Loops };
    Ok((Job { label, source, target: architecture.target, listing }, independent))
}

/// Generates the kernel that repeats `metered`, and lists the independent sums of its entries.
/// 0 stands for a run that is waited for. The entry `cost_N` has N sums and a loop of about 16 runs, equally many on
/// each sum.
///
/// # Errors
/// A request error: the architecture lacks it (the message names others), or no kernel executes it.
pub fn repeating(metered: &Metered, architecture: &Architecture) -> Result<(String, Vec<u32>)> {
    let kernel = match metered {
        Metered::Matrix(instruction) => {
            let (_, support) = executable(instruction, architecture)?;
            meter::kernel(instruction, support.emulation.is_some())
        }
        Metered::Scalar(form) => {
            supported(form, architecture)?;
            meter::scalar_kernel(form)
        }
        Metered::Load(load) => Some(meter::load_kernel(load)),
    };
    kernel.ok_or_else(|| Error::unavailable(format!("{} cannot be timed: no kernel does it", metered.name())))
}

/// The job to compile the kernel that does `work`; `None` if there is none.
fn verify(work: &CampaignWork, architecture: &Architecture) -> Result<Option<(Specialised, Job)>> {
    let program = work.model.program(work.instruction)?;
    let label = format!("{}-verify", work.instruction);
    Ok(verifier(&program, work.sequence).map(|kernel| {
        let job =
            Job { label, source: kernel.source.clone(), target: architecture.target, listing: SassListing::Nothing };
        (kernel, job)
    }))
}

/// The job to compile the kernel that sweeps `form`, and how the architecture supports it.
fn sweep(form: &'static Form, architecture: &Architecture) -> Result<(Job, &'static Support)> {
    let (source, support) = executable_scalar(form, architecture)?;
    Ok((
        Job { label: form.ptx.clone(), source, target: architecture.target, listing: SassListing::Arithmetic },
        support,
    ))
}

/// Describes a GPU for reports, and finds its architecture.
///
/// # Errors
/// A device error if its compute capability is unknown.
pub fn identify(gpu: &Gpu) -> Result<(Identity, &'static Architecture)> {
    let name = DeviceName::Cuda(gpu.ordinal);
    let (major, minor) = gpu.capability;
    let architecture = architecture::of_capability(major, minor).ok_or_else(|| {
        Error::device(format!(
            "{name} ({}) has compute capability {major}.{minor}, whose matrix instructions, if any, this version does not \
             know",
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
    let generation = targets::find(architecture.table).map_or(Generation::Unknown, Generation::Target);
    Ok((Identity { name, description: gpu.name.clone(), details, generation }, architecture))
}

/// Generates the kernel of `instruction`, and finds how `architecture` supports it.
///
/// # Errors
/// A request error: the architecture lacks it (the message names others), or no kernel executes it.
pub fn executable(instruction: &Instruction, architecture: &Architecture) -> Result<(Specialised, &'static Support)> {
    let support = instruction.support_on(architecture.table).ok_or_else(|| {
        Error::unavailable(format!(
            "{} does not have {instruction}; {} do",
            architecture.target,
            instruction.architectures()
        ))
    })?;
    let kernel = specialise::specialise(instruction).ok_or_else(|| {
        Error::unavailable(format!(
            "{instruction}: {}",
            instruction.missing().unwrap_or("there is no kernel for it yet")
        ))
    })?;
    Ok((kernel, support))
}

/// Generates the kernel that sweeps a scalar instruction, and finds how `architecture` supports it.
///
/// # Errors
/// A request error: the architecture lacks it (the message names others), or no kernel executes it.
pub fn executable_scalar(form: &Form, architecture: &Architecture) -> Result<(String, &'static Support)> {
    let support = supported(form, architecture)?;
    let source = sweeper::kernel(form).ok_or_else(|| {
        Error::unavailable(format!("{form}: {}", form.missing().unwrap_or("there is no kernel for it")))
    })?;
    Ok((source, support))
}

/// Finds how `architecture` supports a scalar instruction.
fn supported(form: &Form, architecture: &Architecture) -> Result<&'static Support> {
    form.support_on(architecture.table).ok_or_else(|| {
        Error::unavailable(format!("{} does not have {form}; {} do", architecture.target, form.architectures()))
    })
}

/// The execution by the machine code if it was disassembled, else by the instruction table.
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
        let block_scaled = isa::all().iter().find(|i| i.scale.is_some()).unwrap();
        let error = executable(block_scaled, sm("sm_120a")).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains(block_scaled.missing().unwrap()), "{error}");
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
}
