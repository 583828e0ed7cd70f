//! Promotion, joins, scales, C, the bias and the output: all that follows the unit's sums.
//!
//! One text for the numbers of a product and for the enclosures of its bounds: each has its own [`RegisterArithmetic`].

use super::{
    Schedule,
    bound::ErrorSource,
    schedule::{AccumulatorJoin, BiasEntry, CEntry, PartJoin, ScaleUse},
};

/// Arithmetic of the register outside the unit, on numbers or on enclosures of them.
pub(super) trait RegisterArithmetic {
    /// A value of the register.
    type Value: Clone;

    fn zero(&self) -> Self::Value;

    /// A number of f64, rounded to the register.
    fn number(&self, x: f64) -> Self::Value;

    /// The rounded sum; `source` says what the sum is for.
    fn add(&self, x: &Self::Value, y: &Self::Value, source: ErrorSource) -> Self::Value;

    /// The rounded product with a number of f64, which is rounded first.
    fn multiply(&self, x: &Self::Value, factor: f64) -> Self::Value;

    /// The same with an addend, rounded once.
    fn multiply_add(&self, x: &Self::Value, factor: f64, y: &Self::Value, source: ErrorSource) -> Self::Value;

    /// A part or a sum in D's format, to which something is added.
    fn output(&self, x: &Self::Value) -> Self::Value;

    /// A part in D's format, which is joined to others.
    fn output_of_part(&self, part: &Self::Value) -> Self::Value {
        self.output(part)
    }

    /// The sum of parts that were rounded to D's format.
    fn joined_outputs(&self, sum: Self::Value, _parts: &[Self::Value]) -> Self::Value {
        sum
    }

    /// A sum of some of the parts, in order.
    fn partial(&self, sum: Self::Value) -> Self::Value {
        sum
    }

    /// The sum of all chains of the unit.
    fn complete(&self, sum: Self::Value) -> Self::Value {
        sum
    }
}

/// The scales and addends of an element outside the unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ElementAddends {
    /// The scales of A and B that multiply the joined sum.
    pub(super) scales: Option<[f64; 2]>,
    /// C, unless beta is zero or C begins the sum in the unit.
    pub(super) c: Option<f64>,
    /// The bias, unless it begins the sum in the unit.
    pub(super) bias: Option<f64>,
}

/// The part's sum after one more run, whose unit's sum and scales are given.
#[inline]
pub(super) fn promoted<R: RegisterArithmetic>(
    register: &R,
    schedule: &Schedule,
    sum: Option<&R::Value>,
    run: &R::Value,
    scales: Option<[f64; 2]>,
) -> R::Value {
    let source = ErrorSource::Promotion;
    let uses = schedule.scales.map(|scales| scales.multiply);
    let zero = || register.zero();
    match (scales, uses, sum) {
        (Some([a, b]), Some(ScaleUse::Rounded), sum) => {
            register.add(&sum.cloned().unwrap_or_else(zero), &register.multiply(run, a * b), source)
        }
        (Some([a, b]), _, sum) => register.multiply_add(run, a * b, &sum.cloned().unwrap_or_else(zero), source),
        (None, _, None) if schedule.promote.is_none() => run.clone(),
        (None, _, sum) => register.add(&sum.cloned().unwrap_or_else(zero), run, source),
    }
}

/// The sum of some numbers, joined in this way. Panics without numbers.
pub(super) fn joined<R: RegisterArithmetic>(
    register: &R,
    mut numbers: Vec<R::Value>,
    join: AccumulatorJoin,
) -> R::Value {
    let add = |x: &R::Value, y: &R::Value| register.add(x, y, ErrorSource::Join);
    if join == AccumulatorJoin::Order {
        return numbers.into_iter().reduce(|sum, number| add(&sum, &number)).expect("numbers to join");
    }
    while numbers.len() > 1 {
        let half = numbers.len().div_ceil(2);
        let neighbours = join == AccumulatorJoin::Pairs || join == AccumulatorJoin::Lanes && numbers.len() <= 4;
        let pair = |at: usize| if neighbours { (2 * at, 2 * at + 1) } else { (at, half + at) };
        let sum = |at: usize| {
            let (x, y) = pair(at);
            numbers.get(y).map_or_else(|| numbers[x].clone(), |y| add(&numbers[x], y))
        };
        numbers = (0..half).map(sum).collect();
    }
    numbers.pop().expect("numbers to join")
}

/// An element before it is rounded to D's format, from the sums of its parts.
pub(super) fn finished<R: RegisterArithmetic>(
    register: &R,
    schedule: &Schedule,
    parts: Vec<R::Value>,
    addends: &ElementAddends,
) -> R::Value {
    let source = ErrorSource::Scale;
    let by_alpha = |sum: &R::Value, addend: Option<&R::Value>| match addend {
        Some(addend) => register.multiply_add(sum, schedule.alpha, addend, source),
        None => register.multiply(sum, schedule.alpha),
    };
    let by_scales = |sum: R::Value| match (addends.scales, schedule.scales.map(|scales| scales.multiply)) {
        (Some([a, b]), Some(ScaleUse::Each)) => register.multiply(&register.multiply(&sum, a), b),
        (Some([a, b]), _) => register.multiply(&sum, a * b),
        (None, _) => sum,
    };
    let bias = addends.bias.map(|bias| register.number(bias));
    let c = addends.c.map(|c| register.multiply(&register.number(c), schedule.beta));
    let (mut addend, late) = if schedule.c == CEntry::Rounded { (None, c) } else { (c, None) };
    let ended = |sum: R::Value| {
        let sum = match &late {
            Some(c) => register.add(&register.output(&sum), c, source),
            None => sum,
        };
        match (&bias, schedule.bias) {
            (Some(bias), BiasEntry::End) => register.add(&sum, bias, source),
            (Some(bias), BiasEntry::Rounded) => register.add(&register.output(&sum), bias, source),
            _ => sum,
        }
    };
    let several = parts.len() > 1;
    let order = match schedule.split.join {
        PartJoin::Serial => {
            let last = parts.len() - 1;
            for (at, part) in parts.into_iter().enumerate() {
                let mut sum = register.partial(by_alpha(&by_scales(part), addend.as_ref()));
                if let (0, BiasEntry::First, Some(bias)) = (at, schedule.bias, &bias) {
                    sum = register.add(&sum, bias, source);
                }
                if at == last {
                    return ended(register.complete(sum));
                }
                addend = Some(register.output(&sum));
            }
            unreachable!("a product has a part")
        }
        PartJoin::Pairs => AccumulatorJoin::Pairs,
        PartJoin::Halves => AccumulatorJoin::Halves,
        PartJoin::Register | PartJoin::Output => AccumulatorJoin::Order,
    };
    let sum = match schedule.split.join {
        PartJoin::Output if several => {
            let outputs = parts.iter().map(|part| register.output_of_part(part)).collect();
            register.joined_outputs(joined(register, outputs, order), &parts)
        }
        _ => joined(register, parts, order),
    };
    ended(by_alpha(&by_scales(register.complete(sum)), addend.as_ref()))
}
