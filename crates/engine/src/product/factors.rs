//! Operands of a matrix product: the matrices and their scales.

use std::borrow::Cow;

use super::{
    ElementPlace, Matrix, ProductShape, Schedule,
    epilogue::ElementAddends,
    schedule::{BiasEntry, CEntry, OperandRounding, ScaleBlocks},
};
use crate::{
    Error, Result,
    format::{Format, Overflow},
    tensor::{ConversionTarget, Tensor, convert},
};

/// The operands of a matrix product.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    /// A: rows of D by k.
    pub a: Matrix,
    /// B: k by columns of D.
    pub b: Matrix,
    /// C, as D.
    pub c: Option<Matrix>,
    /// The bias, added to every row: one row, as many columns as D.
    pub bias: Option<Matrix>,
    /// Scales of A: a code for each row and block of k, or f32 for each block of the schedule.
    pub scale_a: Option<Matrix>,
    /// Scales of B: for each block of k and column, or for each block of the schedule.
    pub scale_b: Option<Matrix>,
}

/// Rows and columns of the matrices of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    /// A.
    pub a: (usize, usize),
    /// B.
    pub b: (usize, usize),
    /// C, if there is one.
    pub c: Option<(usize, usize)>,
    /// The bias, if there is one.
    pub bias: Option<(usize, usize)>,
    /// A given D.
    pub d: Option<(usize, usize)>,
}

impl Extents {
    /// Refuses matrices that do not fit together.
    ///
    /// # Errors
    /// A request error: which matrix has what shape, and which one is expected.
    pub fn fit(&self) -> Result<()> {
        let words = |(rows, columns): (usize, usize)| format!("{rows} x {columns}");
        for (name, (rows, columns)) in [("A", self.a), ("B", self.b)] {
            if rows == 0 || columns == 0 {
                let shape = words((rows, columns));
                return Err(Error::request(format!("{name} is {shape}; there is nothing to multiply")));
            }
        }
        if self.b.0 != self.a.1 {
            return Err(Error::request(format!(
                "A is {} and B is {}: B needs as many rows as A has columns; ‹transpose_a› and ‹transpose_b› take stored transposes",
                words(self.a),
                words(self.b)
            )));
        }
        let product = (self.a.0, self.b.1);
        match self.d.filter(|d| *d != product) {
            Some(d) => Err(Error::request(format!(
                "D is {}, and A times B is {}: D is another product",
                words(d),
                words(product)
            ))),
            None => [("C", self.c, product), ("the bias", self.bias, (1, product.1))].into_iter().try_for_each(
                |(name, shape, wanted)| match shape.filter(|shape| *shape != wanted) {
                    Some(shape) => {
                        Err(Error::request(format!("{name} is {}; expected {}", words(shape), words(wanted))))
                    }
                    None => Ok(()),
                },
            ),
        }
    }
}

impl Factors {
    /// A and B alone.
    pub fn new(a: Matrix, b: Matrix) -> Factors {
        Factors { a, b, c: None, bias: None, scale_a: None, scale_b: None }
    }

    /// The given matrices by their names in files.
    pub fn named(&self) -> Vec<(&'static str, &Matrix)> {
        let Factors { a, b, c, bias, scale_a, scale_b } = self;
        let sometimes = [("c", c), ("bias", bias), ("scale_a", scale_a), ("scale_b", scale_b)];
        let sometimes = sometimes.into_iter().filter_map(|(name, matrix)| Some((name, matrix.as_ref()?)));
        [("a", a), ("b", b)].into_iter().chain(sometimes).collect()
    }

    /// The shape of the product.
    pub fn shape(&self) -> ProductShape {
        ProductShape { m: self.a.rows, n: self.b.columns, k: self.a.columns }
    }

    /// The terms of each sum.
    pub fn k(&self) -> usize {
        self.a.columns
    }

