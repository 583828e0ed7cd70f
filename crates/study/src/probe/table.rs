//! Tables of probes: a row for each probe, or for each instruction and operation.

use std::collections::BTreeSet;

use super::{HISTOGRAM_EDGES, ProbeRequest, ProbeResult};
use crate::{
    device::DeviceName,
    inputs::{Distribution, Init},
    report::{Table, grouped, three_digits},
};

crate::rows! {
    /// A probe: one operation of an instruction, compared bit for bit with each reference.
    pub struct ProfileRow in "profile" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The vendor's spelling.
        ptx: String => shown("vendor's spelling"),
        /// The kind of execution on the device.
        execution: &'static str => shown("ran"),
        /// The machine instructions that ran.
        opcodes: Vec<String> => shown("machine code").if_filled(),
        /// The operation that was isolated.
        op: &'static str => shown("op").essential(),
        /// Operands of the references: rounded (low) or not (fp32).
        init: &'static str => shown("init").essential(),
        /// Distribution of the operands.
        distribution: &'static str => shown("values").essential(),
        /// Samples.
        samples: u64 => shown("samples").essential(),
        /// Digest of every operand's bits.
        inputs_digest: String => hidden(),
        /// Digest of every output's code.
        outputs_digest: String => hidden(),
        /// The model by its given name.
        model: String => hidden(),
        /// Samples equal to the model.
        model_agree: Option<u64> => shown("=model").essential(),
        /// Elements of D that were compared with the model, samples or not.
        elements: u64 => hidden(),
        /// Elements of D that differ from the model.
        element_mismatches: u64 => hidden(),
        /// Samples equal to the expression in f32 (f64 for f64 operands, s32 for integers).
        f32_agree: u64 => shown("=f32").essential(),
        /// Samples equal to that expression, rounded to the format of D.
        f32_rounded_agree: u64 => shown("=f32 to D"),
        /// Samples equal to the correctly rounded exact result.
        exact_agree: u64 => shown("=exact").essential(),
        /// Samples whose result, or exact value, is infinite or NaN.
        not_finite: u64 => shown("not finite"),
        /// The mean absolute error against f32.
        mean_abs_error_f32: Option<f64> => shown("error to f32"),
        /// Its standard error.
        mean_abs_error_f32_standard_error: Option<f64> => hidden(),
        /// The largest absolute error against f32.
        max_abs_error_f32: Option<f64> => hidden(),
        /// The mean absolute error against f32, rounded to the format of D.
        mean_abs_error_f32_rounded: Option<f64> => shown("to f32 in D"),
        /// Its standard error.
        mean_abs_error_f32_rounded_standard_error: Option<f64> => hidden(),
        /// The mean absolute error against the exact result.
        mean_abs_error: Option<f64> => shown("mean error").essential(),
        /// Its standard error.
        mean_abs_error_standard_error: Option<f64> => hidden(),
        /// The largest absolute error against the exact result.
        max_abs_error: Option<f64> => shown("max error"),
        /// The mean relative error against the exact result.
        mean_rel_error: Option<f64> => shown("mean relative"),
        /// The largest relative error against the exact result.
        max_rel_error: Option<f64> => shown("max relative"),
        /// The mean error against the exact result, in units in the last place.
        mean_ulp_error: Option<f64> => hidden(),
        /// The largest error against the exact result, in units in the last place.
        max_ulp_error: Option<f64> => shown("max error").unit("ulp").essential(),
        /// The upper edges of the histogram, in ulp.
        ulp_histogram_edges: Vec<f64> => hidden(),
        /// Errors up to each edge and beyond the one before.
        ulp_histogram: Vec<u64> => shown("ulp histogram"),
    }

    /// Probes of an instruction and an operation: samples equal to the model, by distribution.
    pub struct SummaryRow in "summary" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The operation that was isolated.
        op: &'static str => shown("op").essential(),
        /// The kind of execution on the device.
        execution: &'static str => shown("ran").essential(),
        /// The machine instructions that ran.
        opcodes: Vec<String> => shown("machine code"),
        /// Normal(0, 1) operands.
        normal: Option<u64> => shown("normal").if_filled().essential(),
        /// Uniform operands.
        uniform: Option<u64> => shown("uniform").if_filled().essential(),
        /// Operands uniform in the logarithm.
        log_uniform: Option<u64> => shown("log-uniform").if_filled().essential(),
        /// Special values.
        special: Option<u64> => shown("special").if_filled().essential(),
        /// Directed corner cases.
        corners: Option<u64> => shown("corners").if_filled().essential(),
        /// Elements of D that were compared with the model.
        elements: u64 => shown("elements").essential(),
        /// Elements of D that differ from the model.
        element_mismatches: u64 => shown("differ").essential(),
        /// The largest error against the exact result with init low, in units in the last place.
        max_ulp_error: Option<f64> => shown("max error").unit("ulp"),
    }
}

