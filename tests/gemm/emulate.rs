//! Products made of products of parts: schemes as files, every scheme against the algorithm of its paper written out, integers against
//! exact ones, and the command.

use tcnum::{
    arithmetic::{Evaluator, Model},
    format::{Overflow, Rounding},
    inputs::Draw,
    isa::{self, Case, Instruction},
};
use tcnum_engine::{
    device::{Device, ModelDevice},
    product::{NumberMatrix, ProductShape},
    scheme::{self, OperandSplit, Scheme, SchemeUnit},
};
use tcnum_study::emulate::{self, EmulateRequest, EmulationResult, first_wrap};

use crate::program::{tcnum, validate_report};

/// Numbers that differ in size, of which few are short.
fn numbers(rows: usize, columns: usize, seed: u64) -> NumberMatrix {
    let word = |at: usize| {
        let x = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 12
    };
    let value = |at: usize| {
        let word = word(at);
        let size = 2f64.powi((word >> 44) as i32 % 9 - 6);
        ((word % (1 << 30)) as f64 / f64::from(1 << 29) - 1.0) as f32 * size as f32
    };
    NumberMatrix { rows, columns, values: (0..rows * columns).map(|at| f64::from(value(at))).collect() }
}

/// A row, of numbers of f32.
fn row_of(a: &NumberMatrix, row: usize) -> Vec<f32> {
    a.values[row * a.columns..][..a.columns].iter().map(|x| *x as f32).collect()
}

/// The product by a scheme on a model.
fn product(model: &str, name: &str, a: &NumberMatrix, b: &NumberMatrix) -> Vec<u32> {
    let mut device = ModelDevice::open(model).unwrap();
    let scheme = match name {
        // Whole products, one after another.
        "markidis, all" => {
            let text = format!("{}block = \"all\"\n", include_str!("../../schemes/markidis.toml"));
            Scheme::parse(&text, name, name).unwrap()
        }
        name => Scheme::find(name).unwrap(),
    };
    let unit = SchemeUnit::of(&scheme, &mut device, None).unwrap();
    let d = scheme::product(&scheme, &unit, &mut device, a, b).unwrap();
    d.codes.iter().map(|code| code as u32).collect()
}

/// One element of a product on a model, step by step.
struct Element {
    instruction: Instruction,
    evaluator: Evaluator,
    a: Vec<f32>,
    b: Vec<f32>,
}

impl Element {
    fn new(model: &str, instruction: &str, a: &[f32], b: &[f32]) -> Element {
        let instruction = isa::find(instruction).unwrap();
        let evaluator = Model::load(model).unwrap().evaluator(&instruction).unwrap();
        Element { instruction, evaluator, a: a.to_vec(), b: b.to_vec() }
    }

    fn code(&self, x: f32, rounding: Rounding) -> u64 {
        self.instruction.a.encode_f64(x.into(), rounding, Overflow::Standard).unwrap()
    }

    /// hi, then what it leaves times a power of two.
    fn halves(&self, x: f32, rounding: Rounding, scale: f32) -> [u64; 2] {
        let hi = self.code(x, rounding);
        let rest = x - self.instruction.a.to_f64(hi) as f32;
        [hi, self.code(rest * scale, rounding)]
    }

    /// Three parts, to nearest.
    fn thirds(&self, x: f32) -> [u64; 3] {
        let hi = self.code(x, Rounding::Rne);
        let rest = x - self.instruction.a.to_f64(hi) as f32;
        let [mid, lo] = self.halves(rest, Rounding::Rne, 1.0);
        [hi, mid, lo]
    }

    /// A step of the instruction on some k.
    fn step<const N: usize>(
        &self,
        ks: std::ops::Range<usize>,
        c: f32,
        of: [usize; 2],
        parts: &dyn Fn(f32) -> [u64; N],
    ) -> f32 {
        let mut case = Case::zeros(&self.instruction);
        for (place, k) in ks.enumerate() {
            case.a[place] = parts(self.a[k])[of[0]];
            case.b[place] = parts(self.b[k])[of[1]];
        }
        case.c = c.to_bits().into();
        f32::from_bits(self.evaluator.dot(&case) as u32)
    }

