//! `tcnum gemm compute`.

use std::collections::BTreeMap;

use clap::Args;

use super::{
    Additions, Bar, Drawings, Drawn, Figures, Operands, OutputDestination, Progress, ScheduleOptions, Timeout, Verb,
    compare, invocation,
    shared::{Compare, OneDevice, ScheduleOut},
    write_schedule,
};
use crate::{
    Error, Result,
    device::{Device, DeviceName, cuda::CudaDevice},
    gemm::{accuracy, accuracy_table, tables},
    product::{self, Product},
    report::{Report, Table},
};

const HELP: &str = "\
Examples:
  tcnum gemm compute --shape 64,64,1024 --instr mma.m16n8k16.f32.f16.f16.f32 --device hopper
  tcnum gemm compute --a a.npy --b b.npy --schedule split4.toml --device hopper --out d.npy
  tcnum gemm compute --a a.npy --b b.npy --schedule split4.toml --device hopper --compare d.npy
      exit status 1 if an element differs

More: docs/gemm.md";

/// Computes D = alpha*A*B + beta*C + bias bit for bit, by a schedule.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("a", |a| a.required_unless_present("shape")))]
#[command(mut_arg("b", |b| b.required_unless_present("shape")))]
pub(super) struct Arguments {
    #[command(flatten)]
    schedule: ScheduleOptions,
    #[command(flatten)]
    device: OneDevice,
    /// GPU that computes the arithmetic of --device model:NAME
    #[arg(long, value_name = "cuda:N", value_parser = gpu, help_heading = "Device")]
    on: Option<usize>,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    #[command(flatten)]
    drawn: Drawn,
    #[command(flatten)]
    compare: Compare,
    #[command(flatten)]
    schedule_out: ScheduleOut,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

fn gpu(text: &str) -> std::result::Result<usize, String> {
    match DeviceName::from(text) {
        DeviceName::Cuda(ordinal) => Ok(ordinal),
        _ => Err("expected cuda:N".into()),
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        true
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("the distance of a product from the exact one", true)))
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    arguments.destination.one_file()?;
    let Some(schedule) = arguments.schedule.schedule(&arguments.operands)? else {
        return Err(Error::request("no schedule: give --instr or --schedule"));
    };
    if let Some(path) = &arguments.destination.out {
        product::writable(path, schedule.output.format)?;
    }
    report.seed = arguments.drawn.used_seed();
    let source = arguments.operands.source(Some(&arguments.additions), Some(&arguments.drawn));
    source.fit(arguments.compare.as_ref())?;
    let factors = source.for_schedule(&schedule, &mut report.notes)?;
    factors.check(&schedule)?;
    let name = (*arguments.device).clone().unwrap_or_else(|| product::usual_device(&schedule.instruction));
    let mut device = product::computing(&name, arguments.timeout.duration())?;
    device.prepare(&schedule.instruction)?;
    let progress = Progress::new(&arguments.destination);
    let (m, n) = (factors.a.rows, factors.b.columns);
    progress.note(&format!("computing {m} x {n} x {} on {}", factors.k(), device.identity().name));
    let gpu = arguments.on.map(CudaDevice::open).transpose()?;
    report.notes.extend(gpu.as_ref().map(|gpu| {
        let identity = gpu.identity();
        format!("Computed on {}, {}.", identity.name, identity.description)
    }));
    let made = {
        let bar = Bar::new(&progress, "computing", m as u64 * n as u64, 0, 1);
        Product::watched(device.as_mut(), gpu, &schedule, &factors, &|done| bar.show(done, 0))?
    };
    let d = &made.d;
    report.device = Some(device.identity().clone());
    let product = tables::product(&schedule, &factors, &made);
    progress.step("measuring the errors");
    let accuracy = accuracy(&schedule, &factors, d);
    let measured = accuracy.as_deref().unwrap_or_default();
    report.answer = Some(accuracy_table::answer(&product, &device.identity().name.to_string(), measured));
    report.tables.push(Table::of("Matrix product", [product]));
    accuracy_table::report(measured, m * n, report);
    let compared = compare(arguments.compare.as_ref(), d, report);
    let metadata = [
        ("tcnum.schedule", schedule.to_toml()),
        ("tcnum.device", device.identity().name.to_string()),
        ("tcnum.source", invocation()),
    ];
    let metadata = BTreeMap::from(metadata.map(|(key, value)| (key.to_string(), value)));
    let kept = write_schedule(arguments.schedule_out.as_ref(), Some(&schedule));
    let written = arguments.destination.out.as_ref().map_or(Ok(()), |path| product::write(path, d, metadata));
    accuracy.and(compared).and(kept).and(written)
}
