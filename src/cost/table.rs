//! The tables of costs.

use super::{Cost, LoadCost, PerRun, Point, ScalarCost, Whole, best, converged, peaks::peak};
use crate::{
    device::{ExecutionKind, Generation, Role},
    report::{Table, three_digits},
};

crate::rows! {
    /// What one instruction costs.
    pub struct CostRow in "costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// How the device executes it.
        execution: &'static str => shown("ran"),
        /// The matrix instructions of the machine that one run is, with their counts.
        machine: Option<Vec<String>> => shown("machine code").if_filled(),
        /// Other machine instructions in the loop, for each run.
        others: Option<f64> => shown("others"),
        /// Clocks from one run to the next that adds to it, of one warp, or of one warpgroup.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Clocks of a run that is waited for, of asynchronous instructions.
        waited: Option<f64> => shown("waited for").unit("clk").if_filled(),
        /// Independent runs from which more bring nothing, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: runs"),
        /// Clocks from one run to the next on the same sums, there.
        clocks_4: Option<f64> => shown("clocks").unit("clk"),
        /// Fused multiply-adds a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("FMA/clk/SM").essential(),
        /// Independent runs from which more bring nothing, with 8 warps.
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
        /// The rate of an emulated instruction that follows from the rates of the matrix instructions that it is made of, as measured in the
        /// same run.
        predicted: Option<f64> => shown("predicted").unit("FMA/clk/SM").if_filled(),
        /// 10^12 operations a second of the whole device, two for each fused multiply-add.
        tera: f64 => shown("whole device").unit("TFLOPS").essential(),
        /// The clock at which it did so, as measured.
        clock: f64 => shown("clock").unit("MHz"),
        /// What it took, as it told.
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

    /// What a conversion between formats costs.
    pub struct ScalarCostRow in "scalar_costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Results of each thread.
        lanes: usize => shown("results"),
        /// The arithmetic of the machine that one run is, with counts.
        machine: Option<Vec<String>> => shown("machine code").if_filled().essential(),
        /// Other machine instructions in the loop with one chain, for each run: most hand the result on.
        others: Option<f64> => shown("others"),
        /// Clocks from one run to the next whose first operand is its result, of one warp; those others included.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Independent runs from which more bring nothing, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: runs"),
        /// Results a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("results/clk/SM").essential(),
        /// Independent runs from which more bring nothing, with 8 warps.
        independent_8: Option<u32> => shown("8 warps: runs"),
        /// Results a clock of a multiprocessor, there.
        rate_8: Option<f64> => shown("rate").unit("results/clk/SM").essential(),
        /// The highest rate: results a clock of a multiprocessor.
        best_rate: f64 => shown("highest").unit("results/clk/SM").essential(),
    }

    /// What a load from shared memory costs.
    pub struct LoadCostRow in "load_costs" {
        /// The load.
        load: &'static str => shown("load").essential(),
        /// Bytes of a warp.
        bytes: u32 => shown("bytes"),
        /// Clocks from one load to the next, whose address it is, of one warp.
        latency: Option<f64> => shown("latency").unit("clk").essential(),
        /// Independent loads from which more bring nothing, with 4 warps.
        independent_4: Option<u32> => shown("4 warps: loads"),
        /// Bytes a clock of a multiprocessor, there.
        rate_4: Option<f64> => shown("rate").unit("bytes/clk/SM").essential(),
        /// Independent loads from which more bring nothing, with 8 warps.
        independent_8: Option<u32> => shown("8 warps: loads"),
        /// Bytes a clock of a multiprocessor, there.
        rate_8: Option<f64> => shown("rate").unit("bytes/clk/SM").essential(),
        /// The highest rate: bytes a clock of a multiprocessor.
        best_rate: f64 => shown("highest").unit("bytes/clk/SM").essential(),
    }

    /// What the whole device does for longer, by what operands hold.
    pub struct SustainedRow in "sustained_costs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// What operands hold.
        values: &'static str => shown("operands").essential(),
        /// 10^12 operations a second, two for each fused multiply-add.
        tera: f64 => shown("rate").unit("TFLOPS").essential(),
        /// The clock, as measured.
        clock: f64 => shown("clock").unit("MHz").essential(),
        /// What the device takes, as it tells.
        power: Option<f64> => shown("power").unit("W").essential(),
        /// What it may take.
        power_limit: Option<f64> => shown("limit").unit("W"),
        /// Why its clock is not the highest, in the vendor's words.
        throttled: Vec<&'static str> => shown("throttled by"),
    }
}

