//! The exact value of a dot-product-add, its correctly rounded code, and the error of a result in ulp.

use tcnum::{
    exact::Dot,
    format::{self, Overflow, Rounding},
};

fn main() -> tcnum::Result<()> {
    let [f16, f32] = [format::find("f16")?, format::find("f32")?];
    let code = |value: f64| f16.encode_f64(value, Rounding::Rne, Overflow::Standard).expect("f16 has NaN");
    let pairs = [(2048.0, 2048.0), (0.5, 0.25), (-2048.0, 2048.0)].map(|(a, b)| (code(a), code(b)));
    let mut dot = Dot::new(f16, f16, f32, f32, pairs.len());
    let mut sum = dot.sum(pairs, 1f32.to_bits().into());
    let rounded = sum.round(f32, Rounding::Rne, Overflow::Standard).expect("f32 has NaN");
    println!("exactly {}, rounded {}", sum.real().to_f64(), f32.to_f64(rounded));
    let error = sum.deviation(f32, 1f32.to_bits().into()).expect("numbers");
    println!("a result of 1 is off by {} ulp", error.ulps.expect("f32 has an ulp"));
    Ok(())
}
