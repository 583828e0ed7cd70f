//! Files of captured products: what is read from them, and what is refused.

use std::{collections::BTreeMap, path::Path};

use tcnum_engine::{
    array::{Array, Arrays, Content},
    product::{Captures, Factors, Matrix, ProductShape},
};

use crate::{command::format, compute::matrix};

/// Products of NumPy, which `tests/fixtures/captures.py` captured.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/captures.safetensors");

type Metadata = BTreeMap<String, String>;

fn array(name: &str, matrix: &Matrix) -> Array<'static> {
    let bytes = matrix.codes.as_bytes().to_vec();
    Array::of_codes(name, vec![matrix.rows, matrix.columns], matrix.format, bytes)
}

/// The tensors of a product of 4 x 5 elements with k = 6, each with an addend and scales.
fn product(name: &str) -> (Factors, Matrix, Vec<Array<'static>>) {
    let f32 = format("f32");
    let factors = Factors {
        c: Some(matrix(4, 5, f32, 3)),
        bias: Some(matrix(1, 5, f32, 4)),
        scale_a: Some(matrix(4, 1, f32, 5)),
        scale_b: Some(matrix(1, 5, f32, 6)),
        ..Factors::new(matrix(4, 6, format("e4m3"), 1), matrix(6, 5, format("bf16"), 2))
    };
    let d = matrix(4, 5, format("f16"), 7);
    let named = factors.named().into_iter().chain([("d", &d)]);
    let arrays = named.map(|(part, matrix)| array(&format!("{name}.{part}"), matrix)).collect();
    (factors, d, arrays)
}

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn write(path: &Path, arrays: Vec<Array>, metadata: Metadata) {
    Arrays { arrays, metadata }.write(path).unwrap();
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("captures.safetensors");
    let (factors, d, mut arrays) = product("layer.0");
    arrays.push(array("b.a", &factors.a));
    arrays.push(array("b.b", &factors.b));
    arrays.push(array("b.d", &d));
    arrays.push(array("other.weight", &d));
    let told = r#"{"call": "linear(a, w)", "kernels": ["gemm", "reduce"], "m": 64, "n": 5, "k": 6, "later": 1}"#;
    let marked = metadata(&[("tcnum.capture", "1"), ("torch", "2.11.0"), ("gpu", "H100"), ("layer.0", told)]);
    write(&path, arrays.clone(), marked);
    let captures = Captures::open(&path).unwrap();
    let mut names: Vec<&str> = captures.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "layer.0"]);
    assert_eq!(captures.libraries(), &metadata(&[("torch", "2.11.0"), ("gpu", "H100")]));
    let first = captures.read("layer.0").unwrap();
    assert_eq!((&first.factors, &first.d, first.shape), (&factors, &d, ProductShape { m: 64, n: 5, k: 6 }));
    assert_eq!((first.call.as_str(), first.kernels), ("linear(a, w)", vec!["gemm".to_string(), "reduce".to_string()]));
    let second = captures.read("b").unwrap();
    let shape = ProductShape { m: 4, n: 5, k: 6 };
    assert_eq!((second.factors, second.shape), (Factors::new(factors.a, factors.b), shape));

    // The metadata of files that tcnum.capture did not write are not its own.
    write(&path, arrays, metadata(&[("layer.0", "text"), ("torch", "2.11.0")]));
    let captures = Captures::open(&path).unwrap();
    assert!(captures.libraries().is_empty());
    assert_eq!(captures.read("layer.0").unwrap().shape, shape);
}

#[test]
fn scales_of_one_number_are_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("captures.safetensors");
    let one = matrix(1, 1, format("f32"), 8);
    let (_, _, mut arrays) = product("x");
    for scale in arrays.iter_mut().filter(|scale| scale.name.starts_with("x.scale")) {
        let shape = if scale.name == "x.scale_a" { vec![] } else { vec![1] };
        *scale = Array { shape, ..array(&scale.name, &one) };
    }
    write(&path, arrays, Metadata::new());
    let factors = Captures::open(&path).unwrap().read("x").unwrap().factors;
    assert_eq!((factors.scale_a, factors.scale_b), (Some(one.clone()), Some(one)));
}

