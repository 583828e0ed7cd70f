//! Sums of the reference: values aligned, truncated, and added exactly.

use super::{
    super::{InvalidOperations, NanOperand, Sum},
    held::{Held, NanOrigin, first_nan},
    observer::{ExplanationLine, Observer},
};
use crate::number::{Finite, Real, Rounding, exact_sum};

/// Value of a sum.
pub(super) struct Summand {
    pub(super) held: Held,
    /// Bits kept of it, if its own, and the distance below the largest exponent beyond which it is ignored.
    pub(super) bits: Option<i32>,
    pub(super) drop: Option<i32>,
    /// Factors of a product.
    pub(super) factors: Option<[Held; 2]>,
}

/// Distance of the sticky bit below a sum's leading bit: below every rounding.
const FAR_BEHIND: i32 = 110;

/// Sum of `products`, then `addends`; `name` names each, by its place.
pub(super) fn sum<O: Observer>(
    sum: &Sum,
    products: &[Summand],
    addends: &[Summand],
    invalid: &InvalidOperations,
    group: Option<usize>,
    name: &dyn Fn(usize) -> String,
    observer: &mut O,
) -> Held {
    let all = || products.iter().chain(addends);
    if let Some(special) = special(products, addends, &sum.nans, invalid) {
        for (at, term) in all().enumerate() {
            observer.line(|| line(group, name(at), &term.held, None));
        }
        return special;
    }
    let floor = sum.alignment.and_then(|alignment| alignment.floor);
    let offset = sum.alignment.map_or(0, |alignment| alignment.c_offset());
    let last = addends.len().checked_sub(1).map(|last| products.len() + last);
    let counted = |(at, term): (usize, &Summand)| Some(term.held.exponent? - if Some(at) == last { offset } else { 0 });
    let largest = all().enumerate().filter_map(counted).max().map(|e| e.max(floor.unwrap_or(e)));
    // An unrounded zero has no sign of its own.
    let signed = |held: &Held| held.signed_zero || !finite(held).is_zero();
    let is_negative = |held: &Held| finite(held).negative && signed(held);
    let all_zeros = all().all(|term| finite(&term.held).is_zero());
    let frame = addends.last().is_some_and(|addend| is_negative(&addend.held));
    let (mut parts, mut lost) = (Vec::new(), false);
    for (at, term) in all().enumerate() {
        let kept = match (&sum.alignment, largest) {
            (Some(alignment), Some(largest)) => {
                let quantum = largest - term.bits.unwrap_or(alignment.bits);
                let dropped = term.drop.is_some_and(|drop| term.held.exponent.is_some_and(|e| e < largest - drop));
                Some(if dropped {
                    Finite::zero(false)
                } else {
                    let value = finite(&term.held);
                    let cut = value.rounded_to_quantum(quantum, alignment.rounding);
                    let seen = match alignment.reach {
                        Some(reach) => value.rounded_to_quantum(quantum - reach, Rounding::Rz),
                        None => value,
                    };
                    lost |= !seen.rounded_to_quantum(quantum, Rounding::Rz).minus(&seen).is_zero();
                    let flips = alignment.complement
                        && is_negative(&term.held) != frame
                        && (!value.is_zero() || alignment.complement_zeros && !all_zeros);
                    match flips {
                        true => exact_sum([cut, Finite::exact(!frame, 1, quantum)]),
                        false => cut,
                    }
                })
            }
            _ => None,
        };
        observer.line(|| line(group, name(at), &term.held, kept));
        parts.push(kept.unwrap_or_else(|| finite(&term.held)));
    }
    let mut exact = exact_sum(parts);
    let quantum = sum.alignment.zip(largest).map_or(0, |(alignment, largest)| {
        largest - addends.iter().filter_map(|addend| addend.bits).fold(alignment.bits, i32::max)
    });
    if let (Some(alignment), Some(largest)) = (&sum.alignment, largest)
        && let Some(carry) = alignment.carry
    {
        let held = in_register(exact, quantum, largest + 1 + carry, alignment.saturates);
        if !held.minus(&exact).is_zero() {
            observer.line(|| ExplanationLine::new(group, "sum beyond the register", Real::Finite(exact)));
        }
        exact = held;
    }
    let sticky = sum.alignment.filter(|alignment| alignment.sticky && lost);
    if let Some(alignment) = sticky {
        let place = alignment.sticky_place.map(|place| quantum - place);
        let place = place.or_else(|| Some(exact.leading_exponent()? - FAR_BEHIND));
        let rest = place.map(|place| Finite::exact(alignment.rest_is_negative(exact.negative), 1, place));
        exact = exact_sum([exact].into_iter().chain(rest));
    }
    let exponent = if sum.normalised { exact.leading_exponent() } else { largest };
    observer.line(|| ExplanationLine { exponent, ..ExplanationLine::new(group, "aligned sum", Real::Finite(exact)) });
    match exact.is_zero() {
        false => Held::sum(exact, exponent, true),
        true => {
            let negative = all().all(|term| finite(&term.held).negative);
            Held::sum(Finite::zero(negative), exponent, agree_in_sign(all().map(|term| &term.held)))
        }
    }
}

