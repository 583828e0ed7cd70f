use super::*;
use crate::{
    Error,
    device::{Execution, ExecutionKind, Identity},
    format::{self, Overflow, Rounding},
    isa::{self, Codes, Tiles},
};

/// Computes each element in doubles over ascending k and rounds once.
struct Host(Identity);

impl Host {
    fn new() -> Self {
        Host(Identity::new("host", ""))
    }
}

impl Device for Host {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let mut d = Codes::zeros(i.d, tiles.count * i.m * i.n);
        for index in 0..d.len() {
            let (tile, row, column) = (index / (i.m * i.n), index / i.n % i.m, index % i.n);
            let mut sum = i.c.to_f64(tiles.c.get(index));
            for k in 0..i.k {
                let a = i.a.to_f64(tiles.a.get((tile * i.m + row) * i.k + k));
                let b = i.b.to_f64(tiles.b.get((tile * i.k + k) * i.n + column));
                sum += a * b;
            }
            d.set(index, i.d.encode_f64(sum, Rounding::Rne, Overflow::Standard).unwrap());
        }
        Ok(d)
    }
}

fn plan(name: &str, inits: &[Init], length: usize, chains: u64) -> ChainRequest {
    let instruction = isa::find(name).unwrap();
    ChainRequest {
        curves: inits.iter().map(|&init| (instruction.clone(), init)).collect(),
        length,
        chains,
        within: None,
        seed: 7,
        scaling: MatrixScaling::None,
    }
}

fn compute(plan: &ChainRequest) -> Vec<ChainCurve> {
    let mut curves = Vec::new();
    run(&mut Host::new(), plan, &mut curves, &mut |_| ()).unwrap();
    curves
}

/// An instruction whose result is wide enough to be exact after one link.
fn wide_result(name: &str, n: usize) -> Instruction {
    let f64 = format::find("f64").unwrap();
    Instruction { n, c: f64, d: f64, ..isa::find(name).unwrap() }
}

#[test]
fn one_exact_link_from_rounded_operands_has_no_error() {
    for name in DEFAULTS {
        let curves = vec![(wide_result(name, 8), Init::Low), (wide_result(name, 8), Init::Fp32)];
        let curves = compute(&ChainRequest {
            curves,
            length: 1,
            chains: 50,
            within: None,
            seed: 1,
            scaling: MatrixScaling::None,
        });
        let exact = curves[0].points[0].against_exact;
        assert_eq!((exact.count(), exact.maximum()), (50, Some(0.0)), "{name}");
        // The loss of the conversion, about an ulp of 8 or 11 bits.
        let converted = curves[1].points[0].against_exact.mean().unwrap();
        assert!((1e-4..1e-2).contains(&converted), "{name} {converted}");
    }
}

const DEFAULTS: [&str; 3] =
    ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];

#[test]
fn any_n_gives_the_same_product() {
    for (name, k) in [("mma.m16n8k16.f32.f16.f16.f32", 16), ("mma.m8n8k4.f32.f16.f16.f32", 4)] {
        let of_n = |n| {
            let curves = vec![(wide_result(name, n), Init::Low)];
            let curves = compute(&ChainRequest {
                curves,
                length: 3,
                chains: 20,
                within: None,
                seed: 1,
                scaling: MatrixScaling::None,
            });
            curves.into_iter().next().unwrap().points
        };
        let points = of_n(k);
        assert_eq!(points[0].against_exact.maximum().unwrap(), 0.0);
        assert!(points[1].against_exact.mean().unwrap() > 0.0);
        for n in [1, 3, 7, 8, 17] {
            assert_eq!(of_n(n), points, "{name} with n = {n}");
        }
    }
}

