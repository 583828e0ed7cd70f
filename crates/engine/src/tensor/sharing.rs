//! Values that share a scale.

use crate::format::block::BlockFormat;

/// Values of a matrix that share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// All values, or all of a matrix where several are stacked.
    Tensor,
    /// Values of a row.
    Row,
    /// Values of a block of so many rows and columns.
    Block(usize, usize),
}

impl std::fmt::Display for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sharing::Tensor => f.pad("tensor"),
            Sharing::Row => f.pad("row"),
            Sharing::Block(rows, columns) => f.pad(&format!("{rows}x{columns}")),
        }
    }
}

/// The matrices that a tensor's last two dimensions make up; a vector is one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrices {
    /// Number of matrices.
    pub count: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
}

impl Matrices {
    /// The matrices of a shape.
    pub fn of(shape: &[usize]) -> Matrices {
        match shape {
            [] => Matrices { count: 1, rows: 1, columns: 1 },
            [columns] => Matrices { count: 1, rows: 1, columns: *columns },
            [leading @ .., rows, columns] => {
                Matrices { count: leading.iter().product(), rows: *rows, columns: *columns }
            }
        }
    }
}

impl Sharing {
    /// Reads `tensor`, `row` or `ROWSxCOLUMNS`.
    pub fn parse(text: &str) -> Option<Sharing> {
        match text {
            "tensor" => Some(Sharing::Tensor),
            "row" => Some(Sharing::Row),
            _ => {
                let (rows, columns) = text.split_once('x')?;
                let extent = |text: &str| text.parse::<usize>().ok().filter(|extent| (1..=1 << 20).contains(extent));
                Some(Sharing::Block(extent(rows)?, extent(columns)?))
            }
        }
    }

    /// Reads the metadata of `tcnum convert`: as [`Sharing::parse`], or the elements of a block.
    pub fn of_metadata(text: &str) -> Option<Sharing> {
        Sharing::parse(text).or_else(|| Sharing::parse(&format!("1x{text}")))
    }

    /// Sharing of the scales of blocks; an extent of [`BlockFormat::WHOLE`] is all of a row or a tensor.
    pub(crate) fn of_blocks(rows: usize, length: usize) -> Sharing {
        match (rows, length) {
            (BlockFormat::WHOLE, BlockFormat::WHOLE) => Sharing::Tensor,
            (1, BlockFormat::WHOLE) => Sharing::Row,
            (rows, length) => Sharing::Block(rows, length),
        }
    }

    /// Rows and length of the blocks: the inverse of `Sharing::of_blocks`.
    pub fn blocks(self) -> (usize, usize) {
        match self {
            Sharing::Tensor => (BlockFormat::WHOLE, BlockFormat::WHOLE),
            Sharing::Row => (1, BlockFormat::WHOLE),
            Sharing::Block(rows, length) => (rows, length),
        }
    }

    /// Rows and columns of the scales of one matrix.
    pub(crate) fn grid(self, of: Matrices) -> (usize, usize) {
        match self {
            Sharing::Tensor => (1, 1),
            Sharing::Row => (of.rows, 1),
            Sharing::Block(rows, columns) => (of.rows.div_ceil(rows), of.columns.div_ceil(columns)),
        }
    }

    /// Rows and columns that share a scale.
    pub fn extents(self, of: Matrices) -> (usize, usize) {
        match self {
            Sharing::Tensor => (of.rows.max(1), of.columns.max(1)),
            Sharing::Row => (1, of.columns.max(1)),
            Sharing::Block(rows, columns) => (rows, columns),
        }
    }

    /// The sharings that scales of this shape can have, the likeliest first.
    pub(crate) fn inferred(of: Matrices, values: &[usize], scales: &[usize]) -> Vec<Sharing> {
        let count: usize = scales.iter().product();
        if count == 1 || (of.count > 1 && count == of.count && of.rows > 1) {
            return vec![Sharing::Tensor];
        }
        let [.., rows, columns] = *scales else {
            return if count == of.rows && of.count == 1 { vec![Sharing::Row] } else { Vec::new() };
        };
        if scales.len() != values.len() {
            return if count == of.count * of.rows && columns == of.rows { vec![Sharing::Row] } else { Vec::new() };
        }
        if scales[..scales.len() - 2] != values[..values.len() - 2] {
            return Vec::new();
        }
        if (rows, columns) == (of.rows, 1) {
            return vec![Sharing::Row];
        }
        let (rows, columns) = (extents(of.rows, rows), extents(of.columns, columns));
        rows.iter().flat_map(|rows| columns.iter().map(|columns| Sharing::Block(*rows, *columns))).collect()
    }
}

/// Extents of blocks of which `parts` cover `extent`: a power of two, else equal parts.
fn extents(extent: usize, parts: usize) -> Vec<usize> {
    if parts == extent {
        return vec![1];
    }
    if parts == 1 {
        return vec![extent.max(1)];
    }
    if parts == 0 || parts > extent {
        return Vec::new();
    }
    let power =
        (0..usize::BITS - 1).map(|exponent| 1usize << exponent).find(|length| extent.div_ceil(*length) == parts);
    let equal = Some(extent / parts).filter(|_| extent.is_multiple_of(parts));
    let mut lengths: Vec<usize> = power.into_iter().chain(equal).collect();
    lengths.dedup();
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(values: &[usize], scales: &[usize]) -> Vec<Sharing> {
        Sharing::inferred(Matrices::of(values), values, scales)
    }

    #[test]
    fn blocks_and_their_sharing_name_each_other() {
        for sharing in [Sharing::Tensor, Sharing::Row, Sharing::Block(1, 32), Sharing::Block(128, 128)] {
            let (rows, length) = sharing.blocks();
            assert_eq!(Sharing::of_blocks(rows, length), sharing);
            assert_eq!(Sharing::parse(&sharing.to_string()), Some(sharing));
        }
    }

    #[test]
    fn the_shape_of_scales_says_what_they_belong_to() {
        assert_eq!(inferred(&[64, 256], &[]), [Sharing::Tensor]);
        assert_eq!(inferred(&[64, 256], &[1, 1]), [Sharing::Tensor]);
        assert_eq!(inferred(&[64, 256], &[64]), [Sharing::Row]);
        assert_eq!(inferred(&[64, 256], &[64, 1]), [Sharing::Row]);
        assert_eq!(inferred(&[64, 256], &[64, 2]), [Sharing::Block(1, 128)]);
        assert_eq!(inferred(&[576, 7168], &[5, 56]), [Sharing::Block(128, 128)]);
        assert_eq!(inferred(&[8, 64, 256], &[8]), [Sharing::Tensor]);
        assert_eq!(inferred(&[8, 64, 256], &[8, 64, 8]), [Sharing::Block(1, 32)]);
        // Two blocks of 48 can be 24 and 24, or 32 and 16.
        assert_eq!(inferred(&[4, 48], &[4, 2]), [Sharing::Block(1, 32), Sharing::Block(1, 24)]);
        assert_eq!(inferred(&[64, 256], &[32, 7, 2]), []);
        assert_eq!(inferred(&[64, 256], &[64, 300]), []);
    }
}
