//! The fused step of the reference evaluator: terms are aligned, cut, added exactly, and the sum is rounded once.

use super::{
    evaluate::{Held, Inputs, limited, product_name, rounding},
    explain::{Line, Log},
    plan::{Fused, Plan},
    rule::{Alignment, Late, ZeroSign},
};
use crate::{
    exact::Accumulator,
    format::{Class, Finite, Real, Rounding},
    softfloat::{self, Target},
};

/// One term of a sum: its value, and the exponent of its significand's units digit.
#[derive(Clone)]
struct Term {
    name: Name,
    value: Real,
    exponent: i32,
}

/// What a term is; in words only where somebody listens.
#[derive(Clone, Copy)]
enum Name {
    Product(usize),
    Products(usize, usize),
    C,
}

impl Name {
    fn text(self) -> String {
        match self {
            Name::Product(at) => product_name(at),
            Name::Products(first, last) => format!("products {first} to {last}"),
            Name::C => "c".into(),
        }
    }
}

/// A finite part of a sum with the exponent that counts in an alignment.
#[derive(Clone, Copy)]
struct Part {
    value: Finite,
    exponent: i32,
}

impl Fused {
    /// The code of the sum of `from` and the products of a group, in the target's format.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn sum<L: Log>(
        &self,
        plan: &Plan,
        number: usize,
        group: &[usize],
        inputs: &Inputs,
        from: Held,
        target: &Target,
        log: &mut L,
    ) -> u64 {
        let products = match self.scale_sums {
            None => group.iter().map(|&at| self.product(plan, inputs, at)).collect(),
            Some(length) => group.chunks(length).map(|run| self.scaled_sum(plan, inputs, run)).collect::<Vec<_>>(),
        };
        let c = Term { name: Name::C, value: from.real(), exponent: from.exponent() };
        let terms = || products.iter().chain([&c]);
        let code = match special(terms().map(|term| &term.value)) {
            Some(special) => target.round(&special),
            None => {
                let sum = self.finite(&products, &c, number, log);
                log.line(|| Line::new(Some(number), "sum", Real::Finite(sum)));
                self.signed(target.round(&Real::Finite(sum)), &sum, terms(), target)
            }
        };
        log.line(|| rounding(Some(number), "sum", target, code));
        code
    }

    /// One product, with its scales.
    fn product(&self, plan: &Plan, inputs: &Inputs, at: usize) -> Term {
        let [a, b] = plan.factors();
        let mut exponent =
            inputs.a[at].exponent + inputs.b[at].exponent + (a.fraction_bits() + b.fraction_bits()) as i32;
        let mut value = inputs.product(at);
        if let Some(target) = &self.product {
            let code = target.round(&value);
            let datum = target.format.decode(code);
            (value, exponent) = (datum.real(), datum.exponent + target.format.fraction_bits() as i32);
        }
        value = limited(value, plan.product_limit);
        if let Some((scale, scale_exponent)) = inputs.scales.get(at) {
            value = softfloat::product(&value, scale);
            exponent += scale_exponent;
        }
        if self.normalised
            && let Real::Finite(finite) = value
        {
            exponent = finite.leading_exponent().unwrap_or(exponent);
        }
        Term { name: Name::Product(at), value, exponent }
    }

    /// The exact sum of a run of products times their common scales.
    fn scaled_sum(&self, plan: &Plan, inputs: &Inputs, run: &[usize]) -> Term {
        let products: Vec<Real> = run.iter().map(|&at| limited(inputs.product(at), plan.product_limit)).collect();
        let sum = special(products.iter()).unwrap_or_else(|| {
            let finite = products.iter().map(|p| match p {
                Real::Finite(finite) => *finite,
                _ => unreachable!("not special"),
            });
            Real::Finite(trimmed(exact_sum(finite)))
        });
        let (scale, exponent) = inputs.scales[run[0]];
        let name = Name::Products(run[0], run[run.len() - 1]);
        Term { name, value: softfloat::product(&sum, &scale), exponent }
    }

    /// The sum of finite terms, before it is rounded.
    fn finite<L: Log>(&self, products: &[Term], c: &Term, number: usize, log: &mut L) -> Finite {
        let Some(alignment) = &self.alignment else {
            for term in products.iter().chain([c]) {
                log.line(|| term.line(number, None));
            }
            return exact_sum(products.iter().chain([c]).filter_map(Term::part).map(|part| part.value));
        };
        let lane_count = self.lanes.as_ref().map_or(1, |lanes| lanes.period);
        // c is a term of the only lane, or a part of what lanes are joined to, or late.
        let c_in_lane = self.lanes.is_none() && self.late.is_none();
        let mut parts = Vec::new();
        for lane in 0..lane_count {
            let own = products.iter().skip(lane).step_by(lane_count).chain(c_in_lane.then_some(c));
            parts.extend(aligned(own, alignment, number, log));
        }
        let mut sum = match &self.lanes {
            None => parts.pop(),
            Some(lanes) => {
                parts.extend(self.late.is_none().then(|| c.part()).flatten());
                joined(&parts, lanes.bits, lanes.rounding)
            }
        };
        if let Some(late) = &self.late {
            log.line(|| c.line(number, None));
            sum = join_late(sum, c.part(), late);
        }
        sum.map_or(Finite::zero(false), |part| part.value)
    }

    /// A result with the sign that the rule wants on zero.
    fn signed<'a>(&self, code: u64, sum: &Finite, terms: impl Iterator<Item = &'a Term>, target: &Target) -> u64 {
        if target.format.decode(code).class != Class::Zero {
            return code;
        }
        let negative = match self.zero {
            ZeroSign::Positive => false,
            ZeroSign::Negative => true,
            ZeroSign::Ieee if !sum.is_zero() => sum.negative,
            ZeroSign::Ieee => {
                let signs: Vec<_> = terms.map(Term::zero_sign).collect();
                match signs.first() {
                    Some(Some(sign)) if signs.iter().all(|other| *other == Some(*sign)) => *sign,
                    _ => target.rounding == Rounding::Rd,
                }
            }
        };
        target.format.zero(negative).or(target.format.zero(false)).unwrap_or(code)
    }
}

