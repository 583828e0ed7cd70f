//! The devices of this machine: GPUs, processor, shipped models, and the names that `--device` takes.

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
    pub struct GpuRow in "gpus" {
        /// Name for `--device`.
        device: String => shown("device").essential(),
        /// Driver's name of the GPU.
        name: String => shown("name").essential(),
        /// Compute capability.
        compute_capability: String => shown("compute capability").essential(),
        /// Target of compiled kernels.
        architecture: Option<&'static str> => shown("architecture").essential(),
        /// Model of its generation.
        model: Option<&'static str> => shown("model").essential(),
        /// Memory.
        memory_mib: u64 => shown("memory").unit("MiB"),
        /// Streaming multiprocessors.
        multiprocessors: i64 => shown("SMs"),
        /// Version of the driver.
        driver: Option<String> => shown("driver"),
        /// CUDA version of the driver.
        driver_cuda: String => shown("CUDA of the driver"),
    }

    /// The processor of this machine.
    pub struct ProcessorRow in "processors" {
        /// Name for `--device`.
        device: String => shown("device").essential(),
        /// Brand string.
        name: String => shown("name").essential(),
        /// Vendor, family, model and stepping.
        signature: String => shown("signature").essential(),
        /// Architecture by family and model; none in a virtual machine.
        architecture: Option<&'static str> => shown("architecture").if_filled().essential(),
        /// Model of its generation.
        model: Option<&'static str> => shown("model").essential(),
        /// Units that the program may use.
        units: Vec<String> => shown("units"),
        /// Microcode version.
        microcode: Option<String> => shown("microcode"),
    }

    /// A unit that the processor lacks or the operating system refuses.
    pub struct AbsentUnitRow in "absent_units" {
        /// Unit.
        unit: &'static str => shown("unit").essential(),
        /// Reason, and what would provide the unit.
        reason: String => shown("reason").essential(),
    }

    /// A shipped model as a simulated device.
    pub struct SimulatedRow in "simulated" {
        /// Name for `--device`.
        device: String => shown("device").essential(),
        /// Simulated generation.
        title: String => shown("simulates").essential(),
        /// Version of the model.
        version: u32 => shown("version"),
    }

    /// A form of name that `--device` takes.
    pub struct Spelling in "spellings" {
        /// Form of the name.
        device: &'static str => shown("device").essential(),
        /// Device of that name.
        meaning: &'static str => shown("meaning").essential(),
    }
}

/// The forms of name that `--device` takes.
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

/// The devices of this machine, in tables.
pub struct DeviceTables {
    /// Summary in a sentence.
    pub answer: String,
    /// Tables.
    pub tables: Vec<Table>,
    /// Reason for the absence of GPUs.
    pub problem: Option<String>,
}

/// Lists the devices of this machine.
///
/// # Errors
/// A malformed shipped model.
pub fn devices() -> Result<DeviceTables> {
    let (gpus, (cuda, driver), problem) = match gpu::all().and_then(|gpus| Ok((gpus, gpu::driver_version()?))) {
        Ok((gpus, versions)) => {
            let problem = gpus.is_empty().then(|| "the driver sees no GPU".to_string());
            (gpus, versions, problem)
        }
        Err(error) => (Vec::new(), Default::default(), Some(error.to_string())),
    };
    let spellings = SPELLINGS.iter().map(|&(device, meaning)| Spelling { device, meaning });
    let here = Processor::here();
    let mut tables = vec![table(&gpus, &cuda, driver.as_deref())];
    tables.extend(here.map(processor).into_iter().flatten());
    tables.extend([simulated()?, Table::of("Device names", spellings)]);
    Ok(DeviceTables { answer: answer(&gpus, here), tables, problem })
}

fn answer(gpus: &[Gpu], processor: Option<&Processor>) -> String {
    let gpus = match gpus {
        [] => "no usable GPU".to_string(),
        [gpu] => format!("one GPU, cuda:{} ({})", gpu.ordinal, gpu.name),
        [first, ..] => format!("{} GPUs, from cuda:{} ({}) on", gpus.len(), first.ordinal, first.name),
    };
    let units = processor.map(|processor| processor.units().map(|unit| unit.name).collect::<Vec<_>>());
    let units = match units.as_deref() {
        None | Some([]) => "a processor without known matrix units".to_string(),
        Some(units) => format!("a processor, cpu, with {}", units.join(", ")),
    };
    format!("This machine has {gpus}, and {units}; {} are simulated.", counted(shipped().count() as u64, "model"))
}

/// Makes the tables of the processor and of the units that it cannot use.
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
    [Table::of("Processor", [row]), Table::of("Unavailable units", absent)]
}

fn table(gpus: &[Gpu], cuda: &str, driver: Option<&str>) -> Table {
    let row = |gpu: &Gpu| {
        let architecture = architecture::of_capability(gpu.capability.0, gpu.capability.1);
        GpuRow {
            device: DeviceName::Cuda(gpu.ordinal).to_string(),
            name: gpu.name.clone(),
            compute_capability: format!("{}.{}", gpu.capability.0, gpu.capability.1),
            architecture: architecture.map(|a| a.target),
            model: architecture.and_then(|a| of_target(a.table)),
            memory_mib: (gpu.memory >> 20) as u64,
            multiprocessors: gpu.multiprocessors.into(),
            driver: driver.map(str::to_string),
            driver_cuda: cuda.to_string(),
        }
    };
    Table::of("GPUs", gpus.iter().map(row))
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
    Ok(Table::of("Simulated devices", rows))
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
