//! Floating-point programs compiled for many elements of D at a time: the interpreter of their operations.

use super::{
    decoder::{NumberDecoder, numbers},
    encoder::{NumberEncoder, encode},
    number::{COUNT, INFINITY, MINUS_INFINITY, NAN, Number, UNKNOWN},
    pieces::Pieces,
    product::exact,
    stage::Stage,
    step::{SumStep, sums},
    terms::Stored,
    word::{PieceLanes, over, set_piece},
};

/// The floating-point arithmetic of one instruction.
#[derive(Debug, Clone)]
pub(super) struct Floating {
    pub(super) c: NumberDecoder,
    /// The operations, in order; the last one gives D.
    pub(super) steps: Vec<FloatingStep>,
    /// Values that are held at the same time.
    pub(super) slots: usize,
    pub(super) output: NumberEncoder,
    /// Whether a NaN keeps its payload in D.
    pub(super) passes_nan: bool,
}

/// An operation, and what becomes of its value.
#[derive(Debug, Clone)]
pub(super) struct FloatingStep {
    pub(super) operation: FastOperation,
    /// The rounding of the value; `None`: it stays as it is.
    pub(super) stage: Option<Stage>,
    /// Where it is held.
    pub(super) slot: usize,
}

#[derive(Debug, Clone)]
pub(super) enum FastOperation {
    Sum(Box<SumStep>, Vec<Input>),
    Copy(Input),
    Add([Input; 2], bool),
    Fma(Box<OrderedProduct>, Input, bool),
}

/// A value that an operation takes.
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
    /// Its rounding.
    pub(super) stage: Option<Stage>,
    /// It is infinite from this exponent on.
    pub(super) limit: Option<i32>,
}

/// Codes of D, and which of them are unknown.
pub(super) struct RoundedCodes {
    pub(super) codes: PieceLanes<u32>,
    /// Bits, among them [`UNKNOWN`].
    pub(super) special: PieceLanes<u32>,
}

/// Storage for values between operations and the terms of a sum.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    stored: Stored,
    slots: Vec<Number>,
}

impl Floating {
    /// Bits by which the significands of A are to be shifted left.
    pub(super) fn lifted(&self) -> u32 {
        let sums = self.steps.iter().filter_map(|step| match &step.operation {
            FastOperation::Sum(sum, _) => Some(sum.sum.lifted as u32),
            _ => None,
        });
        sums.max().unwrap_or(0)
    }

    /// D for some pieces, with the elements of C.
    pub(super) fn run(&self, pieces: &Pieces, c: &PieceLanes<u32>, workspace: &mut Workspace) -> RoundedCodes {
        let c = numbers(&self.c, c);
        workspace.slots.resize(self.slots, Number::ZERO);
        let (last, steps) = self.steps.split_last().expect("a program has a step");
        for step in steps {
            let value = step.operation.run(pieces, &c, workspace);
            let slot = &mut workspace.slots[step.slot];
            match &step.stage {
                Some(stage) => stage.hold(&value, slot),
                None => *slot = value,
            }
        }
        let value = last.operation.run(pieces, &c, workspace);
        match &last.stage {
            Some(Stage { last: Some(encoder), .. }) => {
                RoundedCodes { codes: encode(encoder, &value), special: self.known(&value) }
            }
            Some(stage) => {
                let mut held = Number::ZERO;
                stage.hold(&value, &mut held);
                RoundedCodes { codes: encode(&self.output, &held), special: self.known(&held) }
            }
            None => RoundedCodes { codes: encode(&self.output, &value), special: self.known(&value) },
        }
    }

    /// What is not finite of the last value; a NaN is unknown where it keeps its payload.
    fn known(&self, total: &Number) -> PieceLanes<u32> {
        let mut special = total.special;
        if self.passes_nan {
            for special in &mut special {
                let infinities = INFINITY | MINUS_INFINITY;
                let nan = (*special & NAN != 0) | (*special & infinities == infinities);
                *special |= if nan { UNKNOWN } else { 0 };
            }
        }
        special
    }
}

impl FastOperation {
    /// The value, not yet rounded.
    #[inline]
    fn run(&self, pieces: &Pieces, c: &Number, workspace: &mut Workspace) -> Number {
        match self {
            FastOperation::Sum(step, inputs) => {
                let zero = Number::ZERO;
                let slots = &workspace.slots;
                let one: [&Number; 1];
                let many: Vec<&Number>;
                let find = |input: &Input| match input {
                    Input::C => c,
                    Input::Slot(slot) => &slots[*slot],
                    Input::Zero | Input::Product(_) => &zero,
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
                let pieces = Pieces { group: step.group, ..*pieces };
                let mut sum = sums(step, &pieces, addends, &mut workspace.stored);
                if let Some(limit) = step.limit {
                    mark_limit(&mut sum, &pieces, limit);
                }
                sum
            }
            FastOperation::Copy(input) => input.number(pieces, c, &workspace.slots),
            FastOperation::Add([x, y], down) => match (x, y) {
                (Input::Slot(x), Input::Slot(y)) => {
                    super::number::sum(&workspace.slots[*x], &workspace.slots[*y], *down)
                }
                (x, y) => {
                    let (x, y) = (x.number(pieces, c, &workspace.slots), y.number(pieces, c, &workspace.slots));
                    super::number::sum(&x, &y, *down)
                }
            },
            FastOperation::Fma(product, addend, down) => {
                let product = product.number(pieces);
                match addend {
                    Input::Slot(slot) => super::number::sum(&product, &workspace.slots[*slot], *down),
                    Input::C => super::number::sum(&product, c, *down),
                    other => super::number::sum(&product, &other.number(pieces, c, &workspace.slots), *down),
                }
            }
        }
    }
}

impl Input {
    fn number(&self, pieces: &Pieces, c: &Number, slots: &[Number]) -> Number {
        match self {
            Input::C => c.clone(),
            Input::Zero => Number::ZERO,
            Input::Slot(slot) => slots[*slot].clone(),
            Input::Product(product) => product.number(pieces),
        }
    }
}

impl OrderedProduct {
    fn number(&self, pieces: &Pieces) -> Number {
        let pieces = Pieces { group: (self.at, self.at + 1), ..*pieces };
        let mut number = exact(&pieces);
        if let Some(limit) = self.limit {
            mark_limit(&mut number, &pieces, limit);
        }
        match &self.stage {
            None => number,
            Some(stage) => {
                let mut held = Number::ZERO;
                stage.hold(&number, &mut held);
                held
            }
        }
    }
}

/// Marks the elements as unknown of which a product may be infinite by its size.
fn mark_limit(number: &mut Number, pieces: &Pieces, limit: i32) {
    // Products are below 2^(e + 2).
    let beyond = |e| if e >= limit.saturating_sub(2) { UNKNOWN } else { 0 };
    let mut special = [0; COUNT];
    for at in 0..pieces.count {
        set_piece(&mut special, at, &over(&pieces.factors(at).largest(), beyond));
    }
    number.add_special(&special);
}
