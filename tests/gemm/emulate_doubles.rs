//! Products in f64 of small formats: against the exact product, against bounds, and at the ends of what schemes hold.

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tcnum_engine::{
    array::{Array, Arrays},
    device::ModelDevice,
    product::reference::DoubleReferences,
    product::{NumberMatrix, ProductOperands},
    scheme::{self, OperandLoss, Scheme, SchemeUnit, error_bound},
};
use tcnum_study::emulate::DoubleErrors;

use crate::program::{tcnum, validate_report};

/// The product by a scheme on Hopper's model.
fn product(scheme: &Scheme, a: &NumberMatrix, b: &NumberMatrix) -> Vec<f64> {
    let mut device = ModelDevice::open("hopper").unwrap();
    let unit = SchemeUnit::of(scheme, &mut device, None).unwrap();
    let d = scheme::product(scheme, &unit, &mut device, a, b).unwrap();
    assert_eq!(d.format.name, "f64");
    d.codes.iter().map(f64::from_bits).collect()
}

fn matrix(rows: usize, columns: usize, values: Vec<f64>) -> NumberMatrix {
    NumberMatrix { rows, columns, values }
}

/// Numbers whose exponents differ by up to `spread`, of up to `bits` bits; a few are zero.
fn number(bits: u32, spread: i32) -> impl Strategy<Value = f64> {
    let most = 1i64 << bits;
    (-most + 1..most, -spread..=0).prop_map(|(significand, exponent)| significand as f64 * 2f64.powi(exponent))
}

/// Two matrices of numbers, with 1 to 5 rows and columns and up to 40 terms.
fn operands(bits: u32, spread: i32) -> impl Strategy<Value = (NumberMatrix, NumberMatrix)> {
    (1..=5usize, 1..=40usize, 1..=5usize).prop_flat_map(move |(m, k, n)| {
        let numbers = move |count: usize| proptest::collection::vec(number(bits, spread), count);
        (numbers(m * k), numbers(k * n)).prop_map(move |(a, b)| (matrix(m, k, a), matrix(k, n, b)))
    })
}

/// The same inputs in every run.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
}

