//! Chain matrix multiplication: growth of rounding errors and overflow from link to link.
//!
//! The experiment of Sun et al., "Dissecting Tensor Cores via Microbenchmarks" (section 8.2, figure 17), for any
//! instruction. A link is D = A*B with C = 0, where A is m x k and B is k x k, so that D is m x k again. If the
//! instruction's n is smaller than k, ceil(k/n) executions take the column blocks of B; if it is larger, B
//! has columns of zeros. D becomes the next A, rounded to A's format by RNE, with the overflow of that format's
//! standard. Block-scaled instructions, and [`MatrixScaling`], divide D and B by scales first. B is redrawn for each link.
//! After N links the error of a chain is `||D_low - D_ref||_F / ||D_low||_F`.
//!
//! Entries are Normal(0, 1) (for integer instructions uniform in -1..=1, unsigned 0..=1), the same for every
//! format and instruction of one shape m x k. References are the chain in plain arithmetic ([`Plain`]) and the
//! exact product.

mod draw;
mod error;
mod exact;
mod group;
mod low;
mod operand;
mod reference;
mod scaling;
pub mod table;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use group::{Group, shapes};

pub use reference::Plain;
pub use scaling::MatrixScaling;
pub use scaling::{block_format, has_known_scales};

use crate::{
    Result, Stage,
    base::{interrupt, work::Pace},
    device::Device,
    inputs::Init,
    isa::Instruction,
    summary::Summary,
};

/// Greatest length of a chain, in links.
pub const MAX_LENGTH: usize = 10_000;

const FIRST: u64 = 1;

/// Greatest number of chains.
pub const MAX_CHAINS: u64 = 1_000_000_000;

/// Chains of a run that names no number.
pub const DEFAULT_CHAINS: u64 = 1000;

/// The instructions of the published figure.
pub const PUBLISHED: [&str; 3] =
    ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];

/// True if both initialisations give the same references: the operand formats hold every random number.
fn inits_coincide(instruction: &Instruction) -> bool {
    [instruction.a, instruction.b].iter().all(|f| f.is_integer() || f.fraction_bits() > 23)
}

/// The initialisations of an instruction: the named ones, else both, or `low` where they coincide.
pub fn inits(instruction: &Instruction, named: &[Init]) -> Vec<Init> {
    let both = [Init::Low, Init::Fp32];
    match named {
        [] if inits_coincide(instruction) => vec![Init::Low],
        [] => both.to_vec(),
        named => both.into_iter().filter(|init| named.contains(init)).collect(),
    }
}

/// True if results of an instruction can be operands: A is dense, and block scales have a known format.
pub fn is_chainable(i: &Instruction) -> bool {
    !i.is_sparse() && has_known_scales(i)
}

/// A request for curves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainRequest {
    /// The instructions and initialisations: a curve each.
    pub curves: Vec<(Instruction, Init)>,
    /// The longest chain, in links; every shorter length is its beginning.
    pub length: usize,
    /// Number of chains.
    pub chains: u64,
    /// Time after which no chain is begun; without it, all are.
    pub within: Option<Duration>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The scales of matrices in plain formats.
    pub scaling: MatrixScaling,
}

/// The errors of one instruction and initialisation by length.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCurve {
    /// The instruction.
    pub instruction: Instruction,
    /// Start of the references: rounded operands (errors leave out that rounding), or binary32.
    pub init: Init,
    /// The plain arithmetic of the reference.
    pub plain: Plain,
    /// The scales of the operands: a block format, or the rule for one scale of each matrix.
    pub scales: Option<String>,
    /// One point for each length, from 1; an interrupted run has the lengths that a chain has reached.
    pub points: Vec<ChainPoint>,
}

/// All chains at one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChainPoint {
    /// Links.
    pub length: usize,
    /// Chains whose results so far are finite and came from no saturated entry.
    pub finite: u64,
    /// Chains that have overflowed.
    pub overflowed: u64,
    /// Relative error against the plain chain, over the finite chains whose plain chain is finite too.
    pub against_plain: Summary,
    /// Relative error against the exact product, over the finite chains.
    pub against_exact: Summary,
}

