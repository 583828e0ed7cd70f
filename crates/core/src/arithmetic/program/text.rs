//! Programs in words, one line per operation.
//! The text is canonical: equal programs have equal texts, and digests are computed from it.

use std::fmt;

use super::{
    super::{
        NanOperand, OppositeInfinities, OverflowTest, ResultTininess, SpecialOperands, Subnormals, Wrap, ZeroSign,
        ZeroTimesInfinity,
    },
    Addend, Destination, ElementaryOperation, Factors, IntegerSum, Multiply, Program, Scaling, Source, Sum, Unpack,
};
use crate::{
    format::{Format, Overflow, Rounding},
    softfloat::ResultTarget,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, words) in self.lines() {
            writeln!(f, "{name}: {words}")?;
        }
        Ok(())
    }
}

impl Program {
    /// Name and definition of each value: A, B and C, the operations by number, D.
    pub fn lines(&self) -> Vec<(String, String)> {
        let i = &self.instruction;
        let operands = [("a", i.a, 0), ("b", i.b, 1), ("c", i.c, 2)];
        let mut lines: Vec<(String, String)> =
            operands.iter().map(|(name, format, at)| (name.to_string(), unpacked(format, &self.unpack[*at]))).collect();
        if let Some(order) = &self.specials {
            lines.push(("d".into(), format!("infinity or NaN, if all products and c give one{}", nans(order))));
        }
        if let Some(code) = self.factor_nan {
            lines.push(("NaN of a or b".into(), format!("{code:#x}")));
        }
        let invalid = self.invalid;
        if invalid.zero_times_infinity != ZeroTimesInfinity::Nan {
            lines.push(("0 * infinity".into(), invalid.zero_times_infinity.name().into()));
        }
        if invalid.opposite_infinities != OppositeInfinities::Nan {
            let name = format!("{} infinity", invalid.opposite_infinities.name());
            lines.push(("infinity - infinity".into(), name));
        }
        lines.extend(
            self.operations()
                .enumerate()
                .map(|(step, operation)| (format!("%{step}"), words(operation, i.xor, i.stored_k()))),
        );
        let passes = if self.output.passes_nan { ", NaNs with their payload" } else { "" };
        lines.push(("d".into(), format!("{} to {}{passes}", source(&self.output.value), target(&self.output.target))));
        lines
    }
}

fn unpacked(format: &Format, unpack: &Unpack) -> String {
    let wider = unpack.wider.map_or_else(String::new, |wider| format!(" as {wider}"));
    let flushed = match unpack.subnormals {
        Subnormals::Keep => "",
        Subnormals::SignedZero => ", subnormal numbers to zero",
        Subnormals::PositiveZero => ", subnormal numbers to +0",
    };
    let zeros = if unpack.zeros { ", zeros count in alignments" } else { "" };
    let specials = match unpack.specials {
        SpecialOperands::Keep => "",
        SpecialOperands::Nan => ", infinities as NaN",
        SpecialOperands::Finite => ", infinities and NaNs as numbers",
    };
    format!("{format}{wider}{flushed}{zeros}{specials}")
}

fn source(source: &Source) -> String {
    match source {
        Source::C => "c".into(),
        Source::Zero => "+0".into(),
        Source::Value(step) => format!("%{step}"),
        Source::Product(step, at) => format!("%{step}[{at}]"),
    }
}

fn words(operation: &ElementaryOperation, xor: bool, k: usize) -> String {
    match operation {
        ElementaryOperation::Multiply(multiply) => products(multiply),
        ElementaryOperation::Sum(program_sum) => sum(program_sum),
        ElementaryOperation::Round { value, to, passes_nan } => {
            let passes = if *passes_nan { ", NaNs with their payload" } else { "" };
            format!("{} to {}{passes}", source(value), destination(to))
        }
        ElementaryOperation::Add { terms: [x, y], to, nans: order } => {
            format!("{} + {} to {}{}", source(x), source(y), destination(to), nans(order))
        }
        ElementaryOperation::Fma { factors, addend, to, nans: order } => {
            format!("{} + {} to {}{}", product(factors), source(addend), destination(to), nans(order))
        }
        ElementaryOperation::Integer(IntegerSum { wrap, group, bits, group_bits, c_bits }) => {
            let terms = if xor { "exclusive ors" } else { "products" };
            let beyond = match wrap {
                Wrap::Wrap => format!("modulo 2^{bits}"),
                Wrap::Saturate => format!("saturated to {bits} bits"),
            };
            let of_groups =
                group_bits.map_or_else(String::new, |bits| format!(", their sums saturated to {bits} bits"));
            let every = if *group < k { format!(" after every {group}") } else { String::new() };
            let of_c = c_bits.map_or_else(String::new, |bits| format!(" modulo 2^{bits}"));
            format!("all {terms} and c{of_c}, {beyond}{every}{of_groups}")
        }
    }
}

