//! Drawn operands of products: the same for a seed on any machine and any number of threads.

use crate::{
    base::{named::named, parallel},
    format::{Encoding, Format, Overflow, Rounding},
    inputs::random,
    isa::Codes,
    product::Matrix,
};

named! {
    /// Distribution of drawn operands.
    pub enum Values {
        Normal = "normal": "about normal, deviation 1: sums of four uniform numbers; integers over their whole range";
        Magnitudes = "magnitudes": "uniform signs, exponents and significands: the order of a sum decides many bits";
    }
}

/// Exponents of magnitudes by format: for a wide D, and for a D with the range of f16 or less.
const EXPONENTS: [(&str, [i32; 2], [i32; 2]); 7] = [
    ("f16", [-6, 6], [-8, 2]),
    ("bf16", [-12, 12], [-8, 2]),
    ("tf32", [-12, 12], [-8, 2]),
    ("f32", [-12, 12], [-8, 2]),
    ("e4m3", [-6, 6], [-6, 0]),
    ("e5m2", [-8, 8], [-8, 0]),
    ("f64", [-12, 12], [-8, 2]),
];

/// Elements that a thread draws at a time.
const CHUNK: usize = 1 << 14;

/// Draws a matrix for a product whose D has format `d`.
pub fn draw(rows: usize, columns: usize, format: &'static Format, d: &Format, values: Values, seed: u64) -> Matrix {
    let width = format.bytes();
    let mut bytes = vec![0; rows * columns * width];
    let exponents = exponents(format, d);
    parallel::each(bytes.chunks_mut(CHUNK * width).enumerate(), |(chunk, bytes)| {
        for (at, code) in bytes.chunks_exact_mut(width).enumerate() {
            let bits = random(seed, (chunk * CHUNK + at) as u64);
            let drawn = match format.encoding {
                Encoding::Integer { .. } | Encoding::Table(_) => bits & format.code_mask(),
                Encoding::Float(_) => float(format, values, exponents, bits),
            };
            code.copy_from_slice(&drawn.to_le_bytes()[..width]);
        }
    });
    Matrix::new(rows, columns, format, Codes::from_bytes(format, bytes).expect("whole codes"))
}

fn exponents(format: &Format, d: &Format) -> [i32; 2] {
    let narrow = matches!(d.name, "f16" | "e4m3" | "e5m2");
    let row = EXPONENTS.iter().find(|(name, ..)| *name == format.name);
    row.map_or([-4, 4], |(_, wide, small)| if narrow { *small } else { *wide })
}

/// A code of a number from random bits.
fn float(format: &Format, values: Values, [least, most]: [i32; 2], bits: u64) -> u64 {
    let number = match values {
        Values::Normal => {
            // The sum of four numbers in [-0.5, 0.5) has the deviation 1 / sqrt(3).
            let sum: f64 = (0..4).map(|at| f64::from((bits >> (16 * at)) as u16) / 65536.0 - 0.5).sum();
            sum * 3f64.sqrt()
        }
        Values::Magnitudes => {
            let exponent = least + ((bits >> 1) % (most - least + 1) as u64) as i32;
            let significand = 1.0 + (bits >> 40) as f64 / f64::from(1 << 24);
            let magnitude = significand * 2f64.powi(exponent);
            if bits & 1 == 1 { -magnitude } else { magnitude }
        }
    };
    format.encode_f64(number, Rounding::Rne, Overflow::Saturate).expect("numbers have codes")
}
