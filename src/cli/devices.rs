//! `tcnum devices`: what can execute instructions here.

use clap::Args;

use super::options::Destination;
use crate::{
    Error, Result,
    arithmetic::{Model, of_target, shipped},
    device::cuda::{Gpu, architecture, gpu},
    report::{Cell, Column, Report, Table},
};

/// Lists what can execute matrix instructions: GPUs, shipped models, and the other kinds of device.
///
/// Example: tcnum devices
///
/// Where there is no GPU driver, it says which library was looked for; that is no failure.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The kinds of device, as `--device` takes them.
const SPELLINGS: &[(&str, &str)] = &[
    ("cuda:N", "the N-th NVIDIA GPU, from 0; kernels are compiled for it at run time"),
    ("model:NAME", "a simulated device: an arithmetic model that is part of the program"),
    ("model:FILE", "a simulated device: the arithmetic model in this TOML file"),
    ("trace:FILE", "a recording made by `tcnum record`: answers its recorded tiles"),
    ("exec:'PROGRAM ARGS'", "any program that speaks the exec protocol: an RTL simulation, another vendor's GPU"),
];

/// The devices of this machine.
///
/// # Errors
/// None that a missing driver or GPU causes: those are said in the report. A shipped model that is none.
pub fn run(_: &Arguments) -> Result<Report> {
    let (gpus, problem) = match gpu::all().and_then(|gpus| Ok((gpus, gpu::driver_version()?))) {
        Ok((gpus, versions)) => {
            (table(&gpus, &versions), gpus.is_empty().then(|| "the driver sees no GPU".to_string()))
        }
        Err(Error::Device { message } | Error::Request { message }) => (table(&[], &Default::default()), Some(message)),
    };
    Ok(Report {
        notes: problem.map(|message| format!("no GPU: {message}")).into_iter().collect(),
        tables: vec![gpus, models()?, spellings()],
        ..Report::new("devices", super::invocation())
    })
}

fn table(gpus: &[Gpu], (cuda, driver): &(String, Option<String>)) -> Table {
    let row = |gpu: &Gpu| {
        let architecture = architecture::of_capability(gpu.capability);
        vec![
            Cell::Text(format!("cuda:{}", gpu.ordinal)),
            Cell::Text(gpu.name.clone()),
            Cell::Text(format!("{}.{}", gpu.capability.0, gpu.capability.1)),
            architecture.map(|a| a.target).into(),
            architecture.and_then(|a| of_target(a.table)).into(),
            Cell::Integer((gpu.memory >> 20) as i64),
            Cell::Integer(i64::from(gpu.multiprocessors)),
            driver.clone().map_or(Cell::Empty, Cell::Text),
            Cell::Text(cuda.clone()),
        ]
    };
    Table {
        key: "gpus",
        title: "GPUs of this machine".into(),
        columns: vec![
            Column::new("device", "device"),
            Column::new("name", "name"),
            Column::new("compute_capability", "compute capability"),
            Column::new("architecture", "architecture"),
            Column::new("model", "model"),
            Column::new("memory_mib", "memory (MiB)"),
            Column::new("multiprocessors", "SMs"),
            Column::new("driver", "driver"),
            Column::new("driver_cuda", "CUDA of the driver"),
        ],
        rows: gpus.iter().map(row).collect(),
    }
}

fn models() -> Result<Table> {
    let row = |name: &str| {
        let model = Model::load(name)?;
        let version = Cell::Integer(i64::from(model.version));
        Ok(vec![Cell::Text(format!("model:{name}")), Cell::Text(model.title), version])
    };
    Ok(Table {
        key: "models",
        title: "Simulated devices that are part of the program".into(),
        columns: vec![
            Column::new("device", "device"),
            Column::new("title", "simulates"),
            Column::new("version", "version"),
        ],
        rows: shipped().map(row).collect::<Result<_>>()?,
    })
}

fn spellings() -> Table {
    Table {
        key: "spellings",
        title: "What --device takes".into(),
        columns: vec![Column::new("device", "device"), Column::new("meaning", "what it is")],
        rows: SPELLINGS
            .iter()
            .map(|(d, meaning)| vec![Cell::Text((*d).into()), Cell::Text((*meaning).into())])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_report_says_what_was_looked_for() {
        let destination = Destination {
            output: crate::cli::options::ViewName::Table,
            out: None,
            annotations: Vec::new(),
            quiet: false,
            verbose: false,
        };
        let report = run(&Arguments { destination }).unwrap();
        assert!(report.holds);
        assert!(report.tables[1].rows.iter().any(|row| row[0] == Cell::Text("model:hopper".into())));
        assert!(report.tables.iter().all(|t| t.rows.iter().all(|row| row.len() == t.columns.len())));
        if crate::device::cuda::loader::driver().is_err() {
            assert!(report.notes[0].contains("libcuda.so.1"), "{:?}", report.notes);
        }
    }
}
