//! References of a product in f64.

use super::{
    super::{NumberMatrix, ProductOperands},
    panel, two_sum,
};
use crate::{
    Result,
    base::{vectors::vectorised, work},
    exact::Dot,
    format::{self, Finite, Format, Overflow, Real, Rounding},
};

/// Columns of D that are summed side by side.
const LANES: usize = 8;
/// Rows of D that take the same columns of B from a cache.
const BAND: usize = 64;
/// Binary exponents of products whose rounding errors are numbers of f64.
const PRODUCTS: std::ops::RangeInclusive<i32> = -900..=960;

/// The products of two matrices of f64, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DoubleReferences {
    /// A chain of fused multiply-adds, ascending k, from +0.
    pub fused: Vec<f64>,
    /// The same with each product rounded before it is added.
    pub separate: Vec<f64>,
    /// The exact sum, rounded to f64.
    pub rounded: Vec<f64>,
    /// The exact sum times 2^`shift`, to about 100 bits as two numbers.
    ///
    /// The second number is at most half an ulp of the first. Infinity or NaN if the operands hold one.
    pub exact: Vec<[f64; 2]>,
    /// The sum of the magnitudes of all products, times 2^`shift`.
    pub magnitude: Vec<f64>,
    /// The exponents of two that bring sums near the ends of f64 into its range; elsewhere zeros.
    pub shift: Vec<i32>,
    /// The largest exponents of two that lie between the elements of a row of A, and of a column of B.
    pub spread: [u32; 2],
}

#[derive(Clone, Copy, Default)]
struct LaneSums {
    fused: [f64; LANES],
    separate: [f64; LANES],
    magnitude: [f64; LANES],
    /// The compensated sum, and the rounded-off rest.
    high: [f64; LANES],
    low: [f64; LANES],
}

impl DoubleReferences {
    /// The references of A and B.
    ///
    /// The compensated sum (Ogita, Rump and Oishi's Dot2) decides the rounding where its error bound allows it; exact accumulators
    /// decide it elsewhere.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn of(a: &NumberMatrix, b: &NumberMatrix) -> Result<DoubleReferences> {
        let columns = b.columns;
        let tiles: Vec<(usize, usize)> = (0..columns)
            .step_by(LANES)
            .flat_map(|column| (0..a.rows).step_by(BAND).map(move |row| (row, column)))
            .collect();
        let moderate = moderate(a, b);
        let double = format::find("f64")?;
        let summed = work::map(&tiles, |(row, column)| {
            let panel = panel(&b.values, b.columns, *column);
            let mut dot = Dot::new(double, double, double, double, a.columns);
            let mut all = Vec::new();
            for (at, line) in a.values.chunks(a.columns.max(1)).enumerate().skip(*row).take(BAND) {
                let mut sums = LaneSums::default();
                sum(line, &panel, &mut sums);
                let exact: Vec<ExactElement> = (0..LANES.min(columns - column))
                    .map(|lane| {
                        let certain = moderate.then(|| sums.certain(lane, a.columns)).flatten();
                        certain.unwrap_or_else(|| {
                            let pairs = line.iter().zip(&panel).map(|(x, lanes)| [*x, lanes[lane]]);
                            let magnitude = moderate.then_some(sums.magnitude[lane]);
                            by_accumulator(&mut dot, double, pairs, magnitude)
                        })
                    })
                    .collect();
                all.push((at, sums, exact));
            }
            Ok(all)
        })?;
        let zeros = || vec![0.0; a.rows * columns];
        let mut references = DoubleReferences {
            fused: zeros(),
            separate: zeros(),
            rounded: zeros(),
            exact: vec![[0.0; 2]; a.rows * columns],
            magnitude: zeros(),
            shift: vec![0; a.rows * columns],
            spread: spreads(a, b),
        };
        for ((_, column), rows) in tiles.iter().zip(summed) {
            for (row, sums, exact) in rows {
                for (lane, exact) in exact.into_iter().enumerate() {
                    let place = row * columns + column + lane;
                    references.fused[place] = sums.fused[lane];
                    references.separate[place] = sums.separate[lane];
                    references.put(place, exact);
                }
            }
        }
        Ok(references)
    }
}

