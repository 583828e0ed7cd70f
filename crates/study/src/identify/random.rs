//! Devices that round at random, recognised by how often they give each of two neighbours.

use super::candidate::{candidate, evaluator};
use crate::{
    Error, Result,
    arithmetic::{Alignment, Evaluator, Rounded, Rule, Step},
    bench::{Draw, encoded, part, tile},
    device::{Batches, Device},
    format::{self, Class, Finite, Format, Overflow, Rounding},
    inputs::Sequence,
    isa::{Case, Instruction, MatrixShape, Tiles},
    report::counted,
};

/// Tiles of the verification stream, and of operands with all their bits; and how often each is asked.
const TILES: usize = 2;
const DENSE: usize = 4;
const TIMES: usize = 192;
/// Largest exponent of such an operand.
const SPREAD: i32 = 2;
/// Exponent of c, whose last bits the sum loses.
const OF_C: i32 = -4;
/// Widths of the alignments that are tried.
const BITS: std::ops::RangeInclusive<i32> = 8..=40;
/// Largest number of random bits that is told from more.
const RANDOM_BITS: i32 = 20;
/// Logarithm of a likelihood ratio that rules out a law: 1 to 10^6.
const RULES_OUT: f64 = 13.8;
/// Standard deviations of the sum of squares beyond which frequencies do not fit.
const DEVIATIONS: f64 = 6.0;
/// One output in this many may be no neighbour of its value.
const OTHERS: usize = 8;
/// Cost of such an output, as a logarithm: more than an output costs whose answers fit.
const OTHER_COST: f64 = 2.0 * TIMES as f64;
/// Fewest outputs with two answers by which a law is judged.
const FEWEST: usize = 8;

/// The error for a device with several answers to equal operands.
/// It says how the rounding is random, if that can be told.
pub(super) fn explained(
    device: &mut dyn Device,
    batches: &mut Batches,
    instruction: &Instruction,
    seed: u64,
    error: Error,
) -> Error {
    match recognised(device, batches, instruction, seed) {
        Ok(Some(words)) => Error::device(format!("{error}. {words}")),
        _ => error,
    }
}

/// An output that was asked several times.
struct RepeatedOutput {
    case: Case,
    answers: Vec<u64>,
}

/// The chance that a rounding goes away from zero.
/// The distance is that from the neighbour towards zero, in units of the last place.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    /// The distance, cut to so many bits.
    /// So many random bits are added below the last place, and the sum is truncated.
    Distance(i32),
    /// The distance.
    Exact,
    /// One half, unless the value is a number of the format.
    Half,
}

impl Law {
    fn chance(self, distance: f64) -> f64 {
        match self {
            Law::Distance(bits) => (distance * 2f64.powi(bits)).floor() / 2f64.powi(bits),
            Law::Exact => distance,
            Law::Half if distance == 0.0 => 0.0,
            Law::Half => 0.5,
        }
    }

    fn all() -> impl Iterator<Item = Law> {
        (1..=RANDOM_BITS).map(Law::Distance).chain([Law::Exact, Law::Half])
    }
}

/// An output between two neighbours, and how often it was rounded away from zero.
#[derive(Debug, Clone, Copy)]
struct Frequency {
    distance: f64,
    away: usize,
    times: usize,
}

/// How a device rounds at random, in a sentence; `None` if its answers do not show it.
fn recognised(
    device: &mut dyn Device,
    batches: &mut Batches,
    instruction: &Instruction,
    seed: u64,
) -> Result<Option<String>> {
    let part = part(instruction);
    let outputs = repeated(device, batches, instruction, seed)?;
    let most = outputs.iter().map(|output| distinct(&output.answers)).max().unwrap_or(0);
    if most > 2 {
        return Ok(Some(format!(
            "One output has {most} answers: more than one step of the sum rounds at random, or something else decides."
        )));
    }
    let mut fitted: Vec<FittedSum> = Vec::new();
    for (bits, evaluator) in sums(&part) {
        let (frequencies, others) = frequencies(&part, &evaluator, &outputs);
        if others * OTHERS <= outputs.len() {
            let most = Law::all().map(|law| likelihood(law, &frequencies)).fold(f64::NEG_INFINITY, f64::max);
            fitted.push(FittedSum { bits, likelihood: most - others as f64 * OTHER_COST, frequencies });
        }
    }
    let most = fitted.iter().map(|fitted| fitted.likelihood).fold(f64::NEG_INFINITY, f64::max);
    fitted.retain(|fitted| most - fitted.likelihood < RULES_OUT);
    Ok(fitted
        .iter()
        .find(|fitted| fitted.likelihood == most)
        .and_then(|best| sentence(&best.frequencies, &words(&fitted))))
}