/// A probe with its result.
pub type Probe<'a> = (ProbeRequest<'a>, ProbeResult);

/// The table with a row for each probe; `model` is the model's given name.
pub fn profile(probes: &[Probe], model: &str) -> Table {
    Table::of("Element-wise profile", probes.iter().map(|probe| profile_row(probe, model)))
}

fn profile_row((request, outcome): &Probe, model: &str) -> ProfileRow {
    let p = &outcome.profile;
    ProfileRow {
        instruction: request.instruction.name.clone(),
        ptx: request.instruction.ptx.clone(),
        execution: outcome.execution.kind.name(),
        opcodes: outcome.execution.opcodes.clone(),
        op: request.op.name(),
        init: request.init.name(),
        distribution: request.distribution.name(),
        samples: p.samples,
        inputs_digest: format!("{:016x}", outcome.digest),
        outputs_digest: format!("{:016x}", outcome.outputs_digest),
        model: model.into(),
        model_agree: p.model,
        elements: p.elements,
        element_mismatches: p.element_mismatches,
        f32_agree: p.f32,
        f32_rounded_agree: p.f32_rounded,
        exact_agree: p.exact,
        not_finite: p.not_finite(),
        mean_abs_error_f32: p.f32_error.mean(),
        mean_abs_error_f32_standard_error: p.f32_error.standard_error(),
        max_abs_error_f32: p.f32_error.maximum(),
        mean_abs_error_f32_rounded: p.f32_rounded_error.mean(),
        mean_abs_error_f32_rounded_standard_error: p.f32_rounded_error.standard_error(),
        mean_abs_error: p.absolute.mean(),
        mean_abs_error_standard_error: p.absolute.standard_error(),
        max_abs_error: p.absolute.maximum(),
        mean_rel_error: p.relative.mean(),
        max_rel_error: p.relative.maximum(),
        mean_ulp_error: p.ulps.mean(),
        max_ulp_error: p.ulps.maximum(),
        ulp_histogram_edges: HISTOGRAM_EDGES.to_vec(),
        ulp_histogram: p.histogram.to_vec(),
    }
}

/// The note that a simulated device was compared with its own model.
pub fn note(device: &DeviceName, model: &str) -> Option<String> {
    (device.model() == Some(model))
        .then(|| "No hardware ran: the device is the model itself, so =model shows only consistency.".into())
}

/// Agreement with the model and the source of the errors, in a sentence; `None` without a probe.
pub fn answer(probes: &[Probe], device: &DeviceName, model: &str) -> Option<String> {
    let set = |name: fn(&Probe) -> &'static str| probes.iter().map(name).collect::<BTreeSet<_>>();
    let instructions: BTreeSet<_> = probes.iter().map(|(request, _)| &*request.instruction.name).collect();
    let format = set(|(request, _)| request.instruction.a.name);
    let format = if format.len() == 1 { format!("{} ", probes[0].0.instruction.a) } else { String::new() };
    let device = device.spoken();
    let differing = |probe: &&Probe| probe.1.profile.element_mismatches > 0;
    let first = probes.first()?;
    let compared = match probes.iter().find(differing) {
        None => {
            let what = match instructions.len() {
                1 => format!("{} of {device}", first.0.instruction),
                2 => format!("Both {format}instructions of {device}"),
                count => format!("All {count} {format}instructions of {device}"),
            };
            let samples = match probes.iter().all(|(_, outcome)| outcome.profile.samples == first.1.profile.samples) {
                true => grouped(first.1.profile.samples as i64),
                false => {
                    format!(
                        "{} or more",
                        grouped(probes.iter().map(|(_, outcome)| outcome.profile.samples).min()? as i64)
                    )
                }
            };
            let each = if set(|(request, _)| request.op.name()).len() > 1 { " of each operation" } else { "" };
            format!("{what} gave the model's bits in all {samples} samples{each}")
        }
        Some(_) => {
            let names: BTreeSet<_> =
                probes.iter().filter(differing).map(|(request, _)| &*request.instruction.name).collect();
            let what = match (instructions.len(), names.len()) {
                (1, _) => format!("{} of {device} differs", first.0.instruction),
                (2, 2) => format!("Both {format}instructions of {device} differ"),
                (all, some) if all == some => format!("All {all} {format}instructions of {device} differ"),
                (all, 1) => format!("1 of {all} {format}instructions of {device} differs"),
                (all, some) => format!("{some} of {all} {format}instructions of {device} differ"),
            };
            format!("{what} from the model {model}")
        }
    };
    Some(match errors(probes) {
        Some(errors) => format!("{compared}; {errors}."),
        None => format!("{compared}."),
    })
}

