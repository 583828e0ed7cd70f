//! Interpreter of floating-point programs compiled for many elements of D at a time.

use super::{
    decoder::{NumberDecoder, numbers},
    encoder::{MagnitudeWord, NumberEncoder, encode},
    fused::Width,
    narrow::{FactorRange, narrow_sums},
    number::{COUNT, INFINITY, MINUS_INFINITY, NAN, Number, ShortNumber, UNKNOWN, add},
    pieces::Pieces,
    product::exact,
    stage::Stage,
    step::{SumStep, sums},
    terms::Stored,
    word::{PieceLanes, over, set_piece},
};

/// Floating-point arithmetic of one instruction.
#[derive(Debug, Clone)]
pub(super) struct Floating {
    pub(super) c: NumberDecoder,
    /// Operations in order; the last one gives D.
    pub(super) steps: Vec<FloatingStep>,
    /// Number of values held at the same time.
    pub(super) slots: usize,
    pub(super) output: NumberEncoder,
    /// True if the reference computes every NaN of D: it keeps its payload, or may be another value.
    pub(super) nan_is_unknown: bool,
}

/// Operation, and the destination of its value.
#[derive(Debug, Clone)]
pub(super) struct FloatingStep {
    pub(super) operation: FastOperation,
    /// Rounding of the value; `None` leaves it exact.
    pub(super) stage: Option<Stage>,
    /// Slot of the value.
    pub(super) slot: usize,
}

#[derive(Debug, Clone)]
pub(super) enum FastOperation {
    Sum(Box<SumStep>, Vec<Input>),
    Copy(Input),
    Add(Addition),
}

/// Sum of two exact values.
#[derive(Debug, Clone)]
pub(super) struct Addition {
    pub(super) terms: [Input; 2],
    /// True if terms that cancel give -0.
    pub(super) negative_zero: bool,
    /// True if 32 bits suffice.
    pub(super) short: bool,
}

/// Operand of an operation.
#[derive(Debug, Clone)]
pub(super) enum Input {
    C,
    Zero,
    Slot(usize),
    Product(Box<OrderedProduct>),
}

/// One product by its place in the order of the factors.
#[derive(Debug, Clone)]
pub(super) struct OrderedProduct {
    pub(super) at: usize,
    /// Low bits that the multiplier drops.
    pub(super) dropped: i32,
    /// Rounding of the product.
    pub(super) stage: Option<Stage>,
    /// Exponent from which on the product is infinite.
    pub(super) limit: Option<i32>,
}

/// Codes of D, and marks of the unknown ones.
#[derive(Debug)]
pub(super) struct RoundedCodes {
    pub(super) codes: PieceLanes<u32>,
    /// Marks, [`UNKNOWN`] among them.
    pub(super) special: PieceLanes<u32>,
}

impl Default for RoundedCodes {
    fn default() -> RoundedCodes {
        RoundedCodes { codes: [0; COUNT], special: [0; COUNT] }
    }
}

/// Storage for values between operations and the terms of a sum.
/// Numbers are written in place: they are too large to be moved.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    stored: Stored,
    slots: Vec<Number>,
    c: Number,
    /// Value of an operation before rounding, in 64 bits or in 32.
    value: Number,
    short: ShortNumber,
    /// Operands that are not held in a slot.
    operands: [Number; 2],
    /// Operand before rounding, and last value after it.
    rounding: Number,
}

impl Floating {
    /// True if a sum takes its factors in binary32.
    pub(super) fn takes_values(&self) -> bool {
        let narrow =
            |step: &FloatingStep| matches!(&step.operation, FastOperation::Sum(sum, _) if sum.width == Width::Narrow);
        self.steps.iter().any(narrow)
    }

    /// True if only sums with factors in binary32 take products.
    pub(super) fn takes_only_values(&self) -> bool {
        let free = |inputs: &[Input]| !inputs.iter().any(|input| matches!(input, Input::Product(_)));
        self.steps.iter().all(|step| match &step.operation {
            FastOperation::Sum(sum, inputs) => sum.width == Width::Narrow && free(inputs),
            FastOperation::Copy(input) => free(std::slice::from_ref(input)),
            FastOperation::Add(addition) => free(&addition.terms),
        })
    }

    /// True if factors in this range are exact in binary32, for sums.
    pub(super) fn serves(&self, range: &FactorRange) -> bool {
        self.steps.iter().all(|step| match &step.operation {
            FastOperation::Sum(sum, _) if sum.width == Width::Narrow => sum.sum.unit_scale(range).is_some(),
            _ => true,
        })
    }

    /// D of some pieces, with the elements of C.
    pub(super) fn run(&self, pieces: &Pieces, c: &PieceLanes<u32>, workspace: &mut Workspace, d: &mut RoundedCodes) {
        numbers(&self.c, c, &mut workspace.c);
        workspace.slots.resize(self.slots, Number::ZERO);
        let (last, steps) = self.steps.split_last().expect("a program has a step");
        for step in steps {
            let width = step.operation.run(pieces, workspace);
            let Workspace { value, short, slots, .. } = workspace;
            let slot = &mut slots[step.slot];
            match (&step.stage, width) {
                (Some(stage), Computed::Short) => stage.hold(short, slot),
                (Some(stage), Computed::Long) => stage.hold(value, slot),
                (None, Computed::Short) => slot.widen(short),
                (None, Computed::Long) => slot.clone_from(value),
            }
        }
        let width = last.operation.run(pieces, workspace);
        let Workspace { value, short, rounding, .. } = workspace;
        match width {
            Computed::Short => self.finish(last.stage.as_ref(), short, rounding, d),
            Computed::Long => self.finish(last.stage.as_ref(), value, rounding, d),
        }
        if self.nan_is_unknown {
            nan_is_unknown(&mut d.special);
        }
    }