/// A sum whose neighbours the answers are, and how likely they are.
/// Its alignment keeps `bits` bits; an exact sum has none.
struct FittedSum {
    bits: Option<i32>,
    likelihood: f64,
    frequencies: Vec<Frequency>,
}

/// The sums that the answers do not rule out, in words.
fn words(open: &[FittedSum]) -> String {
    let widths: Vec<i32> = open.iter().filter_map(|fitted| fitted.bits).collect();
    let exact = open.iter().any(|fitted| fitted.bits.is_none());
    let aligned = |cut: String| format!("the sum of terms aligned to the largest exponent and cut at {cut} RZ");
    match (widths.iter().min(), widths.iter().max()) {
        (None, _) | (_, None) => "the exact sum".to_string(),
        (Some(least), Some(_)) if exact => format!("the exact sum, or of {}", aligned(format!("{least} bits or more"))),
        (Some(least), Some(most)) if least == most => aligned(format!("{least} bits")),
        (Some(least), Some(most)) => aligned(format!("{least} to {most} bits")),
    }
}

/// Outputs of tiles of the verification stream, each asked [`TIMES`] times.
/// Subnormal operands may be flushed, and are left out.
fn repeated(
    device: &mut dyn Device,
    batches: &mut Batches,
    instruction: &Instruction,
    seed: u64,
) -> Result<Vec<RepeatedOutput>> {
    let part = part(instruction);
    let mut tiles = Sequence::Random { seed }.tiles(&part, 0, TILES);
    let mut draw = Draw::new(seed);
    (0..DENSE).for_each(|_| tiles.extend(&dense(&part, &mut draw)));
    let mut all = Tiles::zeros(&part, 0);
    (0..TIMES).for_each(|_| all.extend(&tiles));
    let codes = batches.execute(device, instruction, MatrixShape { rows: part.m, columns: part.n }, &all)?;
    let each = tiles.count * part.m * part.n;
    let is_normal = |case: &Case| {
        let operands = [(part.a, &case.a[..]), (part.b, &case.b[..]), (part.c, std::slice::from_ref(&case.c))];
        let is_subnormal = |format: &Format, code: &u64| format.decode(*code).class == Class::Subnormal;
        !operands.into_iter().any(|(format, codes)| codes.iter().any(|code| is_subnormal(format, code)))
    };
    let output = |at: usize| {
        let (tile, row, column) = (at / (part.m * part.n), at / part.n % part.m, at % part.n);
        let answers = (0..codes.len() / each).map(|time| codes.get(time * each + at)).collect();
        RepeatedOutput { case: tiles.case(&part, tile, row, column), answers }
    };
    Ok((0..each).map(output).filter(|output| is_normal(&output.case)).collect())
}

/// A tile whose operands have all their bits and about the same exponents.
/// The distances of its sums are as good as random.
fn dense(part: &Instruction, draw: &mut Draw) -> Tiles {
    let mut number = |format: &Format| {
        let exponent = draw.between(-SPREAD, SPREAD);
        draw.code(format, exponent, u64::BITS)
    };
    let mut line = |of_a: bool| {
        let mut case = Case::zeros(part);
        match of_a {
            true => case.a.iter_mut().for_each(|code| *code = number(part.a)),
            false => case.b.iter_mut().for_each(|code| *code = number(part.b)),
        }
        if let Some(scale) = part.scale {
            let one = encoded(scale.format, Finite::exact(false, 1, 0));
            case.scale_a.fill(one);
            case.scale_b.fill(one);
        }
        case
    };
    let rows: Vec<Case> = (0..part.m).map(|_| line(true)).collect();
    let columns: Vec<Case> = (0..part.n).map(|_| line(false)).collect();
    tile(part, &rows, &columns, |_| draw.code(part.c, OF_C, u64::BITS))
}

fn distinct(answers: &[u64]) -> usize {
    let mut answers = answers.to_vec();
    answers.sort_unstable();
    answers.dedup();
    answers.len()
}

/// Sums of all products and c in one step, before they are rounded to D.
/// Each comes with the bits that its alignment keeps, `None` for the exact sum; its value is in f64.
fn sums(part: &Instruction) -> Vec<(Option<i32>, Evaluator)> {
    let Ok(wide) = format::find("f64") else { return Vec::new() };
    let to_f64 = Instruction { d: wide, ..part.clone() };
    let sum = |bits: Option<i32>| {
        let mut rule = candidate(Rule::default(), &to_f64);
        rule.step = if bits.is_some() { Step::Fused } else { Step::Exact };
        rule.alignment = bits.map(|bits| Alignment::new(bits, Rounding::Rz));
        rule.result = Some(Rounded::new(wide, Rounding::Rne));
        rule.nan = wide.nan();
        Some((bits, evaluator(&rule, &to_f64)?))
    };
    BITS.map(Some).chain([None]).filter_map(sum).collect()
}

