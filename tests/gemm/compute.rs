//! Products computed by tiles against the plain loop.

use std::fmt;

use proptest::{collection::vec, option, prelude::*, sample::select};
use tcnum::{
    arithmetic::Model,
    format::{self, Format, Overflow, Rounding},
    isa,
};
use tcnum_engine::{
    device::ModelDevice,
    product::{
        self, AccumulatorJoin, Accumulators, BiasEntry, CEntry, Executor, Factors, KOrder, Matrix, OperandRounding,
        OutputRounding, PartJoin, PartTerms, Residue, ScaleBlocks, ScaleUse, Schedule, SplitK,
    },
};

use crate::plain;

/// Instructions, each with a model: of every kind that the computation treats apart.
const KINDS: &[(&str, &str)] = &[
    ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
    ("hopper", "mma.m16n8k8.f32.bf16.bf16.f32"),
    ("hopper", "mma.m16n8k16.f16.f16.f16.f16"),
    ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"),
    ("hopper", "mma.m16n8k4.f32.tf32.tf32.f32"),
    ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
    ("hopper", "mma.m16n8k16.s32.s8.s8.s32"),
    ("ampere", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ("x86", "vfmadd.m1n16k1.f32.f32.f32.f32"),
];

/// The product on the model of this name.
pub(crate) fn computed(model: &str, schedule: &Schedule, factors: &Factors) -> Matrix {
    let mut device = ModelDevice::open(model).unwrap();
    let (m, n) = (factors.a.rows, factors.b.columns);
    let mut executor = Executor::of(&mut device, schedule, m, n).unwrap();
    product::compute(schedule, &mut executor, factors, &|_| ()).unwrap()
}

fn by_hand(model: &str, schedule: &Schedule, factors: &Factors) -> Matrix {
    let evaluator = Model::load(model).unwrap().evaluator(&schedule.instruction).unwrap();
    plain::product(schedule, &evaluator, factors)
}

/// A matrix of numbers in [-1, 1] with three decimals or so, which differ in size.
pub(crate) fn matrix(rows: usize, columns: usize, format: &'static Format, seed: u64) -> Matrix {
    let word = |at: usize| {
        let x = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
    };
    let code = |at: usize| {
        let word = word(at);
        let small: f64 = (word % 4001) as f64 / 2000.0 - 1.0;
        let value =
            if format.is_integer() { (small * 127.0).round() } else { small * 2f64.powi((word >> 32) as i32 % 6 - 3) };
        format.encode_f64(value, Rounding::Rne, Overflow::Saturate).unwrap()
    };
    Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
}

/// A schedule and what it needs, and a seed for the operands.
#[derive(Clone)]
struct Drawn {
    model: &'static str,
    schedule: Schedule,
    shape: (usize, usize, usize),
    c: bool,
    bias: bool,
    seed: u64,
}

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drawn { model, schedule, shape, c, bias, seed } = self;
        write!(f, "{model}, {shape:?}, C {c}, bias {bias}, seed {seed}\n{}", schedule.to_toml())
    }
}

impl Drawn {
    fn factors(&self) -> Factors {
        let i = &self.schedule.instruction;
        let ((m, n, k), s) = (self.shape, self.seed);
        let wide = |format: &'static Format| if format.is_integer() { i.d } else { format };
        let scales = self.schedule.scales.as_ref().map(|blocks| {
            let single = format::find("f32").unwrap();
            (
                matrix(m.div_ceil(blocks.a[0]), k.div_ceil(blocks.a[1]), single, s + 4),
                matrix(k.div_ceil(blocks.b[0]), n.div_ceil(blocks.b[1]), single, s + 5),
            )
        });
        Factors {
            c: self.c.then(|| {
                matrix(
                    m,
                    n,
                    if self.schedule.c == CEntry::Start { i.c } else { wide(self.schedule.output.format) },
                    s + 2,
                )
            }),
            bias: self.bias.then(|| {
                let start = self.schedule.bias == BiasEntry::Start;
                matrix(1, n, if start { i.c } else { wide(self.schedule.output.format) }, s + 3)
            }),
            scale_a: scales.as_ref().map(|scales| scales.0.clone()),
            scale_b: scales.map(|scales| scales.1),
            ..Factors::new(matrix(m, k, self.given(i.a), s), matrix(k, n, self.given(i.b), s + 1))
        }
    }

