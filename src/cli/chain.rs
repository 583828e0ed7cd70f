//! `tcnum chain`.

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    time::Duration,
};

use clap::{ArgGroup, Args, ValueEnum};

use super::{Common, invocation};
use crate::{
    Result,
    chain::{
        self, Curve, Init, Plan, plot,
        selection::{self, Selection},
        table,
    },
    device::{self, Device},
    report::Report,
};

/// Chain matrix multiplication: how the error grows when each result is the next operand.
///
/// Each link is D = A*B with C = 0 on Normal(0, 1) numbers; D, rounded to the operand format, is the next A, and B
/// is redrawn. Reported for each length N: the relative error ||D_low - D_ref||_F / ||D_low||_F, against the chain in
/// plain f32 on the CPU and against the exact product, and how many chains have overflowed.
///
/// Example: tcnum chain --fmt bf16 --fmt f16 --plot chain.svg
#[derive(Args, Debug, Clone)]
#[command(group = ArgGroup::new("which").multiple(true).conflicts_with("all"))]
pub struct Arguments {
    /// An instruction; may be repeated. Without --instr, --fmt and --all: mma.m16n8k8 with f32 accumulators on
    /// bf16, f16 and tf32.
    #[arg(long, value_name = "NAME", group = "which")]
    pub instr: Vec<String>,
    /// The mma instruction that stands for this operand format; may be repeated.
    #[arg(long, value_name = "FORMAT", group = "which")]
    pub fmt: Vec<String>,
    /// Every instruction that the device executes.
    #[arg(long)]
    pub all: bool,
    /// The longest chain, in links; all lengths up to it are reported.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub length: u32,
    /// How many chains.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub chains: u64,
    /// Where the references start from: the random numbers rounded to the operand format, or in binary32.
    #[arg(long, value_enum, default_value = "both")]
    pub init: Inits,
    /// Draw the error against the length to this SVG file.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Flags of every command that runs instructions.
    #[command(flatten)]
    pub common: Common,
}

/// Which initialisations.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inits {
    /// From rounded numbers: the error of the arithmetic alone.
    Low,
    /// From binary32 numbers: conversion loses, too.
    Fp32,
    /// Both.
    Both,
}

impl Inits {
    fn list(self) -> &'static [Init] {
        match self {
            Inits::Low => &[Init::Low],
            Inits::Fp32 => &[Init::Fp32],
            Inits::Both => &[Init::Low, Init::Fp32],
        }
    }
}

/// Runs the chains, writes the plot if one is asked for, and reports.
///
/// # Errors
/// A request error for an unknown or unavailable instruction or a plot file that cannot be written; the errors of
/// the device.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let common = &arguments.common;
    let mut device = device::open(common.device.as_deref(), Duration::from_secs(common.timeout))?;
    let selection = if arguments.all {
        Selection::All
    } else {
        Selection::Named { instructions: arguments.instr.clone(), formats: arguments.fmt.clone() }
    };
    let instructions = selection::instructions(&selection, device.as_mut())?;
    let (mut curves, mut executions) = (Vec::new(), Vec::new());
    for (instruction, execution) in instructions {
        for init in selection::inits(&instruction, arguments.init.list()) {
            curves.push((instruction.clone(), init));
            executions.push(execution.clone());
        }
    }
    let plan = Plan { curves, length: arguments.length as usize, chains: arguments.chains, seed: common.seed };
    let curves = computed(device.as_mut(), &plan, arguments)?;
    let identity = device.identity().clone();
    if let Some(path) = &arguments.plot {
        let title = format!("Chain matrix multiplication on {}, {} chains", identity.name, plan.chains);
        crate::atomic::write(path, plot::svg(&curves, &title).as_bytes()).map_err(|e| e.within("--plot"))?;
    }
    Ok(Report {
        command: "chain",
        invocation: invocation(),
        device: Some(identity),
        seed: Some(plan.seed),
        notes: table::notes(&plan),
        annotations: common.destination.annotations.clone(),
        tables: vec![table::curves(&curves, &executions), table::points(&curves)],
        holds: true,
    })
}

/// The curves, with a line of progress on a terminal.
fn computed(device: &mut dyn Device, plan: &Plan, arguments: &Arguments) -> Result<Vec<Curve>> {
    let mut errors = std::io::stderr();
    let shown = errors.is_terminal() && !arguments.common.destination.quiet;
    // A progress line that cannot be written is no reason to stop.
    let curves = chain::run(device, plan, &mut |done| {
        if shown {
            let _ = write!(errors, "\r\x1b[K{done}");
        }
    });
    if shown {
        let _ = write!(errors, "\r\x1b[K");
    }
    curves
}
