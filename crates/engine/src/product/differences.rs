//! Places where two matrices differ, and what they have in common.

use std::collections::BTreeSet;

use super::Matrix;
use crate::{Error, Result, exact, format::Format};

crate::rows! {
    /// D compared with another matrix in every bit.
    pub struct ProductComparisonRow in "product_comparison" {
        /// The other matrix.
        file: String => shown("compared with").essential(),
        /// Elements.
        elements: usize => shown("elements").essential(),
        /// Elements that are equal in every bit.
        equal: usize => shown("equal").essential(),
        /// Elements that differ.
        differing: usize => shown("differ").essential(),
        /// Largest distance, in numbers of the format.
        ulps: Option<u64> => shown("max ulps").if_filled().essential(),
        /// Row of the first element that differs.
        row: Option<usize> => shown("first: row").if_filled(),
        /// Its column.
        column: Option<usize> => shown("column").if_filled().beside(),
        /// Its code in D.
        d: Option<String> => shown("D").if_filled().beside(),
        /// Its code in the other matrix.
        other: Option<String> => shown("other").if_filled().beside(),
        /// Rows with a difference.
        rows: usize => hidden(),
        /// The rows with a difference.
        which_rows: Option<String> => shown("rows").if_filled().essential(),
        /// Columns with a difference.
        columns: usize => hidden(),
        /// The columns with a difference.
        which_columns: Option<String> => shown("columns").if_filled().essential(),
        /// Tiles of 64 x 64 with a difference.
        tiles: usize => shown("tiles of 64 x 64"),
    }
}

/// Side of the tiles in which differences are counted: tiles of many kernels are multiples.
const TILES: [usize; 2] = [64, 64];

/// Comparison of two matrices in every bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// Elements.
    pub elements: usize,
    /// Elements that differ.
    pub differing: usize,
    /// The first difference, row by row: row, column and both codes.
    pub first: Option<(usize, usize, [u64; 2])>,
    /// Largest distance, in numbers of the format; `None` if every difference has an infinity or a NaN.
    pub ulps: Option<u64>,
    /// Rows with a difference.
    pub rows: BTreeSet<usize>,
    /// Columns with a difference.
    pub columns: BTreeSet<usize>,
    /// Tiles of 64 x 64 with a difference, by row and column of tiles.
    pub tiles: BTreeSet<(usize, usize)>,
}

impl Differences {
    /// The differences as a row, beside the matrix of a file.
    pub fn row(&self, file: String, format: &Format) -> ProductComparisonRow {
        let code = |which: usize| self.first.map(|(_, _, codes)| format.hex(codes[which]));
        let filled = |numbers| Some(places(numbers)).filter(|words| !words.is_empty());
        ProductComparisonRow {
            file,
            elements: self.elements,
            equal: self.elements - self.differing,
            differing: self.differing,
            ulps: self.ulps,
            row: self.first.map(|first| first.0),
            column: self.first.map(|first| first.1),
            d: code(0),
            other: code(1),
            rows: self.rows.len(),
            which_rows: filled(&self.rows),
            columns: self.columns.len(),
            which_columns: filled(&self.columns),
            tiles: self.tiles.len(),
        }
    }

    /// Compares two matrices of one shape and format.
    ///
    /// # Errors
    /// Matrices of other shapes or formats.
    pub fn between(d: &Matrix, other: &Matrix) -> Result<Differences> {
        if (d.rows, d.columns, d.format) != (other.rows, other.columns, other.format) {
            return Err(Error::request(format!(
                "it is {} of {}, and D is {} of {}: only matrices of one shape and format are compared",
                other.shape(),
                other.format,
                d.shape(),
                d.format
            )));
        }
        let mut differences = Differences {
            elements: d.codes.len(),
            differing: 0,
            first: None,
            ulps: None,
            rows: BTreeSet::new(),
            columns: BTreeSet::new(),
            tiles: BTreeSet::new(),
        };
        for (at, (x, y)) in d.codes.iter().zip(other.codes.iter()).enumerate().filter(|(_, (x, y))| x != y) {
            let (row, column) = (at / d.columns, at % d.columns);
            differences.differing += 1;
            differences.first.get_or_insert((row, column, [x, y]));
            differences.ulps = differences.ulps.max(exact::distance(d.format, x, y));
            differences.rows.insert(row);
            differences.columns.insert(column);
            differences.tiles.insert((row / TILES[0], column / TILES[1]));
        }
        Ok(differences)
    }
}

/// Numbers in words: ranges, and those with a common step; at most a dozen.
pub fn places(numbers: &BTreeSet<usize>) -> String {
    const MOST: usize = 12;
    let numbers: Vec<usize> = numbers.iter().copied().collect();
    if let [first, second, .., last] = numbers[..]
        && second - first > 1
        && numbers.len() > 3
        && numbers.windows(2).all(|pair| pair[1] - pair[0] == second - first)
    {
        return format!("{first}, {second}, ..., {last}");
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == number => *to = number,
            _ => ranges.push((number, number)),
        }
    }
    let word = |(from, to): &(usize, usize)| if from == to { from.to_string() } else { format!("{from}..{to}") };
    let more = ranges.len().saturating_sub(MOST);
    let mut words: Vec<String> = ranges.iter().take(MOST).map(word).collect();
    words.extend((more > 0).then(|| format!("and {more} more")));
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    #[test]
    fn places_are_named_shortly() {
        let of = |numbers: &[usize]| places(&numbers.iter().copied().collect());
        assert_eq!(of(&[0, 1, 2, 3, 9]), "0..3, 9");
        assert_eq!(of(&[1, 5, 9, 13]), "1, 5, ..., 13");
        assert_eq!(of(&[4]), "4");
        let squares: Vec<usize> = (0..20).map(|x| x * x).collect();
        assert!(of(&squares).ends_with("and 7 more"), "{}", of(&squares));
    }

    #[test]
    fn each_place_that_differs_is_counted_once() {
        let half = find("f16").unwrap();
        let zeros = Matrix::of_values(70, 2, half, &[0; 140]);
        let mut other = zeros.clone();
        other.codes.set(3, 1);
        other.codes.set(131, 5);
        other.codes.set(130, 0x7c00);
        let differences = Differences::between(&zeros, &other).unwrap();
        assert_eq!((differences.differing, differences.first, differences.ulps), (3, Some((1, 1, [0, 1])), Some(5)));
        assert_eq!((differences.rows.len(), differences.columns.len(), differences.tiles.len()), (2, 2, 2));
        let wrong = Differences::between(&zeros, &zeros.transposed()).unwrap_err();
        assert!(wrong.to_string().contains("2 x 70"), "{wrong}");
    }
}
