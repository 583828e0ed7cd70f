//! Shared parts of verbs: options, files, instructions, progress, figures, checks.

pub(super) mod drawings;
pub(super) mod files;
pub(super) mod gates;
pub(super) mod named;
pub(super) mod options;
pub(super) mod progress;
pub(super) mod rounding;
pub(super) mod select;
pub(super) mod shared;
pub(super) mod spelling;
pub(super) mod verb;