    fn steps(&self, from: usize, to: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let k = self.instruction.k;
        (from..to).step_by(k).map(move |at| at..to.min(at + k))
    }
}

const HI: usize = 0;
const LO: usize = 1;

/// What papers and programs say, element by element.
fn by_paper(scheme: &str, one: &Element) -> f32 {
    let k = one.a.len();
    let near = |x: f32| one.halves(x, Rounding::Rne, 1.0);
    let cut = |x: f32| one.halves(x, Rounding::Rz, 1.0);
    match scheme {
        "half" => one.steps(0, k).fold(0.0, |d, step| one.step(step, d, [HI, HI], &near)),
        "markidis, all" => {
            let mut d = 0.0;
            for of in [[LO, LO], [LO, HI], [HI, LO], [HI, HI]] {
                d = one.steps(0, k).fold(d, |d, step| one.step(step, d, of, &cut));
            }
            d
        }
        "egemm" | "markidis" => {
            let parts: &dyn Fn(f32) -> [u64; 2] = if scheme == "egemm" { &near } else { &cut };
            let mut d = 0.0;
            for step in one.steps(0, k) {
                for of in [[LO, LO], [LO, HI], [HI, LO], [HI, HI]] {
                    d = one.step(step.clone(), d, of, parts);
                }
            }
            d
        }
        "ootomo" => {
            let parts = |x: f32| one.halves(x, Rounding::Rne, 2048.0);
            let (mut c, mut correction) = (0.0, 0.0);
            for step in one.steps(0, k) {
                c += one.step(step.clone(), 0.0, [HI, HI], &parts);
                correction = one.step(step.clone(), correction, [LO, HI], &parts);
                correction = one.step(step, correction, [HI, LO], &parts);
            }
            c + correction / 2048.0
        }
        "le-gemm" | "le-gemm-outside" => {
            let parts = |x: f32| one.halves(x, Rounding::Rz, 1024.0);
            let (mut main, mut cross) = (0.0, 0.0);
            for step in one.steps(0, k) {
                main = match scheme {
                    "le-gemm" => one.step(step.clone(), main, [HI, HI], &parts),
                    _ => main + one.step(step.clone(), 0.0, [HI, HI], &parts),
                };
                cross = one.step(step.clone(), cross, [HI, LO], &parts);
                cross = one.step(step, cross, [LO, HI], &parts);
            }
            main + cross / 1024.0
        }
        "bf16x3" | "bf16x6" | "bf16x9" => {
            let parts = |x: f32| match scheme {
                "bf16x3" => [near(x)[HI], 0, near(x)[LO]],
                _ => one.thirds(x),
            };
            let (hi, mid, lo) = (0, 1, 2);
            let products: &[[usize; 2]] = match scheme {
                "bf16x3" => &[[lo, hi], [hi, lo], [hi, hi]],
                "bf16x6" => &[[mid, mid], [lo, hi], [hi, lo], [mid, hi], [hi, mid], [hi, hi]],
                _ => &[[lo, lo], [mid, lo], [lo, mid], [mid, mid], [lo, hi], [hi, lo], [mid, hi], [hi, mid], [hi, hi]],
            };
            let mut accumulator = 0.0f32;
            for block in (0..k).step_by(32) {
                let mut tile = 0.0;
                for of in products {
                    tile = one.steps(block, k.min(block + 32)).fold(tile, |d, step| one.step(step, d, *of, &parts));
                }
                accumulator += tile;
            }
            accumulator
        }
        _ => panic!("{scheme}"),
    }
}

