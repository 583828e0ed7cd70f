//! What there is, in tables: formats and block formats, codes, a published table beside ours; the rules of models; instructions;
//! devices.

mod blocks;
mod codes;
mod devices;
mod instructions;
mod models;
mod published;
mod records;

pub use blocks::{BlockRow, blocks};
pub use codes::{CodeRow, Landmark, codes, landmarks};
pub use devices::{GpuRow, SimulatedRow, Spelling, devices};
pub use instructions::{MatrixRow, ScalarRow, instructions};
pub use models::{
    EvidenceRow, KeyRow, ModelRow, NodeKeyRow, ProgramRow, RuleRow, keys, model, models, node_keys, programs,
};
pub use published::{PublishedCell, published};
pub use records::{Detail, FormatRecord, records};
