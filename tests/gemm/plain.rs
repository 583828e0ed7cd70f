//! A matrix product by a schedule a second time: one element after the other, by the reference evaluator, with the soft-float's sums.

use tcnum::{
    arithmetic::Evaluator,
    format::{self, Format, Overflow, Rounding},
    isa::Case,
    softfloat::{Converter, Environment, Unit},
};
use tcnum_engine::product::{
    AccumulatorJoin, BiasEntry, CEntry, Factors, KOrder, Matrix, OperandRounding, PartJoin, PartTerms, Residue,
    ScaleUse, Schedule,
};

/// What the reference rounds to f32 or f64 in; integers wrap.
struct Registers {
    format: &'static Format,
}

impl Registers {
    fn unit(&self) -> Unit<'static> {
        Unit::new(self.format, Environment::default()).expect("floating-point numbers")
    }

    fn from(&self, format: &Format, code: u64) -> u64 {
        if self.format.is_integer() {
            return code;
        }
        Converter::new(format, self.format, Environment::default()).convert(code).code.expect("it has NaN")
    }

    fn of(&self, x: f64) -> u64 {
        self.format.encode_f64(x, Rounding::Rne, Overflow::Standard).expect("it has NaN")
    }

    fn add(&self, x: u64, y: u64) -> u64 {
        match self.format.is_integer() {
            true => u64::from((x as u32).wrapping_add(y as u32)),
            false => self.unit().add(x, y).code.expect("it has NaN"),
        }
    }

    fn multiply(&self, x: u64, y: u64) -> u64 {
        match self.format.is_integer() {
            true => u64::from((x as u32).wrapping_mul(y as u32)),
            false => self.unit().mul(x, y).code.expect("it has NaN"),
        }
    }

    fn fma(&self, x: u64, y: u64, z: u64) -> u64 {
        match self.format.is_integer() {
            true => self.add(self.multiply(x, y), z),
            false => self.unit().fma(x, y, z).code.expect("it has NaN"),
        }
    }
}

/// The k of each part, and in it the places of all steps: a k, or a zero that fills up.
fn places(schedule: &Schedule, k: usize) -> Vec<Vec<Option<usize>>> {
    let split = &schedule.split;
    let chunk = k.div_ceil(split.granule).div_ceil(split.count) * split.granule;
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for at in 0..k {
        if at % chunk == 0 {
            parts.push(Vec::new());
        }
        parts.last_mut().unwrap().push(at);
    }
    let filled = |part: Vec<usize>| {
        let missing = part.len().next_multiple_of(schedule.slab) - part.len();
        let remainder = part.len() % schedule.slab;
        let at = if schedule.residue == Residue::First && missing > 0 { remainder } else { part.len() };
        let mut places: Vec<Option<usize>> = part.into_iter().map(Some).collect();
        places.splice(at..at, vec![None; missing]);
        places
    };
    if split.terms == PartTerms::Interleaved {
        let all: Vec<usize> = (0..k).collect();
        let mut dealt = vec![Vec::new(); split.count.min(k.div_ceil(split.granule))];
        let count = dealt.len();
        for (number, piece) in all.chunks(split.granule).enumerate() {
            dealt[number % count].extend(filled(piece.to_vec()));
        }
        return dealt;
    }
    parts.into_iter().map(filled).collect()
}

fn scale(
    registers: &Registers,
    schedule: &Schedule,
    factors: &Factors,
    row: usize,
    column: usize,
    k: usize,
) -> Option<u64> {
    let blocks = schedule.scales.as_ref()?;
    let a = factors.scale_a.as_ref().unwrap().get(row / blocks.a[0], k / blocks.a[1]);
    let b = factors.scale_b.as_ref().unwrap().get(k / blocks.b[0], column / blocks.b[1]);
    let single = format::find("f32").unwrap();
    Some(registers.multiply(registers.from(single, a), registers.from(single, b)))
}

/// The steps that the unit takes without a break.
fn runs<'a>(schedule: &Schedule, steps: &[&'a [Option<usize>]]) -> Vec<Vec<&'a [Option<usize>]>> {
    let i = &schedule.instruction;
    let (Some(promote), Some(halves)) = (schedule.promote, schedule.promote_halves) else {
        let most = schedule.promote.map_or(usize::MAX, |promote| promote / i.k);
        return steps.chunks(most).map(<[_]>::to_vec).collect();
    };
    // As OpenBLAS has it, in its words.
    let (q, unroll, k) = (promote / i.k, halves / i.k, steps.len());
    let (mut runs, mut ls) = (Vec::new(), 0);
    while ls < k {
        let mut min_l = k - ls;
        if min_l >= q * 2 {
            min_l = q;
        } else if min_l > q {
            min_l = (min_l / 2).div_ceil(unroll) * unroll;
        }
        let end = k.min(ls + min_l);
        runs.push(steps[ls..end].to_vec());
        ls = end;
    }
    runs
}