#[test]
fn every_scheme_is_the_algorithm_of_its_paper_step_by_step() {
    for (model, half, bf16) in [
        ("turing", Some("mma.m16n8k8.f32.f16.f16.f32"), None),
        ("hopper", Some("mma.m16n8k16.f32.f16.f16.f32"), Some("mma.m16n8k16.f32.bf16.bf16.f32")),
        ("cdna2", None, Some("mfma.16x16x16.f32.bf16.bf16.f32")),
    ] {
        // 75 is no multiple of any instruction's k, nor of the blocks.
        let (m, n, k) = (3, 4, 75);
        let (a, b) = (numbers(m, k, 1), numbers(k, n, 2));
        let halves = ["half", "markidis", "markidis, all", "egemm", "ootomo", "le-gemm", "le-gemm-outside"]
            .map(|name| (name, half));
        let thirds = ["bf16x3", "bf16x6", "bf16x9"].map(|name| (name, bf16));
        for (name, instruction) in halves.into_iter().chain(thirds) {
            let Some(instruction) = instruction else { continue };
            let d = product(model, name, &a, &b);
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let line: Vec<f32> = (0..k).map(|at| b.values[at * n + column] as f32).collect();
                let one = Element::new(model, instruction, &row_of(&a, row), &line);
                let actual = f32::from_bits(d[row * n + column]);
                assert_eq!(actual, by_paper(name, &one), "{name} on {model}, row {row}, column {column}");
            }
        }
    }
}

#[test]
fn half_in_f16_sums_in_f16_step_by_step() {
    let (m, n, k) = (2, 3, 40);
    let (a, b) = (numbers(m, k, 5), numbers(k, n, 6));
    let d = product("turing", "half-f16", &a, &b);
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let line: Vec<f32> = (0..k).map(|at| b.values[at * n + column] as f32).collect();
        let one = Element::new("turing", "mma.m16n8k8.f16.f16.f16.f16", &row_of(&a, row), &line);
        let code = one.steps(0, k).fold(0, |c, step| {
            let mut case = Case::zeros(&one.instruction);
            for (place, k) in step.enumerate() {
                case.a[place] = one.code(one.a[k], Rounding::Rne);
                case.b[place] = one.code(one.b[k], Rounding::Rne);
            }
            case.c = c;
            one.evaluator.dot(&case)
        });
        assert_eq!(f64::from(f32::from_bits(d[row * n + column])), one.instruction.d.to_f64(code));
    }
}

/// The integers that slices of a line stand for, and the exponent of the last unit: multiples of it that are all the line's slices.
fn sliced(line: &[f32], count: u32, bits: u32, nearest: bool) -> (Vec<Vec<i128>>, i32) {
    let largest = line.iter().fold(0f64, |most, x| most.max(f64::from(x.abs())));
    let exponent = (-200..200).find(|e| largest < 2f64.powi(*e)).unwrap();
    let first = if nearest { bits - 1 } else { bits } as i32;
    let slices = |x: &f32| {
        let mut rest = f64::from(*x);
        let mut counts = Vec::new();
        for slice in 0..count as i32 {
            let unit = 2f64.powi(exponent - first - slice * bits as i32);
            let counted = if nearest { (rest / unit).round_ties_even() } else { (rest / unit).trunc() };
            rest -= counted * unit;
            counts.push(counted as i128);
        }
        counts
    };
    (line.iter().map(slices).collect(), exponent - first)
}

#[test]
fn slices_lose_nothing_but_the_products_that_are_dropped() {
    // On Hopper the unit of FP8 keeps 14 bits of a sum: a step of small integers stays exact.
    for (name, model, instruction, count, bits, nearest) in [
        ("ozaki-int8", "hopper", None, 4, 7, false),
        ("ozaki-e4m3", "hopper", Some("wgmma.m64n8k32.f32.e4m3.e4m3"), 5, 5, true),
        ("ozaki-e4m3", "hopper", None, 5, 5, true),
    ] {
        let (m, n, k) = (3, 5, 100);
        let (a, b) = (numbers(m, k, 3), numbers(k, n, 4));
        let mut device = ModelDevice::open(model).unwrap();
        let scheme = Scheme::find(name).unwrap();
        let like = instruction.map(|name| isa::find(name).unwrap());
        let unit = SchemeUnit::of(&scheme, &mut device, like.as_ref()).unwrap();
        let d = scheme::product(&scheme, &unit, &mut device, &a, &b).unwrap();
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let line: Vec<f32> = (0..k).map(|at| b.values[at * n + column] as f32).collect();
            let (x, e) = sliced(&row_of(&a, row), count, bits, nearest);
            let (y, f) = sliced(&line, count, bits, nearest);
            let mut kept = 0i128;
            for (x, y) in x.iter().zip(&y) {
                for (p, q) in (0..count).flat_map(|p| (0..count - p).map(move |q| (p, q))) {
                    kept += (x[p as usize] * y[q as usize]) << (bits * (count - 1 - p - q));
                }
            }
            // Fewer than 53 bits, so that f64 has every sum of the exact products.
            assert!(kept.unsigned_abs() < 1 << 53);
            let exact = kept as f64 * 2f64.powi(e + f - (bits * (count - 1)) as i32);
            assert_eq!(f32::from_bits(d.codes.get(row * n + column) as u32), exact as f32, "{name}");
        }
    }
}

