//! Facts of one case and its answers, for predicates that missed outputs may have in common.

use crate::{
    comparison::{Answer, Subject},
    format::{Class, Decoded, Format},
    isa::Instruction,
};

/// A term of a sum: a product, or c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermFacts {
    /// Its class; a product of zero and an infinity is NaN. Finite products that are not zero are normal.
    pub(super) class: Class,
    /// Sign.
    pub(super) negative: bool,
    /// Exponent of the leading bit, if it is finite and not zero.
    pub(super) leading: Option<i32>,
    /// Sum of the exponents of its operands, before normalisation.
    /// A subnormal or zero operand counts with the exponent of the smallest normal number.
    pub(super) nominal: i32,
    /// True if one factor is zero, and the other is not.
    pub(super) half_zero: bool,
}

/// A case with its answers, and its terms.
pub(super) struct Facts<'a> {
    /// The instruction.
    pub(super) i: &'a Instruction,
    /// The operands, the device's code of D and the rule's.
    pub(super) answer: &'a Answer,
    /// The products, in the order of k.
    pub(super) products: Vec<TermFacts>,
    /// c.
    pub(super) c: TermFacts,
    /// The classes of the operands in A and B.
    classes: Vec<Class>,
}

impl<'a> Facts<'a> {
    /// The facts of a case.
    pub(super) fn of(i: &'a Instruction, answer: &'a Answer) -> Facts<'a> {
        let case = &answer.case;
        let mut classes = Vec::new();
        let mut products = Vec::new();
        for at in 0..case.a.len() {
            let k = case.logical(i, at);
            let operands = [Operand::of(i.a, case.a[at]), Operand::of(i.b, case.b[k])];
            classes.extend(operands.map(|operand| operand.datum.class));
            let mut all = operands.to_vec();
            if let Some(scale) = i.scale {
                all.extend(
                    [&case.scale_a, &case.scale_b].map(|scales| Operand::of(scale.format, scales[k / scale.block])),
                );
            }
            products.push(product(&all));
        }
        let c = product(&[Operand::of(i.c, case.c)]);
        Facts { i, answer, products, c, classes }
    }

    /// All terms.
    pub(super) fn terms(&self) -> impl Iterator<Item = &TermFacts> {
        self.products.iter().chain([&self.c])
    }

    /// Exponents of the leading bits of all terms that are finite and not zero.
    pub(super) fn exponents(&self) -> impl Iterator<Item = i32> {
        self.terms().filter_map(|term| term.leading)
    }

    /// Distance of the smallest term below the largest, in bits.
    pub(super) fn span(&self) -> i32 {
        self.exponents().max().unwrap_or(0) - self.exponents().min().unwrap_or(0)
    }

    /// Number of products that are not zero.
    pub(super) fn nonzero_products(&self) -> usize {
        self.products.iter().filter(|product| product.class != Class::Zero).count()
    }

    /// True if an operand of A, B or C has this class.
    pub(super) fn has_operand(&self, class: Class) -> bool {
        self.has_factor(class) || self.i.c.decode(self.answer.case.c).class == class
    }

    /// True if an operand of A or B has this class.
    pub(super) fn has_factor(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }

    /// The datum of the device's answer.
    pub(super) fn result(&self) -> Decoded {
        self.i.d.decode(self.answer.device)
    }

    /// The datum of the exact result, rounded to nearest.
    pub(super) fn exact(&self) -> Option<Decoded> {
        Subject::Matrix(self.i).exact(&self.answer.case).map(|code| self.i.d.decode(code))
    }
}

/// An operand.
#[derive(Clone, Copy)]
struct Operand {
    datum: Decoded,
    /// Exponent of the units digit of its significand.
    nominal: i32,
}

impl Operand {
    fn of(format: &Format, code: u64) -> Operand {
        let datum = format.decode(code);
        Operand { datum, nominal: datum.exponent + format.fraction_bits() as i32 }
    }
}

/// The product of some operands.
fn product(operands: &[Operand]) -> TermFacts {
    let is = |class: Class| operands.iter().any(|operand| operand.datum.class == class);
    let class = match (is(Class::Nan), is(Class::Infinite), is(Class::Zero)) {
        (true, ..) | (_, true, true) => Class::Nan,
        (_, true, _) => Class::Infinite,
        (.., true) => Class::Zero,
        _ => match operands {
            [only] => only.datum.class,
            _ => Class::Normal,
        },
    };
    let leading = |operand: &Operand| operand.datum.exponent + 63 - operand.datum.significand.leading_zeros() as i32;
    let finite = matches!(class, Class::Normal | Class::Subnormal);
    TermFacts {
        class,
        negative: operands.iter().filter(|operand| operand.datum.negative).count() % 2 == 1,
        leading: finite.then(|| operands.iter().map(leading).sum()),
        nominal: operands.iter().map(|operand| operand.nominal).sum(),
        half_zero: class == Class::Zero && operands.iter().any(|operand| operand.datum.class != Class::Zero),
    }
}