fn product(factors: &Factors) -> String {
    let bits = |mask: u64| if mask == u64::MAX { String::new() } else { format!("&{mask:#x}") };
    format!("a[{k}]{}*b[{k}]{}", bits(factors.a), bits(factors.b), k = factors.k)
}

fn products(multiply: &Multiply) -> String {
    let mut words = vec![runs(&multiply.factors).join(", ")];
    words.extend(multiply.limit.map(|limit| format!("infinite from 2^{limit}")));
    words.extend(multiply.bits.map(|bits| format!("cut at {bits} bits")));
    words.extend(match multiply.scaling {
        Scaling::None => None,
        Scaling::Each => Some("times their scales".into()),
        Scaling::Sums(run) => Some(format!("exact sums of {run} times their scales")),
    });
    words.extend(multiply.rounded.as_ref().map(|to| format!("each to {}", destination(to))));
    words.extend(multiply.normalised.then(|| "normalised".into()));
    words.join("; ") + &nans(&multiply.nans)
}

/// Products in order, with runs of ascending k and equal bits joined: `a[0:16:2]*b[0:16:2]`.
fn runs(factors: &[Factors]) -> Vec<String> {
    let mut runs = Vec::new();
    let mut rest = factors;
    while let [first, ..] = rest {
        let same = |x: &Factors| (x.a, x.b) == (first.a, first.b);
        let step = rest.get(1).and_then(|second| second.k.checked_sub(first.k)).filter(|step| *step > 0).unwrap_or(1);
        let follows = |(at, x): &(usize, &Factors)| same(x) && x.k == first.k + at * step;
        let length = rest.iter().enumerate().take_while(follows).count();
        if length < 3 {
            runs.push(product(first));
            rest = &rest[1..];
        } else {
            let end = first.k + (length - 1) * step + 1;
            let by = if step == 1 { String::new() } else { format!(":{step}") };
            let one = product(first);
            runs.push(one.replace(&format!("[{}]", first.k), &format!("[{}:{end}{by}]", first.k)));
            rest = &rest[length..];
        }
    }
    runs
}

fn sum(sum: &Sum) -> String {
    let terms: Vec<String> =
        sum.products.iter().map(|step| format!("%{step}")).chain(sum.addends.iter().map(addend)).collect();
    let how = match &sum.alignment {
        None => "exact".to_string(),
        Some(alignment) => format!("aligned at {}", alignment.text()),
    };
    let normalised = if sum.normalised { ", normalised" } else { "" };
    let terms = if terms.is_empty() { "nothing".into() } else { terms.join(" + ") };
    format!("{terms}, {how}{normalised}{}", nans(&sum.nans))
}

fn addend(addend: &Addend) -> String {
    let bits = addend.bits.map(|bits| format!("{bits} bits"));
    let drop = addend.drop.map(|drop| format!("dropped from {} below", drop.saturating_add(1)));
    let parts: Vec<String> = bits.into_iter().chain(drop).collect();
    if parts.is_empty() { source(&addend.source) } else { format!("{} ({})", source(&addend.source), parts.join(", ")) }
}

fn destination(to: &Destination) -> String {
    let when = match to.tininess {
        ResultTininess::Before => " before rounding",
        ResultTininess::After => "",
        ResultTininess::AfterUnbounded => " with any exponent",
    };
    let flushed = match to.subnormals {
        Subnormals::Keep => String::new(),
        Subnormals::SignedZero => format!(", subnormal{when} to zero"),
        Subnormals::PositiveZero => format!(", subnormal{when} to +0"),
    };
    let zero = match to.zero {
        ZeroSign::Positive => ", zero +0",
        ZeroSign::Negative => ", zero -0",
        ZeroSign::Ieee => "",
        ZeroSign::ExactPositive => ", exact zero +0",
        ZeroSign::Common => ", zero with the common sign",
    };
    let test = match to.overflow_test {
        OverflowTest::Rounded => "",
        OverflowTest::Exact => ", overflow before rounding",
    };
    format!("{}{flushed}{zero}{test}", target(&to.target))
}

fn target(to: &ResultTarget) -> String {
    if to.format.is_integer() {
        return to.format.to_string();
    }
    let overflow = match to.overflow {
        Overflow::Standard => "",
        Overflow::Infinity => ", overflow to infinity",
        Overflow::Nan => ", overflow to NaN",
        Overflow::Saturate => ", saturating",
        Overflow::SaturateFinite => ", finite results saturating",
    };
    let random = match to.rounding {
        Rounding::Sr { bits, .. } => format!(" with {bits} random bits"),
        _ => String::new(),
    };
    format!("{} {}{random}{overflow}, NaN {:#x}", to.format, to.rounding.name(), to.nan)
}

fn nans(order: &[NanOperand]) -> String {
    let names: Vec<&str> = order.iter().map(|operand| operand.name()).collect();
    if names.is_empty() { String::new() } else { format!("; NaN of {}", names.join(", then ")) }
}