#[test]
fn shipped_schemes_take_as_many_products_as_their_papers_say() {
    let products: Vec<(String, usize)> =
        Scheme::shipped().map(|name| (name.to_string(), Scheme::find(name).unwrap().products())).collect();
    let expected = [
        ("bf16x3", 3),
        ("bf16x6", 6),
        ("bf16x9", 9),
        ("bf16x9-scaled", 9),
        ("crt-int8-accurate-f64", 15),
        ("crt-int8-f64", 14),
        ("cublas-fp64", 28),
        ("egemm", 4),
        ("half", 1),
        ("half-f16", 1),
        ("l12-r4", 3),
        ("l12-r4-unsigned", 3),
        ("l16-r16", 4),
        ("l16-r16-unsigned", 4),
        ("l16-r4", 4),
        ("l16-r4-unsigned", 4),
        ("l16-r8", 2),
        ("l16-r8-unsigned", 2),
        ("l4-r4", 1),
        ("l4-r4-unsigned", 1),
        ("l8-r4", 2),
        ("l8-r4-unsigned", 2),
        ("l8-r8", 1),
        ("l8-r8-unsigned", 1),
        ("le-gemm", 3),
        ("le-gemm-outside", 3),
        ("markidis", 4),
        ("ootomo", 3),
        ("ozaki-e4m3", 15),
        ("ozaki-e4m3-f64", 66),
        ("ozaki-int8", 10),
        ("ozaki-int8-f64", 45),
        ("ozaki-u8-f64", 28),
        ("tf32x3", 3),
    ];
    assert_eq!(products, expected.map(|(name, count)| (name.to_string(), count)));
    for name in ["ozaki-int8", "ozaki-e4m3", "ozaki-int8-f64", "ozaki-int8-f64:7", "ozaki-u8-f64:5", "ozaki-e4m3-f64"] {
        let scheme = Scheme::find(name).unwrap();
        let s = scheme.a.count();
        assert_eq!(scheme.products(), s * (s + 1) / 2);
    }
}

/// Integers of a scheme, and the smallest and largest.
fn range(split: &OperandSplit) -> (i64, i64) {
    let OperandSplit::Digits(digits) = split else { panic!("no digits") };
    digits.range()
}

fn column(values: impl IntoIterator<Item = i64>) -> NumberMatrix {
    let values: Vec<f64> = values.into_iter().map(|x| x as f64).collect();
    NumberMatrix { rows: values.len(), columns: 1, values }
}

fn line(values: impl IntoIterator<Item = i64>) -> NumberMatrix {
    let NumberMatrix { rows, columns, values } = column(values);
    NumberMatrix { rows: columns, columns: rows, values }
}

/// All integers of an operand; of more than 12 bits those with one digit that is not zero.
fn integers(split: &OperandSplit) -> Vec<i64> {
    let OperandSplit::Digits(digits) = split else { panic!("no digits") };
    let (least, most) = digits.range();
    if digits.bits <= 12 {
        return (least..=most).collect();
    }
    let with_digit = |place: u32| {
        (0..1i64 << digits.digit).map(move |digit| {
            let value = digit << (place * digits.digit);
            if value > most { value - (1 << digits.bits) } else { value }
        })
    };
    (0..digits.bits / digits.digit).flat_map(with_digit).collect()
}

#[test]
fn every_pair_of_digits_in_every_pair_of_places_multiplies_exactly() {
    for name in Scheme::shipped().filter(|name| name.starts_with('l') && name.contains("-r")) {
        let scheme = Scheme::find(name).unwrap();
        let (x, y) = (integers(&scheme.a), integers(&scheme.b));
        let d = product("ampere", name, &column(x.iter().copied()), &line(y.iter().copied()));
        let exact = x.iter().flat_map(|x| y.iter().map(move |y| (x * y) as u32));
        assert!(d.into_iter().eq(exact), "{name}");
    }
}

