//! Matrix products made of instructions, bit for bit: schedules, and the one way to follow them.
//!
//! A [`Schedule`] says how a product is made: by which instruction, in what order along k, split into how many parts and how those are
//! joined, promoted to a second register how often, and rounded to what. It is data, a small TOML file. [`Product::of`] follows it on
//! any device.
//!
//! ```
//! use tcnum_engine::{device::ModelDevice, isa, product::{Factors, Matrix, Product, Schedule}};
//! # fn main() -> tcnum_engine::Result<()> {
//! let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32")?)?;
//! let half = schedule.instruction.a;
//! let ones = Matrix::of_values(2, 40, half, &[0x3c00; 80]); // 2 x 40 times 40 x 2
//! let factors = Factors::new(ones.clone(), ones.transposed());
//! let mut device = ModelDevice::open("hopper")?;
//! let d = Product::of(&mut device, &schedule, &factors)?.d;
//! assert_eq!(d.codes.iter().map(|code| f32::from_bits(code as u32)).collect::<Vec<_>>(), [40.0; 4]);
//! # Ok(())
//! # }
//! ```

mod aspects;
pub mod bound;
mod captures;
mod compute;
mod computed;
mod differences;
mod drawn;
mod epilogue;
mod executor;
mod factors;
mod file;
pub mod kernel;
mod libraries;
mod matrix;
mod numbers;
mod operands;
mod plain;
mod plan;
mod read;
pub mod reference;
mod register;
mod replay;
mod sample;
mod schedule;
pub mod search;
mod shipped;
mod smallest;
mod source;

pub use crate::device::ProductShape;
pub use aspects::{Aspect, AspectWords};
pub use captures::{Capture, Captures};
pub use compute::{StepSum, compute, steps};
pub use computed::{Product, ReadMatrix, computing, usual_device};
pub use differences::{Differences, ProductComparisonRow, places};
pub use drawn::{Values, draw};
pub use executor::Executor;
pub use factors::{Extents, Factors};
pub use file::instruction;
pub use libraries::{LibrarySchedules, Prediction};
pub use matrix::{ElementPlace, Matrix};
pub use numbers::NumberMatrix;
pub use operands::ProductOperands;
pub use plain::{BlockTree, LaneRest, PlainLanes, PlainSum, ProductRounding};
pub use plan::{Run, Walk};
pub use read::{ArrayFile, Conversion, writable, write, write_batch, write_named};
pub use replay::{CudaReplay, ModelReplay, Replay, fastest};
pub use sample::Sample;
pub use schedule::{
    AccumulatorJoin, Accumulators, BiasEntry, CEntry, KOrder, OperandRounding, OutputRounding, PartJoin, PartTerms,
    Residue, ScaleBlocks, ScaleUse, Schedule, SplitK,
};
pub use smallest::Smallest;
pub use smallest::smallest;
pub use source::with_library;
pub use source::{DrawnOperands, OperandSource};
