//! Compilation of a program: the fast operation for each of its operations, and the slots of values.

use super::{
    decoder::NumberDecoder,
    encoder::NumberEncoder,
    floating::{Addition, FastOperation, Floating, FloatingStep, Input, OrderedProduct},
    fused::{FusedAddend, FusedSum, Width},
    number::SumWord,
    scale::Scales,
    stage::{Extent, Stage},
    step::{SumStep, ZeroRule},
};
use crate::{
    arithmetic::{
        Addend, Destination, ElementaryOperation, Multiply, Program, Scaling, Source, Sum as ProgramSum, ZeroSign,
    },
    format::Rounding,
};

/// Compiler of the steps of a program.
struct Compiler<'a> {
    program: &'a Program,
    factors: [&'a NumberDecoder; 2],
    scales: Option<&'a Scales>,
    c: NumberDecoder,
    /// First factor of each operation in the order of the kernel.
    begins: &'a [usize],
    /// Operation that uses the value of each operation last.
    last_uses: Vec<usize>,
    /// Slots of values, and free slots.
    held: Vec<usize>,
    free: Vec<usize>,
    slots: usize,
}

impl Floating {
    /// `None` if the fast evaluator does not support the program.
    /// `begins` are the first factors of each operation in the order of the kernel.
    pub(super) fn new(
        program: &Program,
        factors: [&NumberDecoder; 2],
        scales: Option<&Scales>,
        begins: &[usize],
    ) -> Option<Floating> {
        let [.., unpack] = &program.unpack;
        let c = NumberDecoder::new(program.instruction.c, unpack.subnormals, unpack.wider)?;
        let count = program.steps.len();
        let mut last_uses = vec![0; count];
        for (at, operation) in program.operations().enumerate() {
            for source in operation.sources() {
                if let Source::Value(value) = source {
                    last_uses[value] = at;
                }
            }
        }
        // D is made of the value of the last operation.
        let last = Source::Value(count.checked_sub(1)?);
        let (held, free) = (vec![usize::MAX; count], Vec::new());
        let mut compiler = Compiler { program, factors, scales, c, begins, last_uses, held, free, slots: 0 };
        let steps = (program.output.value == last).then(|| compiler.steps())??;
        let passes_nan = program.output.passes_nan;
        // A NaN of an overflow has a code of its own.
        let makes_nan = |to: &Destination| Stage::makes_nan(&to.target);
        if passes_nan && program.operations().filter_map(ElementaryOperation::destination).any(makes_nan) {
            return None;
        }
        let slots = compiler.slots;
        let nan_is_unknown = passes_nan || !program.has_usual_specials();
        Some(Floating { steps, slots, output: NumberEncoder::to_output(&program.output.target)?, nan_is_unknown, c })
    }
}

/// True if values of these extents, where they are known, can be added in 64 bits.
fn adds_exactly(extents: [Option<Extent>; 2]) -> bool {
    extents.into_iter().flatten().all(|extent| extent.precision <= <u64 as SumWord>::PRECISION)
}