#[test]
fn sums_of_integers_are_exact_up_to_the_first_k_that_wraps() {
    for name in Scheme::shipped().filter(|name| name.starts_with('l') && name.contains("-r")) {
        let scheme = Scheme::find(name).unwrap();
        let (first, sum) = first_wrap(&scheme).unwrap();
        assert!(i32::try_from(sum).is_err(), "{name}");
        if first > 10_000 {
            continue;
        }
        let ((a, x), (b, y)) = (range(&scheme.a), range(&scheme.b));
        let (a, b) = if a == 0 { (x, y) } else { (a, b) };
        for k in [first - 1, first].into_iter().filter(|k| *k > 0) {
            let repeated = |value: i64| std::iter::repeat_n(value, k as usize);
            let d = product("ampere", name, &line(repeated(a)), &column(repeated(b)))[0];
            let exact = k as i64 * a * b;
            assert_eq!(d, exact as u32, "{name}");
            assert_eq!(i64::from(d as i32) == exact, k < first, "{name}: k = {k}");
        }
    }
}

#[test]
fn random_sums_of_integers_are_exact_or_wrap() {
    let schemes: Vec<Scheme> = ["l16-r16", "l16-r8-unsigned", "l8-r4"].map(|name| Scheme::find(name).unwrap()).into();
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(ModelDevice::open("turing").unwrap())];
    let units =
        schemes.iter().map(|scheme| vec![Some(SchemeUnit::of(scheme, devices[0].as_mut(), None).unwrap())]).collect();
    let shapes = vec![ProductShape { m: 12, n: 20, k: 150 }];
    let request = EmulateRequest {
        schemes,
        units,
        shapes,
        draw: None,
        seed: 7,
        within: None,
        rows: None,
        operands: None,
        keep: false,
    };
    let mut done = Vec::new();
    emulate::run(&mut devices, &request, &mut done, &mut |_| ()).unwrap();
    let counts: Vec<_> = done
        .iter()
        .map(|emulation| match emulation.outcome {
            EmulationResult::Integers(counts) => counts,
            EmulationResult::Numbers { .. } | EmulationResult::Doubles(_) => panic!("integers"),
        })
        .collect();
    for counts in &counts {
        assert_eq!(counts.held + counts.beyond, 240);
        assert_eq!((counts.exact, counts.wrapped), (counts.held, counts.beyond));
    }
    assert!(counts[0].beyond > 0 && counts[0].held > 0 && counts[2].beyond == 0, "{counts:?}");
}

#[test]
fn the_same_numbers_are_drawn_whatever_rows_are_computed() {
    let run = |rows: Option<usize>, shapes: Vec<ProductShape>| {
        let schemes = vec![Scheme::find("ozaki-int8").unwrap()];
        let mut devices: Vec<Box<dyn Device>> = vec![Box::new(ModelDevice::open("hopper").unwrap())];
        let units = vec![vec![Some(SchemeUnit::of(&schemes[0], devices[0].as_mut(), None).unwrap())]];
        let draw = Some(Draw::parse("normal(0,1)").unwrap());
        let request =
            EmulateRequest { schemes, units, shapes, draw, seed: 7, within: None, rows, operands: None, keep: false };
        let mut done = Vec::new();
        emulate::run(&mut devices, &request, &mut done, &mut |_| ()).unwrap();
        match &done[0].outcome {
            EmulationResult::Numbers { errors, .. } => errors[2],
            EmulationResult::Integers(_) | EmulationResult::Doubles(_) => panic!("numbers"),
        }
    };
    let shape = ProductShape { m: 1, n: 30, k: 64 };
    // The first row of eight is the one of one.
    assert_eq!(run(Some(1), vec![ProductShape { m: 8, ..shape }]), run(None, vec![shape]));
}

const TWO: &str = "[both]\nparts = [\n  { name = \"hi\", format = \"f16\", rounding = \"RNE\" },\n  \
                   { name = \"lo\", format = \"f16\", rounding = \"RNE\", shift = 11 },\n]\n";