    /// The format of the elements that become operands of this one.
    fn given(&self, format: &'static Format) -> &'static Format {
        self.schedule.operands.map_or(format, |operands| operands.format)
    }
}

/// Every k is less than this.
const MOST_K: usize = 200;

prop_compose! {
    fn splits()(
        count in 1..6usize,
        granule in select(vec![1, 3, 16, 32, 64]),
        terms in select(PartTerms::ALL.to_vec()),
        join in select(PartJoin::ALL.to_vec()),
    ) -> SplitK {
        SplitK { count, granule, terms, join }
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let shape = (1..20usize, 1..20usize, 1..MOST_K);
    let steps = (
        select(KOrder::ALL.to_vec()),
        1..5usize,
        select(Residue::ALL.to_vec()),
        option::of((1..5usize, option::of(1..4usize))),
        splits(),
        (select(vec![1, 1, 2, 3, 8]), 1..4usize, select(AccumulatorJoin::ALL.to_vec())),
    );
    let factors = select(vec![(1.0, 1.0), (1.0, 0.0), (1.0, 0.0), (0.3, 1.0), (-2.5, 0.7)]);
    let output = (select(vec!["d", "d", "f32", "bf16", "f16", "e5m2"]), select(Rounding::DETERMINISTIC.to_vec()));
    let enters =
        (any::<bool>(), select(BiasEntry::ALL.to_vec()), option::of(select(vec![Rounding::Rne, Rounding::Rz])));
    let ends = (any::<bool>(), any::<bool>(), enters, option::of(select(ScaleUse::ALL.to_vec())), any::<u64>());
    (select(KINDS), shape, steps, factors, output, ends).prop_map(
        |((model, name), shape, steps, factors, output, ends)| {
            let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
            let (order, slabs, residue, promote, split, (accumulators, pieces, join)) = steps;
            let (c, bias, (start, entry, operands), scales, seed) = ends;
            let (k, integer) = (schedule.instruction.k, schedule.instruction.d.is_integer());
            (schedule.order, schedule.slab, schedule.residue, schedule.split) = (order, slabs * k, residue, split);
            schedule.promote = promote.map(|(promote, _)| promote * k);
            schedule.promote_halves = promote.and_then(|(_, halves)| halves.map(|halves| halves * k));
            let register = ["f32", "f64", "s32"].contains(&schedule.instruction.d.name);
            if accumulators > 1 && register {
                schedule.accumulators = Accumulators { count: accumulators, granule: pieces * k, join };
            }
            if integer {
                schedule.split.join = PartJoin::Register;
            } else {
                let format = format::find("f32").unwrap();
                schedule.operands = operands.map(|rounding| OperandRounding { format, rounding });
                (schedule.alpha, schedule.beta) = factors;
                let format = if output.0 == "d" { schedule.instruction.d } else { format::find(output.0).unwrap() };
                schedule.output =
                    OutputRounding { format, rounding: output.1, overflow: Overflow::Standard, nan: None };
            }
            if start && schedule.promote.is_none() && schedule.alpha == 1.0 {
                schedule.c = CEntry::Start;
                schedule.beta = 1.0;
            }
            if seed & 1 == 1 && schedule.c == CEntry::End {
                schedule.c = CEntry::Rounded;
            }
            if schedule.check().is_err() {
                schedule.split.terms = PartTerms::Contiguous;
            }
            schedule.bias = entry;
            if schedule.check().is_err() {
                schedule.bias = BiasEntry::End;
            }
            // Blocks of as many k as are promoted at once, which begin where parts do.
            if let (Some(multiply), Some(promote), None, false) =
                (scales, schedule.promote, schedule.promote_halves, integer)
            {
                // Scales at the end are shared by all k.
                let k_of_block = if multiply.is_at_end() { MOST_K } else { promote };
                schedule.scales = Some(ScaleBlocks { a: [1, k_of_block], b: [k_of_block, 7], multiply });
                (schedule.slab, schedule.split.granule, schedule.order, schedule.residue) =
                    (k, promote, KOrder::Ascending, Residue::Last);
            }
            Drawn { model, schedule, shape, c, bias, seed: seed >> 8 }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schedule_gives_the_bits_of_the_plain_loop(drawn in drawn()) {
        prop_assert_eq!(drawn.schedule.check(), Ok(()));
        let factors = drawn.factors();
        let (actual, expected) =
            (computed(drawn.model, &drawn.schedule, &factors), by_hand(drawn.model, &drawn.schedule, &factors));
        prop_assert_eq!(actual.codes, expected.codes);
    }

    #[test]
    fn a_schedule_that_is_written_is_read_again(drawn in drawn()) {
        prop_assert!(Schedule::parse(&drawn.schedule.to_toml(), "written").unwrap() == drawn.schedule);
    }

    #[test]
    fn f32_multiply_adds_are_those_of_the_host(
        (m, n, k) in (1..9usize, 1..40usize, 1..60usize),
        seed in any::<u32>(),
        scale in vec(-20..20i32, 3),
    ) {
        let single = format::find("f32").unwrap();
        let schedule = Schedule::new(isa::find("vfmadd.m1n16k1.f32.f32.f32.f32").unwrap()).unwrap();
        let factors = Factors::new(matrix(m, k, single, u64::from(seed)), matrix(k, n, single, u64::from(seed) + scale[0].unsigned_abs() as u64));
        let d = computed("x86", &schedule, &factors);
        let float = |matrix: &Matrix, row, column| f32::from_bits(matrix.get(row, column) as u32);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let sum = (0..k).fold(0f32, |sum, k| float(&factors.a, row, k).mul_add(float(&factors.b, k, column), sum));
            prop_assert_eq!(d.get(row, column), u64::from(sum.to_bits()));
        }
    }
}

#[test]
fn f32_goes_to_tf32_as_it_is_or_rounded() {
    let mut schedule = Schedule::new(isa::find("mma.m16n8k8.f32.tf32.tf32.f32").unwrap()).unwrap();
    let single = format::find("f32").unwrap();
    let code = |x: f32| u64::from(x.to_bits());
    // 1 + 2^-10 - 2^-23: cut it is 1, to nearest 1 + 2^-10.
    let x = code(1.0 + f32::powi(2.0, -10) - f32::powi(2.0, -23));
    let of =
        |format| Factors::new(Matrix::of_values(1, 1, format, &[x]), Matrix::of_values(1, 1, format, &[code(1.0)]));
    assert_eq!(computed("hopper", &schedule, &of(schedule.instruction.a)).get(0, 0), code(1.0));
    for (rounding, expected) in [(Rounding::Rne, 1.0 + f32::powi(2.0, -10)), (Rounding::Rz, 1.0)] {
        schedule.operands = Some(OperandRounding { format: single, rounding });
        assert_eq!(computed("hopper", &schedule, &of(single)).get(0, 0), code(expected), "{rounding:?}");
    }
}

#[test]
fn shapes_around_tiles_and_blocks_are_whole() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let half = schedule.instruction.a;
    for (m, n, k) in [(1, 1, 1), (63, 65, 17), (64, 64, 16), (65, 129, 31), (130, 7, 33), (200, 200, 5)] {
        let factors = Factors::new(matrix(m, k, half, 1), matrix(k, n, half, 2));
        assert_eq!(computed("hopper", &schedule, &factors), by_hand("hopper", &schedule, &factors), "{m} {n} {k}");
    }
}

#[test]
fn block_scales_of_instructions_take_part() {
    for (name, block) in
        [("mma.m16n8k32.f32.e4m3.e5m2.f32.ue8m0.block32", 32), ("mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16", 16)]
    {
        let Ok(instruction) = isa::find(name) else { panic!("{name}") };
        let mut schedule = Schedule::new(instruction).unwrap();
        (schedule.split.count, schedule.split.granule) = (2, 64);
        let i = &schedule.instruction;
        let scale = i.scale.unwrap();
        assert_eq!(scale.block, block);
        for k in [64, 96, 150, 200usize] {
            let (m, n, blocks) = (5, 9, k.div_ceil(block));
            let codes = |rows, columns| {
                let codes: Vec<u64> = (0..rows * columns)
                    .map(|at| {
                        scale
                            .format
                            .encode_f64(2f64.powi(at as i32 % 5 - 2), Rounding::Rne, Overflow::Saturate)
                            .unwrap()
                    })
                    .collect();
                Some(Matrix::of_values(rows, columns, scale.format, &codes))
            };
            let factors = Factors {
                scale_a: codes(m, blocks),
                scale_b: codes(blocks, n),
                ..Factors::new(matrix(m, k, i.a, 3), matrix(k, n, i.b, 4))
            };
            let model = "blackwell-rtx";
            assert_eq!(computed(model, &schedule, &factors), by_hand(model, &schedule, &factors), "{name} {k}");
        }
    }
}

#[test]
fn threads_and_blocks_do_not_matter() {
    let mut schedule = Schedule::new(isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap()).unwrap();
    schedule.split = SplitK { count: 3, granule: 8, join: PartJoin::Output, ..schedule.split };
    schedule.output.format = format::find("bf16").unwrap();
    let half = schedule.instruction.a;
    let factors = Factors::new(matrix(150, 70, half, 5), matrix(70, 170, half, 6));
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| computed("hopper", &schedule, &factors))
    };
    assert_eq!(with(1), with(3));
    let (rows, columns) = ([3, 149, 64], [0, 169, 63, 128]);
    let part = factors.chosen(&rows, &columns, None);
    assert_eq!(computed("hopper", &schedule, &part), with(2).chosen(&rows, &columns));
}

