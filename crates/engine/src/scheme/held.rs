//! Elements of operands that a scheme cannot hold, found before anything is multiplied.

use std::fmt;

use super::{Fallback, OperandSplit, Scheme, split::SplitMatrix};
use crate::{
    Result,
    base::interrupt,
    product::{NumberMatrix, ProductOperands},
};

/// Elements between two looks at signals.
const LOOK: usize = 1 << 16;

/// Elements of an operand that the parts of a scheme do not stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct OperandLoss {
    /// The scheme.
    pub scheme: String,
    /// `A` or `B`.
    pub matrix: &'static str,
    /// The product of a batch, from 0.
    pub product: Option<usize>,
    /// The elements.
    pub kind: &'static str,
    /// The effect on the product.
    pub result: &'static str,
    /// Number of elements.
    pub elements: usize,
    /// Row, column and value of the first one.
    pub first: (usize, usize, f64),
}

impl OperandLoss {
    /// The losses of the operands of a product by a scheme.
    ///
    /// Of a batch they are those of the first product that has any.
    ///
    /// # Errors
    /// An interruption.
    pub fn of_operands(scheme: &Scheme, operands: &ProductOperands) -> Result<Vec<OperandLoss>> {
        for at in 0..operands.batch {
            let (a, b) = operands.product(at);
            let product = (operands.batch > 1).then_some(at);
            let losses = OperandLoss::of(scheme, &a, &b)?;
            if !losses.is_empty() {
                return Ok(losses.into_iter().map(|loss| OperandLoss { product, ..loss }).collect());
            }
        }
        Ok(Vec::new())
    }

    /// The losses of both operands by a scheme.
    ///
    /// # Errors
    /// An interruption.
    pub fn of(scheme: &Scheme, a: &NumberMatrix, b: &NumberMatrix) -> Result<Vec<OperandLoss>> {
        if matches!(scheme.a, OperandSplit::Digits(_)) {
            return Ok(Vec::new());
        }
        let (x, y) = scheme.split(a, b)?;
        let mut losses = of_matrix(scheme, &scheme.a, "A", a, &x)?;
        losses.extend(of_matrix(scheme, &scheme.b, "B", b, &y)?);
        Ok(losses)
    }
}

/// Number of elements; row, column and value of the first.
type Found = (usize, Option<(usize, usize, f64)>);

fn of_matrix(
    scheme: &Scheme,
    split: &OperandSplit,
    matrix: &'static str,
    numbers: &NumberMatrix,
    parts: &SplitMatrix,
) -> Result<Vec<OperandLoss>> {
    let by_line = !matches!(split, OperandSplit::Parts(_));
    let lines = match (by_line, matrix) {
        _ if scheme.fallback != Fallback::Nan => "The whole product is computed by fused multiply-adds in f64",
        (true, "A") => "The scheme has no parts for them: their rows of D are NaN",
        (true, _) => "The scheme has no parts for them: their columns of D are NaN",
        (false, _) => "Their parts are infinities and NaN, and so are elements of D",
    };
    let kinds = [
        ("infinities or NaN", lines),
        ("numbers too large for its parts", "Elements of D that take them are infinities or NaN"),
        ("numbers too small for its parts", "D is as if they were zero"),
    ];
    // The operands decide the number of slices: the ones at hand say nothing.
    let dynamic = matches!(split, OperandSplit::Slices(slices) if slices.dynamic.is_some());
    let mut counts: [Found; 3] = Default::default();
    for (at, x) in numbers.values.iter().enumerate() {
        if at % LOOK == 0 {
            interrupt::check()?;
        }
        let finite = |part: usize| {
            let (format, code) = (split.format(part), parts.matrices[part].codes.get(at));
            format.to_f64(code).is_finite()
        };
        let zero = |part: usize| {
            let (format, code) = (split.format(part), parts.matrices[part].codes.get(at));
            format.to_f64(code) == 0.0
        };
        let kind = match x {
            x if !x.is_finite() => 0,
            _ if (0..split.count()).any(|part| !finite(part)) => 1,
            x if *x != 0.0 && !dynamic && (0..split.count()).all(zero) => 2,
            _ => continue,
        };
        counts[kind].0 += 1;
        counts[kind].1.get_or_insert((at / numbers.columns, at % numbers.columns, *x));
    }
    let loss = |((kind, result), (elements, first)): ((&'static str, &'static str), (usize, Option<_>))| {
        Some(OperandLoss { scheme: scheme.name.clone(), matrix, product: None, kind, result, elements, first: first? })
    };
    Ok(kinds.into_iter().zip(counts).filter_map(loss).collect())
}

impl fmt::Display for OperandLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OperandLoss { scheme, matrix, product, kind, result, elements, first: (row, column, value) } = self;
        let of = product.map_or(String::new(), |product| format!(" of product {product}"));
        write!(
            f,
            "{scheme}: {matrix}{of} has {elements} {kind}; the first is {value:e} in row {row}, column {column}. {result}."
        )
    }
}
