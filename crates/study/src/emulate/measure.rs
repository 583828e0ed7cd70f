//! Errors of a product.

use crate::{
    base::parallel,
    exact, format,
    product::{
        Matrix,
        reference::{ProductReferences, Yardstick, nearest},
    },
};

/// Binades of errors in the histogram; errors beyond the first or the last count in it.
const BINADES: usize = 64;
/// The exponent of two of the first binade, which holds errors of zero too.
const FIRST_BINADE: i32 = -48;

/// Errors of a product in f32 against one yardstick.
///
/// Elements that are infinite or NaN, in the product or the yardstick, are left out. If no element is left, errors are NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductErrors {
    /// The yardstick.
    pub yardstick: Yardstick,
    /// Elements that are the yardstick's, rounded to f32.
    pub equal: usize,
    /// The largest |V - S|, of an element V and the yardstick's S.
    pub absolute: f64,
    /// The mean |V - S|.
    pub mean: f64,
    /// The root of the mean (V - S)^2.
    pub rms: f64,
    /// Number of |V - S| in each binade, see [`ProductErrors::binades`].
    histogram: ErrorBinades,
    /// The largest |V - S| / (|V| + |S|): `Max_error` of LE-GEMM.
    pub max_error: f64,
    /// The mean |S - V| / |S|, over elements with an S that is not zero: `MRED` of LE-GEMM.
    pub mred: f64,
    /// The most numbers of f32 from one to the other.
    pub ulps: u64,
    /// The mean of those.
    pub mean_ulps: f64,
}

/// Counts of errors by binade.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ErrorBinades([u64; BINADES]);

impl Default for ErrorBinades {
    fn default() -> ErrorBinades {
        ErrorBinades([0; BINADES])
    }
}

/// Sums and maxima of a row.
#[derive(Debug, Clone, Copy, Default)]
struct RowErrors {
    equal: usize,
    absolute: f64,
    sum: f64,
    squares: f64,
    histogram: ErrorBinades,
    max_error: f64,
    relative: f64,
    relatives: usize,
    ulps: u64,
    ulp_sum: f64,
    measured: usize,
}

/// The number of infinite or NaN elements of a product, and its errors against each yardstick.
pub(super) fn errors(d: &Matrix, references: &ProductReferences) -> (usize, Vec<ProductErrors>) {
    let values: Vec<f32> = d.codes.iter().map(|code| f32::from_bits(code as u32)).collect();
    let infinite = values.iter().filter(|value| !value.is_finite()).count();
    let yardsticks = [Yardstick::Single, Yardstick::Double, Yardstick::Exact];
    (infinite, yardsticks.map(|yardstick| against(&values, d.columns, references, yardstick)).to_vec())
}

/// Compares the plain product in f32 with the exact one.
pub(super) fn plain(references: &ProductReferences, columns: usize) -> ProductErrors {
    against(&references.single, columns, references, Yardstick::Exact)
}

fn against(values: &[f32], columns: usize, references: &ProductReferences, yardstick: Yardstick) -> ProductErrors {
    let single = format::find("f32").expect("a format of the table");
    let row = |(row, line): (usize, &[f32])| {
        let mut errors = RowErrors::default();
        for (at, value) in (row * columns..).zip(line) {
            let [s, low] = match yardstick {
                Yardstick::Single => [f64::from(references.single[at]), 0.0],
                Yardstick::Double => [references.double[at], 0.0],
                Yardstick::Exact => references.exact[at],
            };
            if !value.is_finite() || !s.is_finite() {
                continue;
            }
            let (v, rounded) = (f64::from(*value), nearest([s, low]));
            let error = ((v - s) - low).abs();
            errors.measured += 1;
            errors.equal += usize::from(*value == rounded);
            errors.absolute = errors.absolute.max(error);
            errors.sum += error;
            errors.squares += error * error;
            errors.histogram.0[binade(error)] += 1;
            if error > 0.0 {
                errors.max_error = errors.max_error.max(error / (v.abs() + s.abs()));
            }
            if s != 0.0 {
                errors.relative += error / s.abs();
                errors.relatives += 1;
            }
            let [x, y] = [*value, rounded].map(|x| u64::from(x.to_bits()));
            let ulps = exact::distance(single, x, y).unwrap_or(u64::MAX);
            errors.ulps = errors.ulps.max(ulps);
            errors.ulp_sum += ulps as f64;
        }
        errors
    };
    let rows = parallel::map(values.chunks_exact(columns).enumerate(), row);
    let all = rows.into_iter().reduce(RowErrors::with).unwrap_or_default();
    let measured = |error: f64| if all.measured == 0 { f64::NAN } else { error };
    let mean = |sum: f64, count: usize| measured(if count == 0 { 0.0 } else { sum / count as f64 });
    ProductErrors {
        yardstick,
        equal: all.equal,
        absolute: measured(all.absolute),
        mean: mean(all.sum, all.measured),
        rms: mean(all.squares, all.measured).sqrt(),
        histogram: all.histogram,
        max_error: measured(all.max_error),
        mred: mean(all.relative, all.relatives),
        ulps: all.ulps,
        mean_ulps: mean(all.ulp_sum, all.measured),
    }
}

fn binade(error: f64) -> usize {
    // The exponent of a number of f64, whose subnormal numbers are below the first binade.
    let exponent = (error.to_bits() >> 52) as i32 - 1023;
    exponent.clamp(FIRST_BINADE, FIRST_BINADE + BINADES as i32 - 1).abs_diff(FIRST_BINADE) as usize
}

impl ProductErrors {
    /// The binades that hold a |V - S|, ascending: exponent of two and count; the lowest also has zeros.
    pub fn binades(&self) -> impl Iterator<Item = (i32, u64)> {
        (FIRST_BINADE..).zip(self.histogram.0).filter(|(_, count)| *count > 0)
    }
}

impl RowErrors {
    fn with(self, other: RowErrors) -> RowErrors {
        RowErrors {
            equal: self.equal + other.equal,
            absolute: self.absolute.max(other.absolute),
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
            histogram: ErrorBinades(std::array::from_fn(|at| self.histogram.0[at] + other.histogram.0[at])),
            max_error: self.max_error.max(other.max_error),
            relative: self.relative + other.relative,
            relatives: self.relatives + other.relatives,
            ulps: self.ulps.max(other.ulps),
            ulp_sum: self.ulp_sum + other.ulp_sum,
            measured: self.measured + other.measured,
        }
    }
}