/// How often each output was rounded away from zero.
/// Returns the number of outputs with an answer that is no neighbour of the value, too.
fn frequencies(part: &Instruction, sum: &Evaluator, outputs: &[RepeatedOutput]) -> (Vec<Frequency>, usize) {
    let (d, wide) = (part.d, sum.program().instruction.d);
    let (mut frequencies, mut others) = (Vec::new(), 0);
    for RepeatedOutput { case, answers } in outputs {
        let value = wide.to_f64(sum.dot(case));
        let Some([inner, outer]) = neighbours(d, value) else { continue };
        let away = answers.iter().filter(|code| d.to_f64(**code) == outer).count();
        let towards = answers.iter().filter(|code| d.to_f64(**code) == inner).count();
        match inner == outer {
            true => others += usize::from(towards != answers.len()),
            false if away + towards != answers.len() => others += 1,
            false => {
                frequencies.push(Frequency { distance: (value - inner) / (outer - inner), away, times: answers.len() });
            }
        }
    }
    (frequencies, others)
}

/// The normal neighbours of a value in a format: towards zero, and away from it.
fn neighbours(format: &Format, value: f64) -> Option<[f64; 2]> {
    let outwards = if value < 0.0 { Rounding::Rd } else { Rounding::Ru };
    let of = |rounding| Some(format.to_f64(format.encode_f64(value, rounding, Overflow::Infinity)?));
    let both = [of(Rounding::Rz)?, of(outwards)?];
    let smallest = format.to_f64(format.smallest_normal());
    both.iter().all(|value| value.is_finite() && value.abs() >= smallest).then_some(both)
}

/// Logarithm of the likelihood of the frequencies.
fn likelihood(law: Law, frequencies: &[Frequency]) -> f64 {
    let of_count = |count: usize, chance: f64| if count == 0 { 0.0 } else { count as f64 * chance.ln() };
    let of = |Frequency { distance, away, times }: &Frequency| {
        let chance = law.chance(*distance);
        of_count(*away, chance) + of_count(times - away, 1.0 - chance)
    };
    frequencies.iter().map(of).sum()
}

/// True if the frequencies scatter around a law as chance lets them.
fn fits(law: Law, frequencies: &[Frequency]) -> bool {
    let square = |Frequency { distance, away, times }: &Frequency| {
        let (chance, times) = (law.chance(*distance), *times as f64);
        let variance = times * chance * (1.0 - chance);
        (variance >= 1.0).then(|| (*away as f64 - times * chance).powi(2) / variance)
    };
    let squares: Vec<f64> = frequencies.iter().filter_map(square).collect();
    let count = squares.len() as f64;
    squares.len() >= FEWEST && (squares.iter().sum::<f64>() - count).abs() <= DEVIATIONS * (2.0 * count).sqrt()
}

/// The law of the frequencies in a sentence; `None` if none fits.
fn sentence(frequencies: &[Frequency], sum: &str) -> Option<String> {
    let likelihoods: Vec<(Law, f64)> = Law::all().map(|law| (law, likelihood(law, frequencies))).collect();
    let most = likelihoods.iter().map(|(_, likelihood)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
    let open: Vec<Law> =
        likelihoods.iter().filter(|(_, likelihood)| most - likelihood < RULES_OUT).map(|(law, _)| *law).collect();
    let (best, _) = likelihoods.iter().find(|(_, likelihood)| *likelihood == most)?;
    if !most.is_finite() || !fits(*best, frequencies) {
        return None;
    }
    let bits: Vec<i32> =
        open.iter().filter_map(|law| if let Law::Distance(bits) = law { Some(*bits) } else { None }).collect();
    let law = match (&open[..], &bits[..]) {
        ([Law::Half], _) => "up or down with equal chance, whatever the distance".to_string(),
        (open, [least, ..]) if open.contains(&Law::Exact) => {
            format!("with the chance that the distance gives ({least} random bits or more)")
        }
        (_, [bits]) => format!("with the chance that the distance gives, of {}", counted(*bits as u64, "random bit")),
        (_, [least, .., largest]) => {
            format!("with the chance that the distance gives, of {least} to {largest} random bits")
        }
        _ => return None,
    };
    Some(format!(
        "It rounds stochastically: {}, asked {TIMES} times each, are the neighbours of {sum}, {law}.",
        counted(frequencies.len() as u64, "output")
    ))
}