impl DoubleReferences {
    /// The references of D = alpha A B + beta C, of all products of a batch.
    ///
    /// Plain f64 scales the sum of the chain and adds beta C by a fused multiply-add, or by a product and a sum.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn of_operands(operands: &ProductOperands) -> Result<DoubleReferences> {
        let mut all = DoubleReferences::default();
        for at in 0..operands.batch {
            let (a, b) = operands.product(at);
            let references = DoubleReferences::of(&a, &b)?;
            all.fused.extend(references.fused);
            all.separate.extend(references.separate);
            all.rounded.extend(references.rounded);
            all.exact.extend(references.exact);
            all.magnitude.extend(references.magnitude);
            all.shift.extend(references.shift);
            all.spread = [0, 1].map(|which| all.spread[which].max(references.spread[which]));
        }
        if operands.is_scaled() {
            all.scale(operands)?;
        }
        Ok(all)
    }

    /// Multiplies by alpha and adds beta C.
    fn scale(&mut self, operands: &ProductOperands) -> Result<()> {
        let double = format::find("f64")?;
        let ProductOperands { c, alpha, beta, .. } = operands;
        // A factor of zero hides what it multiplies.
        let hidden = |factor: f64, x: f64| if factor == 0.0 { 0.0 } else { x };
        for at in 0..self.rounded.len() {
            let c = c.as_ref().map_or(0.0, |c| hidden(*beta, c.values[at]));
            self.fused[at] = beta.mul_add(c, alpha * hidden(*alpha, self.fused[at]));
            self.separate[at] = alpha * hidden(*alpha, self.separate[at]) + beta * c;
            let [high, low] = self.exact[at].map(|x| hidden(*alpha, x));
            let magnitude = hidden(*alpha, self.magnitude[at]);
            let parts = [*alpha, *beta, high, low, magnitude, c].map(Real::from);
            let [
                Real::Finite(alpha_real),
                Real::Finite(beta_real),
                Real::Finite(high),
                Real::Finite(low),
                Real::Finite(magnitude),
                Real::Finite(c_real),
            ] = parts
            else {
                let rounded = alpha * hidden(*alpha, self.rounded[at]) + beta * c;
                let magnitude = (alpha * magnitude).abs() + (beta * c).abs();
                self.put(at, ExactElement { rounded, exact: [rounded, 0.0], magnitude, shift: 0 });
                continue;
            };
            let [high, low, magnitude] =
                [high, low, magnitude].map(|number| number.times_power_of_two(-self.shift[at]));
            let times = |x: &Finite, y: &Finite| x.odd().times(&y.odd());
            let less = |x: Finite| Finite { negative: !x.negative, ..x };
            let positive = |x: Finite| Finite { negative: false, ..x };
            let addend = times(&beta_real, &c_real);
            let exact = times(&alpha_real, &high).minus(&less(times(&alpha_real, &low))).minus(&less(addend));
            let magnitude = positive(times(&alpha_real, &magnitude)).minus(&less(positive(addend)));
            self.put(at, ExactElement::of(double, &exact, &magnitude));
        }
        Ok(())
    }

    /// Sets the exact sum of an element.
    fn put(&mut self, at: usize, element: ExactElement) {
        self.rounded[at] = element.rounded;
        self.exact[at] = element.exact;
        self.magnitude[at] = element.magnitude;
        self.shift[at] = element.shift;
    }
}

/// An element of the exact product: see [`DoubleReferences`].
struct ExactElement {
    rounded: f64,
    exact: [f64; 2],
    magnitude: f64,
    shift: i32,
}

impl ExactElement {
    /// The element with this exact sum and sum of magnitudes.
    ///
    /// The sum of magnitudes is shifted into [1/2, 1), unless it is zero.
    fn of(double: &Format, exact: &Finite, magnitude: &Finite) -> ExactElement {
        let shift = magnitude.leading_exponent().map_or(0, |leading| -1 - leading);
        let high = exact.times_power_of_two(shift).to_f64();
        let low = match Real::from(high) {
            Real::Finite(high) => exact.times_power_of_two(shift).minus(&high).to_f64(),
            _ => 0.0,
        };
        let rounded = rounded(double, &Real::Finite(*exact));
        ExactElement { rounded, exact: [high, low], magnitude: magnitude.times_power_of_two(shift).to_f64(), shift }
    }
}

/// A number rounded to f64.
fn rounded(double: &Format, number: &Real) -> f64 {
    f64::from_bits(double.encode(number, Rounding::Rne, Overflow::Standard).unwrap_or(f64::NAN.to_bits()))
}

