//! Search for the scheme of splitting and the schedule that made a product of f32 matrices.

use crate::{
    Result,
    base::interrupt,
    product::NumberMatrix,
    product::{
        Factors, Matrix,
        search::{self, Matches, Suspects},
    },
    scheme::{OperandSplit, Scheme, SliceLine, SumRegister, below, beside, turns},
};

/// Numbers of k that each product takes in turn.
const BLOCKS: [usize; 4] = [32, 64, 16, 128];

/// Largest error of D against sums of a scheme's parts, over that against sums of whole elements.
///
/// A D that a scheme made is not farther from the sums of its parts, which it rounded alone.
const WORSE: f64 = 1.1;

/// A scheme that gives D, with the schedules of its products.
#[derive(Debug)]
pub struct SchemeMatch {
    /// The scheme.
    pub scheme: Scheme,
    /// Number of k that each product takes in turn.
    pub block: usize,
    /// Terms of each sum: k of all products.
    pub k: usize,
    /// The schedules.
    pub matches: Matches,
}

impl SchemeMatch {
    /// The scheme in a sentence.
    pub fn sentence(&self) -> String {
        let SchemeMatch { scheme, block, .. } = self;
        let products: Vec<String> = scheme.sums[0]
            .products
            .iter()
            .map(|(a, b)| format!("{}*{}", scheme.a.name(*a), scheme.b.name(*b)))
            .collect();
        format!(
            "Scheme {} ({}), with the products {} in turn every {block} of k.",
            scheme.name,
            scheme.title,
            products.join(", ")
        )
    }
}

/// Finds the shipped scheme that gives `d`, whose products are sums of one kind; `None` if none does.
///
/// # Errors
/// As [`search::find`].
pub(super) fn find(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    step: &dyn Fn(&str),
) -> Result<Option<SchemeMatch>> {
    let single = |matrix: &Matrix| matrix.format.name == "f32";
    if !single(&factors.a) || !single(&factors.b) || !suspects.instructions.is_empty() {
        return Ok(None);
    }
    let numbers = |matrix: &Matrix| NumberMatrix {
        rows: matrix.rows,
        columns: matrix.columns,
        values: matrix.codes.iter().map(|code| f64::from(f32::from_bits(code as u32))).collect(),
    };
    let all = Parted { a: numbers(&factors.a), b: numbers(&factors.b), factors, d };
    let (factors, d) = search::few(factors, d, None);
    let few = Parted { a: numbers(&factors.a), b: numbers(&factors.b), factors: &factors, d: &d };
    let unsplit = search::error(suspects, few.factors, few.d)?;
    for name in Scheme::shipped() {
        let scheme = Scheme::find(name)?;
        if !searched(&scheme) {
            continue;
        }
        for block in BLOCKS {
            interrupt::check()?;
            step(&format!("scheme {name} in blocks of {block}"));
            if search::error(suspects, &few.of(&scheme, block)?, few.d)? > WORSE * unsplit {
                break;
            }
            if few.find(suspects, &scheme, block)?.is_none() {
                continue;
            }
            if let Some(matches) = all.find(suspects, &scheme, block)? {
                return Ok(Some(SchemeMatch { k: all.of(&scheme, block)?.k(), scheme, block, matches }));
            }
        }
    }
    Ok(None)
}

/// A product of f32 matrices whose numbers a scheme splits.
struct Parted<'a> {
    a: NumberMatrix,
    b: NumberMatrix,
    factors: &'a Factors,
    d: &'a Matrix,
}

impl Parted<'_> {
    /// The parts of a scheme, side by side in blocks of k.
    fn of(&self, scheme: &Scheme, block: usize) -> Result<Factors> {
        let (a, b) = (scheme.a.split(&self.a, SliceLine::Row)?, scheme.b.split(&self.b, SliceLine::Column)?);
        let (rows, columns): (Vec<usize>, Vec<usize>) = scheme.sums[0].products.iter().copied().unzip();
        let turns = turns(self.factors.k(), block, block);
        Ok(Factors { a: beside(&a, &rows, &turns), b: below(&b, &columns, &turns), ..self.factors.clone() })
    }

    /// The schedules of the parts that give D, if there are any.
    fn find(&self, suspects: &Suspects, scheme: &Scheme, block: usize) -> Result<Option<Matches>> {
        let suspects = Suspects { turn: Some(block * scheme.sums[0].products.len()), ..suspects.clone() };
        let mut matches = Matches::default();
        match search::find(&suspects, &self.of(scheme, block)?, self.d, &mut matches, &|_| ()) {
            Err(error) if error.exit_status() != 2 => Err(error),
            // No instruction of the models multiplies the parts.
            Err(_) => Ok(None),
            Ok(()) => Ok(Some(matches).filter(|matches| !matches.confirmed.is_empty())),
        }
    }
}

/// True for a scheme of one sum, of numbers split into parts of one format each, without powers of two.
fn searched(scheme: &Scheme) -> bool {
    let parts = |split: &OperandSplit| match split {
        OperandSplit::Parts(parts) => parts.iter().all(|part| part.shift == 0 && part.format == parts[0].format),
        OperandSplit::Slices(_) | OperandSplit::Digits(_) | OperandSplit::Moduli(_) => false,
    };
    scheme.register == SumRegister::Single
        && scheme.sums.len() == 1
        && scheme.sums[0].scale == 0
        && scheme.sums[0].products.len() > 1
        && parts(&scheme.a)
        && parts(&scheme.b)
}
