//! A slice in e4m3, in f16 (numbers of the crate `half`) and in blocks, with the largest errors.

use tcnum::format::{
    self, Overflow, Rounding,
    block::{Quantizer, formats},
    slices::{Decoder, Encoder, SliceElement},
};

fn main() -> tcnum::Result<()> {
    let values: Vec<f32> = (0..1 << 16).map(|i| ((i * 7919 % 65_536) as f32 / 32_768.0 - 1.0).powi(3)).collect();
    println!("{:>7}: {:.6}", "e4m3", error(&values, &there_and_back::<u8>("e4m3", &values)?));
    println!("{:>7}: {:.6}", "f16", error(&values, &there_and_back::<half::f16>("f16", &values)?));
    for format in formats() {
        let blocks = Quantizer::new(format).quantize(&values, 256);
        println!("{:>7}: {:.6}", format.name, error(&values, &blocks.dequantize()));
    }
    Ok(())
}

/// `values` rounded to a format and back.
fn there_and_back<E: SliceElement>(name: &str, values: &[f32]) -> tcnum::Result<Vec<f32>> {
    let format = format::find(name)?;
    let mut codes = vec![E::default(); values.len()];
    Encoder::new(format, Rounding::Rne, Overflow::Saturate)?.encode(values, &mut codes);
    let mut back = vec![0.0; values.len()];
    Decoder::new(format)?.decode(&codes, &mut back);
    Ok(back)
}

/// Largest absolute error.
fn error(values: &[f32], rounded: &[f32]) -> f32 {
    values.iter().zip(rounded).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}
