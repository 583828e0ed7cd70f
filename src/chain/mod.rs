//! Chain matrix multiplication: how rounding errors and overflow grow from link to link.
//!
//! The experiment of Sun et al., "Dissecting Tensor Cores via Microbenchmarks" (section 8.2, figure 17), for any
//! instruction. A link is D = A*B with C = 0, where A is m x k and B is k x k, so that D is m x k again: where the
//! instruction's n is smaller than k, ceil(k/n) executions take the column blocks of B; where it is larger, B
//! has columns of zeros. D becomes the next A, rounded to A's format by RNE, with overflow as that format's
//! standard has it; of block-scaled instructions, and where [`Scaling`] says so, it is divided by scales before, as B is. B is redrawn for each link. After N links the error of a chain is
//! `||D_low - D_ref||_F / ||D_low||_F`.
//!
//! Entries are Normal(0, 1) (for integer instructions uniform in -1..=1, unsigned 0..=1), the same for every
//! format and instruction of one shape m x k. References are the chain in plain arithmetic ([`Plain`]) and the
//! product without any rounding.

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
pub use scaling::Scaling;
pub(crate) use scaling::block_format;

use crate::{
    Result, Stage,
    base::{interrupt, pace::Pace},
    device::Device,
    inputs::Init,
    isa::Instruction,
    summary::Summary,
};

/// The longest chain, in links.
pub const MAX_LENGTH: usize = 10_000;

/// The chains of the first batch.
const FIRST: u64 = 1;

/// The most chains.
pub const MAX_CHAINS: u64 = 1_000_000_000;

/// Whether both initialisations give the same references, because the operand formats hold every random number.
pub fn inits_coincide(instruction: &Instruction) -> bool {
    [instruction.a, instruction.b].iter().all(|f| f.is_integer() || f.fraction_bits() > 23)
}

/// What to compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainRequest {
    /// The instructions and initialisations: a curve each.
    pub curves: Vec<(Instruction, Init)>,
    /// The longest chain, in links; every shorter length is its beginning.
    pub length: usize,
    /// How many chains.
    pub chains: u64,
    /// For how long more chains are begun; without it until all are.
    pub within: Option<Duration>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The scales of matrices in plain formats.
    pub scaling: Scaling,
}

/// The errors of one instruction and initialisation by length.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The instruction.
    pub instruction: Instruction,
    /// From which values the references start (the device starts from rounded ones in any case): from rounded
    /// ones, so that the error is that of the arithmetic and of the rounding between links, or from binary32.
    pub init: Init,
    /// The plain arithmetic of the reference.
    pub plain: Plain,
    /// The scales of the operands: a block format, or the rule for one scale of each matrix.
    pub scales: Option<String>,
    /// One for each length, from 1; of a run that was ended, for each that a chain has reached.
    pub points: Vec<Point>,
}

/// All chains at one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point {
    /// Links.
    pub length: usize,
    /// Chains whose result and all before it are finite and came from no saturated entry.
    pub finite: u64,
    /// The other chains.
    pub overflowed: u64,
    /// Relative error against the plain chain, over the finite chains whose plain chain is finite too.
    pub against_plain: Summary,
    /// Relative error against the exact product, over the finite chains.
    pub against_exact: Summary,
}

impl Curve {
    fn new(instruction: &Instruction, init: Init, length: usize, scaling: Scaling) -> Self {
        Curve {
            instruction: instruction.clone(),
            init,
            plain: Plain::for_instruction(instruction),
            scales: scaling::words(instruction, scaling),
            points: (1..=length).map(|length| Point { length, ..Point::default() }).collect(),
        }
    }

    /// Leaves out the lengths that no chain has reached.
    fn cut(&mut self) {
        let reached = self.points.iter().filter(|point| point.finite + point.overflowed > 0).count();
        self.points.truncate(reached);
    }

    /// The chains that were begun.
    pub fn chains(&self) -> u64 {
        self.points.first().map_or(0, |point| point.finite + point.overflowed)
    }

    /// The points before the first length at which any chain overflowed: all that a plot shows.
    pub fn without_overflow(&self) -> &[Point] {
        let end = self.points.iter().position(|point| point.overflowed > 0).unwrap_or(self.points.len());
        &self.points[..end]
    }
}

/// Computes the curves of `plan` on `device`, in the order of the plan, and adds them to `curves`.
///
/// All chains of a link are one execution of the device, in batches of as many as it computes in about a second. `progress` is told now
/// and then what has been done, in links. A result depends on the plan and on the device's arithmetic alone. Whatever ends the work,
/// the curves are those of the links until then.
///
/// # Errors
/// Those of the device; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn run(
    device: &mut dyn Device,
    plan: &ChainRequest,
    curves: &mut Vec<Curve>,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let mut own: Vec<Curve> =
        plan.curves.iter().map(|(i, init)| Curve::new(i, *init, plan.length, plan.scaling)).collect();
    let outcome = advance(device, plan, &mut own, progress);
    if outcome.is_err() {
        own.iter_mut().for_each(Curve::cut);
    }
    curves.append(&mut own);
    outcome
}

fn advance(
    device: &mut dyn Device,
    plan: &ChainRequest,
    curves: &mut [Curve],
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let links = plan.length as u64 * plan.chains;
    let (mut done, total) = (0, links * plan.curves.len() as u64);
    let (begun, mut begun_curves) = (Instant::now(), 0);
    for (shape, members) in shapes(&plan.curves) {
        begun_curves += members.len() as u32;
        let share = plan.within.map(|time| time * begun_curves / plan.curves.len() as u32);
        let mut pace = Pace::new(FIRST, shape.batch(plan.length) as u64);
        let mut first = 0;
        while first < plan.chains && (first == 0 || share.is_none_or(|share| begun.elapsed() < share)) {
            let chains = (plan.chains - first).min(pace.size());
            let mine: Vec<&(Instruction, Init)> = members.iter().map(|&curve| &plan.curves[curve]).collect();
            let mut group = Group::new(shape, &mine, plan.scaling, plan.seed, first, chains as usize);
            for length in 1..=plan.length {
                interrupt::check()?;
                pace.measure(chains, || group.advance(device))?;
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
