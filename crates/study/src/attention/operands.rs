//! Operands of attention: queries, keys, values and the outputs, with their heads.

use std::ops::Range;

use crate::{Error, Result, array::Array, format::Format, isa::Codes, product::ArrayFile};

/// An array of heads: each a matrix, row by row.
#[derive(Debug, Clone)]
pub struct Heads {
    /// Extents before the last three: the batch.
    pub batch: Vec<usize>,
    /// Heads of each element of the batch.
    pub heads: usize,
    /// Rows of each head.
    pub rows: usize,
    /// Columns of each head.
    pub columns: usize,
    /// Format of the elements.
    pub format: &'static Format,
    /// All elements.
    pub values: Vec<f64>,
}

impl Heads {
    /// Reads an array of at least two dimensions: (batch ..., heads, rows, columns).
    ///
    /// `name` is the role of the array in messages; `codes` is the format of codes that a file does not name.
    ///
    /// # Errors
    /// A file that cannot be read; fewer dimensions; an extent of zero; elements that are no floating-point numbers.
    pub fn read(name: &str, file: &ArrayFile, codes: Option<&'static Format>) -> Result<Heads> {
        let array = file.array()?;
        Heads::of_array(&array, codes).map_err(|error| error.within(format!("{name} ({})", file.label())))
    }

    /// The heads in an array, as by [`Heads::read`].
    ///
    /// # Errors
    /// As [`Heads::read`].
    pub fn of_array(array: &Array, codes: Option<&'static Format>) -> Result<Heads> {
        let Some((&[rows, columns], leading)) = array.shape.split_last_chunk().map(|(rest, last)| (last, rest)) else {
            return Err(Error::request(format!(
                "the shape is {:?}; attention takes (batch ..., heads, rows, columns), at least two dimensions",
                array.shape
            )));
        };
        if array.shape.contains(&0) {
            return Err(Error::request(format!(
                "the shape is {:?}; an extent of 0 leaves nothing to check",
                array.shape
            )));
        }
        let codes = codes.filter(|_| matches!(array.kind, crate::array::Content::Unsigned(_)));
        let (format, codes) = array.codes(codes)?;
        if format.float().is_none() || format.bits > 64 {
            return Err(Error::request(format!("it holds {format}; attention takes floating-point numbers")));
        }
        let (batch, heads) = match leading.split_last() {
            Some((heads, batch)) => (batch.to_vec(), *heads),
            None => (Vec::new(), 1),
        };
        let values = decoded(format, &codes);
        Ok(Heads { batch, heads, rows, columns, format, values })
    }

    /// Number of all heads of all elements of the batch.
    pub fn count(&self) -> usize {
        self.batch.iter().product::<usize>() * self.heads
    }

    /// The elements of a head.
    pub fn head(&self, head: usize) -> &[f64] {
        let size = self.rows * self.columns;
        &self.values[head * size..(head + 1) * size]
    }

    /// Places of the elements of some rows of a head.
    pub(super) fn elements(&self, head: usize, rows: &Range<usize>) -> Range<usize> {
        let first = head * self.rows;
        (first + rows.start) * self.columns..(first + rows.end) * self.columns
    }

    /// A row of a head.
    pub fn row(&self, head: usize, row: usize) -> &[f64] {
        &self.head(head)[row * self.columns..(row + 1) * self.columns]
    }

    /// The shape as an array has it.
    fn shape(&self) -> String {
        let all: Vec<String> =
            self.batch.iter().chain([&self.heads, &self.rows, &self.columns]).map(ToString::to_string).collect();
        format!("({})", all.join(", "))
    }

    /// Refuses infinities and NaNs.
    fn finite(&self, name: &str) -> Result<()> {
        let Some(at) = self.values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let (row, column) = (at / self.columns, at % self.columns);
        Err(Error::request(format!(
            "{name} holds {} in head {}, row {}, column {}; attention of it has no exact value: give finite numbers",
            if self.values[at].is_nan() { "a NaN" } else { "an infinity" },
            row / self.rows,
            row % self.rows,
            column
        )))
    }
}