#[test]
fn moduli_that_hold_the_integers_give_the_exact_product_rounded() {
    // 30 bits and 40 exponents: integers of 70 bits. Twenty moduli have 78 for the norm of a row, of up to 40 elements.
    for name in ["crt-int8-f64:20", "crt-int8-accurate-f64:20"] {
        let scheme = Scheme::find(name).unwrap();
        let outcome = runner(60).run(&operands(30, 40), |(a, b)| {
            let exact = DoubleReferences::of(&a, &b).unwrap();
            prop_assert_eq!(product(&scheme, &a, &b), exact.rounded);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn errors_of_slices_and_moduli_are_within_their_bound() {
    let names =
        ["ozaki-int8-f64", "ozaki-u8-f64", "ozaki-e4m3-f64", "cublas-fp64", "crt-int8-f64", "crt-int8-accurate-f64"];
    for (name, counts) in names.into_iter().flat_map(|name| [(name, 2..5), (name, 6..9), (name, 10..13)]) {
        let all: Vec<Scheme> = counts.map(|count| Scheme::find(&format!("{name}:{count}")).unwrap()).collect();
        let outcome = runner(6).run(&operands(53, 60), |(a, b)| {
            let references = DoubleReferences::of(&a, &b).unwrap();
            for scheme in &all {
                let errors = DoubleErrors::of(&product(scheme, &a, &b), &references);
                let bound = error_bound(scheme, &a, &b, &references).unwrap();
                prop_assert!(errors.of_magnitude <= bound, "{}: {} > {}", scheme.name, errors.of_magnitude, bound);
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn bounds_are_near_for_numbers_of_one_size() {
    // All operands are just below a power of two, so that every unit cuts much off.
    let (m, k, n) = (8, 32, 8);
    let value = |at: usize| 1.0 - (1 + at * 7919 % 4096) as f64 * 2f64.powi(-53);
    let a = matrix(m, k, (0..m * k).map(value).collect());
    let b = matrix(k, n, (0..k * n).map(|at| value(at + 17)).collect());
    let references = DoubleReferences::of(&a, &b).unwrap();
    for name in ["ozaki-int8-f64:4", "crt-int8-f64:8", "ozaki-u8-f64:4", "cublas-fp64:4"] {
        let scheme = Scheme::find(name).unwrap();
        let errors = DoubleErrors::of(&product(&scheme, &a, &b), &references);
        let bound = error_bound(&scheme, &a, &b, &references).unwrap();
        assert!(errors.of_magnitude <= bound && bound < 10.0 * errors.of_magnitude, "{name}: {errors:?} {bound}");
    }
}

#[test]
fn bounds_hold_for_parts_of_k_with_units_of_their_own() {
    // Eleven parts, some of them of much smaller numbers.
    let (m, k, n) = (2, 1300, 3);
    let value = |at: usize| ((at * 7919 % 4096) as f64 - 2048.5) * 2f64.powi(-((at % k / 200 * 9) as i32));
    let a = matrix(m, k, (0..m * k).map(value).collect());
    let b = matrix(k, n, (0..k * n).map(|at| ((at * 31 % 1000) as f64 - 499.7) / 3.0).collect());
    let references = DoubleReferences::of(&a, &b).unwrap();
    for count in [1, 2, 3, 5, 7, 9, 12] {
        let scheme = Scheme::find(&format!("cublas-fp64:{count}")).unwrap();
        let errors = DoubleErrors::of(&product(&scheme, &a, &b), &references);
        let bound = error_bound(&scheme, &a, &b, &references).unwrap();
        let ratio = bound / errors.of_magnitude;
        assert!((1.0..1e3).contains(&ratio), "{count} slices: {errors:?} {bound}");
    }
}

#[test]
fn bounds_hold_where_operands_or_sums_are_subnormal() {
    let names = [
        "ozaki-int8-f64:2",
        "ozaki-int8-f64:9",
        "ozaki-u8-f64:7",
        "ozaki-e4m3-f64:9",
        "ozaki-e4m3-f64:11",
        "cublas-fp64:2",
        "cublas-fp64:7",
        "cublas-fp64:16",
        "crt-int8-f64:8",
        "crt-int8-f64:14",
        "crt-int8-accurate-f64:14",
    ];
    let schemes: Vec<Scheme> = names.iter().map(|name| Scheme::find(name).unwrap()).collect();
    let within = |a: &NumberMatrix, b: &NumberMatrix| {
        let references = DoubleReferences::of(a, b).unwrap();
        for scheme in &schemes {
            let errors = DoubleErrors::of(&product(scheme, a, b), &references);
            let bound = error_bound(scheme, a, b, &references).unwrap();
            prop_assert!(errors.of_magnitude <= bound, "{}: {} > {}", scheme.name, errors.of_magnitude, bound);
        }
        Ok(())
    };
    let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    within(&matrix(1, 1, vec![1.1 * power(-1030)]), &matrix(1, 1, vec![1.3])).unwrap();
    for (down, up) in [(-1030, 0), (-1060, 900), (-1074, 1000), (-540, -520), (-900, -900), (960, 60), (-300, 300)] {
        let times_power = |numbers: &NumberMatrix, exponent: i32| {
            matrix(
                numbers.rows,
                numbers.columns,
                numbers.values.iter().map(|x| x * power(-53) * power(exponent)).collect(),
            )
        };
        let outcome = runner(12).run(&operands(53, 20), |(a, b)| within(&times_power(&a, down), &times_power(&b, up)));
        outcome.unwrap_or_else(|error| panic!("2^{down}, 2^{up}: {error}"));
    }
}

#[test]
fn sums_that_round_to_subnormal_numbers_have_a_bound_of_half_the_smallest_one() {
    let (a, b) = (matrix(1, 1, vec![2f64.powi(-1000)]), matrix(1, 1, vec![1.5 * 2f64.powi(-74)]));
    let references = DoubleReferences::of(&a, &b).unwrap();
    let scheme = Scheme::find("crt-int8-f64:20").unwrap();
    assert_eq!(DoubleErrors::of(&product(&scheme, &a, &b), &references).of_magnitude, 1.0 / 3.0);
    let bound = error_bound(&scheme, &a, &b, &references).unwrap();
    assert!((1.0 / 3.0..0.334).contains(&bound), "{bound}");
}

#[test]
fn sums_that_may_overflow_have_no_finite_bound() {
    let scheme = Scheme::find("ozaki-int8-f64:4").unwrap();
    let bound = |x: f64, y: f64| {
        let (a, b) = (matrix(1, 1, vec![x]), matrix(1, 1, vec![y]));
        error_bound(&scheme, &a, &b, &DoubleReferences::of(&a, &b).unwrap()).unwrap()
    };
    assert_eq!([bound(f64::MAX, 1.0), bound(f64::MAX, 2.0)], [f64::INFINITY, 0.0]);
    assert!(bound(f64::MAX, 0.5) < 1e-7);
}

#[test]
fn rows_of_subnormal_numbers_lose_bits_in_the_scaling_of_cublas_and_their_bound_says_so() {
    let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    let a = matrix(1, 3, [1.37, -0.71, 0.23].map(|x| x * power(-1060)).to_vec());
    let b = matrix(3, 1, [0.31, 1.93, -1.17].map(|x| x * power(900)).to_vec());
    let references = DoubleReferences::of(&a, &b).unwrap();
    let of = |name: &str| {
        let scheme = Scheme::find(name).unwrap();
        let bound = error_bound(&scheme, &a, &b, &references).unwrap();
        (DoubleErrors::of(&product(&scheme, &a, &b), &references).of_magnitude, bound)
    };
    let (error, bound) = of("cublas-fp64:7");
    assert!(error > 1e-9 && error <= bound && bound < 1e-3, "{error} {bound}");
    let (error, bound) = of("ozaki-int8-f64:9");
    assert!(error <= f64::EPSILON && bound < 1e-14, "{error} {bound}");
}

#[test]
fn slices_in_twos_complement_lose_small_sums_beside_large_elements() {
    // The first slices of the small number are -1 and 255s. Their products cancel in the register, which keeps 53 bits of the largest.
    let a = matrix(1, 2, vec![1.0, -7.123e-13]);
    let b = matrix(2, 1, vec![0.0, 0.7234567]);
    let references = DoubleReferences::of(&a, &b).unwrap();
    let error = |name: &str| {
        let scheme = Scheme::find(name).unwrap();
        DoubleErrors::of(&product(&scheme, &a, &b), &references).of_magnitude
    };
    assert!(error("ozaki-int8-f64:14") <= f64::EPSILON);
    let unsigned = error("ozaki-u8-f64:14");
    assert!(unsigned > 1e-8, "{unsigned}");
}

#[test]
fn operands_without_parts_make_nan_of_their_row_or_column_alone() {
    for name in ["ozaki-int8-f64", "ozaki-u8-f64", "crt-int8-f64", "crt-int8-accurate-f64", "ozaki-e4m3-f64"] {
        let scheme = Scheme::find(name).unwrap();
        let a = matrix(3, 2, vec![1.0, f64::INFINITY, 2.0, 3.0, -0.0, 0.0]);
        let b = matrix(2, 3, vec![1.0, f64::NAN, 0.5, 4.0, 1.0, -1.0]);
        let d = product(&scheme, &a, &b);
        let nan: Vec<bool> = d.iter().map(|x| x.is_nan()).collect();
        assert_eq!(nan, [true, true, true, false, true, false, false, true, false], "{name}");
        assert_eq!([d[3], d[5], d[6], d[8]], [14.0, -2.0, 0.0, 0.0], "{name}");
        let losses = OperandLoss::of(&scheme, &a, &b).unwrap();
        let lost: Vec<_> = losses.iter().map(|loss| (loss.matrix, loss.elements, loss.first.0, loss.first.1)).collect();
        assert_eq!(lost, [("A", 1, 0, 1), ("B", 1, 0, 1)], "{name}");
    }
}

#[test]
fn the_ends_of_f64_are_scaled_away_and_rounded_once() {
    let (tiny, huge) = (f64::from_bits(1), f64::MAX);
    for name in ["ozaki-int8-f64", "ozaki-u8-f64:9", "crt-int8-f64:18", "crt-int8-accurate-f64:18"] {
        let scheme = Scheme::find(name).unwrap();
        for (x, y, expected) in [
            (tiny, 1.0, tiny),
            (3.0 * tiny, 0.5, 2.0 * tiny),
            (tiny, 0.5, 0.0),
            (-huge, 1.0, -huge),
            (huge, 2.0, f64::INFINITY),
            (huge, tiny, huge * tiny),
            (f64::MIN_POSITIVE, f64::MIN_POSITIVE, 0.0),
        ] {
            let d = product(&scheme, &matrix(1, 1, vec![x]), &matrix(1, 1, vec![y]));
            assert_eq!(d, [expected], "{name}: {x:e} {y:e}");
        }
    }
}

#[test]
fn a_count_of_slices_or_moduli_follows_the_name() {
    let names = ["ozaki-int8-f64:7..9".to_string(), "crt-int8-f64:14".into(), "ozaki-int8-f64:8".into()];
    let counts: Vec<(String, usize)> =
        Scheme::chosen(&names).unwrap().into_iter().map(|scheme| (scheme.name.clone(), scheme.products())).collect();
    let expected =
        [("ozaki-int8-f64:7", 28), ("ozaki-int8-f64:8", 36), ("ozaki-int8-f64:9", 45), ("crt-int8-f64:14", 14)];
    assert_eq!(counts, expected.map(|(name, products)| (name.to_string(), products)));
    for (name, expected) in [
        ("ozaki-int8-f64:9..7", "the range is empty, since 9 is above 7; write ozaki-int8-f64:7..9"),
        ("ozaki-int8-f64:x", "'x' is no count of slices or moduli; write ozaki-int8-f64:8 or ozaki-int8-f64:7..9"),
        ("ozaki-int8-f64:127", "a count is at most 126"),
        ("f64:3", "f64 stands for all schemes that emulate it, and takes no count"),
        ("ozaki-int9-f64:3", "unknown scheme 'ozaki-int9-f64'"),
        ("half:3", "a count (NAME:COUNT) is of slices or moduli"),
        ("ozaki-int8:3", "its products are listed"),
        ("crt-int8-f64:21", "count = 21: it is 1 to the number of values, which is 20"),
        ("ozaki-int8-f64:17", "count is 1 to 16"),
        ("ozaki-u8-f64:16", "together they have up to 120"),
        ("ozaki-int8-f64:7..9", "names several schemes"),
    ] {
        let error = Scheme::find(name).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn wrong_moduli_and_slices_are_refused() {
    let moduli = |values: &str, rest: &str| {
        format!(
            "title = \"x\"\nemulates = \"f64\"\n{rest}[both]\nmoduli = {{ values = {values}, format = \"s8\", scaling = \"fast\" }}\n"
        )
    };
    for (text, expected) in [
        (moduli("[255, 85]", ""), "255 and 85 have the common divisor 85"),
        (moduli("[257]", ""), "257: moduli are 2 to 256"),
        (moduli("[]", ""), "count = 0"),
        (moduli("[256]", "register = \"f64\"\n"), "leave it out"),
        (moduli("[256]", "dropped = [\"256*256\"]\n"), "[[sum]] and dropped"),
        (moduli("[256]", "").replace("s8", "f16"), "remainders are in a format of integers"),
        (moduli("[256]", "").replace("fast", "quick"), "scaling = \"quick\": it is one of \"fast\", \"accurate\""),
        (moduli("[256]", "").replace("\"f64\"", "\"f16\""), "emulates = \"f16\": it is one of \"f32\", \"f64\""),
        (
            "title = \"x\"\n[both]\nslices = { count = 2, bits = 8, rounding = \"RNE\", format = \"s8\", rest = \"u8\" }\n".into(),
            "rounding = \"RNE\": it is one of RZ, RD",
        ),
        (
            "title = \"x\"\n[both]\nslices = { count = 2, bits = 8, rounding = \"RZ\", format = \"s8\", rest = \"s8\" }\n".into(),
            "slice 2 has integers from 0 to 255, and s8 lacks some",
        ),
    ] {
        let error = Scheme::parse(&text, "x", "x.toml").expect_err(expected).to_string();
        assert!(error.contains(expected), "{text}\n{error}\nnot: {expected}");
    }
}

/// A file of f64 in NumPy's format.
fn write(folder: &std::path::Path, name: &str, rows: usize, columns: usize, values: &[f64]) -> String {
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let head = format!("{head:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn operands_of_files_are_multiplied_and_the_product_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let value = |at: usize| (at as f64 * 0.7).sin() * 2f64.powi(at as i32 % 30);
    let (a, b): (Vec<f64>, Vec<f64>) =
        ((0..6 * 10).map(value).collect(), (0..10 * 4).map(|at| value(at + 99)).collect());
    let (x, y) = (write(folder.path(), "a.npy", 6, 10, &a), write(folder.path(), "b.npy", 10, 4, &b));
    let out = folder.path().join("d.npy").to_string_lossy().into_owned();
    let common = ["emulate", "--a", &x, "--b", &y, "--device", "model:hopper", "-q"];
    let run = tcnum(&[&common[..], &["--scheme", "crt-int8-f64:20", "--out", &out, "--output", "json"]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let row = &report["tables"]["double_emulations"][0];
    assert_eq!((&row["elements"], &row["equal"]), (&24.into(), &24.into()), "{row}");
    let bytes = std::fs::read(&out).unwrap();
    let d: Vec<f64> =
        bytes[bytes.len() - 24 * 8..].as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let exact = DoubleReferences::of(&matrix(6, 10, a.clone()), &matrix(10, 4, b.clone())).unwrap();
    assert_eq!(d, exact.rounded);
    let mut special = a.clone();
    special[13] = f64::NEG_INFINITY;
    let z = write(folder.path(), "z.npy", 6, 10, &special);
    let run = tcnum(&["emulate", "--a", &z, "--b", &y, "--scheme", "crt-int8-f64", "--device", "model:hopper"]);
    let expected = "crt-int8-f64: A has 1 infinities or NaN; the first is -inf in row 1, column 3.";
    assert!(run.status == 0 && run.stderr.contains(expected), "{}", run.stderr);
    assert!(run.stdout.replace("\n      ", " ").contains(expected), "{}", run.stdout);
    for (arguments, expected) in [
        (&["--scheme", "half"][..], "which f32 does not have; use a scheme of f64"),
        (&["--scheme", "l8-r8"], "multiplies drawn integers"),
        (&["--scheme", "crt-int8-f64:10..12", "--out", &out], "it holds one product"),
        (&["--scheme", "crt-int8-f64", "--out", &out, "--rows", "2"], "leave out --rows"),
        (&["--scheme", "crt-int8-f64", "--size", "8"], "cannot be used with"),
        (&["--choose", "2"], "expected a number between 0 and 1"),
        (&["--scheme", "ozaki-int8-f64:17"], "count is 1 to 16"),
        (&["--scheme", "crt-int8-f64", "--alpha", "2"], "crt-int8-f64 has no alpha, beta and C"),
        (&["--scheme", "cublas-fp64", "--beta", "2"], "--c"),
        (&["--scheme", "cublas-fp64", "--c", &x], "C is 6 x 10; expected 6 x 4"),
        (&["--choose", "1e-9", "--alpha", "2"], "a scheme is chosen for one product A B"),
    ] {
        let run = tcnum(&[&common[..], arguments].concat());
        assert!(
            run.status == 2 && run.stdout.is_empty() && run.stderr.contains(expected),
            "{arguments:?}: {}",
            run.stderr
        );
    }
    let run = tcnum(&["emulate", "--a", &x, "--b", &x, "--scheme", "crt-int8-f64", "--device", "model:hopper"]);
    assert!(run.status == 2 && run.stderr.contains("B needs as many rows as A has columns"), "{}", run.stderr);
    assert!(run.stderr.contains("--transpose-a and --transpose-b"), "{}", run.stderr);
}

/// A file of NumPy with an array of this shape.
fn write_shape(folder: &std::path::Path, name: &str, shape: &[usize], values: &[f64]) -> String {
    let path = folder.join(name);
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = Array::of_codes("x", shape.to_vec(), tcnum::format::find("f64").unwrap(), bytes);
    Arrays { arrays: vec![array], metadata: Default::default() }.write(&path).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn batches_and_additions_of_files_give_each_product_with_one_number_of_slices() {
    let folder = tempfile::tempdir().unwrap();
    let value = |at: usize| (at as f64 * 0.7).sin() * 2f64.powi(-(at as i32 % 9));
    let numbers = |from: usize, count: usize| (from..from + count).map(value).collect::<Vec<f64>>();
    let (a, b, c) = (numbers(0, 2 * 3 * 5), numbers(100, 2 * 5 * 4), numbers(200, 2 * 3 * 4));
    let file = |name: &str, shape: &[usize], values: &[f64]| write_shape(folder.path(), name, shape, values);
    let (x, y, z) = (file("a.npy", &[2, 3, 5], &a), file("b.npy", &[2, 5, 4], &b), file("c.npy", &[2, 3, 4], &c));
    let out = folder.path().join("d.npy").to_string_lossy().into_owned();
    let common = ["emulate", "--device", "model:hopper", "-q", "--a", &x, "--b", &y];
    let more = ["--c", &z, "--alpha", "-1.5", "--beta", "0.25", "--out", &out, "--output", "json"];
    let run = tcnum(&[&common[..], &more].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["double_emulations"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "the one scheme that takes batches: {rows:?}");
    assert_eq!((&rows[0]["elements"], &rows[0]["scheme"]), (&24.into(), &"cublas-fp64".into()));
    assert!(rows[0]["magnitude_error"].as_f64().unwrap() < 2e-16, "{}", rows[0]);
    let d = &Arrays::read(std::path::Path::new(&out)).unwrap().arrays[0];
    assert_eq!(d.shape, [2, 3, 4]);
    let operands = ProductOperands {
        a: matrix(6, 5, a),
        b: matrix(10, 4, b),
        c: Some(matrix(6, 4, c)),
        alpha: -1.5,
        beta: 0.25,
        batch: 2,
    };
    let references = DoubleReferences::of_operands(&operands).unwrap();
    let values: Vec<f64> = d.bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    for (at, value) in values.iter().enumerate() {
        let ProductOperands { a, b, c, .. } = &operands;
        let (row, column) = (at / 4, at % 4);
        let sum: f64 = (0..5).map(|k| a.values[row * 5 + k] * b.values[(row / 3 * 5 + k) * 4 + column]).sum();
        let plain = -1.5 * sum + 0.25 * c.as_ref().unwrap().values[at];
        assert!((value - plain).abs() <= 1e-14 && (references.rounded[at] - plain).abs() <= 1e-14, "{at}");
    }
    let single = file("s.npy", &[5, 4], &numbers(0, 20));
    for (arguments, expected) in [
        (&["--a", &x, "--b", &single][..], "A holds 2 matrices and B one matrix"),
        (&["--a", &x, "--b", &y, "--rows", "2"], "--rows: the products of a batch have all rows"),
        (&["--a", &x, "--b", &y, "--scheme", "ozaki-int8-f64"], "ozaki-int8-f64 has no rule for batches"),
    ] {
        let run = tcnum(&[&common[..4], arguments].concat());
        assert!(run.status == 2 && run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn the_cheapest_scheme_meets_the_accuracy_with_the_fewest_products() {
    let common = ["emulate", "--size", "24", "--device", "model:ampere", "--output", "json", "-q"];
    let run = tcnum(&[&common[..], &["--choose", "1e-12", "--scheme", "ozaki-int8-f64", "crt-int8-f64"]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["emulation_choices"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["observed"].as_f64().unwrap() <= 1e-12 && row["meets"] == true, "{row}");
        let (base, count) = row["scheme"].as_str().unwrap().split_once(':').unwrap();
        let fewer = format!("{base}:{}", count.parse::<usize>().unwrap() - 1);
        let run = tcnum(&[&common[..], &["--scheme", &fewer]].concat());
        let report = validate_report(&run.stdout);
        assert!(report["tables"]["double_emulations"][0]["magnitude_error"].as_f64().unwrap() > 1e-12, "{fewer}");
    }
    assert!(rows[0]["chosen"] == true && rows[0]["products"].as_u64() <= rows[1]["products"].as_u64());
    let run = tcnum(&[&common[..], &["--choose", "1e-25", "--scheme", "crt-int8-f64"]].concat());
    assert_eq!(run.status, 1, "nothing is that accurate: {}", run.stdout);
    for (device, more, expected) in [
        ("model:volta", &["--scheme", "crt-int8-f64"][..], "no device has the instructions of a scheme"),
        ("model:ampere", &["--scheme", "half"], "half emulates f32; --choose is among schemes of f64"),
        ("model:ampere", &["--scheme", "l16-r16"], "l16-r16 multiplies integers; --choose is among schemes of f64"),
        ("model:ampere", &["--shape", "8x8x8"], "a scheme is chosen for one product"),
    ] {
        let command = ["emulate", "--size", "24", "--choose", "1e-9", "--device", device, "-q"];
        let run = tcnum(&[&command[..], more].concat());
        assert!(run.status == 2 && run.stdout.is_empty() && run.stderr.contains(expected), "{more:?}: {}", run.stderr);
    }
}

#[test]
fn limits_show_the_first_operands_that_fail() {
    let run = tcnum(&[
        "emulate",
        "--limits",
        "--scheme",
        "half",
        "crt-int8-f64",
        "--device",
        "model:hopper",
        "--output",
        "json",
        "-q",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["emulation_limits"].as_array().unwrap();
    let limit = |scheme: &str, kind: &str| {
        let row = rows.iter().find(|row| row["scheme"] == scheme && row["kind"] == kind).unwrap();
        [&row["holds"], &row["a"], &row["d"], &row["right"]].map(|cell| cell.to_string().replace('"', ""))
    };
    assert_eq!(limit("half", "large number"), ["false", "2^16", "inf", "2^16"]);
    assert_eq!(limit("half", "small number"), ["false", "2^-25", "0", "2^-25"]);
    assert_eq!(limit("crt-int8-f64", "infinity"), ["false", "inf", "NaN", "inf"]);
    assert_eq!(limit("crt-int8-f64", "small number"), ["true", "2^-1074", "2^-1074", "2^-1074"]);
    assert_eq!(limit("crt-int8-f64", "small number in a row with 1"), ["false", "1, 2^-55", "0", "2^-55"]);
    for (more, expected) in [
        (&["--scheme", "half", "l16-r16"][..], "l16-r16 multiplies integers, which have no limits of this kind"),
        (&["--scheme", "half", "--size", "8"], "cannot be used with"),
        (&["--scheme", "half", "--dist", "normal(0,1)"], "cannot be used with"),
    ] {
        let run = tcnum(&[&["emulate", "--limits", "--device", "model:hopper", "-q"], more].concat());
        assert!(run.status == 2 && run.stdout.is_empty() && run.stderr.contains(expected), "{more:?}: {}", run.stderr);
    }
}

#[test]
fn elements_that_are_not_finite_are_counted_and_have_no_error_of_zero() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, a: [f64; 2], b: [f64; 2], scheme: &str| {
        let x = write(folder.path(), &format!("{name}a.npy"), 1, 2, &a);
        let y = write(folder.path(), &format!("{name}b.npy"), 2, 1, &b);
        let common = ["emulate", "--a", &x, "--b", &y, "--device", "model:hopper", "-q", "--scheme", scheme];
        let words = tcnum(&common);
        let json = tcnum(&[&common[..], &["--output", "json"]].concat());
        assert_eq!((words.status, json.status), (0, 0), "{}", words.stderr);
        let report = validate_report(&json.stdout);
        let head: Vec<String> = words.stdout.lines().map(|line| line.trim().to_string()).collect();
        (head.join(" "), report)
    };
    let row = |report: &serde_json::Value, column: &str| report["tables"]["double_emulations"][0][column].clone();
    // Both products are beyond f64, and cancel.
    let e = 2f64.powi(-50);
    let (words, report) = run("cancel", [1e300, 1e300], [1e10, -1e10 * (1.0 - e)], "ozaki-u8-f64");
    let error = row(&report, "magnitude_error").as_f64().unwrap();
    assert!(error > 1e-17 && error < 1e-15, "{error}");
    assert_eq!((row(&report, "f64_infinite"), row(&report, "f64_magnitude_error")), (1.into(), "NaN".into()));
    assert!(words.contains("plain f64 has no finite element to compare"), "{words}");
    // A row with an infinity.
    for scheme in ["crt-int8-f64", "half"] {
        let (words, report) = run("infinity", [f64::INFINITY, 1.0], [1.0, 2.0], scheme);
        assert!(!words.contains("is 0") && words.contains("1 of 1 elements are infinite or NaN"), "{words}");
        if scheme == "half" {
            assert_eq!(report["tables"]["emulations"][0]["exact_mred"], "NaN");
        } else {
            assert_eq!((row(&report, "magnitude_error"), row(&report, "infinite")), ("NaN".into(), 1.into()));
            assert_eq!(row(&report, "special"), 1, "NaN instead of an infinity");
        }
    }
    // Two schemes of one error.
    let x = write(folder.path(), "one.npy", 1, 1, &[1.0]);
    let output =
        tcnum(&["emulate", "--a", &x, "--b", &x, "--device", "model:hopper", "-q", "--scheme", "bf16x3", "bf16x6"]);
    assert!(output.stdout.contains("is 0 for each of 2 products"), "{}", output.stdout);
}
