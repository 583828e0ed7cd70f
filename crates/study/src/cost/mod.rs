//! Latency and throughput of instructions, by warps and by independent runs.
//!
//! The method is Sun et al., Dissecting Tensor Cores via Microbenchmarks (section 4): the latency is measured on one warp whose runs each
//! add to the result of the run before; then warps and independent runs grow. Here warps are not joined after each round, so the unit is
//! measured and not the barrier.

mod measured;
mod peaks;
pub mod table;

pub use measured::{MeasuredCost, kept};

use crate::{
    Error, Result, Stage,
    base::{available::if_available, interrupt},
    device::{
        Device, DeviceName, DeviceState, Execution, ExecutionKind, Load, MachineCount, Meter, Metered, Meters, Role,
        SharedLoad, TimedLoop, TimedOperands,
    },
    format::Format,
    isa::{
        Instruction,
        scalar::{self, Form, ScalarOperation},
    },
};

/// Warps of the one block that measures a multiprocessor.
const WARPS: [u32; 9] = [1, 2, 4, 6, 8, 12, 16, 24, 32];
/// Runs of each warp in a measurement: enough that beginning and end do not count.
const RUNS: u64 = 1024;
/// Seconds of the measurement of the whole device.
const WHOLE: f64 = 0.02;
/// Share of the best rate at which a rate has converged.
const NEAR: f64 = 0.97;
/// Assumed clocks a second, for the number of rounds.
const CLOCK: f64 = 1.5e9;

/// A request for costs.
#[derive(Debug, Clone)]
pub struct CostRequest {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Conversions between formats.
    pub conversions: Vec<&'static Form>,
    /// Loads from shared memory.
    pub loads: Vec<SharedLoad>,
    /// Values of the operands.
    pub values: TimedOperands,
    /// Seconds of work of the whole device with each kind of values; `None`: no such work.
    pub sustained: Option<f64>,
}

/// Measured costs.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    /// The instructions.
    pub instructions: Vec<InstructionCost>,
    /// The conversions that the device has as instructions.
    pub conversions: Vec<ScalarCost>,
    /// The loads.
    pub loads: Vec<LoadCost>,
}

/// One measurement on one multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatePoint {
    /// Warps.
    pub warps: u32,
    /// Independent runs of each.
    pub independent: u32,
    /// Clocks from one run to the next on the same sums.
    pub clocks: f64,
    /// Fused multiply-adds a clock.
    pub rate: f64,
}

/// Rate of the whole device.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRate {
    /// Values of the operands.
    pub values: TimedOperands,
    /// 10^12 floating-point operations a second, two for each fused multiply-add.
    pub tera: f64,
    /// The measured clock, in MHz.
    pub clock: f64,
    /// State of the device towards the end.
    pub state: DeviceState,
}

/// A machine instruction of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct PerRun {
    /// Its name.
    pub opcode: String,
    /// Its count for each run.
    pub count: f64,
    /// Its role in the loop.
    pub role: Role,
}

/// The cost of one instruction.
#[derive(Debug, Clone)]
pub struct InstructionCost {
    /// The instruction.
    pub instruction: Instruction,
    /// The kind of execution.
    pub execution: Execution,
    /// Clocks from one run of a warp (warpgroup) to the next dependent one; `None` if C is not D's format.
    pub latency: Option<f64>,
    /// Clocks of one run and the wait for it; asynchronous instructions only.
    pub waited: Option<f64>,
    /// All measurements on one multiprocessor.
    pub points: Vec<RatePoint>,
    /// The machine instructions in the loop with one sum.
    pub machine: Option<Vec<PerRun>>,
    /// Independent runs of the loops that do not have the intended number of matrix instructions.
    pub unintended: Vec<u32>,
    /// The whole device at the fastest point.
    pub whole_device: WholeRate,
    /// The same for longer, by values of the operands.
    pub sustained: Vec<WholeRate>,
}