impl Compiler<'_> {
    fn steps(&mut self) -> Option<Vec<FloatingStep>> {
        let count = self.program.steps.len();
        let mut steps = Vec::new();
        let mut at = 0;
        while at < count {
            let step = self.step(at)?;
            // A sum and its rounding are one step.
            let end = match self.rounding_of(at) {
                Some(_) => at + 1,
                None => at,
            };
            if let Some((operation, stage)) = step {
                let operation_inputs = (at..=end).flat_map(|at| self.program.steps[at].operation.sources());
                let used: Vec<Source> = operation_inputs.collect();
                self.release(&used, end);
                let slot = self.take();
                self.held[end] = slot;
                steps.push(FloatingStep { operation, stage, slot });
            }
            at = end + 1;
        }
        Some(steps)
    }

    /// The rounding after a sum, if nothing else uses the sum.
    fn rounding_of(&self, at: usize) -> Option<&Destination> {
        let ElementaryOperation::Sum(_) = &self.program.steps[at].operation else { return None };
        match &self.program.steps.get(at + 1)?.operation {
            ElementaryOperation::Round { value, to, .. }
                if *value == Source::Value(at) && self.last_uses[at] == at + 1 =>
            {
                Some(to)
            }
            _ => None,
        }
    }

    /// Frees the slots of values that no operation after `at` uses.
    fn release(&mut self, used: &[Source], at: usize) {
        for source in used {
            if let Source::Value(value) = *source
                && self.last_uses[value] <= at
                && self.held[value] != usize::MAX
                && !self.free.contains(&self.held[value])
            {
                self.free.push(self.held[value]);
            }
        }
    }

    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    fn stage(&self, to: &Destination) -> Option<Stage> {
        Stage::new(to, &self.program.output.target)
    }

    /// Compiles a step; an inner `None` is a list of products, which are formed where they are used.
    #[allow(clippy::option_option)]
    fn step(&self, at: usize) -> Option<Option<(FastOperation, Option<Stage>)>> {
        let down = |to: &Destination| to.target.rounding == Rounding::Rd;
        Some(Some(match &self.program.steps[at].operation {
            ElementaryOperation::Multiply(_) => return Some(None),
            ElementaryOperation::Sum(sum) => {
                let to = self.rounding_of(at);
                let stage = match to {
                    Some(to) => Some(self.stage(to)?),
                    None => None,
                };
                let inputs = sum.addends.iter().map(|addend| self.input(addend.source)).collect::<Option<_>>()?;
                (FastOperation::Sum(Box::new(self.sum(sum, to)?), inputs), stage)
            }
            ElementaryOperation::Round { value, to, .. } => {
                (FastOperation::Copy(self.input(*value)?), Some(self.stage(to)?))
            }
            ElementaryOperation::Add { terms: [x, y], to, .. } => {
                let terms = [self.input(*x)?, self.input(*y)?];
                let extents = [*x, *y].map(|term| self.extent(term));
                let short = self.adds_short(extents, to);
                adds_exactly(extents).then_some(())?;
                (FastOperation::Add(Addition { terms, negative_zero: down(to), short }), Some(self.stage(to)?))
            }
            ElementaryOperation::Fma { addend, to, .. } => {
                let product = Box::new(OrderedProduct { at: self.begins[at], dropped: 0, stage: None, limit: None });
                let terms = [Input::Product(product), self.input(*addend)?];
                let extents = [Some(self.product_extent()), self.extent(*addend)];
                let short = self.adds_short(extents, to);
                adds_exactly(extents).then_some(())?;
                (FastOperation::Add(Addition { terms, negative_zero: down(to), short }), Some(self.stage(to)?))
            }
            ElementaryOperation::Integer(_) => return None,
        }))
    }

    fn input(&self, source: Source) -> Option<Input> {
        Some(match source {
            Source::C => Input::C,
            Source::Zero => Input::Zero,
            Source::Value(value) => Input::Slot(self.held[value]),
            Source::Product(step, at) => {
                let multiply = self.program.products(step)?;
                let stage = self.product_stage(multiply)?;
                let (at, dropped) = (self.begins[step] + at, self.dropped(multiply));
                Input::Product(Box::new(OrderedProduct { at, dropped, stage, limit: multiply.limit }))
            }
        })
    }

    /// The rounding of products; an inner `None` if there is none, or if it changes no product.
    #[allow(clippy::option_option)]
    fn product_stage(&self, multiply: &Multiply) -> Option<Option<Stage>> {
        let Some(to) = &multiply.rounded else { return Some(None) };
        let (stage, product) = (self.stage(to)?, self.product_extent());
        // Products of subnormal factors have lower leading bits than the extent says.
        let (low, high) = (product.exponents.0 - product.fraction_bits, product.exponents.1);
        let is_exact = multiply.scaling == Scaling::None
            && to.zero == ZeroSign::Ieee
            && product.precision <= stage.extent.precision
            && low >= stage.extent.exponents.0
            && high <= stage.extent.exponents.1;
        Some((!is_exact).then_some(stage))
    }

    /// Low bits of exact products that the multiplier drops.
    fn dropped(&self, multiply: &Multiply) -> i32 {
        let exact: u32 = self.factors.iter().map(|factor| factor.fraction_bits).sum();
        multiply.bits.map_or(0, |bits| (exact as i32 - bits).max(0))
    }

    /// Compiles a sum, for its factors and addends.
    fn sum(&self, program_sum: &ProgramSum, to: Option<&Destination>) -> Option<SumStep> {
        let nothing = Multiply {
            factors: Vec::new(),
            scaling: Scaling::None,
            limit: None,
            bits: None,
            rounded: None,
            normalised: false,
            nans: Vec::new(),
        };
        let (multiply, begin) = match program_sum.products[..] {
            [] => (&nothing, 0),
            [step] => (self.program.products(step)?, self.begins[step]),
            _ => return None,
        };
        let scales = self.scales.filter(|_| multiply.scaling != Scaling::None);
        let exact_bits = self.factors.iter().map(|factor| factor.fraction_bits as i32).sum();
        let (mut fraction_bits, mut term_bits) = (exact_bits, self.factors.iter().map(|factor| factor.precision).sum());
        let product = match &multiply.rounded {
            // An alignment depends on the leading bits of rounded products.
            Some(to) if program_sum.alignment.is_some() => Some(self.stage(to)?),
            _ => self.product_stage(multiply)?,
        };
        if let Some(stage) = &product {
            (fraction_bits, term_bits) = (stage.extent.fraction_bits, stage.extent.precision);
        }
        if let Some(scales) = scales {
            if product.is_some() || multiply.limit.is_some() || multiply.bits.is_some() {
                return None;
            }
            (fraction_bits, term_bits) = scales.terms(fraction_bits, term_bits)?;
        }
        let normalised = multiply.normalised.then_some(fraction_bits);
        if normalised.is_some() {
            fraction_bits = term_bits as i32 - 1;
        }
        let rounding = to.map_or(Rounding::Rne, |to| to.target.rounding);
        let addends = program_sum.addends.iter().map(|addend| self.addend(addend)).collect::<Option<Vec<_>>>()?;
        let zero_rule = match to.map(|to| to.zero) {
            None | Some(ZeroSign::Ieee) => ZeroRule::Ieee,
            Some(ZeroSign::Common) => ZeroRule::Common,
            Some(_) => ZeroRule::Fixed,
        };
        // A cancelled sum has no sign of zero; the sign matters under RD, and where any term's sign counts.
        let by_all_signs = zero_rule == ZeroRule::Ieee && rounding == Rounding::Rd || zero_rule == ZeroRule::Common;
        let flips_zeros = program_sum.alignment.is_some_and(|alignment| alignment.complement_zeros);
        if (by_all_signs || flips_zeros) && addends.iter().any(|addend| addend.is_sum) {
            return None;
        }
        let sum =
            FusedSum { alignment: program_sum.alignment, addends, fraction_bits, term_bits, terms: multiply.len() };
        let width = sum.width()?;
        // A sum that is not rounded must reach the next operation unchanged.
        let bits = program_sum
            .addends
            .iter()
            .filter_map(|addend| addend.bits)
            .fold(program_sum.alignment.map(|a| a.bits), |x, y| Some(x?.max(y)));
        let place = program_sum.alignment.and_then(|alignment| alignment.sticky_place).unwrap_or(0);
        if to.is_none() && bits.is_none_or(|bits| bits + place + self.headroom(program_sum) > 61) {
            return None;
        }
        let mut step = SumStep {
            width,
            sum,
            group: (begin, begin + multiply.factors.len()),
            fraction_bits: exact_bits,
            dropped: self.dropped(multiply),
            zeros: self.program.unpack[0].zeros,
            product,
            normalised,
            limit: multiply.limit,
            runs: scales.filter(|_| matches!(multiply.scaling, Scaling::Sums(_))).cloned(),
            zero_rule,
            rounding,
        };
        if self.is_narrow(&step, program_sum, to) {
            step.width = Width::Narrow;
        }
        Some(step)
    }

    /// True if a sum fits 32 bits, and is rounded there.
    fn is_narrow(&self, step: &SumStep, sum: &ProgramSum, to: Option<&Destination>) -> bool {
        let (Some(alignment), Some(bits)) = (step.sum.alignment, step.sum.short_bits()) else { return false };
        if !step.is_simple() || step.limit.is_some() {
            return false;
        }
        let Some(encoder) = to.and_then(NumberEncoder::new) else { return to.is_none() };
        let add = |x: (i32, i32), y: (i32, i32)| (x.0 + y.0, x.1 + y.1);
        let [a, b] = self.factors.map(NumberDecoder::exponents);
        let scale = self.scales.map_or((0, 0), Scales::exponents);
        let products = (!sum.products.is_empty()).then(|| add(add(a, b), add(scale, scale)));
        let addend = sum.addends.first().and_then(|addend| match addend.source {
            Source::C => Some(self.c.exponents()),
            Source::Value(value) => {
                let to = self.program.steps[value].operation.destination()?;
                Some(Extent::rounded(to.target.format)?.exponents)
            }
            _ => None,
        });
        let parts = || products.iter().chain(&addend);
        let low = parts().map(|part| part.0).min().unwrap_or(0);
        let high = parts().map(|part| part.1).max().unwrap_or(0);
        let (low, high) = alignment.floor.map_or((low, high), |floor| (low.max(floor), high.max(floor)));
        // Exponents of the leading bit of a sum with `bits`.
        let first = bits as i32 - alignment.bits;
        encoder.rounds_short(bits, low + first..=high + first)
    }

    /// Bits and exponents of an exact value; `None` for unrounded sums.
    fn extent(&self, source: Source) -> Option<Extent> {
        let rounded = |to: &Destination| Extent::rounded(to.target.format);
        match source {
            Source::C => Some(Extent::of(&self.c)),
            Source::Zero => Some(Extent { fraction_bits: 0, precision: 1, exponents: (0, 0) }),
            Source::Value(value) => rounded(self.program.steps[value].operation.destination()?),
            Source::Product(step, _) => {
                let multiply = self.program.products(step)?;
                match &multiply.rounded {
                    Some(to) => rounded(to),
                    None => (multiply.scaling == Scaling::None).then(|| self.product_extent()),
                }
            }
        }
    }

    /// Bits and exponents of exact products of the factors.
    fn product_extent(&self) -> Extent {
        let [a, b] = self.factors;
        let (low, high) = (a.exponents().0 + b.exponents().0, a.exponents().1 + b.exponents().1);
        let fraction_bits = (a.fraction_bits + b.fraction_bits) as i32;
        Extent { fraction_bits, precision: a.precision + b.precision, exponents: (low, high + 1) }
    }

    /// True if the sum of two values fits 32 bits, and is rounded there.
    fn adds_short(&self, terms: [Option<Extent>; 2], to: &Destination) -> bool {
        let ([Some(x), Some(y)], Some(encoder)) = (terms, NumberEncoder::new(to)) else { return false };
        let exponents = x.exponents.0.min(y.exponents.0)..=x.exponents.1.max(y.exponents.1) + 1;
        x.precision.max(y.precision) <= <u32 as SumWord>::PRECISION
            && encoder.rounds_short(<u32 as SumWord>::BITS, exponents)
    }

    /// Integer bits of a sum, in units of the exponent that it is aligned to.
    fn headroom(&self, sum: &ProgramSum) -> i32 {
        let of_products = |step: &usize| match self.program.products(*step) {
            Some(multiply) if multiply.scaling == Scaling::None => (2, multiply.len()),
            Some(multiply) if multiply.scaling == Scaling::Each => (4, multiply.len()),
            Some(multiply) => (61, multiply.len()),
            None => (0, 0),
        };
        let of_addend = |addend: &Addend| match addend.source {
            Source::Value(value) => match &self.program.steps[value].operation {
                ElementaryOperation::Sum(sum) => (self.headroom(sum), 1),
                _ => (1, 1),
            },
            _ => (1, 1),
        };
        let parts = sum.products.iter().map(of_products).chain(sum.addends.iter().map(of_addend));
        let (most, count) = parts.fold((0, 0), |(most, count), (bits, terms)| (most.max(bits), count + terms));
        let above = sum.alignment.map_or(0, |alignment| alignment.c_offset().max(0));
        most + 1 + above + (usize::BITS - usize::leading_zeros(count)) as i32
    }

    /// Widths of an addend of a sum.
    fn addend(&self, addend: &Addend) -> Option<FusedAddend> {
        let of = |extent: Extent| (extent.fraction_bits, extent.precision, false);
        let (fraction_bits, precision, is_sum) = match addend.source {
            Source::C => of(Extent::of(&self.c)),
            Source::Zero => (0, 1, false),
            Source::Product(..) => return None,
            Source::Value(value) => match &self.program.steps[value].operation {
                ElementaryOperation::Sum(sum) if sum.normalised => (60, 61, true),
                ElementaryOperation::Sum(sum) => {
                    let alignment = sum.alignment?;
                    let bits = sum.addends.iter().filter_map(|addend| addend.bits).fold(alignment.bits, i32::max)
                        + alignment.sticky_place.unwrap_or(0);
                    (bits, (bits + self.headroom(sum)).min(61) as u32, true)
                }
                operation => of(Extent::rounded(operation.destination()?.target.format)?),
            },
        };
        let normalises = matches!(addend.source, Source::Value(value)
            if matches!(&self.program.steps[value].operation, ElementaryOperation::Sum(sum) if sum.normalised));
        Some(FusedAddend { fraction_bits, precision, is_sum, normalises, bits: addend.bits, drop: addend.drop })
    }
}