impl ChainCurve {
    fn new(instruction: &Instruction, init: Init, length: usize, scaling: MatrixScaling) -> Self {
        ChainCurve {
            instruction: instruction.clone(),
            init,
            plain: Plain::for_instruction(instruction),
            scales: scaling::words(instruction, scaling),
            points: (1..=length).map(|length| ChainPoint { length, ..ChainPoint::default() }).collect(),
        }
    }

    /// Drops the lengths that no chain has reached.
    fn cut(&mut self) {
        let reached = self.points.iter().filter(|point| point.finite + point.overflowed > 0).count();
        self.points.truncate(reached);
    }

    /// Number of chains that were begun.
    pub fn chains(&self) -> u64 {
        self.points.first().map_or(0, |point| point.finite + point.overflowed)
    }

    /// The points before the first overflow of any chain, as a plot shows them.
    pub fn without_overflow(&self) -> &[ChainPoint] {
        let end = self.points.iter().position(|point| point.overflowed > 0).unwrap_or(self.points.len());
        &self.points[..end]
    }
}

/// Computes the curves of `plan` on `device`, in the order of the plan, and adds them to `curves`.
///
/// All chains of a link are one execution of the device, in batches sized by time. `progress` counts links. A result depends on
/// the plan and on the device's arithmetic alone. An interrupted run adds the links that it has.
///
/// # Errors
/// Those of the device; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn run(
    device: &mut dyn Device,
    plan: &ChainRequest,
    curves: &mut Vec<ChainCurve>,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    run_on(&mut [device], &vec![0; plan.curves.len()], plan, curves, progress)
}

/// [`run`] on several devices: `on` has the number of each curve's device.
///
/// The curves share random numbers and references.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    devices: &mut [&mut dyn Device],
    on: &[usize],
    plan: &ChainRequest,
    curves: &mut Vec<ChainCurve>,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let mut new_curves: Vec<ChainCurve> =
        plan.curves.iter().map(|(i, init)| ChainCurve::new(i, *init, plan.length, plan.scaling)).collect();
    let outcome = advance(devices, on, plan, &mut new_curves, progress);
    if outcome.is_err() {
        new_curves.iter_mut().for_each(ChainCurve::cut);
    }
    curves.append(&mut new_curves);
    outcome
}

fn advance(
    devices: &mut [&mut dyn Device],
    on: &[usize],
    plan: &ChainRequest,
    curves: &mut [ChainCurve],
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let links = plan.length as u64 * plan.chains;
    let (mut done, total) = (0, links * plan.curves.len() as u64);
    let (started, mut begun_curves) = (Instant::now(), 0);
    for (shape, members) in shapes(&plan.curves) {
        begun_curves += members.len() as u32;
        let share = plan.within.map(|time| time * begun_curves / plan.curves.len() as u32);
        let mut pace = Pace::new(FIRST, shape.batch(plan.length) as u64);
        let mut first = 0;
        while first < plan.chains && (first == 0 || share.is_none_or(|share| started.elapsed() < share)) {
            let chains = (plan.chains - first).min(pace.size());
            let mine: Vec<(usize, &(Instruction, Init))> =
                members.iter().map(|&curve| (on[curve], &plan.curves[curve])).collect();
            let mut group = Group::new(shape, &mine, plan.scaling, plan.seed, first, chains as usize);
            for length in 1..=plan.length {
                interrupt::check()?;
                pace.measure(chains, || group.advance(devices))?;
                for (member, &curve) in members.iter().enumerate() {
                    group.gather(member, &mut curves[curve].points[length - 1]);
                }
                done += chains * members.len() as u64;
                let what = format!("{shape}, chains {first} to {}: {length} links", first + chains - 1);
                progress(Stage { what: &what, done, total });
            }
            first += chains;
        }
    }
    Ok(())
}