    /// D of the value of the last operation.
    fn finish<M: MagnitudeWord>(
        &self,
        stage: Option<&Stage>,
        value: &Number<M>,
        held: &mut Number,
        d: &mut RoundedCodes,
    ) {
        match stage {
            Some(Stage { last: Some(encoder), .. }) => encode(encoder, value, &mut d.codes),
            Some(stage) => {
                stage.hold(value, held);
                encode(&self.output, held, &mut d.codes);
                d.special = held.special;
                return;
            }
            None => encode(&self.output, value, &mut d.codes),
        }
        d.special = value.special;
    }
}

/// Place of an operation's value: magnitudes of 32 bits, or of 64.
#[derive(Debug, Clone, Copy)]
enum Computed {
    Short,
    Long,
}

/// Marks NaNs as unknown.
fn nan_is_unknown(special: &mut PieceLanes<u32>) {
    for special in special {
        let infinities = INFINITY | MINUS_INFINITY;
        let nan = (*special & NAN != 0) | (*special & infinities == infinities);
        *special |= if nan { UNKNOWN } else { 0 };
    }
}

impl FastOperation {
    /// Computes the unrounded value.
    fn run(&self, pieces: &Pieces, workspace: &mut Workspace) -> Computed {
        let Workspace { stored, slots, c, value, short, operands: [x_out, y_out], rounding } = workspace;
        match self {
            FastOperation::Sum(step, inputs) => {
                let pieces = Pieces { group: step.group, ..*pieces };
                let one: [&Number; 1];
                let many: Vec<&Number>;
                let find = |input: &Input| match input {
                    Input::C => &*c,
                    Input::Slot(slot) => &slots[*slot],
                    Input::Zero | Input::Product(_) => &Number::ZERO,
                };
                let addends = match &inputs[..] {
                    [input] => {
                        one = [find(input)];
                        &one[..]
                    }
                    inputs => {
                        many = inputs.iter().map(find).collect();
                        &many[..]
                    }
                };
                let scale = match &pieces.range {
                    Some(range) => step.sum.unit_scale(range),
                    None => step.sum.separate_scale(),
                };
                if step.width == Width::Narrow
                    && let Some(scale) = scale
                {
                    narrow_sums(step, &scale, &pieces, addends.first().unwrap_or(&&Number::ZERO), short);
                    return Computed::Short;
                }
                sums(step, &pieces, addends, stored, value);
                if let Some(limit) = step.limit {
                    mark_limit(value, &pieces, limit);
                }
            }
            FastOperation::Copy(Input::Product(product)) => product.number(pieces, rounding, value),
            FastOperation::Copy(input) => value.clone_from(input.number(pieces, c, slots, rounding, x_out)),
            FastOperation::Add(Addition { terms: [x, y], negative_zero, short: is_short }) => {
                let x = x.number(pieces, c, slots, rounding, x_out);
                let y = y.number(pieces, c, slots, rounding, y_out);
                if *is_short {
                    add(x, y, *negative_zero, short);
                    return Computed::Short;
                }
                add(x, y, *negative_zero, value);
            }
        }
        Computed::Long
    }
}

impl Input {
    /// The number; `exact` and `out` are room for computing it.
    fn number<'a>(
        &self,
        pieces: &Pieces,
        c: &'a Number,
        slots: &'a [Number],
        exact: &mut Number,
        out: &'a mut Number,
    ) -> &'a Number {
        match self {
            Input::C => c,
            Input::Zero => &Number::ZERO,
            Input::Slot(slot) => &slots[*slot],
            Input::Product(product) => {
                product.number(pieces, exact, out);
                out
            }
        }
    }
}

impl OrderedProduct {
    /// Computes the products; `unrounded` is room for them before rounding.
    fn number(&self, pieces: &Pieces, unrounded: &mut Number, number: &mut Number) {
        let pieces = Pieces { group: (self.at, self.at + 1), ..*pieces };
        let first = if self.stage.is_some() { &mut *unrounded } else { &mut *number };
        exact(&pieces, self.dropped, first);
        if let Some(limit) = self.limit {
            mark_limit(first, &pieces, limit);
        }
        if let Some(stage) = &self.stage {
            stage.hold(unrounded, number);
        }
    }
}

/// Marks as unknown the elements with a product that may be large enough to be infinite.
fn mark_limit(number: &mut Number, pieces: &Pieces, limit: i32) {
    // Products are below 2^(e + 2).
    let beyond = |e| if e >= limit.saturating_sub(2) { UNKNOWN } else { 0 };
    let mut special = [0; COUNT];
    for at in 0..pieces.count {
        set_piece(&mut special, at, &over(&pieces.factors(at).largest(), beyond));
    }
    number.add_special(&special);
}
