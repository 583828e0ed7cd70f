//! Slice conversions of all 2^32 `f32` values, against the formats' own encoding.
//!
//!     cargo test --release -p tcnum-core --features mpfr --test formats slices_exhaustive -- --ignored --nocapture
//!
//! Rounding is monotone: if both ends of a run of values have the same code, so has every value between them. One test
//! for each rounding direction asks for the exact codes at the ends of each run of equal codes, and at some places
//! between; another one, which takes an hour of a core, asks for every value.

use std::time::Instant;

use rayon::prelude::*;
use tcnum_core::{
    format::slices::Encoder,
    format::{FORMATS, Format, Overflow, Real, Rounding},
};

const PIECE: usize = 1 << 18;

/// The format's own code of the `f32` with these bits, or the documented substitute.
fn exact(format: &Format, rounding: Rounding, bits: u32) -> u64 {
    let value = Real::from(f64::from(f32::from_bits(bits)));
    let substitute = || if format.is_integer() { 0 } else { format.largest(false) };
    format.encode(&value, rounding, Overflow::Standard).unwrap_or_else(substitute)
}

/// Density of the questions for exact codes.
#[derive(Clone, Copy, PartialEq)]
enum Ask {
    Ends,
    Everywhere,
}

/// Checks the codes of `PIECE` values; returns the number of values without one.
fn piece(format: &Format, encoder: &Encoder<u16>, rounding: Rounding, ask: Ask, first: u32) -> usize {
    let values: Vec<f32> = (0..PIECE as u32).map(|at| f32::from_bits(first + at)).collect();
    let mut codes = vec![0; PIECE];
    let missing = encoder.encode(&values, &mut codes);
    let check = |at: usize| {
        let bits = first + at as u32;
        assert_eq!(u64::from(codes[at]), exact(format, rounding, bits), "{format} {rounding:?} {bits:#010x}");
    };
    let mut start = 0;
    for run in codes.chunk_by(|x, y| x == y) {
        let end = start + run.len();
        match ask {
            Ask::Everywhere => (start..end).for_each(check),
            // Both ends, and three places between.
            Ask::Ends => [0, 1, 2, 5, 7].map(|part| start + (run.len() - 1) * part / 7).into_iter().for_each(check),
        }
        start = end;
    }
    // In these formats, only NaNs may be without a code.
    let nans = values.iter().filter(|value| value.is_nan()).count();
    assert_eq!(missing, if format.has_nan() { 0 } else { nans }, "{format} {rounding:?}");
    missing
}

/// Checks all values in every format of the table of at most 16 bits.
fn exhaust(rounding: Rounding, ask: Ask) {
    for format in FORMATS.iter().filter(|format| format.bits <= 16) {
        let start = Instant::now();
        let encoder = Encoder::<u16>::new(format, rounding, Overflow::Standard).expect("it fits");
        let pieces = (0..(1u64 << 32) / PIECE as u64).into_par_iter();
        let missing: usize = pieces.map(|at| piece(format, &encoder, rounding, ask, (at * PIECE as u64) as u32)).sum();
        let (name, seconds) = (rounding.name(), start.elapsed().as_secs_f64());
        println!("f32 to {format} {name}: 4294967296 values agree, {missing} of them without a code ({seconds:.0} s)");
    }
}

macro_rules! every_f32 {
    ($($name:ident $rounding:ident $ask:ident),*) => {
        $(
            #[test]
            #[ignore = "2^32 values for every format: minutes in a release build"]
            fn $name() {
                exhaust(Rounding::$rounding, Ask::$ask);
            }
        )*
    };
}
every_f32! {
    every_f32_to_nearest_even Rne Ends, every_f32_to_nearest_away Rna Ends, every_f32_toward_zero Rz Ends,
    every_f32_up Ru Ends, every_f32_down Rd Ends, every_f32_to_odd Ro Ends, one_by_one_to_nearest_even Rne Everywhere
}