#[test]
fn a_wrong_scheme_is_refused_with_its_line() {
    let sums = |text: &str| format!("title = \"x\"\n{TWO}{text}");
    let four = "[[sum]]\nproducts = [\"hi*hi\"]\n[[sum]]\nproducts = [\"hi*lo\", \"lo*hi\"]\n[[sum]]\nproducts = [\"lo*lo\"]\n";
    assert_eq!(Scheme::parse(&sums(four), "x", "x.toml").unwrap().products(), 4);
    let cases = [
        (sums(&four.replace("lo*lo", "hi*lo")), "x.toml:12: the product hi*lo is named twice"),
        (sums(&four.replace("\"lo*lo\"", "")), "x.toml: a [[sum]] has no products"),
        (sums("[[sum]]\nproducts = [\"hi*hi\"]\n"), "x.toml:4: the product hi*lo is in no sum"),
        (sums(&four.replace("lo*lo", "lo*low")), "x.toml:12: 'lo*low': B has no part 'low'; its parts are hi, lo"),
        (sums(&four.replace("lo*lo", "lolo")), "x.toml:12: 'lolo' is no product"),
        (sums(&four.replace("\"hi*hi\"", "\"hi*hi\", \"lo*lo\"")), "x.toml:8: lo*lo stands for 2^-22"),
        (sums(four).replace("\"f16\"", "\"f17\""), "x.toml:4: [both]: unknown format 'f17'"),
        (
            sums(four).replace("\"f16\"", "\"s8\""),
            "x.toml:4: [both]: format = \"s8\": parts are in floating-point formats",
        ),
        (sums(four).replace("RNE", "SR"), "x.toml:4: [both]: rounding = \"SR\": it is one of RNE"),
        (sums(four).replace("\"lo\"", "\"hi\""), "x.toml:5: [both]: the part hi is described twice"),
        (sums(four).replace("11", "1000"), "x.toml:5: [both]: shift = 1000"),
        (sums(&format!("{four}block = \"some\"\n")), "x.toml: block = \"some\": it is \"step\", \"all\""),
        (sums(&format!("{four}promote = 3\n")), "x.toml:13: "),
        (sums(&format!("{four}promote = \"now\"\n")), "promote = \"now\": it is one of \"never\", \"step\", \"block\""),
        (sums(four).replace("[both]", "[a]"), "x.toml: expected [both], or [a] and [b]"),
        (sums(four).replace("[both]", "bla = 1\n[both]"), "x.toml:2: unknown field `bla`"),
        (
            "title = \"x\"\n[both]\nslices = { count = 2, bits = 8, rounding = \"RZ\", format = \"s8\" }\nsum = []"
                .into(),
            "x.toml",
        ),
        (
            "title = \"x\"\nsum = []\n[both]\nslices = { count = 2, bits = 8, rounding = \"RZ\", format = \"s8\" }\n"
                .into(),
            "slices of 8 bits by RZ are integers up to 255, and s8 does not have all of them",
        ),
        (
            "title = \"x\"\nsum = []\n[both]\ndigits = { bits = 12, digit = 8, signed = true }\n".into(),
            "digits: bits = 12 of digit = 8",
        ),
        ("title = ".into(), "x.toml:1: "),
    ];
    for (text, expected) in cases {
        let error = Scheme::parse(&text, "x", "x.toml").expect_err(expected).to_string();
        assert!(error.contains(expected), "{text}\n{error}\nnot: {expected}");
    }
}

