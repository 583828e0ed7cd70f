//! Published formats by table: the values of their codes, and their rounding to the nearest.

use super::{Nearest, Overflow, Ties, ValueTable};

/// NF4 of bitsandbytes: quantiles of the normal distribution, in binary32.
/// Its thresholds, in binary32 too, replace the exact half-way points. A value on a threshold goes down (`dQuantizeNF4`,
/// kernels.cu: x > threshold).
#[expect(clippy::excessive_precision, reason = "the digits of the source")]
pub(super) static NF4: ValueTable = ValueTable::new(
    &widened([
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ]),
    Nearest {
        thresholds: &widened([
            -0.8480964004993439,
            -0.6106329262256622,
            -0.4599952697753906,
            -0.33967943489551544,
            -0.23460740596055984,
            -0.13791173323988914,
            -0.045525018125772476,
            0.03979014977812767,
            0.1202552504837513,
            0.2035212516784668,
            0.2920137718319893,
            0.3893125355243683,
            0.5016634166240692,
            0.6427869200706482,
            0.8614784181118011,
        ]),
        ties: Ties::Down,
        ..Nearest::EVEN
    },
);

/// IQ4_NL of llama.cpp: integers, denser near zero. A value half-way goes up (`best_index_int8`).
pub(super) static IQ4NL: ValueTable = ValueTable::new(
    &[-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0],
    Nearest { ties: Ties::Up, ..Nearest::EVEN },
);

/// HiFloat8: more significand bits for exponents near zero.
/// Ties go away from zero (the paper's rounding TA). Infinity takes the place of 1.5 * 2^15, so that values from half-way
/// there overflow.
pub(super) static HIF8: ValueTable = ValueTable::new(
    &HIF8_VALUES,
    Nearest { thresholds: &[], ties: Ties::Away, limit: Some(40_960.0), overflow: Overflow::Infinity },
);

/// Posit of 8 bits with two exponent bits.
/// A boundary is the posit of 9 bits between two neighbours, and a tie goes to the even code. Numbers never become zero or
/// exceptional (NaR, here NaN): only an infinity does.
pub(super) static POSIT8: ValueTable = ValueTable::new(
    &POSIT8_VALUES,
    Nearest { thresholds: &POSIT8_THRESHOLDS, ties: Ties::Even, limit: Some(f64::INFINITY), overflow: Overflow::Nan },
);

/// Numbers of binary32 as numbers of binary64.
const fn widened<const N: usize>(numbers: [f32; N]) -> [f64; N] {
    let (mut wide, mut at) = ([0.0; N], 0);
    while at < N {
        wide[at] = numbers[at] as f64;
        at += 1;
    }
    wide
}

/// `significand * 2^exponent`, a normal number of binary64.
const fn normal_number(significand: u64, exponent: i32) -> f64 {
    let leading = 63 - significand.leading_zeros() as i32;
    let trailing = significand << (52 - leading) & ((1 << 52) - 1);
    f64::from_bits(((exponent + leading + 1023) as u64) << 52 | trailing)
}

const HIF8_VALUES: [f64; 256] = {
    let (mut values, mut code) = ([0.0; 256], 0);
    while code < 256 {
        let magnitude = hif8_magnitude(code as u64 & 0x7f);
        values[code] = match (code >> 7, magnitude == 0.0) {
            (0, _) => magnitude,
            (_, true) => f64::NAN,
            _ => -magnitude,
        };
        code += 1;
    }
    values
};

/// Magnitude of the low 7 bits.
/// The dot field, a prefix code, gives the width of the exponent. The exponent has a sign and a hidden leading bit. The
/// rest is the significand.
const fn hif8_magnitude(bits: u64) -> f64 {
    let (dot_bits, exponent_bits) = match bits {
        0x60.. => (2, 4),
        0x40.. => (2, 3),
        0x20.. => (2, 2),
        0x10.. => (3, 1),
        0x08.. => (4, 0),
        0 => return 0.0,
        // No exponent field: powers of two below the normal numbers.
        _ => return normal_number(1, bits as i32 - 23),
    };
    let trailing_bits = 7 - dot_bits - exponent_bits;
    let trailing = bits & ((1 << trailing_bits) - 1);
    let field = bits >> trailing_bits & ((1 << exponent_bits) - 1);
    let exponent = match exponent_bits {
        0 => 0,
        _ => {
            let leading = 1 << (exponent_bits - 1);
            let magnitude = (leading | field & (leading - 1)) as i32;
            if field & leading != 0 { -magnitude } else { magnitude }
        }
    };
    if exponent == 15 && trailing == 1 {
        return f64::INFINITY;
    }
    normal_number(1 << trailing_bits | trailing, exponent - trailing_bits)
}

const POSIT8_VALUES: [f64; 256] = {
    let (mut values, mut code) = ([0.0; 256], 0);
    while code < 256 {
        values[code] = posit(code as u8 as i8 as i32, 8);
        code += 1;
    }
    values
};

const POSIT8_THRESHOLDS: [f64; 254] = {
    let (mut thresholds, mut at) = ([0.0; 254], 0);
    while at < 254 {
        // The number with the code below the boundary, as an integer from -127.
        let below = at as i32 - 127;
        // Next to zero every number but zero itself is rounded to the smallest.
        thresholds[at] = if below == -1 || below == 0 { 0.0 } else { posit(2 * below + 1, 9) };
        at += 1;
    }
    thresholds
};

/// Posit with two exponent bits whose code of `width` bits, as an integer with a sign, is this one.
const fn posit(code: i32, width: u32) -> f64 {
    if code == 0 {
        return 0.0;
    }
    if code == -1 << (width - 1) {
        return f64::NAN;
    }
    if code < 0 {
        return -posit(-code, width);
    }
    // The bits after the sign, left-justified: a run of equal bits, its end, two exponent bits, the fraction.
    let bits = (code as u32) << (33 - width);
    let ones = bits >> 31 == 1;
    let run = if ones { bits.leading_ones() } else { bits.leading_zeros() };
    let regime = if ones { run as i32 - 1 } else { -(run as i32) };
    // Bits beyond the code's end are zeros.
    let rest = ((bits as u64) << 32) << run << 1;
    let exponent = 4 * regime + (rest >> 62) as i32;
    normal_number(1 << 32 | rest << 2 >> 32, exponent - 32)
}