impl Term {
    /// The term as a part of a sum; `None` if it is zero.
    fn part(&self) -> Option<Part> {
        match self.value {
            Real::Finite(value) if !value.is_zero() => Some(Part { value, exponent: self.exponent }),
            _ => None,
        }
    }

    /// Of a zero, whether it is negative.
    fn zero_sign(&self) -> Option<bool> {
        match self.value {
            Real::Finite(value) if value.is_zero() => Some(value.negative),
            _ => None,
        }
    }

    fn line(&self, number: usize, kept: Option<Finite>) -> Line {
        let exponent = self.part().map(|part| part.exponent);
        Line { exponent, kept, ..Line::new(Some(number), self.name.text(), self.value) }
    }
}

/// The sum of terms aligned to the largest of their exponents (never below the floor) and cut. `None` if all are zero.
fn aligned<'a, L: Log>(
    terms: impl Iterator<Item = &'a Term>,
    alignment: &Alignment,
    number: usize,
    log: &mut L,
) -> Option<Part> {
    let terms: Vec<&Term> = terms.collect();
    let largest = terms.iter().filter_map(|term| term.part()).map(|part| part.exponent).max();
    let largest = largest.map(|e| e.max(alignment.floor.unwrap_or(e)));
    let mut sum = 0;
    for term in terms {
        let kept = largest.zip(term.part()).map(|(e, part)| cut(&part.value, e - alignment.bits, alignment.rounding));
        log.line(|| term.line(number, kept.zip(largest).map(|(units, e)| finite(units, e - alignment.bits))));
        sum += kept.unwrap_or(0);
    }
    let exponent = largest?;
    let value = finite(sum, exponent - alignment.bits);
    log.line(|| Line { exponent: Some(exponent), ..Line::new(Some(number), "aligned sum", Real::Finite(value)) });
    Some(Part { value, exponent })
}

/// Sums aligned to the largest of their exponents and cut.
fn joined(parts: &[Part], bits: i32, rounding: Rounding) -> Option<Part> {
    let exponent = parts.iter().map(|part| part.exponent).max()?;
    let sum = parts.iter().map(|part| cut(&part.value, exponent - bits, rounding)).sum();
    Some(Part { value: finite(sum, exponent - bits), exponent })
}

/// The sum of the products and a late c, each cut to its own width below the larger exponent.
fn join_late(sum: Option<Part>, c: Option<Part>, late: &Late) -> Option<Part> {
    let exponent = sum.iter().chain(&c).map(|part| part.exponent).max()?;
    let exponent = exponent.max(late.floor.unwrap_or(exponent));
    let c = c.filter(|c| late.drop.is_none_or(|drop| c.exponent >= exponent - drop));
    let cut_part = |part: Option<Part>, bits: i32| {
        part.map_or(Finite::zero(false), |part| {
            finite(cut(&part.value, exponent - bits, late.rounding), exponent - bits)
        })
    };
    let value = exact_sum([cut_part(sum, late.sum_bits), cut_part(c, late.c_bits)]);
    Some(Part { value, exponent })
}

/// `value` in units of `2^quantum`, cut.
fn cut(value: &Finite, quantum: i32, rounding: Rounding) -> i128 {
    let (units, _) = value.round_to_quantum(quantum, rounding);
    if value.negative { -(units as i128) } else { units as i128 }
}

fn finite(units: i128, quantum: i32) -> Finite {
    Finite::exact(units < 0, units.unsigned_abs(), quantum)
}

/// The same number with the shortest significand, so that it can be multiplied.
fn trimmed(value: Finite) -> Finite {
    let zeros = if value.is_zero() { 0 } else { value.significand.trailing_zeros() };
    Finite::exact(value.negative, value.significand >> zeros, value.exponent + zeros as i32)
}

/// The exact sum of finite numbers.
fn exact_sum(values: impl IntoIterator<Item = Finite>) -> Finite {
    let values: Vec<Finite> = values.into_iter().filter(|value| !value.is_zero()).collect();
    let lowest = values.iter().map(|value| value.exponent).min();
    let highest = values.iter().map(|value| value.exponent + 128 - value.significand.leading_zeros() as i32).max();
    let (Some(lowest), Some(highest)) = (lowest, highest) else { return Finite::zero(false) };
    let mut accumulator = Accumulator::new(lowest, highest + 16);
    values.iter().for_each(|value| accumulator.add(value.negative, value.significand, value.exponent));
    accumulator.to_finite()
}

/// The sum of terms of which at least one is not finite: NaN, or the infinity that all infinite terms agree on. `None` if
/// all are finite.
fn special<'a>(terms: impl Iterator<Item = &'a Real>) -> Option<Real> {
    let mut found = None;
    for term in terms {
        found = match (term, found) {
            (Real::Nan, _) => return Some(Real::Nan),
            (Real::Infinity { negative }, Some(Real::Infinity { negative: other })) if *negative != other => {
                return Some(Real::Nan);
            }
            (Real::Infinity { .. }, _) => Some(*term),
            (Real::Finite(_), found) => found,
        }
    }
    found
}
