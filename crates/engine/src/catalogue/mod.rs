//! Tables of formats, block formats, codes, a published table, models, instructions and devices.

pub mod arithmetic;
#[cfg(feature = "figures")]
mod blocks;
#[cfg(feature = "figures")]
mod codes;
#[cfg(feature = "figures")]
pub mod conversions;
#[cfg(feature = "figures")]
mod devices;
#[cfg(feature = "figures")]
mod disclosures;
#[cfg(feature = "figures")]
mod instructions;
#[cfg(feature = "figures")]
mod models;
#[cfg(feature = "figures")]
mod published;
#[cfg(feature = "figures")]
mod records;

#[cfg(feature = "figures")]
pub use blocks::{BlockRow, answer as answer_of_blocks, blocks};
#[cfg(feature = "figures")]
pub use codes::{CodeRow, Landmark, codes, landmarks};
#[cfg(feature = "figures")]
pub use devices::{AbsentUnitRow, GpuRow, ProcessorRow, SimulatedRow, Spelling, devices};
#[cfg(feature = "figures")]
pub use disclosures::{DisclosureRow, of_model as disclosure_of};
#[cfg(feature = "figures")]
pub use instructions::{MatrixRow, ScalarRow, instructions};
#[cfg(feature = "figures")]
pub use models::{
    EvidenceRow, KeyRow, ModelRow, NodeKeyRow, ProgramRow, RuleRow, answer_of_keys, answer_of_model, answer_of_models,
    answer_of_programs, evidence_for, keys, model, models, node_keys, programs,
};
#[cfg(feature = "figures")]
pub use published::{PublishedCell, published};
#[cfg(feature = "figures")]
pub use records::{Detail, FormatRecord, answer as answer_of_format, answer_of_list, records};
