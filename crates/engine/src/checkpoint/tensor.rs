//! Tensors of a checkpoint.

use std::sync::Arc;

use super::{blocks::BlockParts, packing::Packing, plane::Plane};
use crate::{
    base::named::named,
    format::Format,
    tensor::{Matrices, PieceGrid, Sharing, TensorPiece},
};

/// Values of a piece, at most.
const PIECE: usize = 1 << 16;

named! {
    /// Effect of a global scale on values.
    pub enum GlobalScale {
        Multiplies = "multiplies": "a value is code * scale * global scale";
        Divides = "divides": "a value is code * scale / global scale";
    }
}

impl GlobalScale {
    /// The other direction.
    pub fn reversed(self) -> GlobalScale {
        match self {
            GlobalScale::Multiplies => GlobalScale::Divides,
            GlobalScale::Divides => GlobalScale::Multiplies,
        }
    }
}

/// Conventions by which the arrays of a tensor are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Places of the codes.
    pub packing: Packing,
    /// True if scales lie in tiles of 128 rows and 4 columns.
    pub swizzled: bool,
    /// Direction of the global scale, if there is one.
    pub global: Option<GlobalScale>,
}

/// A tensor of a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointTensor {
    /// Name.
    pub name: String,
    /// Extents of its values.
    pub shape: Vec<usize>,
    /// Extents by which rows and blocks are counted: those of a matrix, if a convolution was stored as one.
    pub read_shape: Vec<usize>,
    /// Names of the layouts by which it is read, all in the same way; empty for a plain array.
    pub layouts: Vec<String>,
    /// The source of the layout.
    pub named_by: &'static str,
    /// Names of its arrays.
    pub arrays: Vec<String>,
    /// Bytes of its arrays.
    pub bytes: u64,
    /// Doubts about its layout.
    pub doubts: Vec<String>,
    /// Content of its arrays.
    pub content: TensorContent,
}

/// Content of a tensor.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each tensor of a file")]
pub enum TensorContent {
    /// Single elements of the array of this number.
    Plain(usize),
    /// Codes and scales.
    Quantised(Quantised),
    /// A type that is listed and not decoded, and why.
    Opaque {
        /// The type.
        stored: String,
        /// Why it is not decoded.
        why: String,
    },
}

/// Codes with scales.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    /// Number of the array of the codes.
    pub(crate) codes: usize,
    /// Bytes of a row of it.
    pub(crate) row_bytes: usize,
    /// Format of the codes.
    pub format: &'static Format,
    /// Number that is subtracted from each code.
    pub offset: f64,
    /// Values are multiplied by two to this power.
    pub exponent: i32,
    /// Where its scales are.
    pub place: ScalePlace,
    /// Format of the scales.
    pub scale_format: &'static Format,
    /// True if scales have a sign by design.
    pub signed: bool,
    /// Elements that share a scale.
    pub sharing: Sharing,
    /// Number of scales in their array.
    pub(crate) scales: usize,
    /// Values of the global scale: one, or one for each matrix.
    pub global: Vec<f64>,
    /// Zero points.
    pub(crate) zero: Option<ZeroPoints>,
    /// Place of codes that do not lie in rows of the tensor.
    pub(crate) code_plane: Option<Plane>,
    /// Place of scales in an array of their own.
    pub(crate) scale_plane: Option<Plane>,
    /// Values of the codes, if the file has them.
    pub values: Option<Vec<f64>>,
    /// Number that multiplies values, rounded to `f32`, at last.
    pub(crate) factor: Option<f32>,
    /// Number of the array with the group of each column.
    pub(crate) index: Option<usize>,
    /// Scales of the scales.
    pub(crate) nested: Option<NestedScales>,
    /// True if scales begin again with every so many values of the tensor as there are scales.
    pub(crate) strided: bool,
    /// Its conventions, as the layout says.
    pub reading: Reading,
    /// True if the shape allows scales in rows and in tiles.
    pub either_order: bool,
}

/// Zero points: one for each scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ZeroPoints {
    pub(crate) format: &'static Format,
    /// True if they are added after the scale multiplies.
    pub(crate) added: bool,
    pub(crate) offset: f64,
    /// Added in another version of the layout.
    pub(crate) other_offset: Option<f64>,
    pub(crate) plane: Plane,
}

