//! FP64 emulation of cuBLAS 13.1, as an H100 and an H200 computed it, replayed by the shipped scheme.

use std::{collections::BTreeSet, path::Path};

use tcnum::{
    array::Arrays,
    device::ModelDevice,
    emulate::{self, NumberMatrix, Scheme, SchemeUnit},
};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gemm/cublas-fp64.safetensors");

/// Matrices `NAME.a` and `NAME.b`, and `NAME.BITS`: D with so many mantissa bits, or `dyn`, as the operands need.
#[test]
fn products_of_cublas_are_replayed_bit_for_bit() {
    let arrays = Arrays::read(Path::new(RECORDING)).unwrap().arrays;
    let matrix = |name: &str| {
        let array = arrays.iter().find(|array| array.name == name).unwrap();
        let values = array.bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        NumberMatrix { rows: array.shape[0], columns: array.shape[1], values }
    };
    let mut device = ModelDevice::open("hopper").unwrap();
    let (mut elements, mut seen) = (0, BTreeSet::new());
    for array in &arrays {
        let (name, bits) = array.name.split_once('.').unwrap();
        let scheme = match bits {
            "a" | "b" => continue,
            "dyn" => "cublas-fp64".to_string(),
            bits => format!("cublas-fp64:{}", (bits.parse::<usize>().unwrap() + 1).div_ceil(8)),
        };
        let scheme = Scheme::find(&scheme).unwrap();
        let unit = SchemeUnit::of(&scheme, &mut device, None).unwrap();
        let (a, b, d) = (matrix(&format!("{name}.a")), matrix(&format!("{name}.b")), matrix(&array.name));
        let own = emulate::product(&scheme, &unit, &mut device, &a, &b).unwrap();
        for (at, (own, expected)) in own.codes.iter().map(f64::from_bits).zip(&d.values).enumerate() {
            let same = own.to_bits() == expected.to_bits() || own.is_nan() && expected.is_nan();
            assert!(same, "{} of {}: element {at} is {own:e} and not {expected:e}", scheme.name, array.name);
        }
        elements += d.values.len();
        seen.insert(bits.to_string());
    }
    assert!(elements > 5_000 && seen.contains("dyn") && seen.contains("55"), "{elements} {seen:?}");
}
