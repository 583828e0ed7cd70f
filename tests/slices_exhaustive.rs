//! Conversions of slices on all 2^32 `f32` values, against the formats' own encoding of the exact values.
//!
//!     cargo test --release --test slices_exhaustive -- --ignored --nocapture

use std::time::Instant;

use rayon::prelude::*;
use tcnum::{
    format::{FORMATS, Format, Overflow, Real, Rounding},
    slices::Encoder,
};

const PIECE: usize = 1 << 18;

/// The code of what has none, as `Encoder` documents it.
fn substitute(format: &Format) -> u64 {
    if format.is_integer() { 0 } else { format.largest(false) }
}

/// Compares the codes of `PIECE` values; returns how many have none.
fn piece(format: &Format, encoder: &Encoder<u16>, rounding: Rounding, first: usize) -> usize {
    let values: Vec<f32> = (first..first + PIECE).map(|bits| f32::from_bits(bits as u32)).collect();
    let mut codes = vec![0; PIECE];
    let missing = encoder.encode(&values, &mut codes);
    let mut without = 0;
    for (value, code) in values.iter().zip(codes) {
        let exact = Real::from(f64::from(*value));
        let own = format.encode(&exact, rounding, Overflow::Standard).unwrap_or_else(|| {
            without += 1;
            substitute(format)
        });
        assert_eq!(u64::from(code), own, "{format} {rounding:?} {:#010x}", value.to_bits());
    }
    assert_eq!(missing, without, "{format} {rounding:?}");
    missing
}

/// All values in every format of the table of at most 16 bits.
fn exhaust(rounding: Rounding) {
    for format in FORMATS.iter().filter(|format| format.bits <= 16) {
        let start = Instant::now();
        let encoder = Encoder::<u16>::new(format, rounding, Overflow::Standard).expect("it fits");
        let pieces = (0..(1usize << 32) / PIECE).into_par_iter();
        let missing: usize = pieces.map(|at| piece(format, &encoder, rounding, at * PIECE)).sum();
        let (name, seconds) = (rounding.name(), start.elapsed().as_secs_f64());
        println!("f32 to {format} {name}: 4294967296 values agree, {missing} of them without a code ({seconds:.0} s)");
    }
}

macro_rules! every_f32 {
    ($($name:ident $rounding:ident),*) => {
        $(
            #[test]
            #[ignore = "2^32 values for every format: minutes in a release build"]
            fn $name() {
                exhaust(Rounding::$rounding);
            }
        )*
    };
}
every_f32! {
    every_f32_to_nearest_even Rne, every_f32_to_nearest_away Rna, every_f32_toward_zero Rz, every_f32_up Ru,
    every_f32_down Rd, every_f32_to_odd Ro
}