#[test]
fn a_shorter_run_is_the_beginning_of_a_longer_one() {
    for name in ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.s32.s8.u8.s32"] {
        let short = compute(&plan(name, &[Init::Low, Init::Fp32], 5, 30));
        let long = compute(&plan(name, &[Init::Low, Init::Fp32], 10, 30));
        for (short, long) in short.iter().zip(&long) {
            assert_eq!(short.points[..], long.points[..5]);
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let plan = plan("mma.m16n8k16.f32.e4m3.e5m2.f32", &[Init::Low, Init::Fp32], 6, 40);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| compute(&plan))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_curve_does_not_depend_on_its_company() {
    let mut together = plan("mma.m16n8k8.f32.bf16.bf16.f32", &[Init::Low, Init::Fp32], 4, 20);
    together.curves.extend(plan("mma.m16n8k8.f32.tf32.tf32.f32", &[Init::Fp32], 4, 20).curves);
    together.curves.extend(plan("mma.m16n8k16.f32.f16.f16.f32", &[Init::Low], 4, 20).curves);
    for (curve, alone) in compute(&together).iter().zip(&together.curves) {
        assert_eq!(*curve, compute(&ChainRequest { curves: vec![alone.clone()], ..together.clone() })[0]);
    }
}

#[test]
fn overflow_is_counted_and_stays() {
    // f16 and e5m2 overflow to infinity, e4m3 to NaN.
    for (name, length) in [
        ("mma.m16n8k8.f32.f16.f16.f32", 20),
        ("mma.m16n8k16.f16.f16.f16.f16", 14),
        ("mma.m16n8k16.f32.e5m2.e5m2.f32", 14),
        ("mma.m16n8k16.f32.e4m3.e4m3.f32", 12),
    ] {
        let curve = compute(&plan(name, &[Init::Low], length, 50)).remove(0);
        let overflowed: Vec<u64> = curve.points.iter().map(|p| p.overflowed).collect();
        assert!(overflowed.is_sorted(), "{name} {overflowed:?}");
        assert_eq!(overflowed[0], 0, "{name}");
        assert!(*overflowed.last().unwrap() > 0, "{name} {overflowed:?}");
        for point in &curve.points {
            assert_eq!(point.finite + point.overflowed, 50);
            assert_eq!(point.against_exact.count(), point.finite);
        }
        let shown = curve.without_overflow().len();
        assert!(shown > 0 && overflowed[shown] > 0 && overflowed[shown - 1] == 0, "{name}");
    }
}

#[test]
fn integer_chains_are_exact_until_they_saturate() {
    for name in ["mma.m16n8k16.s32.s8.s8.s32", "mma.m16n8k16.s32.u8.u8.s32"] {
        let curve = compute(&plan(name, &[Init::Low], 8, 200)).remove(0);
        assert_eq!(curve.plain, Plain::I64);
        assert_eq!(curve.points[0].finite, 200);
        assert!(curve.points[1].finite > 0, "{name}");
        assert_eq!(curve.points[7].overflowed, 200, "{name}");
        for summary in curve.points.iter().flat_map(|p| [p.against_plain, p.against_exact]) {
            assert_eq!(summary.maximum().unwrap_or(0.0), 0.0, "{name}");
        }
    }
}

#[test]
fn the_error_of_f64_chains_is_seen_below_the_last_bit_of_a_double() {
    let curve = compute(&plan("mma.m8n8k4.f64.f64.f64.f64", &[Init::Low], 10, 50)).remove(0);
    assert_eq!(curve.plain, Plain::F64);
    let [first, last] = [0, 9].map(|index: usize| curve.points[index].against_exact.mean().unwrap());
    assert!((1e-18..1e-16).contains(&first), "{first}");
    assert!((first..1e-14).contains(&last), "{last}");
    // This device computes just as the reference does.
    assert_eq!(curve.points[9].against_plain.maximum().unwrap(), 0.0);
}

/// A device that changes the answers of another one.
struct Changed<F>(Host, F);

impl<F: FnMut(Codes) -> Result<Codes>> Device for Changed<F> {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.0.prepare(instruction)
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.0.execute(instruction, tiles).and_then(&mut self.1)
    }
}

#[test]
fn a_device_that_answers_short_is_a_device_error() {
    let mut short = Changed(Host::new(), |d: Codes| Ok(d.slice(0, d.len() - 1)));
    let error = run(&mut short, &plan(DEFAULTS[0], &[Init::Low], 1, 3), &mut Vec::new(), &mut |_| ()).unwrap_err();
    assert_eq!(error.exit_status(), 3);
    assert!(error.to_string().contains("127 of 128"), "{error}");
}

#[test]
fn the_chains_until_a_device_fails_are_kept() {
    let plan = plan(DEFAULTS[0], &[Init::Low, Init::Fp32], 4, 3);
    let full_curves = compute(&ChainRequest { chains: 1, ..plan.clone() });
    for links in 1..4 {
        let mut left = links;
        let failing = |d: Codes| {
            left = usize::checked_sub(left, 1).ok_or_else(|| Error::device("it is gone"))?;
            Ok(d)
        };
        let mut curves = Vec::new();
        let error = run(&mut Changed(Host::new(), failing), &plan, &mut curves, &mut |_| ()).unwrap_err();
        assert_eq!(error.exit_status(), 3);
        // Both share the chain that the device has computed so far.
        for (curve, full_curve) in curves.iter().zip(&full_curves) {
            assert_eq!(curve.points[..], full_curve.points[..links]);
        }
    }
}

#[test]
fn the_published_observations_hold_on_a_device_with_exact_products() {
    let mut all = plan(DEFAULTS[0], &[Init::Low, Init::Fp32], 12, 100);
    DEFAULTS[1..].iter().for_each(|name| all.curves.extend(plan(name, &[Init::Low, Init::Fp32], 12, 100).curves));
    let curves = compute(&all);
    let error = |curve: usize, length: usize| curves[curve].points[length - 1].against_plain.mean().unwrap();
    let [bf16, f16, tf32] = [0, 2, 4];
    for length in 2..=9 {
        assert!(error(bf16, length) > 4.0 * error(tf32, length));
        assert!((0.8..1.25).contains(&(error(f16, length) / error(tf32, length))));
        for low in [bf16, f16, tf32] {
            assert!(error(low + 1, length) > error(low, length), "fp32 initialisation is worse");
            assert!(error(low, length) > error(low, length - 1), "the error grows");
        }
    }
    assert!([bf16, f16, tf32].iter().all(|&low| error(low, 1) < 1e-6), "one link from rounded values is almost exact");
    assert!(curves[f16].without_overflow().len() < 12 && curves[tf32].without_overflow().len() == 12);
}