/// Scales of scales, whose codes are places in a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NestedScales {
    pub(crate) values: Vec<f64>,
    pub(crate) scales: Vec<f64>,
    /// Scales that share a scale.
    pub(crate) block: usize,
    pub(crate) offset: f32,
}

impl NestedScales {
    /// The scale of this number with this code; each step is rounded to `f32`.
    pub(crate) fn value(&self, number: usize, code: f64) -> f64 {
        let (value, scale) = (self.values.get(code as usize), self.scales.get(number / self.block.max(1)));
        match (value, scale) {
            (Some(value), Some(scale)) => f64::from((value * scale) as f32 + self.offset),
            _ => f64::NAN,
        }
    }
}

/// Where scales are.
#[derive(Debug, Clone, PartialEq)]
pub enum ScalePlace {
    /// In the array of this number.
    Array(usize),
    /// In blocks with the codes.
    Inside(Arc<BlockParts>),
}

impl Quantised {
    /// Values of the codes, before scales.
    pub fn code_values(&self) -> Vec<f64> {
        if let Some(values) = &self.values {
            return values.clone();
        }
        let factor = 2f64.powi(self.exponent);
        (0..=self.format.code_mask()).map(|code| (self.format.to_f64(code) + self.offset) * factor).collect()
    }

    /// The formats of the scales in words: that of the scales of scales after it.
    pub fn scale_words(&self) -> String {
        let name = self.scale_format.name;
        match &self.place {
            ScalePlace::Inside(block) if block.scale.at.is_some() && block.scale.parts.is_some() => {
                format!("{name} of {}", block.scale.format)
            }
            _ if self.nested.is_some() => format!("{name} of f32"),
            _ => name.to_string(),
        }
    }

    /// Codes of a block that has its scales inside.
    pub fn block_length(&self) -> Option<usize> {
        match &self.place {
            ScalePlace::Inside(block) => Some(block.length),
            ScalePlace::Array(_) => None,
        }
    }

    /// True if codes can lie in several orders that the same bytes allow.
    pub fn has_orders(&self) -> bool {
        let one_field = match &self.place {
            ScalePlace::Inside(block) => block.high.is_none(),
            ScalePlace::Array(_) => true,
        };
        let named = matches!(self.reading.packing, Packing::Single | Packing::Ordered(_) | Packing::TensorParts);
        self.format.bits == 4 && one_field && !named && self.code_plane.is_none()
    }

    /// Distance of the zero points of another version of the layout from its own.
    pub fn other_zero_points(&self) -> Option<f64> {
        self.zero.as_ref().and_then(|zero| Some(zero.other_offset? - zero.offset))
    }

    /// True if it has zero points.
    pub fn has_zero_points(&self) -> bool {
        self.zero.is_some()
    }
}

/// Scales of a piece: for each row, those of the blocks that its columns touch.
pub struct PieceScales {
    pub values: Vec<f64>,
    /// Scales of a row.
    pub(crate) each: usize,
    /// Columns that share a scale.
    pub(crate) width: usize,
}

impl CheckpointTensor {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Conventions by which it is read; `None` for a plain array.
    pub fn reading(&self) -> Option<Reading> {
        self.quantised().map(|quantised| quantised.reading)
    }

    /// True if its values can be read.
    pub fn is_decoded(&self) -> bool {
        !matches!(self.content, TensorContent::Opaque { .. })
    }

    /// Multiple of columns at which a piece of a row may begin and end, besides the end of the row.
    pub(crate) fn alignment(&self) -> usize {
        let Some(quantised) = self.quantised() else { return 1 };
        match (&quantised.place, quantised.reading.packing) {
            (ScalePlace::Inside(block), _) => block.length,
            (_, Packing::Halves(run)) => run,
            // Eight codes fill whole bytes.
            _ => 8,
        }
    }

    /// Its codes and scales; `None` where it has none.
    pub fn quantised(&self) -> Option<&Quantised> {
        match &self.content {
            TensorContent::Quantised(quantised) => Some(quantised),
            _ => None,
        }
    }

    /// Pieces of bounded size that make up the tensor.
    pub fn pieces(&self) -> impl Iterator<Item = TensorPiece> + use<> {
        let of = Matrices::of(&self.read_shape);
        let (rows, columns) = (of.count * of.rows, of.columns);
        let (high, wide) = if columns <= PIECE { (PIECE / columns.max(1), columns) } else { (1, PIECE) };
        PieceGrid { rows, columns, matrix: rows, high, wide }.pieces()
    }
}
