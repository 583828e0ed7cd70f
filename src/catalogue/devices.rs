//! What can execute instructions here: the GPUs, the processor, the shipped models, and what `--device` takes.

use crate::{
    Result,
    arithmetic::{Model, of_target, shipped},
    device::{
        DeviceName, Gpu,
        cpu::{processor::Processor, unit::UNITS},
        cuda::{architecture, gpu},
    },
    report::{Table, counted},
};

crate::rows! {
    /// A GPU of this machine.
    pub(crate) struct GpuRow in "gpus" {
        /// As `--device` names it.
        device: String => shown("device").essential(),
        /// The name that the driver gives it.
        name: String => shown("name").essential(),
        /// The compute capability.
        compute_capability: String => shown("compute capability").essential(),
        /// The target that kernels are compiled for.
        architecture: Option<&'static str> => shown("architecture").essential(),
        /// The model of its generation.
        model: Option<&'static str> => shown("model").essential(),
        /// Its memory.
        memory_mib: u64 => shown("memory").unit("MiB"),
        /// Streaming multiprocessors.
        multiprocessors: i64 => shown("SMs"),
        /// The version of the driver.
        driver: Option<String> => shown("driver"),
        /// The version of CUDA that the driver has.
        driver_cuda: String => shown("CUDA of the driver"),
    }

    /// The processor of this machine.
    pub(crate) struct ProcessorRow in "processors" {
        /// As `--device` names it.
        device: String => shown("device").essential(),
        /// The name that it gives itself.
        name: String => shown("name").essential(),
        /// Its vendor, family, model and stepping.
        signature: String => shown("signature").essential(),
        /// Its architecture, where its family and model are certain to name it: not in a virtual machine.
        architecture: Option<&'static str> => shown("architecture").if_filled().essential(),
        /// The model of its generation.
        model: Option<&'static str> => shown("model").essential(),
        /// Its units that the program may use.
        units: Vec<String> => shown("units"),
        /// The version of its microcode.
        microcode: Option<String> => shown("microcode"),
    }

    /// A unit that the processor lacks, or that the operating system refuses.
    pub(crate) struct AbsentUnitRow in "absent_units" {
        /// The unit.
        unit: &'static str => shown("unit").essential(),
        /// Why it cannot be used, and what would give it.
        reason: String => shown("why not").essential(),
    }

    /// A simulated device that is part of the program.
    pub(crate) struct SimulatedRow in "simulated" {
        /// As `--device` names it.
        device: String => shown("device").essential(),
        /// What it simulates.
        title: String => shown("simulates").essential(),
        /// The version of the model.
        version: u32 => shown("version"),
    }

    /// A spelling that `--device` takes.
    pub(crate) struct Spelling in "spellings" {
        /// The spelling.
        device: &'static str => shown("device").essential(),
        /// What it is.
        meaning: &'static str => shown("what it is").essential(),
    }
}

/// The kinds of device, as `--device` takes them.
const SPELLINGS: &[(&str, &str)] = &[
    ("cuda:N", "the N-th NVIDIA GPU, from 0; kernels are compiled for it at run time"),
    ("cpu", "this machine's own matrix, dot-product and fused multiply-add instructions"),
    (
        "NAME",
        "a simulated device: a model of the program by its name or a GPU's (hopper, H100, sm_90); model:NAME, too",
    ),
    ("model:FILE", "a simulated device: the arithmetic model in this TOML file"),
    ("trace:FILE", "a recording made by `tcnum record`: answers its recorded tiles"),
    ("exec:'PROGRAM ARGS'", "any program that speaks the exec protocol: an RTL simulation, another vendor's GPU"),
];

/// What can execute instructions here.
pub(crate) struct DeviceTables {
    /// The answer to what there is, in a sentence.
    pub answer: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// The reason why there is no GPU, if there is none.
    pub problem: Option<String>,
}

