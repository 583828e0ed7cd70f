//! Tables and notes of costs.

use super::{Costs, InstructionCost, LoadCost, PerRun, RatePoint, ScalarCost, WholeRate, best, converged, peaks::peak};
use crate::{
    base::distinct::distinct,
    device::{ExecutionKind, Generation, Role},
    report::{Table, three_digits},
};

crate::rows! {
    /// The cost of an instruction.
    pub struct CostRow in "costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The kind of execution.
        execution: &'static str => shown("ran"),
        /// The matrix instructions of one run in machine code, with counts.
        machine: Option<Vec<String>> => shown("machine code").if_filled(),
        /// Other machine instructions in the loop, for each run.
        others: Option<f64> => shown("others"),
        /// Clocks from one run of a warp (warpgroup) to the next that adds to it.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Clocks of one run and the wait for it; asynchronous instructions only.
        waited: Option<f64> => shown("waited for").unit("clk").if_filled(),
        /// Independent runs of a converged rate, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: runs"),
        /// Clocks from one run to the next on the same sums, there.
        clocks_4: Option<f64> => shown("clocks").unit("clk"),
        /// Fused multiply-adds a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("FMA/clk/SM").essential(),
        /// Independent runs of a converged rate, with 8 warps.
        independent_8: Option<u32> => shown("8 warps: runs"),
        /// Clocks from one run to the next on the same sums, there.
        clocks_8: Option<f64> => shown("clocks").unit("clk"),
        /// Fused multiply-adds a clock of a multiprocessor, there.
        rate_8: Option<f64> => shown("rate").unit("FMA/clk/SM").essential(),
        /// The warps of the highest rate.
        best_warps: u32 => hidden(),
        /// Its independent runs.
        best_independent: u32 => hidden(),
        /// The highest rate: fused multiply-adds a clock of a multiprocessor.
        best_rate: f64 => shown("highest").unit("FMA/clk/SM").essential(),
        /// Its share of the vendor's peak.
        share: Option<f64> => shown("of peak").if_filled(),
        /// The rate of an emulated instruction that follows from the measured rates of its matrix instructions.
        predicted: Option<f64> => shown("predicted").unit("FMA/clk/SM").if_filled(),
        /// 10^12 operations a second of the whole device, two for each fused multiply-add.
        tera: f64 => shown("whole device").unit("TFLOPS").essential(),
        /// The measured clock of the whole device.
        clock: f64 => shown("clock").unit("MHz"),
        /// The power that the device reports.
        power: Option<f64> => hidden(),
    }

    /// One measurement on one multiprocessor.
    pub struct CostPointRow in "cost_points" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Warps.
        warps: u32 => shown("warps").essential(),
        /// Independent runs of each.
        independent: u32 => shown("runs").essential(),
        /// Clocks from one run to the next on the same sums.
        clocks: f64 => shown("clocks").unit("clk").essential(),
        /// Fused multiply-adds a clock.
        rate: f64 => shown("rate").unit("FMA/clk/SM").essential(),
    }

    /// The cost of a conversion between formats.
    pub struct ScalarCostRow in "scalar_costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Results of each thread.
        lanes: usize => shown("results"),
        /// The arithmetic of one run in machine code, with counts.
        machine: Option<Vec<String>> => shown("machine code").if_filled().essential(),
        /// Other machine instructions a run in the loop of one chain; most hand the result on.
        others: Option<f64> => shown("others"),
        /// Clocks from one run of a warp to the next that takes its result, with the other instructions.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Independent runs of a converged rate, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: runs"),
        /// Results a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("results/clk/SM").essential(),
        /// Independent runs of a converged rate, with 8 warps.
        independent_8: Option<u32> => shown("8 warps: runs"),
        /// Results a clock of a multiprocessor, there.
        rate_8: Option<f64> => shown("rate").unit("results/clk/SM").essential(),
        /// The highest rate: results a clock of a multiprocessor.
        best_rate: f64 => shown("highest").unit("results/clk/SM").essential(),
    }

    /// The cost of a load from shared memory.
    pub struct LoadCostRow in "load_costs" {
        /// The load.
        load: &'static str => shown("load").essential(),
        /// Bytes of a warp.
        bytes: u32 => shown("bytes"),
        /// Clocks from one load of a warp to the next, which takes its address from it.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Independent loads of a converged rate, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: loads"),
        /// Bytes a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("bytes/clk/SM").essential(),
        /// Independent loads of a converged rate, with 8 warps.
        independent_8: Option<u32> => shown("8 warps: loads"),
        /// Bytes a clock of a multiprocessor, there.
        rate_8: Option<f64> => shown("rate").unit("bytes/clk/SM").essential(),
        /// The highest rate: bytes a clock of a multiprocessor.
        best_rate: f64 => shown("highest").unit("bytes/clk/SM").essential(),
    }

    /// One measurement of a load on one multiprocessor.
    pub struct LoadPointRow in "load_points" {
        /// The load.
        load: &'static str => shown("load").essential(),
        /// Warps.
        warps: u32 => shown("warps").essential(),
        /// Independent loads of each.
        independent: u32 => shown("loads").essential(),
        /// Clocks from one load to the next on the same addresses.
        clocks: f64 => shown("clocks").unit("clk").essential(),
        /// Bytes a clock.
        rate: f64 => shown("rate").unit("bytes/clk/SM").essential(),
    }

    /// The rate of the whole device over seconds, by values of the operands.
    pub struct SustainedRow in "sustained_costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Values of the operands.
        values: &'static str => shown("operands").essential(),
        /// 10^12 operations a second, two for each fused multiply-add.
        tera: f64 => shown("rate").unit("TFLOPS").essential(),
        /// The clock, as measured.
        clock: f64 => shown("clock").unit("MHz").essential(),
        /// The power that the device reports.
        power: Option<f64> => shown("power").unit("W").essential(),
        /// Its power limit.
        power_limit: Option<f64> => shown("limit").unit("W"),
        /// Reasons for a lower clock, in the vendor's words.
        throttled: Vec<&'static str> => shown("throttled by"),
    }
}