fn refusal(arguments: &[&str]) -> String {
    let run = tcnum(&[&["emulate", "--size", "16"], arguments].concat());
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn what_cannot_be_computed_is_refused_before_the_first_product() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twice.toml").to_string_lossy().into_owned();
    std::fs::write(&file, format!("title = \"x\"\n{TWO}[[sum]]\nproducts = [\"hi*hi\", \"hi*hi\"]\n")).unwrap();
    let missing = folder.path().join("missing.toml").to_string_lossy().into_owned();
    for (arguments, expected) in [
        (&["--scheme", "egem"][..], "unknown scheme 'egem'; the nearest are 'egemm'"),
        (&["--scheme", &file], "twice.toml:8: the product hi*hi is named twice"),
        (&["--scheme", &missing], "cannot be read"),
        (
            &["--scheme", "bf16x3", "--device", "model:ampere", "model:turing"],
            "model:turing has no instruction for the scheme bf16x3, which multiplies bf16 by bf16",
        ),
        (
            &["--scheme", "bf16x3", "--device", "model:hopper", "--instr", "mma.m16n8k16.f32.f16.f16.f32"],
            "mma.m16n8k16.f32.f16.f16.f32 does not multiply bf16 by bf16 and add in f32, as the scheme bf16x3 does",
        ),
        (
            &["--scheme", "half", "--device", "model:hopper", "--instr", "mma.m16n8k16.f16.f16.f16.f16"],
            "does not multiply f16 by f16 and add in f32",
        ),
        (&["--scheme", "half", "--device", "model:turing", "--instr", "mma.m16n8k16.f32.f16.f16.f32"], "model"),
        (&["--device", "trace:t.safetensors"], "is a recording"),
        (&["--device", "model:hoper"], "hopper"),
        (&["--dist", "uniform(1,-1)"], "expected uniform(LOW,HIGH)"),
        (&["--plot", "x.jpg"], ".svg"),
    ] {
        let message = refusal(arguments);
        assert!(message.contains(expected) && message.lines().count() <= 6, "{arguments:?}: {message}");
    }
}

#[test]
fn the_report_has_each_scheme_on_each_device_and_the_plot_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("error.svg").to_string_lossy().into_owned();
    let run = tcnum(&[
        "emulate",
        "--scheme",
        "half",
        "ozaki-int8",
        "l8-r4",
        "--size",
        "16",
        "48",
        "--device",
        "model:ampere",
        "model:hopper",
        "--plot",
        &plot,
        "--output",
        "json",
        "--seed",
        "3",
        "-q",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["emulations"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| format!("{} {} {}", row["scheme"], row["device"], row["k"])).collect();
    let expected = [16, 48].map(|k| {
        ["half", "ozaki-int8"].map(|scheme| ["ampere", "hopper"].map(|on| format!("\"{scheme}\" \"model:{on}\" {k}")))
    });
    assert_eq!(names, expected.concat().concat());
    // Sums of integers are the same on every device, and so is what they are compared with.
    for (first, second) in [(2, 3), (6, 7)] {
        assert_eq!(rows[first]["max_absolute"], rows[second]["max_absolute"]);
        assert_eq!(rows[first]["exact_mred"], rows[second]["exact_mred"]);
        assert!(rows[first]["half_ratio"].as_f64().unwrap() > 10.0);
    }
    assert_eq!(report["tables"]["emulation_errors"].as_array().unwrap().len(), 8 * 3);
    assert_eq!(report["tables"]["integer_emulations"].as_array().unwrap().len(), 4);
    let drawing = std::fs::read_to_string(&plot).unwrap();
    assert!(
        drawing.contains(">hopper, ozaki-int8<")
            || drawing.contains("ampere = hopper, ozaki-int8") && !drawing.contains("l8-r4"),
        "{drawing}"
    );
    for row in report["tables"]["emulation_errors"].as_array().unwrap() {
        let counts: u64 = row["error_counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        let elements = if row["k"] == 16 { 16 * 16 } else { 48 * 48 };
        assert_eq!(counts, elements, "every error is in a binade");
        assert!(row["rms"].as_f64() >= row["mean_absolute"].as_f64());
    }
    // What no device has is left out where nobody asked for it by its name.
    let run = tcnum(&["emulate", "--size", "8", "--rows", "2", "--device", "model:volta", "--output", "json", "-q"]);
    let report = validate_report(&run.stdout);
    assert_eq!(report["tables"]["emulations"].as_array().unwrap().len(), 7, "the schemes on f16");
    for expected in ["2 of 8", "Schemes left out on model:volta, which lacks an instruction: bf16x3, "] {
        let has = |note: &serde_json::Value| note.as_str().unwrap().contains(expected);
        assert!(report["notes"].as_array().unwrap().iter().any(has), "{expected}");
    }
}