/// What can execute instructions here.
///
/// # Errors
/// A shipped model that is none.
pub(crate) fn devices() -> Result<DeviceTables> {
    let (gpus, versions, problem) = match gpu::all().and_then(|gpus| Ok((gpus, gpu::driver_version()?))) {
        Ok((gpus, versions)) => {
            let problem = gpus.is_empty().then(|| "the driver sees no GPU".to_string());
            (gpus, versions, problem)
        }
        Err(error) => (Vec::new(), Default::default(), Some(error.to_string())),
    };
    let spellings = SPELLINGS.iter().map(|&(device, meaning)| Spelling { device, meaning });
    let here = Processor::here();
    let mut tables = vec![table(&gpus, &versions)];
    tables.extend(here.map(processor).into_iter().flatten());
    tables.extend([simulated()?, Table::of("What --device takes", spellings)]);
    Ok(DeviceTables { answer: answer(&gpus, here), tables, problem })
}

fn answer(gpus: &[Gpu], processor: Option<&Processor>) -> String {
    let gpus = match gpus {
        [] => "no GPU that can be used".to_string(),
        [gpu] => format!("one GPU, cuda:{} ({})", gpu.ordinal, gpu.name),
        [first, ..] => format!("{} GPUs, from cuda:{} ({}) on", gpus.len(), first.ordinal, first.name),
    };
    let units = processor.map(|processor| processor.units().map(|unit| unit.name).collect::<Vec<_>>());
    let units = match units.as_deref() {
        None | Some([]) => "a processor without a unit that the program knows".to_string(),
        Some(units) => format!("a processor, cpu, with {}", units.join(", ")),
    };
    format!("This machine has {gpus}, and {units}; {} are simulated.", counted(shipped().count() as u64, "model"))
}

/// The processor of this machine, and the units that it cannot use.
fn processor(processor: &Processor) -> [Table; 2] {
    let row = ProcessorRow {
        device: DeviceName::Cpu.to_string(),
        name: processor.name.clone(),
        signature: processor.signature.clone(),
        architecture: processor.architecture().map(|target| target.name),
        model: processor.instructions().and_then(|target| of_target(target.name)),
        units: processor.units().map(|unit| unit.name.to_string()).collect(),
        microcode: processor.microcode.clone(),
    };
    let absent = UNITS.into_iter().filter_map(|unit| {
        let absence = unit.check(&processor.features).err()?;
        Some(AbsentUnitRow { unit: unit.name, reason: unit.explain(&absence) })
    });
    [Table::of("The processor of this machine", [row]), Table::of("Units that it cannot use", absent)]
}

fn table(gpus: &[Gpu], (cuda, driver): &(String, Option<String>)) -> Table {
    let row = |gpu: &Gpu| {
        let architecture = architecture::of_capability(gpu.capability);
        GpuRow {
            device: DeviceName::Cuda(gpu.ordinal).to_string(),
            name: gpu.name.clone(),
            compute_capability: format!("{}.{}", gpu.capability.0, gpu.capability.1),
            architecture: architecture.map(|a| a.target),
            model: architecture.and_then(|a| of_target(a.table)),
            memory_mib: (gpu.memory >> 20) as u64,
            multiprocessors: gpu.multiprocessors.into(),
            driver: driver.clone(),
            driver_cuda: cuda.clone(),
        }
    };
    Table::of("GPUs of this machine", gpus.iter().map(row))
}

fn simulated() -> Result<Table> {
    let row = |name: &str| {
        let model = Model::load(name)?;
        Ok(SimulatedRow {
            device: DeviceName::Model(name.into()).to_string(),
            title: model.title,
            version: model.version,
        })
    };
    let rows: Vec<SimulatedRow> = shipped().map(row).collect::<Result<_>>()?;
    Ok(Table::of("Simulated devices that are part of the program", rows))
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_report_says_what_was_looked_for() {
        let DeviceTables { tables, problem, .. } = devices().unwrap();
        let simulated = tables.iter().find(|table| table.key == "simulated").unwrap();
        assert!(simulated.rows.iter().any(|row| row[0] == crate::report::Cell::Text("model:hopper".into())));
        if crate::device::cuda::loader::driver().is_err() {
            assert!(problem.as_ref().is_some_and(|problem| problem.contains("libcuda.so.1")), "{problem:?}");
        }
    }
}