/// What instructions cost, in a sentence; `None` without one.
pub fn answer(done: &[Cost], device: &str) -> Option<String> {
    let rate = |cost: &Cost| format!("{} TFLOPS", three_digits(cost.whole.tera));
    let mut fastest: Vec<&Cost> = done.iter().collect();
    fastest.sort_by(|x, y| f64::total_cmp(&x.whole.tera, &y.whole.tera));
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

/// The tables; of points only where they are asked for.
pub fn tables(done: &[Cost], generation: &Generation, points: bool) -> Vec<Table> {
    let target = match generation {
        Generation::Target(target) => target.name,
        _ => "",
    };
    let mut tables = vec![Table::of("Costs", done.iter().map(|cost| row(cost, done, target)))];
    let sustained: Vec<SustainedRow> =
        done.iter().flat_map(|cost| cost.sustained.iter().map(|whole| sustained(cost, whole))).collect();
    if !sustained.is_empty() {
        tables.push(Table::of("What operands hold", sustained));
    }
    if points {
        let of = |cost: &Cost| cost.points.iter().map(|point| point_row(cost, point)).collect::<Vec<_>>();
        tables.push(Table::of("By warps and independent runs", done.iter().flat_map(of)));
    }
    tables
}

fn row(cost: &Cost, all: &[Cost], target: &str) -> CostRow {
    let best = best(&cost.points).unwrap_or(Point { warps: 0, independent: 0, clocks: 0.0, rate: 0.0 });
    let [four, eight] = [4, 8].map(|warps| converged(&cost.points, warps));
    CostRow {
        instruction: cost.instruction.name.clone(),
        execution: cost.execution.kind.name(),
        machine: cost.machine.as_ref().map(|machine| timed(machine).map(named).collect()),
        others: cost.machine.as_deref().map(others),
        latency: cost.latency,
        waited: cost.waited,
        independent_4: four.map(|point| point.independent),
        clocks_4: four.map(|point| point.clocks),
        rate_4: four.map(|point| point.rate),
        independent_8: eight.map(|point| point.independent),
        clocks_8: eight.map(|point| point.clocks),
        rate_8: eight.map(|point| point.rate),
        best_warps: best.warps,
        best_independent: best.independent,
        best_rate: best.rate,
        share: peak(target, &cost.instruction).map(|peak| best.rate / peak),
        predicted: predicted(cost, all),
        tera: cost.whole.tera,
        clock: cost.whole.clock,
        power: cost.whole.state.power,
    }
}

/// Machine instructions for each run beside those that are timed.
fn others(machine: &[PerRun]) -> f64 {
    machine.iter().filter(|own| matches!(own.role, Role::Other | Role::Call)).map(|own| own.count).sum()
}

/// The table of conversions.
pub fn scalars(done: &[ScalarCost]) -> Table {
    let row = |cost: &ScalarCost| {
        let [four, eight] = [4, 8].map(|warps| converged(&cost.points, warps));
        ScalarCostRow {
            instruction: cost.form.ptx.clone(),
            lanes: cost.form.lanes,
            machine: cost.machine.as_ref().map(|machine| timed(machine).map(named).collect()),
            others: cost.machine.as_deref().map(others),
            latency: cost.latency,
            independent_4: four.map(|point| point.independent),
            rate_4: four.map(|point| point.rate),
            independent_8: eight.map(|point| point.independent),
            rate_8: eight.map(|point| point.rate),
            best_rate: best(&cost.points).map_or(0.0, |point| point.rate),
        }
    };
    Table::of("Conversions", done.iter().map(row))
}

/// The table of loads.
pub fn loads(done: &[LoadCost]) -> Table {
    let row = |cost: &LoadCost| {
        let [four, eight] = [4, 8].map(|warps| converged(&cost.points, warps));
        LoadCostRow {
            load: cost.load.name,
            bytes: cost.load.words * 4 * 32,
            latency: cost.latency,
            independent_4: four.map(|point| point.independent),
            rate_4: four.map(|point| point.rate),
            independent_8: eight.map(|point| point.independent),
            rate_8: eight.map(|point| point.rate),
            best_rate: best(&cost.points).map_or(0.0, |point| point.rate),
        }
    };
    Table::of("Loads from shared memory", done.iter().map(row))
}

fn sustained(cost: &Cost, whole: &Whole) -> SustainedRow {
    SustainedRow {
        instruction: cost.instruction.name.clone(),
        values: whole.values.name(),
        tera: whole.tera,
        clock: whole.clock,
        power: whole.state.power,
        power_limit: whole.state.power_limit,
        throttled: whole.state.throttled.clone(),
    }
}

fn point_row(cost: &Cost, point: &Point) -> CostPointRow {
    let Point { warps, independent, clocks, rate } = *point;
    CostPointRow { instruction: cost.instruction.name.clone(), warps, independent, clocks, rate }
}

/// The machine instructions that one run is made of; of one that calls a routine, the calls.
fn timed(machine: &[PerRun]) -> impl Iterator<Item = &PerRun> {
    let direct = machine.iter().any(|own| own.role == Role::Timed);
    let wanted = if direct { Role::Timed } else { Role::Call };
    machine.iter().filter(move |own| own.role == wanted)
}

/// Those of a matrix instruction; none where they are not known.
fn matrix(cost: &Cost) -> impl Iterator<Item = &PerRun> {
    timed(cost.machine.as_deref().unwrap_or_default())
}

fn named(own: &PerRun) -> String {
    if own.count == 1.0 { own.opcode.clone() } else { format!("{}x {}", own.count, own.opcode) }
}

/// The rate of an emulated instruction by the clocks that its matrix instructions take where they run alone; `None` where one of them
/// was not measured.
fn predicted(cost: &Cost, all: &[Cost]) -> Option<f64> {
    if cost.execution.kind != ExecutionKind::Emulated || matrix(cost).next().is_none() {
        return None;
    }
    // Of the multiprocessor, for one run of a warp.
    let clocks = |opcode: &str| {
        all.iter().find_map(|other| {
            let alone = matrix(other).all(|own| own.opcode == opcode && own.count == 1.0) && matrix(other).count() == 1;
            let native = other.execution.kind == ExecutionKind::Native && alone;
            let best = best(&other.points).filter(|_| native)?;
            Some(multiply_adds(other) / best.rate)
        })
    };
    let sum: Option<f64> = matrix(cost).map(|own| clocks(&own.opcode).map(|clocks| clocks * own.count)).sum();
    sum.map(|clocks| multiply_adds(cost) / clocks)
}

fn multiply_adds(cost: &Cost) -> f64 {
    (cost.instruction.m * cost.instruction.n * cost.instruction.k) as f64
}