/// The costs in a sentence; `None` without a cost.
pub fn answer(done: &[InstructionCost], device: &str) -> Option<String> {
    let rate = |cost: &InstructionCost| format!("{} TFLOPS", three_digits(cost.whole_device.tera));
    let mut fastest: Vec<&InstructionCost> = done.iter().collect();
    fastest.sort_by(|x, y| f64::total_cmp(&x.whole_device.tera, &y.whole_device.tera));
    Some(match fastest[..] {
        [] => return None,
        [one] => {
            let latency = one
                .latency
                .map_or(String::new(), |clocks| format!(" has a latency of {} clocks, and", three_digits(clocks)));
            format!("{} on {device}{latency} runs at {} on the whole device.", one.instruction, rate(one))
        }
        [slowest, .., fastest] => format!(
            "On {device}, whole, {} instructions run at {} ({}) to {} ({}).",
            done.len(),
            rate(slowest),
            slowest.instruction,
            rate(fastest),
            fastest.instruction
        ),
    })
}

/// The tables that have rows, with `points` the table of all measurements too.
pub fn tables(costs: &Costs, generation: &Generation, points: bool) -> Vec<Table> {
    let target = match generation {
        Generation::Target(target) => target.name,
        _ => "",
    };
    let done = &costs.instructions;
    let mut tables = vec![Table::of("Costs", done.iter().map(|cost| row(cost, done, target)))];
    let sustained = done.iter().flat_map(|cost| cost.sustained.iter().map(|rate| sustained(cost, rate)));
    tables.extend(Table::of("Values of the operands", sustained).filled());
    if points {
        let of = |cost: &InstructionCost| cost.points.iter().map(|point| point_row(cost, point)).collect::<Vec<_>>();
        tables.push(Table::of("Measurements by warps and independent runs", done.iter().flat_map(of)));
    }
    tables.extend(Table::of("Conversions", costs.conversions.iter().map(conversion)).filled());
    tables.extend(Table::of("Loads from shared memory", costs.loads.iter().map(load)).filled());
    if points {
        let all = costs.loads.iter().flat_map(|cost| cost.points.iter().map(|point| load_point(cost, point)));
        tables.extend(Table::of("Loads by warps and independent runs", all).filled());
    }
    tables
}

/// Notes for the reader: a busy device, a lowered clock, loops that were not checked or fail the check.
pub fn notes(done: &[InstructionCost]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(others) =
        done.iter().filter_map(|cost| cost.whole_device.state.others).max().filter(|others| *others > 0)
    {
        notes.push(format!("The device is busy: {others} other processes compute on it and lower the rates."));
    }
    let reasons = distinct(done.iter().flat_map(|cost| &cost.whole_device.state.throttled).copied());
    if !reasons.is_empty() {
        notes.push(format!("The device lowered its clock meanwhile: {}.", reasons.join(", ")));
    }
    if done.iter().any(|cost| cost.machine.is_none()) {
        notes.push("The machine code was not checked: there is no disassembler (nvdisasm).".into());
    }
    for cost in done.iter().filter(|cost| !cost.unintended.is_empty()) {
        let ways: Vec<String> = cost.unintended.iter().map(u32::to_string).collect();
        notes.push(format!(
            "{}: the loops of {} independent runs do not have the intended number of matrix instructions.",
            cost.instruction,
            ways.join(", ")
        ));
    }
    notes
}

/// The independent runs with a converged rate, and that rate, of 4 and of 8 warps.
fn four_and_eight(points: &[RatePoint]) -> [(Option<u32>, Option<f64>); 2] {
    [4, 8].map(|warps| converged(points, warps).map(|point| (point.independent, point.rate)).unzip())
}

fn best_rate(points: &[RatePoint]) -> f64 {
    best(points).map_or(0.0, |point| point.rate)
}