/// The cost of a scalar instruction.
#[derive(Debug, Clone)]
pub struct ScalarCost {
    /// The instruction.
    pub form: &'static Form,
    /// Clocks from one run of a warp to the next that takes its result, with the instructions between.
    pub latency: Option<f64>,
    /// All measurements on one multiprocessor; rates are results a clock.
    pub points: Vec<RatePoint>,
    /// The machine instructions in the loop with one chain.
    pub machine: Option<Vec<PerRun>>,
}

/// The cost of a load from shared memory.
#[derive(Debug, Clone)]
pub struct LoadCost {
    /// The load.
    pub load: SharedLoad,
    /// Clocks from one load of a warp to the next, which takes its address from it.
    pub latency: Option<f64>,
    /// All measurements on one multiprocessor; rates are bytes a clock.
    pub points: Vec<RatePoint>,
}

/// The fastest point, within a thousandth the one of fewest warps and independent runs.
pub fn best(points: &[RatePoint]) -> Option<RatePoint> {
    let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    points.iter().find(|point| point.rate >= most * 0.999).copied()
}

/// The fewest independent runs of this many warps with a converged rate.
pub fn converged(points: &[RatePoint], warps: u32) -> Option<RatePoint> {
    let of_warps = || points.iter().filter(|point| point.warps == warps);
    let most = of_warps().map(|point| point.rate).fold(0.0, f64::max);
    of_warps().find(|point| point.rate >= most * NEAR).copied()
}

/// The error for a device that has no cost.
pub fn without(name: &DeviceName) -> Error {
    Error::unavailable(format!("{name} has no cost, since it executes no instructions; give a GPU, ‹device=cuda:0›"))
}

fn meters(device: &mut dyn Device) -> Result<&mut dyn Meters> {
    let name = device.identity().name.clone();
    device.meters().ok_or_else(|| without(&name))
}

/// The conversions that kernels execute to or from these formats; without formats, all.
///
/// # Errors
/// Formats that no instruction converts.
pub fn conversions(formats: &[&Format]) -> Result<Vec<&'static Form>> {
    let chosen = |form: &&Form| {
        let executed =
            form.operation == ScalarOperation::Convert && !form.is_of_processors() && form.missing().is_none();
        executed && (formats.is_empty() || formats.iter().any(|format| form.concerns(format)))
    };
    let forms: Vec<&'static Form> = scalar::all().iter().filter(chosen).collect();
    match forms.is_empty() {
        true => Err(Error::request(
            "‹conversions›: no GPU instruction converts the formats of ‹fmt›; omit ‹fmt› to measure all conversions",
        )),
        false => Ok(forms),
    }
}

/// Measures each item of a request in turn, and adds its cost to `done`, also if it is interrupted.
///
/// # Errors
/// A request error: the device has no cost, or lacks an instruction; a device error if it failed; [`Error::Interrupted`].
pub fn run(
    device: &mut dyn Device,
    request: &CostRequest,
    done: &mut Costs,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let CostRequest { instructions, conversions, loads, values, .. } = request;
    if !instructions.is_empty() {
        meters(device)?.announce(&instructions.iter().cloned().map(Metered::Matrix).collect::<Vec<_>>());
    }
    for (number, instruction) in instructions.iter().enumerate() {
        let what = instruction.to_string();
        progress(Stage { what: &what, done: number as u64, total: instructions.len() as u64 });
        measure(device, instruction, request, &mut done.instructions)?;
    }
    let Some(meters) = device.meters() else { return Ok(()) };
    if !conversions.is_empty() {
        meters.announce(&conversions.iter().copied().map(Metered::Scalar).collect::<Vec<_>>());
    }
    for (number, form) in conversions.iter().enumerate() {
        progress(Stage { what: &form.ptx, done: number as u64, total: conversions.len() as u64 });
        done.conversions.extend(conversion(meters, form, *values)?);
    }
    for load in loads {
        let Some(mut meter) = if_available(meters.meter(&Metered::Load(*load)))? else { continue };
        let MeterReadings { points, latency, .. } = measured(meter.as_mut(), TimedOperands::Zeros)?;
        done.loads.push(LoadCost { load: *load, latency, points });
    }
    Ok(())
}