/// The source of the errors: rounding of the operands, or the device's arithmetic.
fn errors(probes: &[Probe]) -> Option<String> {
    let mean = |(_, result): &Probe| result.profile.absolute.mean();
    let of =
        |init: Init| probes.iter().filter(|(request, _)| request.init == init).filter_map(mean).collect::<Vec<_>>();
    let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    let (low, wide) = (of(Init::Low), of(Init::Fp32));
    let (exact, after) = (three_digits(largest(&wide)), three_digits(largest(&low)));
    let name = match &probes
        .iter()
        .map(|(request, _)| request.op.name())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()[..]
    {
        ["accumulate"] => "the accumulation",
        ["multiply"] => "the multiplication",
        ["inner-product"] => "the inner product",
        _ => "the instruction's arithmetic",
    };
    let operand = probes.first()?.0.instruction.a;
    match (low.is_empty(), wide.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("the mean error of {name} is {after}")),
        (true, false) => Some(format!("the mean error, the rounding of inputs included, is {exact}")),
        _ if largest(&wide) == 0.0 && largest(&low) == 0.0 => Some("every result is exact".into()),
        _ if low.iter().zip(&wide).all(|(low, wide)| *low < wide / 10.0) => {
            Some(format!("rounding inputs to {operand}, not {name}, makes the error of {exact}"))
        }
        _ => Some(format!("the mean error of {name} is {after}, and {exact} with the rounding of inputs")),
    }
}

/// The table with a row for each instruction and operation, of `samples` for each initialisation.
pub fn summary(probes: &[Probe], samples: u64) -> Table {
    let title = format!("Samples equal to the model, by distribution ({samples} for each initialisation)");
    let same = |x: &Probe, y: &Probe| x.0.instruction == y.0.instruction && x.0.op == y.0.op;
    let mut sorted: Vec<&Probe> = Vec::new();
    for probe in probes {
        // After the last probe of the same instruction and operation, else at the end.
        let at = sorted.iter().rposition(|other| same(other, probe)).map_or(sorted.len(), |at| at + 1);
        sorted.insert(at, probe);
    }
    Table::of(title, sorted.chunk_by(|x, y| same(x, y)).map(summary_row))
}

fn summary_row(group: &[&Probe]) -> SummaryRow {
    let (request, outcome) = group[0];
    let agreeing = |distribution: Distribution| {
        let probes: Vec<_> = group.iter().filter(|(request, _)| request.distribution == distribution).collect();
        let sum = probes.iter().map(|(_, outcome)| outcome.profile.model).sum::<Option<u64>>();
        sum.filter(|_| !probes.is_empty())
    };
    let ulps = group.iter().filter(|(r, _)| r.init == Init::Low).filter_map(|(_, o)| o.profile.ulps.maximum());
    SummaryRow {
        instruction: request.instruction.name.clone(),
        op: request.op.name(),
        execution: outcome.execution.kind.name(),
        opcodes: outcome.execution.opcodes.clone(),
        normal: agreeing(Distribution::Normal),
        uniform: agreeing(Distribution::Uniform),
        log_uniform: agreeing(Distribution::LogUniform),
        special: agreeing(Distribution::Special),
        corners: agreeing(Distribution::Corners),
        elements: group.iter().map(|(_, o)| o.profile.elements).sum::<u64>(),
        element_mismatches: group.iter().map(|(_, o)| o.profile.element_mismatches).sum::<u64>(),
        max_ulp_error: ulps.reduce(f64::max),
    }
}