#[test]
fn promotion_and_splitting_change_what_they_should() {
    let mut schedule = Schedule::new(isa::find("wgmma.m64n8k32.f32.e4m3.e4m3").unwrap()).unwrap();
    let eight = schedule.instruction.a;
    // 1 * 1, 32,768 times: thirteen bits after the point of 2^14 hold no 1.
    let one = eight.encode_f64(1.0, Rounding::Rne, Overflow::Standard).unwrap();
    let k = 1 << 15;
    let ones = |rows, columns| Matrix::of_values(rows, columns, eight, &vec![one; rows * columns]);
    let factors = Factors::new(ones(1, k), ones(k, 1));
    let value = |schedule: &Schedule| f32::from_bits(computed("hopper", schedule, &factors).get(0, 0) as u32);
    let plain = value(&schedule);
    schedule.promote = Some(128);
    assert_eq!(value(&schedule), k as f32);
    assert_eq!(plain, 16384.0);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let [half, single] = ["f16", "f32"].map(|name| format::find(name).unwrap());
    let fits = Factors::new(matrix(3, 5, half, 1), matrix(5, 2, half, 2));
    let refused = |schedule: &Schedule, factors: &Factors| factors.check(schedule).unwrap_err().to_string();
    for (factors, words) in [
        (Factors::new(matrix(3, 5, half, 1), matrix(4, 2, half, 2)), "A is 3 x 5 and B is 4 x 2"),
        (Factors::new(matrix(3, 5, single, 1), fits.b.clone()), "A holds f32, and the instruction takes f16"),
        (Factors::new(matrix(3, 0, half, 1), matrix(0, 2, half, 2)), "A is 3 x 0"),
        (Factors { c: Some(matrix(2, 3, single, 1)), ..fits.clone() }, "C is 2 x 3; expected 3 x 2"),
        (Factors { bias: Some(matrix(1, 3, single, 1)), ..fits.clone() }, "the bias is 1 x 3"),
        (Factors { scale_a: Some(matrix(3, 1, single, 1)), ..fits.clone() }, "has no block scales"),
    ] {
        let message = refused(&schedule, &factors);
        assert!(message.contains(words), "{message}");
    }
    let mut with_scales = schedule.clone();
    (with_scales.promote, with_scales.scales) =
        (Some(32), Some(ScaleBlocks { a: [1, 32], b: [32, 32], multiply: ScaleUse::Fused }));
    assert!(refused(&with_scales, &fits).contains("‹scale_a›"), "{}", refused(&with_scales, &fits));
}
