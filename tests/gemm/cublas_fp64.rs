//! FP64 emulation of cuBLAS 13.1, as an H100 and an H200 computed it, replayed by the shipped scheme.

use std::{collections::BTreeSet, path::Path};

use tcnum_engine::{
    array::Arrays,
    device::ModelDevice,
    product::{NumberMatrix, ProductOperands},
    scheme::{self, Scheme, SchemeUnit},
};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gemm/cublas-fp64.safetensors");

/// Matrices `NAME.a` and `NAME.b`, of three dimensions for a batch, perhaps `NAME.c`, and products D.
///
/// `NAME.BITS` is D with so many mantissa bits, or `dyn`, as the operands need; `NAME.BITS:ALPHA:BETA` has C in it too.
#[test]
fn products_of_cublas_are_replayed_bit_for_bit() {
    let arrays = Arrays::read(Path::new(RECORDING)).unwrap().arrays;
    let matrix = |name: &str| {
        let array = arrays.iter().find(|array| array.name == name).unwrap();
        let (format, codes) = array.codes(None).unwrap();
        let (columns, rows) = array.shape.split_last().unwrap();
        let (rows, values) = (rows.iter().product(), codes.iter().map(|code| format.to_f64(code)).collect());
        NumberMatrix { rows, columns: *columns, values }
    };
    let mut device = ModelDevice::open("hopper").unwrap();
    let (mut elements, mut seen) = (0, BTreeSet::new());
    for array in &arrays {
        let (name, rest) = array.name.split_once('.').unwrap();
        if ["a", "b", "c"].contains(&rest) {
            continue;
        }
        let (bits, factors) = rest.split_once(':').unwrap_or((rest, "1:0"));
        let (alpha, beta) = factors.split_once(':').unwrap();
        let [alpha, beta] = [alpha, beta].map(|factor| factor.parse::<f64>().unwrap());
        let scheme = match bits {
            "dyn" => "cublas-fp64".to_string(),
            bits => format!("cublas-fp64:{}", (bits.parse::<usize>().unwrap() + 1).div_ceil(8)),
        };
        let scheme = Scheme::find(&scheme).unwrap();
        let unit = SchemeUnit::of(&scheme, &mut device, None).unwrap();
        let operands = ProductOperands {
            a: matrix(&format!("{name}.a")),
            b: matrix(&format!("{name}.b")),
            c: rest.contains(':').then(|| matrix(&format!("{name}.c"))),
            alpha,
            beta,
            batch: if array.shape.len() == 3 { array.shape[0] } else { 1 },
        };
        let d = matrix(&array.name);
        let computed = scheme::products(&scheme, &unit, &mut device, &operands).unwrap();
        for (at, (actual, expected)) in computed.codes.iter().map(f64::from_bits).zip(&d.values).enumerate() {
            let same = actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
            assert!(same, "{} of {}: element {at} is {actual:e} and not {expected:e}", scheme.name, array.name);
        }
        elements += d.values.len();
        seen.insert(bits.to_string());
        seen.insert(format!("{} dimensions", array.shape.len()));
        seen.extend(rest.contains(':').then(|| "scaled".to_string()));
    }
    let kinds = ["dyn", "55", "1007", "scaled", "3 dimensions"];
    assert!(elements > 7_000 && kinds.iter().all(|kind| seen.contains(*kind)), "{elements} {seen:?}");
}