/// A multiple of `2^quantum` in a register in two's complement.
/// The register has the numbers from `-2^top` to `2^top - 2^quantum`. It holds the sum modulo their count, or the nearest of them.
fn in_register(sum: Finite, quantum: i32, top: i32, saturates: bool) -> Finite {
    let lowest = Finite::exact(true, 1, top);
    // Modulo `2^(top + 1)`, counted from the lowest number.
    let turns = sum.minus(&lowest).rounded_to_quantum(top + 1, Rounding::Rd);
    match (turns.is_zero(), saturates) {
        (true, _) => sum,
        (false, false) => sum.minus(&turns),
        (false, true) if sum.negative => lowest,
        (false, true) => Finite::exact(false, 1, top).minus(&Finite::exact(false, 1, quantum)),
    }
}

fn line(group: Option<usize>, name: String, held: &Held, kept: Option<Finite>) -> ExplanationLine {
    let exponent = held.exponent;
    ExplanationLine {
        exponent,
        kept: kept.filter(|_| exponent.is_some()),
        ..ExplanationLine::new(group, name, held.value)
    }
}

/// True if all terms are signed zeros with one sign.
fn agree_in_sign<'a>(mut terms: impl Iterator<Item = &'a Held>) -> bool {
    let sign = |held: &Held| match held.value {
        Real::Finite(value) if value.is_zero() && held.signed_zero => Some(value.negative),
        _ => None,
    };
    let first = terms.next().and_then(sign);
    first.is_some() && terms.all(|held| sign(held) == first)
}

/// Infinity or NaN of a sum of these terms; `None` if it is finite.
pub(super) fn special(
    products: &[Summand],
    addends: &[Summand],
    order: &[NanOperand],
    invalid: &InvalidOperations,
) -> Option<Held> {
    match invalid.special_sum(products.iter().chain(addends).map(|term| &term.held.value))? {
        Real::Nan => Some(passed_on(order, products, addends, invalid)),
        infinity => Some(Held::exact(infinity, 0)),
    }
}

/// NaN of a sum: the first of its operands in the order, or one without payload.
fn passed_on(order: &[NanOperand], products: &[Summand], addends: &[Summand], invalid: &InvalidOperations) -> Held {
    let factors: Vec<NanOperand> =
        order.iter().copied().filter(|of| matches!(of, NanOperand::A | NanOperand::B)).collect();
    let of_product = |term: &Summand| {
        term.factors.as_ref().and_then(|[a, b]| first_nan(&factors, [Some(a), Some(b), None], invalid))
    };
    // With `Invalid` in the order, the NaN of an unrounded sum counts as what it was made of.
    let by_origin = order.contains(&NanOperand::Invalid);
    let of_addends = |origin: NanOrigin| {
        let mut nans = addends.iter().map(|term| term.held).filter(Held::is_nan);
        nans.find(|held| !by_origin || held.origin == origin)
    };
    let of_factors = || {
        let made_here = products.iter().find_map(of_product).map(Held::of_factor);
        made_here.or_else(|| of_addends(NanOrigin::Factor).filter(|_| by_origin))
    };
    let nan = order.iter().find_map(|which| match which {
        NanOperand::A | NanOperand::B => of_factors(),
        NanOperand::C => of_addends(NanOrigin::Addend),
        NanOperand::Invalid => {
            of_addends(NanOrigin::Invalid).or_else(|| is_invalid(products, addends, invalid).then(Held::nan))
        }
    });
    nan.unwrap_or_else(Held::nan)
}

/// True if terms without a NaN among their operands make a NaN.
/// They are an infinity times a zero, or opposite infinities.
fn is_invalid(products: &[Summand], addends: &[Summand], invalid: &InvalidOperations) -> bool {
    let has_nan = |term: &Summand| term.factors.as_ref().is_some_and(|factors| factors.iter().any(Held::is_nan));
    let products = products.iter().filter(|term| !has_nan(term));
    let terms = products.chain(addends.iter().filter(|term| !term.held.is_nan()));
    invalid.special_sum(terms.map(|term| &term.held.value)) == Some(Real::Nan)
}

fn finite(held: &Held) -> Finite {
    match held.value {
        Real::Finite(value) => value,
        _ => Finite::zero(false),
    }
}
