//! Tables of formats, block formats, codes, a published table, models, instructions and devices.

pub(crate) mod arithmetic;
#[cfg(feature = "cli")]
mod blocks;
#[cfg(feature = "cli")]
mod codes;
#[cfg(feature = "cli")]
mod devices;
#[cfg(feature = "cli")]
mod instructions;
#[cfg(feature = "cli")]
mod models;
#[cfg(feature = "cli")]
mod published;
#[cfg(feature = "cli")]
mod records;

#[cfg(feature = "cli")]
pub(crate) use blocks::{BlockRow, answer as answer_of_blocks, blocks};
#[cfg(feature = "cli")]
pub(crate) use codes::{CodeRow, Landmark, codes, landmarks};
#[cfg(feature = "cli")]
pub(crate) use devices::{AbsentUnitRow, GpuRow, ProcessorRow, SimulatedRow, Spelling, devices};
#[cfg(feature = "cli")]
pub(crate) use instructions::{MatrixRow, ScalarRow, instructions};
#[cfg(feature = "cli")]
pub(crate) use models::{
    EvidenceRow, KeyRow, ModelRow, NodeKeyRow, ProgramRow, RuleRow, answer_of_keys, answer_of_model, answer_of_models,
    answer_of_programs, evidence_for, keys, model, models, node_keys, programs,
};
#[cfg(feature = "cli")]
pub(crate) use published::{PublishedCell, published};
#[cfg(feature = "cli")]
pub(crate) use records::{Detail, FormatRecord, answer as answer_of_format, answer_of_list, records};