    /// The operands of some rows and columns.
    pub fn chosen(&self, rows: &[usize], columns: &[usize], blocks: Option<&ScaleBlocks>) -> Factors {
        let all = |matrix: &Matrix| ((0..matrix.rows).collect::<Vec<_>>(), (0..matrix.columns).collect::<Vec<_>>());
        let [row_block, column_block] = blocks.map_or([1, 1], |blocks| [blocks.a[0], blocks.b[1]]);
        let scale_rows: Vec<usize> = rows.iter().map(|row| row / row_block).collect();
        let scale_columns: Vec<usize> = columns.iter().map(|column| column / column_block).collect();
        Factors {
            a: self.a.chosen(rows, &all(&self.a).1),
            b: self.b.chosen(&all(&self.b).0, columns),
            c: self.c.as_ref().map(|c| c.chosen(rows, columns)),
            bias: self.bias.as_ref().map(|bias| bias.chosen(&[0], columns)),
            scale_a: self.scale_a.as_ref().map(|scales| scales.chosen(&scale_rows, &all(scales).1)),
            scale_b: self.scale_b.as_ref().map(|scales| scales.chosen(&all(scales).0, &scale_columns)),
        }
    }

    /// The operands in the formats of the schedule's instruction, rounded as the schedule says.
    ///
    /// # Errors
    /// A request error: a value without a code in the instruction's format.
    pub fn rounded(&self, schedule: &Schedule) -> Result<Cow<'_, Factors>> {
        let Some(operands) = schedule.operands else { return Ok(Cow::Borrowed(self)) };
        let i = &schedule.instruction;
        let one = |name: &str, matrix: &Matrix, to: &'static Format| -> Result<Matrix> {
            if matrix.format == to {
                return Ok(matrix.clone());
            }
            let target =
                ConversionTarget::Scalar { format: to, rounding: operands.rounding, overflow: Overflow::Standard };
            let given = Tensor::Scalar(matrix.format, matrix.codes.clone());
            match convert(&given, 1, &target).map_err(|error| error.within(name))?.0 {
                Tensor::Scalar(_, codes) => Ok(Matrix { format: to, codes, ..*matrix }),
                Tensor::Blocks(_) => unreachable!("the target is no block format"),
            }
        };
        Ok(Cow::Owned(Factors { a: one("A", &self.a, i.a)?, b: one("B", &self.b, i.b)?, ..self.clone() }))
    }

    /// Refuses matrices A, B, C and a bias that do not fit together.
    ///
    /// # Errors
    /// A request error: which matrix has what shape, and which one is expected.
    pub fn fit(&self) -> Result<()> {
        self.extents().fit()
    }

    /// The shapes of the matrices.
    pub fn extents(&self) -> Extents {
        let extent = |matrix: &Matrix| (matrix.rows, matrix.columns);
        let [c, bias] = [&self.c, &self.bias].map(|matrix| matrix.as_ref().map(extent));
        Extents { a: extent(&self.a), b: extent(&self.b), c, bias, d: None }
    }

    /// Refuses matrices that do not fit together, or not the schedule.
    ///
    /// # Errors
    /// A request error: which matrix has what shape or format, and which one is expected.
    pub fn check(&self, schedule: &Schedule) -> Result<()> {
        self.fit()?;
        let i = &schedule.instruction;
        let (m, n, k) = (self.a.rows, self.b.columns, self.a.columns);
        let expected = |matrix: &Matrix, wanted: &'static Format| match schedule.operands {
            Some(OperandRounding { format, .. }) if matrix.format == format => format,
            _ => wanted,
        };
        fits("A", &self.a, m, k, Some(expected(&self.a, i.a)))?;
        fits("B", &self.b, k, n, Some(expected(&self.b, i.b)))?;
        if let Some(c) = &self.c {
            fits("C", c, m, n, (schedule.c == CEntry::Start).then_some(i.c))?;
            if c.format.is_integer() != i.d.is_integer() {
                return Err(Error::request(format!("C holds {}, and the sums of {i} are {}", c.format, i.d)));
            }
        }
        if let Some(bias) = &self.bias {
            fits("the bias", bias, 1, n, (schedule.bias == BiasEntry::Start).then_some(i.c))?;
            if bias.format.is_integer() != i.d.is_integer() {
                return Err(Error::request(format!("the bias holds {}, and the sums of {i} are {}", bias.format, i.d)));
            }
        }
        let given = self.scale_a.is_some() || self.scale_b.is_some();
        match (i.scale, &schedule.scales) {
            (Some(_), Some(_)) => {
                Err(Error::request(format!("{i} has block scales of its own; remove [scales] from the schedule")))
            }
            (Some(scale), None) => {
                self.has_scales()?;
                let blocks = k.div_ceil(scale.block);
                let scales = |matrix: &Option<Matrix>, name, rows, columns| match matrix {
                    Some(matrix) => fits(name, matrix, rows, columns, Some(scale.format)),
                    None => Ok(()),
                };
                scales(&self.scale_a, "the scales of A", m, blocks)?;
                scales(&self.scale_b, "the scales of B", blocks, n)
            }
            (None, Some(blocks)) => {
                self.has_scales()?;
                let single = crate::format::find("f32")?;
                let scales = |matrix: &Option<Matrix>, name, rows, columns| match matrix {
                    Some(matrix) => fits(name, matrix, rows, columns, Some(single)),
                    None => Ok(()),
                };
                scales(&self.scale_a, "the scales of A", m.div_ceil(blocks.a[0]), k.div_ceil(blocks.a[1]))?;
                scales(&self.scale_b, "the scales of B", k.div_ceil(blocks.b[0]), n.div_ceil(blocks.b[1]))
            }
            (None, None) if given => Err(Error::request(format!(
                "{i} has no block scales; add [scales] to the schedule, which say what elements share one"
            ))),
            (None, None) => Ok(()),
        }
    }

    /// The scales of A and B outside the unit, of an element's terms at a k.
    pub(super) fn scales_at(
        &self,
        schedule: &Schedule,
        ElementPlace { row, column }: ElementPlace,
        k: usize,
    ) -> Option<[f64; 2]> {
        let blocks = schedule.scales.as_ref()?;
        let a = self.scale_a.as_ref()?.value(row / blocks.a[0], k / blocks.a[1]);
        let b = self.scale_b.as_ref()?.value(k / blocks.b[0], column / blocks.b[1]);
        Some([a, b])
    }

    /// The scales and addends of an element outside the unit, with this beta.
    pub(super) fn addends(
        &self,
        schedule: &Schedule,
        beta: f64,
        ElementPlace { row, column }: ElementPlace,
    ) -> ElementAddends {
        let at_end = schedule.scales.is_some_and(|scales| scales.multiply.is_at_end());
        let c = self.c.as_ref().filter(|_| schedule.c != CEntry::Start && beta != 0.0);
        let bias = self.bias.as_ref().filter(|_| schedule.bias != BiasEntry::Start);
        ElementAddends {
            scales: if at_end { self.scales_at(schedule, ElementPlace { row, column }, 0) } else { None },
            c: c.map(|c| c.value(row, column)),
            bias: bias.map(|bias| bias.value(0, column)),
        }
    }

    /// Refuses a product that needs scales and has none.
    pub(super) fn has_scales(&self) -> Result<()> {
        match (&self.scale_a, &self.scale_b) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err(Error::request("the schedule has block scales; give them with ‹scale_a› and ‹scale_b›")),
        }
    }
}

/// Refuses a matrix of another shape or format.
fn fits(name: &str, matrix: &Matrix, rows: usize, columns: usize, format: Option<&'static Format>) -> Result<()> {
    if (matrix.rows, matrix.columns) != (rows, columns) {
        return Err(Error::request(format!("{name} is {}; expected {rows} x {columns}", matrix.shape())));
    }
    match format.filter(|format| *format != matrix.format) {
        Some(format) => {
            Err(Error::request(format!("{name} holds {}, and the instruction takes {format}", matrix.format)))
        }
        None => Ok(()),
    }
}