/// The cost of a conversion; `None` where the device lacks it, or executes it as a move.
///
/// Where the machine code is known, points whose loops do not execute the conversion once a run are left out: a compiler makes one
/// instruction of two that pack a result each.
fn conversion(meters: &mut dyn Meters, form: &'static Form, values: TimedOperands) -> Result<Option<ScalarCost>> {
    let Some(mut meter) = if_available(meters.meter(&Metered::Scalar(form)))? else { return Ok(None) };
    let counted = counted(meter.ways());
    if !counted.contains(&1) {
        return Ok(None);
    }
    let MeterReadings { mut points, latency, .. } = measured(meter.as_mut(), values)?;
    points.retain(|point| counted.contains(&point.independent));
    Ok(Some(ScalarCost { form, latency, points, machine: machine(meter.ways()) }))
}

struct MeterReadings {
    points: Vec<RatePoint>,
    latency: Option<f64>,
    waited: Option<f64>,
}

/// Measures all ways, each by all numbers of warps.
fn measured(meter: &mut dyn Meter, values: TimedOperands) -> Result<MeterReadings> {
    let (mut points, mut latency, mut waited) = (Vec::new(), None, None);
    let together = meter.warps_together();
    for way in 0..meter.ways().len() {
        let TimedLoop { independent, chained, most_warps, .. } = meter.ways()[way];
        for warps in WARPS.into_iter().filter(|warps| warps.is_multiple_of(together) && *warps <= most_warps) {
            interrupt::check()?;
            let clocks = clocks(meter, way, warps, values)?;
            if independent == 0 {
                waited = waited.or(Some(clocks));
                continue;
            }
            if independent == 1 && chained && warps == together {
                latency = Some(clocks);
            }
            let runs = f64::from(warps / together * independent);
            points.push(RatePoint { warps, independent, clocks, rate: runs * meter.work() as f64 / clocks });
        }
    }
    points.sort_by_key(|point: &RatePoint| (point.warps, point.independent));
    Ok(MeterReadings { points, latency, waited })
}

fn measure(
    device: &mut dyn Device,
    instruction: &Instruction,
    request: &CostRequest,
    done: &mut Vec<InstructionCost>,
) -> Result<()> {
    let execution = device.prepare(instruction)?;
    let mut meter = meters(device)?.meter(&Metered::Matrix(instruction.clone()))?;
    let meter = meter.as_mut();
    let values = request.values;
    let MeterReadings { points, latency, waited } = measured(meter, values)?;
    let best = best(&points);
    let whole_device = best.as_ref().map(|best| whole_device_rate(meter, best, values, None)).transpose()?;
    done.push(InstructionCost {
        instruction: instruction.clone(),
        machine: machine(meter.ways()),
        unintended: unintended(meter.ways(), execution.kind),
        execution,
        latency,
        waited,
        points,
        whole_device: whole_device.unwrap_or(WholeRate {
            values,
            tera: 0.0,
            clock: 0.0,
            state: DeviceState::default(),
        }),
        sustained: Vec::new(),
    });
    let (Some(best), Some(cost)) = (best, done.last_mut()) else { return Ok(()) };
    for &values in request.sustained.map_or(&[][..], |_| &TimedOperands::ALL) {
        cost.sustained.push(whole_device_rate(meter, &best, values, request.sustained)?);
    }
    Ok(())
}

