//! Tensors: from files and arrays over pieces to values, conversions and losses.
//!
//! A [`FileContent`] says what the arrays of a file hold. The tensors of a file are read in pieces that cut no block, in bounded memory.
//! A [`Tensor`] is such a piece, or a tensor as a whole; [`convert`] gives it another format and its [`Deviations`].
//! [`Losses`] is the account of what values lose, for conversions, quantisations and comparisons.
//! [`TensorChoice`] has the one rule of which arrays are weights.

mod choice;
mod coder;
mod content;
mod conversion;
mod converter;
mod deviations;
mod elements;
mod losses;
mod names;
mod partners;
mod pieces;
mod plan;
mod sharing;
mod source;
mod unsound;
mod value;
mod values;

pub use choice::{ArrayCounts, ChosenTensors, TensorChoice, flattened};
pub use choice::{ArrayRole, is_convolution};
pub use coder::{FormatDecoder, FormatEncoder};
pub use content::FileContent;
pub use conversion::refused_whole;
pub use conversion::{ConversionTarget, Tensor, convert, convert_with_seed, encode};
pub use converter::{BlockConverter, Missing, ScalarConverter};
pub use deviations::Deviations;
pub use deviations::TensorComparison;
pub use elements::ElementReader;
pub use losses::decibels;
pub use losses::{Energies, Losses};
pub use names::{ArrayNames, BlockBytes};
pub use partners::{fused_parts, partners};
pub use pieces::TensorPiece;
pub use pieces::{PieceGrid, Pieces, common_multiple};
pub use plan::{Plan, Recipe};
pub use sharing::Matrices;
pub use sharing::Sharing;
pub use source::{
    NamedArrays, ORIGINAL_SHAPE, SourceTensor, original_shape, refuse_incomplete, scale_shape, stored_scale,
};
pub use unsound::UnsoundValues;
pub use value::{Converted, ValueConversion, ValueRead, read};
pub use values::{TensorKind, ValueReader};