#[test]
fn captures_of_python_are_read() {
    let captures = Captures::open(Path::new(FIXTURE)).unwrap();
    let names: Vec<&str> = captures.names().collect();
    // In the order of their captures.
    assert_eq!(
        names,
        [
            "mm.f32",
            "mm.f64",
            "mm.bf16",
            "mm.f16",
            "addmm",
            "linear",
            "scaled.e4m3",
            "scaled.e5m2",
            "int8",
            "batch.0",
            "batch.1",
            "batch.2",
            "mv"
        ]
    );
    assert!(captures.libraries().contains_key("numpy"));
    for name in names {
        let capture = captures.read(name).unwrap();
        let Factors { a, b, c, bias, scale_a, scale_b } = &capture.factors;
        let ProductShape { m, n, k } = capture.shape;
        assert!(capture.d.rows <= m && capture.d.columns <= n && a.columns == k, "{name}");
        let scale = |scale: &Option<Matrix>| scale.as_ref().map_or(1.0, |scale| scale.value(0, 0));
        // Half an ulp of D's format, and roundings of sums in f32.
        let tolerance = match capture.d.format.name {
            "bf16" => 2f64.powi(-8),
            "f16" => 2f64.powi(-10),
            _ => 0.0,
        };
        for row in 0..capture.d.rows {
            for column in 0..capture.d.columns {
                let terms: Vec<f64> = (0..k).map(|at| a.value(row, at) * b.value(at, column)).collect();
                let factor = scale(scale_a) * scale(scale_b);
                let addend = c.as_ref().map_or(0.0, |c| c.value(row, column));
                let addend = addend + bias.as_ref().map_or(0.0, |bias| bias.value(0, column));
                let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|term| term.abs()).sum::<f64>());
                let (d, exact) = (capture.d.value(row, column), sum * factor + addend);
                let allowed = tolerance * exact.abs() + 1e-6 * (size * factor + addend.abs());
                assert!((d - exact).abs() <= allowed, "{name} {row} {column}: {d} and {exact}");
            }
        }
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("captures.safetensors");
    let f32 = format("f32");
    let marked = |told: &str| metadata(&[("tcnum.capture", "1"), ("x", told)]);
    let plain = Metadata::new;
    let without = |part: &'static str| -> Vec<Array> {
        product("x").2.into_iter().filter(|array| array.name != format!("x.{part}")).collect()
    };
    let with = |part: &'static str, array: Array<'static>| {
        [without(part), vec![Array { name: format!("x.{part}"), ..array }]].concat()
    };
    let other = |part: &'static str, rows, columns| with(part, array("", &matrix(rows, columns, f32, 9)));
    let bytes = |kind| Array { name: String::new(), shape: vec![4, 5], kind, bytes: vec![1; 20].into() };
    let cube = Array { shape: vec![2, 2, 6], ..array("", &matrix(4, 6, f32, 1)) };
    let cases: Vec<(Vec<Array>, Metadata, &str)> = vec![
        (without("a"), plain(), "product 'x': tensor 'x.a' is missing; a product needs NAME.a, NAME.b and NAME.d"),
        (without("b"), plain(), "product 'x': tensor 'x.b' is missing"),
        (without("d"), plain(), "product 'x': tensor 'x.d' is missing"),
        (vec![array("x.bias", &matrix(1, 4, f32, 1))], plain(), "the file has no product; a product has the tensors"),
        (Vec::new(), marked("{}"), "the file has no product"),
        (
            with("d", bytes(Content::Unsigned(1))),
            plain(),
            "product 'x': tensor 'x.d' has a type without a format; write F64",
        ),
        (with("c", bytes(Content::Other("BOOL"))), plain(), "product 'x': tensor 'x.c' has a type without a format"),
        (with("a", cube), plain(), "product 'x': tensor 'x.a': the shape is [2, 2, 6]; a matrix has rows and columns"),
        (other("b", 5, 6), plain(), "product 'x': A is 4 x 6 and B is 5 x 6; write A as m x k and B as k x n"),
        (other("d", 5, 4), plain(), "product 'x': D is 5 x 4, and A times B is 4 x 5"),
        (other("c", 4, 1), plain(), "product 'x': C is 4 x 1; expected 4 x 5"),
        (other("bias", 5, 1), plain(), "product 'x': the bias is 5 x 1; expected 1 x 5"),
        (
            other("scale_a", 5, 1),
            plain(),
            "product 'x': tensor 'x.scale_a' is 5 x 1, and A is 4 x 6; write one scale for each block of A",
        ),
        (other("scale_b", 7, 1), plain(), "product 'x': tensor 'x.scale_b' is 7 x 1, and B is 6 x 5"),
        (
            without(""),
            marked("text"),
            "product 'x': its metadata are not understood: expected ident at line 1 column 2; write a",
        ),
        (without(""), marked(r#"{"m": 4, "n": 5}"#), "product 'x': its metadata are not understood: missing field `k`"),
        (
            without(""),
            marked(r#"{"m": 3, "n": 5, "k": 6}"#),
            "product 'x': its metadata say m = 3, n = 5 and k = 6, but A is 4 x 6 and B is 6 x 5; write m, n and k of the whole",
        ),
        (without(""), marked(r#"{"m": 4, "n": 5, "k": 7}"#), "product 'x': its metadata say m = 4, n = 5 and k = 7"),
        (
            without(""),
            metadata(&[("tcnum.capture", "2")]),
            "the captures have version \"2\", and this tcnum reads version 1; use the tcnum that wrote the file",
        ),
    ];
    for (arrays, metadata, says) in cases {
        write(&path, arrays, metadata);
        let error = Captures::open(&path).expect_err(says).to_string();
        let expected = format!("{}: {says}", path.display());
        assert!(error.contains(&expected), "{error}\n{expected}");
    }

    write(&path, without(""), plain());
    let captures = Captures::open(&path).unwrap();
    let error = captures.read("y").unwrap_err().to_string();
    assert!(error.contains("captures.safetensors: there is no product 'y'; the nearest names are 'x'"), "{error}");

    let file = std::fs::read(&path).unwrap();
    std::fs::write(&path, &file[..file.len() - 1]).unwrap();
    let error = Captures::open(&path).unwrap_err().to_string();
    assert!(error.contains("captures.safetensors: the file ends in the data of array 'x."), "{error}");
}
