//! Kinds of classes: what can happen at a step of a dot-product-add, with its family and its words.

use crate::{base::named::named, format::Class};

named! {
    /// Family of classes, for tables and for the choice of cases.
    pub enum ClassFamily {
        Rounding = "rounding": "Roundings by the dropped part, ties aside: none, less than half a unit, more";
        Tie = "tie": "Roundings of a number in the middle between two results";
        Carry = "carry": "Carries out of the leading bit, of sums and of roundings";
        Shift = "shift": "Distances by which terms are shifted in an alignment or an addition";
        Truncation = "truncation": "Terms that an alignment cuts";
        Cancellation = "cancellation": "Leading bits that cancel in a sum";
        Subnormal = "subnormal": "Subnormal operands, and results below the smallest normal number";
        Overflow = "overflow": "Results beyond the largest number or the register";
        Zero = "zero": "Zeros by sign: operands, products and results";
        Infinity = "infinity": "Infinities: operands by position, terms and results";
        Nan = "nan": "NaNs: operands by position, terms and results";
        Floor = "floor": "Alignments at the smallest exponent";
    }
}

/// Operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Row of A.
    A,
    /// Column of B.
    B,
    /// Element of C.
    C,
    /// Scales of A.
    ScaleA,
    /// Scales of B.
    ScaleB,
}

/// Term of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// Product.
    Product,
    /// Every other addend.
    Addend,
}

/// Part of a number that a rounding drops, in units of the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DroppedPart {
    /// Nothing.
    Nothing,
    /// Less than half a unit.
    BelowHalf,
    /// Half a unit; `odd` if the last kept bit is set.
    Half {
        /// True if the last kept bit is set.
        odd: bool,
    },
    /// More than half a unit.
    AboveHalf,
}

/// Number with a last value that stands for all larger ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capped {
    /// This number.
    At(i32),
    /// Larger than this number.
    Beyond(i32),
}

impl Capped {
    /// The number, if at most `last`.
    pub(super) fn of(number: i32, last: i32) -> Capped {
        if number > last { Capped::Beyond(last) } else { Capped::At(number) }
    }

    /// All from `first` to `last`, and what is beyond.
    pub(super) fn all(first: i32, last: i32) -> impl Iterator<Item = Capped> {
        (first..=last).map(Capped::At).chain([Capped::Beyond(last)])
    }

    fn text(self) -> String {
        match self {
            Capped::At(number) => number.to_string(),
            Capped::Beyond(number) => format!("more than {number}"),
        }
    }
}

/// Kind of class: an event at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassKind {
    /// Zero operand.
    OperandZero {
        /// Operand.
        side: Side,
        /// True for a negative number.
        negative: bool,
    },
    /// Subnormal operand.
    OperandSubnormal(Side),
    /// Infinite operand at a position.
    OperandInfinity {
        /// Operand.
        side: Side,
        /// Position.
        at: usize,
    },
    /// NaN operand at a position.
    OperandNan {
        /// Operand.
        side: Side,
        /// Position.
        at: usize,
    },
    /// Factors of a product, at least one of them not normal.
    Factors(Class, Class),
    /// Zero product.
    ProductZero {
        /// True for a negative number.
        negative: bool,
    },
    /// Non-zero term shifted by a number of bits below the largest exponent.
    Shift(TermKind, Capped),
    /// An alignment drops a part of a term.
    Cut {
        /// Kind of the term.
        term: TermKind,
        /// True for a negative number.
        negative: bool,
    },
    /// Non-zero term of which an alignment keeps nothing.
    CutWhole(TermKind),
    /// Alignment at the floor, which is above all exponents.
    AtFloor,
    /// Sum with its leading bit this far above that of its largest term.
    SumCarry(i32),
    /// Sum of terms with both signs, with its leading bit this far below that of its largest term.
    Cancellation(Capped),
    /// Non-zero terms with the sum zero.
    CancelsToZero,
    /// Sum outside the register.
    BeyondRegister {
        /// True for a negative number.
        negative: bool,
    },
    /// Infinite sum.
    SumInfinity {
        /// True for a negative number.
        negative: bool,
    },
    /// Infinities with opposite signs in a sum.
    OppositeInfinities,
    /// NaN among the terms of a sum.
    SumNan,
    /// Distance of the exponents of two added numbers; the first has the larger one.
    FirstLarger(Capped),
    /// Distance of the exponents of two added numbers; the second has the larger one.
    SecondLarger(Capped),
    /// Rounded number, by its sign and the dropped part.
    Rounded {
        /// True for a negative number.
        negative: bool,
        /// Dropped part, or excess.
        part: DroppedPart,
    },
    /// Rounding to the next power of two.
    RoundingCarry,
    /// Number beyond the largest one, by its sign and the excess in units of the last place.
    Overflow {
        /// True for a negative number.
        negative: bool,
        /// Dropped part, or excess.
        part: DroppedPart,
    },
    /// Result below the smallest normal number.
    Tiny {
        /// True if nothing is dropped.
        exact: bool,
    },
    /// Number below the smallest normal one that rounds up to it.
    RoundsToNormal,
    /// Non-zero number that becomes a zero.
    Underflow {
        /// True for a negative number.
        negative: bool,
    },
    /// Zero result of a zero.
    ResultZero {
        /// True for a negative number.
        negative: bool,
    },
    /// Infinite result of an infinity.
    ResultInfinity {
        /// True for a negative number.
        negative: bool,
    },
    /// NaN result.
    ResultNan,
    /// Integer sum outside the range.
    IntegerOverflow {
        /// True for a negative number.
        negative: bool,
    },
}