/// Numbers added two and two, and their sums likewise: neighbours, or those of two halves.
fn in_pairs(registers: &Registers, numbers: &[u64], neighbours: fn(usize) -> bool) -> u64 {
    if let [one] = numbers {
        return *one;
    }
    let half = numbers.len().div_ceil(2);
    let pairs = (0..half).map(|at| if neighbours(numbers.len()) { [2 * at, 2 * at + 1] } else { [at, at + half] });
    let sums = pairs.map(|[x, y]| match numbers.get(y) {
        Some(y) => registers.add(numbers[x], *y),
        None => numbers[x],
    });
    in_pairs(registers, &sums.collect::<Vec<_>>(), neighbours)
}

/// The elements of a matrix as the instruction takes them.
fn rounded_operand(operands: Option<OperandRounding>, matrix: &Matrix, to: &'static Format) -> Matrix {
    let Some(OperandRounding { format, rounding }) = operands.filter(|operands| operands.format == matrix.format)
    else {
        return matrix.clone();
    };
    let environment = Environment { rounding, ..Environment::default() };
    let code = |code: u64| Converter::new(format, to, environment).convert(code).code.expect("it has a code");
    Matrix::of_values(matrix.rows, matrix.columns, to, &matrix.codes.iter().map(code).collect::<Vec<_>>())
}

