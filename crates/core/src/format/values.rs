//! Formats by table: any finite set of values, with one value for each code.

use super::Overflow;
use crate::base::words::words;

/// Most codes of a table.
/// No published table has more, every pair of codes can be tested, and a place among the numbers fits a byte. A larger set
/// has a rule.
pub(crate) const MOST_CODES: usize = 256;

/// Values of a format's codes, in any order of the codes, and the rounding to the nearest.
///
/// Equal values may have several codes: encoding gives the lowest one.
#[derive(Debug)]
pub struct ValueTable {
    values: &'static [f64],
    nearest: Nearest,
    /// Codes of different finite numbers in ascending order; the lowest code of each.
    ascending: [u8; MOST_CODES],
    numbers: usize,
    fraction_bits: u32,
    /// Exponents of the leading bits of the numbers next to zero and farthest from it.
    /// They are 0 without a number but zero.
    leading: (i32, i32),
}

/// Rounding to the nearest number of a table, and overflow.
#[derive(Debug, Clone, Copy)]
pub struct Nearest {
    /// Boundary between each number and the next, in ascending order; half-way where there is none.
    pub thresholds: &'static [f64],
    /// Number that a value on a boundary is rounded to.
    pub ties: Ties,
    /// Magnitude from which on a value overflows; `None`: every value beyond the numbers.
    pub limit: Option<f64>,
    /// Result of overflow in the format's own standard; infinity is beyond every limit.
    pub overflow: Overflow,
}

impl Nearest {
    /// Half-way, ties to the even code, saturating.
    pub const EVEN: Nearest = Nearest { thresholds: &[], ties: Ties::Even, limit: None, overflow: Overflow::Saturate };
}

/// Number that a value on a boundary of a table is rounded to, when rounded to nearest, ties to even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one with an even code; where both codes are even or odd, the one of smaller magnitude.
    Even,
    /// The one of larger magnitude; between opposite numbers, the positive one.
    Away,
    /// The smaller one.
    Down,
    /// The larger one.
    Up,
}

words!(named pub Ties: "even" = Even, "away" = Away, "down" = Down, "up" = Up);

impl ValueTable {
    /// Table of one value for each code: 2 to 256, a power of two of them, among them a finite number.
    /// Zeros have signs.
    ///
    /// # Panics
    /// No finite number, or another number of values.
    pub const fn new(values: &'static [f64], nearest: Nearest) -> ValueTable {
        let codes = values.len();
        assert!(codes >= 2 && codes <= MOST_CODES && codes.is_power_of_two(), "2 to 256 codes, a power of two");
        let mut ascending = [0u8; MOST_CODES];
        let (mut numbers, mut fraction_bits, mut code) = (0, 0, 0);
        let mut leading = (i32::MAX, i32::MIN);
        while code < values.len() {
            let value = values[code];
            if value.is_finite() {
                // The place after all smaller numbers.
                let mut place = numbers;
                while place > 0 && values[ascending[place - 1] as usize] > value {
                    place -= 1;
                }
                if place == 0 || values[ascending[place - 1] as usize] != value {
                    let mut moved = numbers;
                    while moved > place {
                        ascending[moved] = ascending[moved - 1];
                        moved -= 1;
                    }
                    ascending[place] = code as u8;
                    numbers += 1;
                }
                let bits = significant_bits(value);
                if bits > fraction_bits + 1 {
                    fraction_bits = bits - 1;
                }
                if bits > 0 {
                    let exponent = leading_exponent(value);
                    leading.0 = if exponent < leading.0 { exponent } else { leading.0 };
                    leading.1 = if exponent > leading.1 { exponent } else { leading.1 };
                }
            }
            code += 1;
        }
        assert!(numbers > 0, "a table has a finite number");
        let leading = if leading.0 > leading.1 { (0, 0) } else { leading };
        ValueTable { values, nearest, ascending, numbers, fraction_bits, leading }
    }

    /// Value of each code.
    pub const fn values(&self) -> &'static [f64] {
        self.values
    }

    /// Rounding to the nearest number, and overflow.
    pub const fn nearest(&self) -> &Nearest {
        &self.nearest
    }

    /// Codes of the different finite numbers in ascending order; the lowest code of each.
    /// The zeros are one number.
    pub fn ascending(&self) -> &[u8] {
        &self.ascending[..self.numbers]
    }

    /// Exponents of the leading bits of the numbers next to zero and farthest from it.
    /// They are 0 without a number but zero.
    pub(crate) const fn leading_exponents(&self) -> (i32, i32) {
        self.leading
    }

    /// Bits after the leading bit that every number's significand fits.
    pub const fn fraction_bits(&self) -> u32 {
        self.fraction_bits
    }
}

impl PartialEq for ValueTable {
    fn eq(&self, other: &ValueTable) -> bool {
        let same = |x: &[f64], y: &[f64]| x.iter().map(|x| x.to_bits()).eq(y.iter().map(|y| y.to_bits()));
        let (left, right) = (&self.nearest, &other.nearest);
        same(self.values, other.values)
            && same(left.thresholds, right.thresholds)
            && (left.ties, left.limit.map(f64::to_bits), left.overflow)
                == (right.ties, right.limit.map(f64::to_bits), right.overflow)
    }
}

impl Eq for ValueTable {}

/// Exponent of the leading bit of a number that is not zero.
const fn leading_exponent(value: f64) -> i32 {
    let bits = value.to_bits();
    match (bits >> 52 & 0x7ff) as i32 {
        0 => -1012 - (bits << 1).leading_zeros() as i32,
        biased => biased - 1023,
    }
}

/// Bits from the first to the last set bit of a finite number's significand; 0 for zero.
const fn significant_bits(value: f64) -> u32 {
    let bits = value.to_bits();
    let trailing = bits & ((1 << 52) - 1);
    let significand = if bits >> 52 & 0x7ff == 0 { trailing } else { trailing | 1 << 52 };
    if significand == 0 { 0 } else { 64 - significand.leading_zeros() - significand.trailing_zeros() }
}