/// True if no product of elements overflows, and all rounding errors of products are numbers of f64.
fn moderate(a: &NumberMatrix, b: &NumberMatrix) -> bool {
    let range = |matrix: &NumberMatrix| {
        let finite = matrix.values.iter().all(|value| value.is_finite());
        let exponents = matrix.values.iter().filter(|value| **value != 0.0).map(|value| exponent(*value));
        let (least, most) =
            exponents.fold((i32::MAX, i32::MIN), |(least, most), exponent| (least.min(exponent), most.max(exponent)));
        finite.then_some(if least > most { (0, 0) } else { (least, most) })
    };
    match (range(a), range(b)) {
        (Some((x, y)), Some((z, w))) => PRODUCTS.contains(&(x + z)) && PRODUCTS.contains(&(y + w)),
        _ => false,
    }
}

/// The binary exponent of a number of f64 that is not zero; of subnormal numbers -1023.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// The largest exponents of two that lie between the elements of a row of A, and of a column of B.
fn spreads(a: &NumberMatrix, b: &NumberMatrix) -> [u32; 2] {
    let between = |ends: &mut (i32, i32), x: f64| {
        if x != 0.0 && x.is_finite() {
            *ends = (ends.0.min(exponent(x)), ends.1.max(exponent(x)));
        }
    };
    let start = (i32::MAX, i32::MIN);
    let rows = a.values.chunks(a.columns.max(1)).map(|row| {
        row.iter().fold(start, |mut ends, x| {
            between(&mut ends, *x);
            ends
        })
    });
    let mut columns = vec![start; b.columns];
    for row in b.values.chunks(b.columns.max(1)) {
        columns.iter_mut().zip(row).for_each(|(ends, x)| between(ends, *x));
    }
    let largest = |all: &mut dyn Iterator<Item = (i32, i32)>| {
        all.filter(|(least, most)| least <= most).map(|(least, most)| most.abs_diff(least)).max().unwrap_or(0)
    };
    [largest(&mut rows.into_iter()), largest(&mut columns.into_iter())]
}

vectorised! {
    /// Adds to sums the products of a row of A and the columns of a panel of B, ascending k.
    fn sum(x: &[f64], panel: &[[f64; 8]], sums: &mut LaneSums) {
        // A copy: registers hold it.
        let mut copy = *sums;
        for (x, line) in x.iter().zip(panel) {
            copy.add(*x, line);
        }
        *sums = copy;
    }
}

impl LaneSums {
    /// Adds `x` times each element of a line.
    #[inline(always)]
    fn add(&mut self, x: f64, line: &[f64; LANES]) {
        for (lane, y) in line.iter().enumerate() {
            let product = x * y;
            let below = x.mul_add(*y, -product);
            self.fused[lane] = x.mul_add(*y, self.fused[lane]);
            self.separate[lane] += product;
            self.magnitude[lane] += product.abs();
            let (sum, rest) = two_sum(self.high[lane], product);
            self.low[lane] += rest + below;
            self.high[lane] = sum;
        }
    }

    /// The exact sum rounded to f64 and the rest, if the error bound decides the rounding.
    fn certain(&self, lane: usize, k: usize) -> Option<ExactElement> {
        let (high, low) = (self.high[lane], self.low[lane]);
        let total = high + low;
        let rest = low - (total - high);
        let terms = (k + 2) as f64;
        let bound = terms * terms * 2f64.powi(-104) * self.magnitude[lane];
        let below = f64::from_bits(total.abs().to_bits().checked_sub(1)?);
        let half = (total.abs() - below) / 2.0;
        let magnitude = self.magnitude[lane];
        (rest.abs() + bound < half).then_some(ExactElement {
            rounded: total,
            exact: [total, rest],
            magnitude,
            shift: 0,
        })
    }
}