/// D, element by element.
pub(crate) fn product(schedule: &Schedule, evaluator: &Evaluator, factors: &Factors) -> Matrix {
    let i = &schedule.instruction;
    let (m, n) = (factors.a.rows, factors.b.columns);
    let (a, b) =
        (rounded_operand(schedule.operands, &factors.a, i.a), rounded_operand(schedule.operands, &factors.b, i.b));
    let factors = &Factors { a, b, ..factors.clone() };
    let name = if i.d.name == "f64" || i.d.is_integer() { i.d.name } else { "f32" };
    let registers = Registers { format: format::find(name).unwrap() };
    let output = &schedule.output;
    let to_output = |code: u64| {
        if output.format.is_integer() {
            return code;
        }
        let environment =
            Environment { rounding: output.rounding, overflow: output.overflow, ..Environment::default() };
        Converter::new(registers.format, output.format, environment).convert(code).code.expect("it has NaN")
    };
    let mut codes = Vec::new();
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let mut parts = Vec::new();
        let mut raw = 0;
        for (part, places) in places(schedule, factors.a.columns).iter().enumerate() {
            let mut steps: Vec<&[Option<usize>]> = places.chunks(i.k).collect();
            if schedule.order == KOrder::Descending {
                steps.reverse();
            }
            let mut sum = None;
            for run in &runs(schedule, &steps) {
                let start = part == 0 && schedule.c == CEntry::Start;
                let first = factors.c.as_ref().filter(|_| start).map_or(0, |c| c.get(row, column));
                let biased = part == 0 && schedule.bias == BiasEntry::Start;
                let first = factors.bias.as_ref().filter(|_| biased).map_or(first, |bias| bias.get(0, column));
                let piece = schedule.accumulators.granule / i.k;
                let mut chains = vec![0; schedule.accumulators.count.min(run.len().div_ceil(piece))];
                chains[0] = first;
                for (at, step) in run.iter().enumerate() {
                    let which = at / piece % chains.len();
                    let c = chains[which];
                    let code = |matrix: &Matrix, at: Option<(usize, usize)>| {
                        at.map_or(0, |(row, column)| matrix.get(row, column))
                    };
                    let mut case = Case::dense(
                        step.iter().map(|k| code(&factors.a, k.map(|k| (row, k)))).collect(),
                        step.iter().map(|k| code(&factors.b, k.map(|k| (k, column)))).collect(),
                        c,
                    );
                    if let Some(scale) = i.scale {
                        let blocks: Vec<Option<usize>> =
                            step.chunks(scale.block).map(|block| block[0].map(|k| k / scale.block)).collect();
                        let (a, b) = (factors.scale_a.as_ref().unwrap(), factors.scale_b.as_ref().unwrap());
                        case.scale_a = blocks.iter().map(|block| code(a, block.map(|block| (row, block)))).collect();
                        case.scale_b = blocks.iter().map(|block| code(b, block.map(|block| (block, column)))).collect();
                    }
                    chains[which] = evaluator.dot(&case);
                }
                raw = match schedule.accumulators.join {
                    _ if chains.len() == 1 => chains[0],
                    AccumulatorJoin::Order => chains.into_iter().reduce(|x, y| registers.add(x, y)).unwrap(),
                    AccumulatorJoin::Pairs => in_pairs(&registers, &chains, |_| true),
                    AccumulatorJoin::Halves => in_pairs(&registers, &chains, |_| false),
                    AccumulatorJoin::Lanes => in_pairs(&registers, &chains, |left| left <= 4),
                };
                let value = registers.from(i.d, raw);
                let k = run.concat().into_iter().flatten().next();
                let scale = k.and_then(|k| scale(&registers, schedule, factors, row, column, k));
                let before = sum.unwrap_or(registers.of(0.0));
                sum = Some(match (scale, schedule.scales.as_ref().map(|scales| scales.multiply), schedule.promote) {
                    (_, _, None) => value,
                    (Some(scale), Some(ScaleUse::Fused), _) => registers.fma(value, scale, before),
                    (Some(scale), Some(ScaleUse::Rounded), _) => {
                        registers.add(before, registers.multiply(value, scale))
                    }
                    _ => registers.add(before, value),
                });
            }
            parts.push(sum.unwrap());
        }
        let (alpha, beta) = (registers.of(schedule.alpha), registers.of(schedule.beta));
        let c = factors.c.as_ref().filter(|_| schedule.c != CEntry::Start && schedule.beta != 0.0);
        let c = c.map(|c| registers.multiply(beta, registers.from(c.format, c.get(row, column))));
        let bias = factors.bias.as_ref().filter(|_| schedule.bias != BiasEntry::Start);
        let bias = bias.map(|bias| registers.from(bias.format, bias.get(0, column)));
        let bare = parts.len() == 1 && schedule.promote.is_none() && c.is_none() && bias.is_none();
        let [early, late] = if schedule.c == CEntry::Rounded { [None, c] } else { [c, None] };
        if bare && schedule.alpha == 1.0 && output.format == i.d && schedule.scales.is_none() {
            codes.push(raw);
            continue;
        }
        let scales = [(&factors.scale_a, row, 0), (&factors.scale_b, 0, column)];
        let at_end = |sum: u64| {
            let Some(blocks) = schedule.scales else { return sum };
            let [a, b] = scales.map(|(scale, row, column)| {
                let scale = scale.as_ref().unwrap();
                registers.from(scale.format, scale.get(row / blocks.a[0], column / blocks.b[1]))
            });
            match blocks.multiply {
                ScaleUse::End => registers.multiply(sum, registers.multiply(a, b)),
                ScaleUse::Each => registers.multiply(registers.multiply(sum, a), b),
                ScaleUse::Fused | ScaleUse::Rounded => sum,
            }
        };
        let with_alpha = |sum: u64, addend: Option<u64>| match addend {
            Some(addend) => registers.fma(alpha, at_end(sum), addend),
            None => registers.multiply(alpha, at_end(sum)),
        };
        let with_c = |sum: u64| late.map_or(sum, |c| registers.add(registers.from(output.format, to_output(sum)), c));
        let biased = |sum: u64| match (bias, schedule.bias, with_c(sum)) {
            (None, _, sum) | (_, BiasEntry::First, sum) => sum,
            (Some(bias), BiasEntry::Rounded, sum) => registers.add(registers.from(output.format, to_output(sum)), bias),
            (Some(bias), _, sum) => registers.add(sum, bias),
        };
        let d = match schedule.split.join {
            PartJoin::Register => {
                biased(with_alpha(parts.iter().copied().reduce(|x, y| registers.add(x, y)).unwrap(), early))
            }
            PartJoin::Pairs => biased(with_alpha(in_pairs(&registers, &parts, |_| true), early)),
            PartJoin::Halves => biased(with_alpha(in_pairs(&registers, &parts, |_| false), early)),
            PartJoin::Output => {
                let narrow = |sum: u64| registers.from(output.format, to_output(sum));
                let parts = parts.iter().map(|sum| if parts.len() > 1 { narrow(*sum) } else { *sum });
                biased(with_alpha(parts.reduce(|x, y| registers.add(x, y)).unwrap(), early))
            }
            PartJoin::Serial => {
                let (mut addend, mut last) = (early, 0);
                for (part, sum) in parts.iter().enumerate() {
                    last = with_alpha(*sum, addend);
                    if let (0, BiasEntry::First, Some(bias)) = (part, schedule.bias, bias) {
                        last = registers.add(last, bias);
                    }
                    addend = Some(registers.from(output.format, to_output(last)));
                }
                biased(last)
            }
        };
        codes.push(to_output(d));
    }
    Matrix::of_values(m, n, output.format, &codes)
}