/// Clocks from one run to the next on the same sums, in the one block.
fn clocks(meter: &mut dyn Meter, way: usize, warps: u32, values: TimedOperands) -> Result<f64> {
    let TimedLoop { independent, runs, .. } = meter.ways()[way];
    let turns = runs / independent.max(1);
    let rounds = RUNS.div_ceil(runs.into());
    let timing = meter.time(&Load { way, warps, blocks: 1, rounds, values })?;
    Ok(timing.clocks as f64 / (rounds * u64::from(turns)) as f64)
}

/// The whole device at one point, for some seconds.
fn whole_device_rate(
    meter: &mut dyn Meter,
    point: &RatePoint,
    values: TimedOperands,
    seconds: Option<f64>,
) -> Result<WholeRate> {
    let way = meter.ways().iter().position(|way| way.independent == point.independent).unwrap_or(0);
    let runs = meter.ways()[way].runs;
    let of_round = point.clocks * f64::from(runs / point.independent.max(1));
    // Each launch of a longer measurement takes a tenth of a second.
    let wanted = if seconds.is_some() { 0.1 } else { WHOLE };
    let rounds = (wanted * CLOCK / of_round).ceil().max(1.0) as u64;
    let load = Load { way, warps: point.warps, blocks: meter.multiprocessors(), rounds, values };
    let (timing, state) = match seconds {
        Some(seconds) => meter.sustain(&load, seconds)?,
        None => {
            let timing = meter.time(&load)?;
            (timing, meter.state())
        }
    };
    let groups = f64::from(load.blocks) * f64::from(point.warps / meter.warps_together());
    let done = groups * rounds as f64 * f64::from(runs) * meter.work() as f64;
    Ok(WholeRate {
        values,
        tera: 2.0 * done / timing.total_seconds * 1e-12,
        clock: timing.clocks as f64 / timing.seconds * 1e-6,
        state,
    })
}

/// The machine instructions of the loop with one sum, for each run.
fn machine(ways: &[TimedLoop]) -> Option<Vec<PerRun>> {
    let way = ways.iter().find(|way| way.independent == 1)?;
    let each = |machine: &MachineCount| PerRun {
        opcode: machine.opcode.clone(),
        count: f64::from(machine.count) / f64::from(way.runs),
        role: machine.role,
    };
    way.machine.as_ref().map(|machine| machine.iter().map(each).collect())
}

/// The independent runs of the loops with the timed machine instructions of one run for each run.
///
/// Without machine code, all loops count.
fn counted(ways: &[TimedLoop]) -> Vec<u32> {
    let all = |way: &TimedLoop| {
        let timed = |machine: &Vec<MachineCount>| {
            machine.iter().filter(|entry| entry.role == Role::Timed).map(|entry| entry.count).sum::<u32>()
        };
        way.machine.as_ref().map(timed)
    };
    let one = ways.iter().find(|way| way.independent == 1);
    let each = one.and_then(|way| Some((all(way)?, way.runs)));
    let like = |way: &&TimedLoop| match (each, all(way)) {
        (Some((count, runs)), Some(total)) => {
            count > 0 && count.is_multiple_of(runs) && total * runs == count * way.runs
        }
        _ => true,
    };
    ways.iter().filter(like).map(|way| way.independent).collect()
}

/// The independent runs of the loops without the intended instructions.
///
/// A native instruction has one matrix instruction a run; an emulated one has the same number for each run, or calls.
fn unintended(ways: &[TimedLoop], kind: ExecutionKind) -> Vec<u32> {
    let wrong = |way: &&TimedLoop| {
        way.machine.as_ref().is_some_and(|machine| {
            let all =
                |role| machine.iter().filter(move |entry| entry.role == role).map(|entry| entry.count).sum::<u32>();
            let (count, native) = (all(Role::Timed), kind == ExecutionKind::Native);
            let none = count == 0 && (native || all(Role::Call) == 0);
            none || !count.is_multiple_of(way.runs) || (native && count != way.runs)
        })
    };
    ways.iter().filter(wrong).map(|way| way.independent).collect()
}

#[cfg(test)]
mod tests;