/// Values of codes; codes of few bits are decoded once.
fn decoded(format: &Format, codes: &Codes) -> Vec<f64> {
    if format.bits > 16 || codes.len() < 1 << format.bits {
        return codes.iter().map(|code| format.to_f64(code)).collect();
    }
    let table: Vec<f64> = (0..1u64 << format.bits).map(|code| format.to_f64(code)).collect();
    codes.iter().map(|code| table[(code & format.code_mask()) as usize]).collect()
}

/// Queries, keys and values, and the outputs that are checked.
#[derive(Debug, Clone)]
pub struct Operands {
    /// Queries: n_q rows of d columns.
    pub q: Heads,
    /// Keys: n_k rows of d columns; their heads may be fewer.
    pub k: Heads,
    /// Values: n_k rows.
    pub v: Heads,
    /// Outputs: n_q rows, as many columns as the values have.
    pub o: Heads,
}

impl Operands {
    /// Operands that fit each other.
    ///
    /// # Errors
    /// Shapes that do not fit; infinities and NaNs in Q, K or V.
    pub fn new(q: Heads, k: Heads, v: Heads, o: Heads) -> Result<Operands> {
        let unfit = |what: String| Err(Error::request(what));
        if q.columns != k.columns {
            return unfit(format!(
                "Q has the shape {} and K {}: their last extents, the columns of a head, must be equal",
                q.shape(),
                k.shape()
            ));
        }
        if (k.rows, k.heads) != (v.rows, v.heads) {
            return unfit(format!(
                "K has the shape {} and V {}: they must have the same heads and the same number of keys",
                k.shape(),
                v.shape()
            ));
        }
        if q.batch != k.batch || q.batch != v.batch {
            return unfit(format!(
                "Q has the shape {}, K {} and V {}: the extents before the last three must be equal",
                q.shape(),
                k.shape(),
                v.shape()
            ));
        }
        if !q.heads.is_multiple_of(k.heads) {
            return unfit(format!(
                "Q has {} heads and K {}: their ratio must be an integer, as Q has a multiple of the heads of K",
                q.heads, k.heads
            ));
        }
        let shape = Heads { columns: v.columns, values: Vec::new(), ..q.clone() };
        if (&o.batch, o.heads, o.rows, o.columns) != (&q.batch, q.heads, q.rows, v.columns) {
            return unfit(format!("O has the shape {}; Q, K and V make {}", o.shape(), shape.shape()));
        }
        for (name, heads) in [("Q", &q), ("K", &k), ("V", &v)] {
            heads.finite(name)?;
            if heads.format.name == "f64" {
                return unfit(format!(
                    "{name} is in f64, and a bound covers sums in f32; give {name} as the kernel reads it"
                ));
            }
        }
        Ok(Operands { q, k, v, o })
    }

    /// Head of K and V that belongs to a head of Q.
    pub fn key_head(&self, head: usize) -> usize {
        let (batch, local) = (head / self.q.heads, head % self.q.heads);
        batch * self.k.heads + local / (self.q.heads / self.k.heads)
    }

    /// Elements of O.
    pub fn elements(&self) -> usize {
        self.o.values.len()
    }
}

/// Properties of a format that bounds of its roundings depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounding {
    /// Largest relative error of a normal number: the unit roundoff.
    pub(super) unit: f64,
    /// Largest error of a subnormal number.
    pub(super) floor: f64,
    /// Smallest normal number.
    pub(super) smallest: f64,
    /// Largest number.
    pub(super) largest: f64,
}

impl Rounding {
    /// Rounding to nearest of a floating-point format.
    pub(super) fn of(format: &'static Format) -> Rounding {
        let unit = format.float().map_or(0.0, |float| (-f64::from(float.precision())).exp2());
        let smallest = format.to_f64(format.smallest_normal());
        Rounding { unit, floor: smallest * unit, smallest, largest: format.to_f64(format.largest(false)) }
    }
}