fn row(cost: &InstructionCost, all: &[InstructionCost], target: &str) -> CostRow {
    let best = best(&cost.points).unwrap_or(RatePoint { warps: 0, independent: 0, clocks: 0.0, rate: 0.0 });
    let [(independent_4, rate_4), (independent_8, rate_8)] = four_and_eight(&cost.points);
    let clocks = |warps| converged(&cost.points, warps).map(|point| point.clocks);
    CostRow {
        instruction: cost.instruction.name.clone(),
        execution: cost.execution.kind.name(),
        machine: cost.machine.as_ref().map(|machine| timed(machine).map(named).collect()),
        others: cost.machine.as_deref().map(others),
        latency: cost.latency,
        waited: cost.waited,
        independent_4,
        clocks_4: clocks(4),
        rate_4,
        independent_8,
        clocks_8: clocks(8),
        rate_8,
        best_warps: best.warps,
        best_independent: best.independent,
        best_rate: best.rate,
        share: peak(target, &cost.instruction).map(|peak| best.rate / peak),
        predicted: predicted(cost, all),
        tera: cost.whole_device.tera,
        clock: cost.whole_device.clock,
        power: cost.whole_device.state.power,
    }
}

/// Machine instructions a run that are not timed.
fn others(machine: &[PerRun]) -> f64 {
    machine.iter().filter(|entry| matches!(entry.role, Role::Other | Role::Call)).map(|entry| entry.count).sum()
}

fn conversion(cost: &ScalarCost) -> ScalarCostRow {
    let [(independent_4, rate_4), (independent_8, rate_8)] = four_and_eight(&cost.points);
    ScalarCostRow {
        instruction: cost.form.ptx.clone(),
        lanes: cost.form.lanes,
        machine: cost.machine.as_ref().map(|machine| timed(machine).map(named).collect()),
        others: cost.machine.as_deref().map(others),
        latency: cost.latency,
        independent_4,
        rate_4,
        independent_8,
        rate_8,
        best_rate: best_rate(&cost.points),
    }
}

fn load(cost: &LoadCost) -> LoadCostRow {
    let [(independent_4, rate_4), (independent_8, rate_8)] = four_and_eight(&cost.points);
    LoadCostRow {
        load: cost.load.name,
        bytes: cost.load.words * 4 * 32,
        latency: cost.latency,
        independent_4,
        rate_4,
        independent_8,
        rate_8,
        best_rate: best_rate(&cost.points),
    }
}

fn sustained(cost: &InstructionCost, rate: &WholeRate) -> SustainedRow {
    SustainedRow {
        instruction: cost.instruction.name.clone(),
        values: rate.values.name(),
        tera: rate.tera,
        clock: rate.clock,
        power: rate.state.power,
        power_limit: rate.state.power_limit,
        throttled: rate.state.throttled.clone(),
    }
}

fn point_row(cost: &InstructionCost, point: &RatePoint) -> CostPointRow {
    let RatePoint { warps, independent, clocks, rate } = *point;
    CostPointRow { instruction: cost.instruction.name.clone(), warps, independent, clocks, rate }
}

fn load_point(cost: &LoadCost, point: &RatePoint) -> LoadPointRow {
    let RatePoint { warps, independent, clocks, rate } = *point;
    LoadPointRow { load: cost.load.name, warps, independent, clocks, rate }
}

/// The timed machine instructions of one run, or its calls of a routine.
fn timed(machine: &[PerRun]) -> impl Iterator<Item = &PerRun> {
    let direct = machine.iter().any(|entry| entry.role == Role::Timed);
    let wanted = if direct { Role::Timed } else { Role::Call };
    machine.iter().filter(move |entry| entry.role == wanted)
}

/// The timed machine instructions of a cost; none where the machine code is unknown.
fn matrix(cost: &InstructionCost) -> impl Iterator<Item = &PerRun> {
    timed(cost.machine.as_deref().unwrap_or_default())
}

fn named(entry: &PerRun) -> String {
    if entry.count == 1.0 { entry.opcode.clone() } else { format!("{}x {}", entry.count, entry.opcode) }
}

/// The rate of an emulated instruction by its matrix instructions; `None` if one was not measured.
fn predicted(cost: &InstructionCost, all: &[InstructionCost]) -> Option<f64> {
    if cost.execution.kind != ExecutionKind::Emulated || matrix(cost).next().is_none() {
        return None;
    }
    // Clocks of the multiprocessor for one run of a warp.
    let clocks = |opcode: &str| {
        all.iter().find_map(|other| {
            let alone =
                matrix(other).all(|entry| entry.opcode == opcode && entry.count == 1.0) && matrix(other).count() == 1;
            let native = other.execution.kind == ExecutionKind::Native && alone;
            let best = best(&other.points).filter(|_| native)?;
            Some(multiply_adds(other) / best.rate)
        })
    };
    let sum: Option<f64> = matrix(cost).map(|entry| clocks(&entry.opcode).map(|clocks| clocks * entry.count)).sum();
    sum.map(|clocks| multiply_adds(cost) / clocks)
}

fn multiply_adds(cost: &InstructionCost) -> f64 {
    (cost.instruction.m * cost.instruction.n * cost.instruction.k) as f64
}