/// The exact element of a sum of products.
///
/// Without the sum of magnitudes, which f64 may not hold, that sum is exact too.
fn by_accumulator(
    dot: &mut Dot,
    double: &'static Format,
    pairs: impl Iterator<Item = [f64; 2]> + Clone,
    magnitude: Option<f64>,
) -> ExactElement {
    let mut sum =
        |of: fn(f64) -> f64| dot.sum(pairs.clone().map(|[x, y]| (of(x).to_bits(), of(y).to_bits())), 0).real();
    let exact = sum(|x| x);
    let rounded = rounded(double, &exact);
    match (magnitude, exact, Real::from(rounded)) {
        (Some(magnitude), Real::Finite(exact), Real::Finite(rounded_real)) => {
            ExactElement { rounded, exact: [rounded, exact.minus(&rounded_real).to_f64()], magnitude, shift: 0 }
        }
        (None, Real::Finite(exact), _) => match sum(f64::abs) {
            Real::Finite(magnitude) => ExactElement::of(double, &exact, &magnitude),
            _ => unreachable!("finite operands have a finite sum of magnitudes"),
        },
        _ => ExactElement { rounded, exact: [rounded, 0.0], magnitude: rounded.abs(), shift: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "mpfr")]
    use crate::{inputs::Draw, scheme::Emulated};

    #[cfg(feature = "mpfr")]
    #[test]
    fn sums_are_those_of_plain_loops_and_of_mpfr() {
        for (seed, draw) in [(1, "uniform(-1,1)"), (2, "magnitudes(-120,120)"), (3, "normal(0,1)"), (4, "phi(4)")] {
            let draw = Draw::parse(draw).unwrap();
            let rows: Vec<usize> = (0..70).collect();
            let ks: Vec<usize> = (0..301).collect();
            let a = NumberMatrix::drawn(Emulated::Double, draw, seed, 0, &rows, 301);
            let b = NumberMatrix::drawn(Emulated::Double, draw, seed, 1, &ks, 27);
            let references = DoubleReferences::of(&a, &b).unwrap();
            for (row, column) in (0..70).step_by(9).flat_map(|row| (0..27).map(move |column| (row, column))) {
                let terms = || (0..301).map(|k| (a.values[row * 301 + k], b.values[k * 27 + column]));
                let at = row * 27 + column;
                assert_eq!(references.fused[at], terms().fold(0.0, |sum, (x, y)| x.mul_add(y, sum)));
                assert_eq!(references.separate[at], terms().fold(0.0, |sum, (x, y)| sum + x * y));
                let exact = terms().fold(rug::Float::new(2000), |sum, (x, y)| sum + rug::Float::with_val(106, x) * y);
                assert_eq!(references.rounded[at], exact.to_f64());
                let rest = (exact - references.rounded[at]).to_f64();
                assert!((references.exact[at][1] - rest).abs() <= rest.abs() * 1e-6 + references.magnitude[at] * 1e-26);
            }
        }
    }

    #[test]
    fn cancellation_specials_and_extremes_are_left_to_exact_accumulators() {
        let line = |values: &[f64]| NumberMatrix { rows: 1, columns: values.len(), values: values.to_vec() };
        let column = |values: &[f64]| NumberMatrix { rows: values.len(), columns: 1, values: values.to_vec() };
        let (tiny, huge) = (f64::from_bits(1), f64::MAX);
        let infinity = f64::INFINITY;
        for (x, y, expected) in [
            (vec![1.0, 2f64.powi(-60), -1.0], vec![1.0, 1.0, 1.0], 2f64.powi(-60)),
            (vec![1.0, -1.0], vec![1.0, 1.0], 0.0),
            (vec![tiny, tiny], vec![0.5, 0.5], tiny),
            (vec![huge, huge, huge], vec![2.0, -2.0, 1.0], huge),
            (vec![infinity, 1.0], vec![1.0, 1.0], infinity),
            (vec![1.0 + f64::EPSILON, 2f64.powi(-200)], vec![1.0 + f64::EPSILON, 1.0], 1.0 + 2.0 * f64::EPSILON),
            (vec![1.0, 2f64.powi(-53), 2f64.powi(-200)], vec![1.0, 1.0, 1.0], 1.0 + f64::EPSILON),
            (vec![1.0, 2f64.powi(-53), -2f64.powi(-200)], vec![1.0, 1.0, 1.0], 1.0),
        ] {
            let references = DoubleReferences::of(&line(&x), &column(&y)).unwrap();
            assert_eq!(references.rounded, [expected], "{x:?} {y:?}");
        }
        let nan = DoubleReferences::of(&line(&[infinity, -infinity]), &column(&[1.0, 1.0])).unwrap();
        assert!(nan.rounded[0].is_nan());
    }
}