impl ClassKind {
    /// The family.
    pub fn family(self) -> ClassFamily {
        use ClassKind as K;
        match self {
            K::OperandZero { .. } | K::ProductZero { .. } | K::ResultZero { .. } => ClassFamily::Zero,
            K::OperandSubnormal(_) | K::Tiny { .. } | K::RoundsToNormal | K::Underflow { .. } => ClassFamily::Subnormal,
            K::OperandInfinity { .. } | K::SumInfinity { .. } | K::OppositeInfinities | K::ResultInfinity { .. } => {
                ClassFamily::Infinity
            }
            K::OperandNan { .. } | K::SumNan | K::ResultNan => ClassFamily::Nan,
            K::Factors(a, b) => {
                let has = |class| a == class || b == class;
                [(Class::Nan, ClassFamily::Nan), (Class::Infinite, ClassFamily::Infinity)]
                    .into_iter()
                    .chain([(Class::Subnormal, ClassFamily::Subnormal)])
                    .find_map(|(class, family)| has(class).then_some(family))
                    .unwrap_or(ClassFamily::Zero)
            }
            K::Shift(..) | K::FirstLarger(_) | K::SecondLarger(_) => ClassFamily::Shift,
            K::Cut { .. } | K::CutWhole(_) => ClassFamily::Truncation,
            K::AtFloor => ClassFamily::Floor,
            K::SumCarry(_) | K::RoundingCarry => ClassFamily::Carry,
            K::Cancellation(_) | K::CancelsToZero => ClassFamily::Cancellation,
            K::BeyondRegister { .. } | K::Overflow { .. } | K::IntegerOverflow { .. } => ClassFamily::Overflow,
            K::Rounded { part: DroppedPart::Half { .. }, .. } => ClassFamily::Tie,
            K::Rounded { .. } => ClassFamily::Rounding,
        }
    }

    /// The class in words.
    pub fn text(self) -> String {
        use ClassKind as K;
        match self {
            K::OperandZero { side, negative } => format!("{} is {}", side.name(), zero(negative)),
            K::OperandSubnormal(side) => format!("{} is subnormal", side.name()),
            K::OperandInfinity { side, at } => format!("infinity in {}", side.position(at)),
            K::OperandNan { side, at } => format!("NaN in {}", side.position(at)),
            K::Factors(a, b) => format!("{} * {}", class(a), class(b)),
            K::ProductZero { negative } => format!("product {}", zero(negative)),
            K::Shift(term, distance) => format!("{} shifted by {}", term.name(), distance.text()),
            K::Cut { term, negative } => format!("{} {} cut", sign(negative), term.name()),
            K::CutWhole(term) => format!("{} dropped as a whole", term.name()),
            K::AtFloor => "floor above all exponents".into(),
            K::SumCarry(bits) => format!("carry of {bits} above the largest term"),
            K::Cancellation(bits) => format!("cancellation of {} leading bits", bits.text()),
            K::CancelsToZero => "cancellation to zero".into(),
            K::BeyondRegister { negative } => format!("{} sum beyond the register", sign(negative)),
            K::SumInfinity { negative } => format!("{} infinite sum", sign(negative)),
            K::OppositeInfinities => "infinities with opposite signs".into(),
            K::SumNan => "NaN among the terms".into(),
            K::FirstLarger(distance) => format!("second term smaller by 2^{}", distance.text()),
            K::SecondLarger(distance) => format!("first term smaller by 2^{}", distance.text()),
            K::Rounded { negative, part } => format!("{} {}", sign(negative), part.text()),
            K::RoundingCarry => "rounds to the next power of two".into(),
            K::Overflow { negative, part } => format!("{} overflow, {}", sign(negative), part.text()),
            K::Tiny { exact: true } => "subnormal result, exact".into(),
            K::Tiny { exact: false } => "subnormal result, rounded".into(),
            K::RoundsToNormal => "rounds up to the smallest normal number".into(),
            K::Underflow { negative } => format!("{} number to zero", sign(negative)),
            K::ResultZero { negative } => format!("result {}", zero(negative)),
            K::ResultInfinity { negative } => format!("result {}infinity", if negative { '-' } else { '+' }),
            K::ResultNan => "result NaN".into(),
            K::IntegerOverflow { negative } => format!("{} sum outside the range", sign(negative)),
        }
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
            Side::C => "c",
            Side::ScaleA => "scale_a",
            Side::ScaleB => "scale_b",
        }
    }

    fn position(self, at: usize) -> String {
        if self == Side::C { "c".into() } else { format!("{}[{at}]", self.name()) }
    }
}

impl TermKind {
    fn name(self) -> &'static str {
        match self {
            TermKind::Product => "product",
            TermKind::Addend => "addend",
        }
    }
}

impl DroppedPart {
    fn text(self) -> &'static str {
        match self {
            DroppedPart::Nothing => "exact",
            DroppedPart::BelowHalf => "below half a unit",
            DroppedPart::Half { odd: false } => "tie, last bit even",
            DroppedPart::Half { odd: true } => "tie, last bit odd",
            DroppedPart::AboveHalf => "above half a unit",
        }
    }
}

fn zero(negative: bool) -> &'static str {
    if negative { "-0" } else { "+0" }
}

fn sign(negative: bool) -> &'static str {
    if negative { "negative" } else { "positive" }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Nan => "NaN",
        Class::Infinite => "infinity",
        Class::Zero => "zero",
        Class::Subnormal => "subnormal",
        Class::Normal => "normal",
    }
}
