//! Tables of products for a library.

use std::path::Path;

use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Error, Result,
    base::{named::Named, text},
    device::{OperandLayout, Problem},
    product::{Factors, OperandSource, ProductShape, Values},
};

/// Most lines of a table.
const MOST_LINES: usize = 1 << 16;
/// Most elements of a matrix.
const MOST_ELEMENTS: usize = 1 << 28;

/// A product to ask a library for.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedProduct {
    /// The product.
    pub problem: Problem,
    /// Distribution of drawn operands; `None`: given ones.
    pub values: Option<Values>,
}

impl AskedProduct {
    /// A product of given operands, which say its shape.
    ///
    /// # Errors
    /// As [`OperandSource::for_problem`].
    pub fn read(problem: Problem, source: &OperandSource, notes: &mut Vec<String>) -> Result<(AskedProduct, Factors)> {
        let factors = source.for_problem(&problem, notes)?;
        let (m, n, k) = (factors.a.rows, factors.b.columns, factors.k());
        Ok((AskedProduct { problem: Problem { m, n, k, ..problem }, values: None }, factors))
    }
}

/// A line of a table of products.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductLine {
    product: String,
    layout: String,
    values: String,
    m: usize,
    n: usize,
    k: usize,
}

/// Reads products from a CSV file.
///
/// Its columns are product (D.A.B.COMPUTE, see [`Problem::kind`]), layout (nn, nt), values (normal, magnitudes), m, n, k.
///
/// # Errors
/// A file that cannot be read, a malformed line: its number, and what is expected.
pub fn read_shapes(path: &Path) -> Result<Vec<AskedProduct>> {
    parse(&text::read(path, "the table of products")?, &path.display().to_string())
}

fn parse(text: &str, origin: &str) -> Result<Vec<AskedProduct>> {
    lines(text, origin, "product", product)
}

/// The lines of a CSV file as `read` understands them, each called `what` in messages.
pub(super) fn lines<L: DeserializeOwned, T>(
    text: &str,
    origin: &str,
    what: &str,
    read: fn(L) -> Result<T>,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    for line in reader.deserialize::<L>() {
        let line = line.map_err(|error| Error::request(format!("{origin}: {error}")))?;
        let number = values.len() + 1;
        values.push(read(line).map_err(|error| error.within(format!("{origin}: {what} {number}")))?);
        if values.len() > MOST_LINES {
            return Err(Error::request(format!("{origin}: more than {MOST_LINES} {what}s")));
        }
    }
    match values.is_empty() {
        true => Err(Error::request(format!("{origin}: the table has no {what}s"))),
        false => Ok(values),
    }
}

/// Refuses shapes that are empty or too large to draw.
///
/// # Errors
/// What m, n and k may be.
pub fn checked_shape(ProductShape { m, n, k }: ProductShape) -> std::result::Result<(), String> {
    let largest = [(m, k), (k, n), (m, n)].into_iter().map(|(x, y)| x.saturating_mul(y)).max().unwrap_or(0);
    match m == 0 || n == 0 || k == 0 || largest > MOST_ELEMENTS {
        true => Err(format!(
            "m = {m}, n = {n}, k = {k}: each is 1 or more, and no matrix has more than {MOST_ELEMENTS} elements"
        )),
        false => Ok(()),
    }
}

fn product(line: ProductLine) -> Result<AskedProduct> {
    let ProductLine { m, n, k, .. } = line;
    let shape = ProductShape { m, n, k };
    checked_shape(shape).map_err(Error::request)?;
    let problem = Problem::of_kind(&line.product, shape, named::<OperandLayout>("layout", &line.layout)?)?;
    Ok(AskedProduct { problem, values: Some(named::<Values>("values", &line.values)?) })
}

pub(super) fn named<T: Named>(key: &str, name: &str) -> Result<T> {
    T::all().iter().copied().find(|value| value.name() == name).ok_or_else(|| {
        let known: Vec<&str> = T::all().iter().map(|value| value.name()).collect();
        Error::request(format!("{key} is '{name}': expected one of {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "product,layout,values,m,n,k\n";

    #[test]
    fn a_line_is_a_product() {
        let all = parse(&format!("# a table\n{HEAD}bf16.e4m3.e5m2.32f.fast, nt, magnitudes, 3, 5, 7\n"), "t").unwrap();
        assert_eq!(all[0].problem.name(), "gemm.m3n5k7.bf16.e4m3.e5m2.32f.fast.nt");
        assert_eq!((all.len(), all[0].values), (1, Some(Values::Magnitudes)));
    }

    #[test]
    fn a_wrong_line_is_refused_with_what_is_expected() {
        for (line, words) in [
            ("f16.f16.f16.64f,nn,normal,1,1,1", "product 1: 'f16.f16.f16.64f': '64f' is not a compute type"),
            ("f16.f16.f16.32f.fast,nn,normal,1,1,1", "only FP8 has fast accumulation"),
            ("f16.f16.f16,nn,normal,1,1,1", "it has 3 parts"),
            ("f16.f16.f16.32f,tn,normal,1,1,1", "layout is 'tn': expected one of nn, nt"),
            ("f16.f16.f16.32f,nn,odd,1,1,1", "values is 'odd'"),
            ("f17.f16.f16.32f,nn,normal,1,1,1", "f17"),
            ("f16.f16.f16.32f,nn,normal,1,0,1", "n = 0"),
            ("f16.f16.f16.32f,nn,normal,1,1", "t: CSV error"),
            ("", "no products"),
        ] {
            let error = parse(&format!("{HEAD}{line}\n"), "t").unwrap_err();
            assert!(error.exit_status() == 2 && error.to_string().contains(words), "{line}: {error}");
        }
    }
}
