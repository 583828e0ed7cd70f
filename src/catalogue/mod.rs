//! Tables of formats, block formats, codes, a published table, models, instructions and devices.

pub(crate) mod arithmetic;
mod blocks;
mod codes;
mod devices;
mod instructions;
mod models;
mod published;
mod records;

pub(crate) use blocks::{BlockRow, answer as answer_of_blocks, blocks};
pub(crate) use codes::{CodeRow, Landmark, codes, landmarks};
pub(crate) use devices::{AbsentUnitRow, GpuRow, ProcessorRow, SimulatedRow, Spelling, devices};
pub(crate) use instructions::{MatrixRow, ScalarRow, instructions};
pub(crate) use models::{
    EvidenceRow, KeyRow, ModelRow, NodeKeyRow, ProgramRow, RuleRow, answer_of_keys, answer_of_model, answer_of_models,
    answer_of_programs, evidence_for, keys, model, models, node_keys, programs,
};
pub(crate) use published::{PublishedCell, published};
pub(crate) use records::{Detail, FormatRecord, answer as answer_of_format, answer_of_list, records};
