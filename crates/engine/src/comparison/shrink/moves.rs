//! Changes of a case that may make it simpler.

use super::terms::{CaseTerm, terms, without};
use crate::{
    comparison::complexity::leading,
    format::{Class, Decoded, Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction},
};

/// Number of terms up to which pairs of them are changed together.
const FEW: usize = 6;

/// Makes the cases that differ from `case` by one change; some of them are simpler.
pub(super) fn neighbours(i: &Instruction, case: &Case) -> Vec<Case> {
    let present = terms(i, case);
    let mut neighbours: Vec<Case> = present.iter().map(|term| without(i, case, [*term])).collect();
    neighbours.push(without(i, case, present.iter().copied().filter(|term| matches!(term, CaseTerm::Lone(_)))));
    for term in &present {
        simpler_operands(i, case, *term, &mut neighbours);
        if let CaseTerm::Product(at) = *term {
            within_product(i, case, at, &mut neighbours);
        }
    }
    if present.len() <= FEW {
        for term in &present {
            lower_position(i, case, *term, &mut neighbours);
            // One term removed, another one larger or smaller.
            for other in present.iter().filter(|other| *other != term) {
                let less = without(i, case, [*term]);
                let scaled = [-2, -1, 1, 2, 3].into_iter().filter_map(|by| with_scaled_terms(i, &less, &[*other], by));
                neighbours.extend(scaled);
            }
            neighbours.extend([-1, 1].into_iter().filter_map(|by| with_scaled_terms(i, case, &[*term], by)));
        }
    }
    all_exponents(i, case, &present, &mut neighbours);
    plain_positions(i, case, &mut neighbours);
    plain_scales(i, case, &mut neighbours);
    neighbours
}

/// Replaces each operand of a term by simpler ones.
fn simpler_operands(i: &Instruction, case: &Case, term: CaseTerm, neighbours: &mut Vec<Case>) {
    let slots: &[OperandSlot] = match term {
        CaseTerm::Product(at) => &[OperandSlot::A(at), OperandSlot::B(case.logical(i, at))],
        CaseTerm::Lone(k) => &[OperandSlot::B(k)],
        CaseTerm::C => &[OperandSlot::C],
    };
    for slot in slots {
        let format = slot.format(i);
        neighbours.extend(simpler_codes(format, slot.get(case)).into_iter().map(|code| slot.with(case, code)));
    }
}

/// The place of an operand in a case.
#[derive(Debug, Clone, Copy)]
enum OperandSlot {
    A(usize),
    B(usize),
    C,
}

impl OperandSlot {
    fn format(self, i: &Instruction) -> &'static Format {
        match self {
            OperandSlot::A(_) => i.a,
            OperandSlot::B(_) => i.b,
            OperandSlot::C => i.c,
        }
    }

    fn get(self, case: &Case) -> u64 {
        match self {
            OperandSlot::A(at) => case.a[at],
            OperandSlot::B(k) => case.b[k],
            OperandSlot::C => case.c,
        }
    }

    fn with(self, case: &Case, code: u64) -> Case {
        let mut changed = case.clone();
        match self {
            OperandSlot::A(at) => changed.a[at] = code,
            OperandSlot::B(k) => changed.b[k] = code,
            OperandSlot::C => changed.c = code,
        }
        changed
    }
}

/// Simpler codes than `code`.
/// They lack ignored bits or the sign, or have fewer significant bits or an exponent nearer to 0.
fn simpler_codes(format: &Format, code: u64) -> Vec<u64> {
    let datum = format.decode(code);
    let exact = |negative, significand, exponent| exact_code(format, negative, significand, exponent);
    let mut codes: Vec<u64> =
        [Some(0), exact(false, 1, 0), exact(datum.negative, 1, 0)].into_iter().flatten().collect();
    match datum.class {
        Class::Nan | Class::Infinite => {
            codes.extend([format.infinity(false), format.infinity(datum.negative), format.nan()].into_iter().flatten());
            codes.extend([format.largest(false), format.largest(datum.negative)]);
        }
        Class::Zero => {}
        Class::Subnormal | Class::Normal => {
            let (odd, quantum) = odd(&datum);
            let width = 64 - odd.leading_zeros();
            let leading = quantum + width as i32 - 1;
            codes.extend([false, datum.negative].into_iter().filter_map(|sign| exact(sign, odd, quantum)));
            for kept in 1..width {
                let cut = width - kept;
                codes.extend(exact(datum.negative, odd >> cut, quantum + cut as i32));
                codes.extend(exact(datum.negative, (odd >> cut) + 1, quantum + cut as i32));
                codes.extend(exact(datum.negative, odd & ((1 << kept) - 1), quantum));
            }
            for target in [0, leading / 2, leading - leading.signum(), leading - 8 * leading.signum()] {
                codes.extend(exact(datum.negative, odd, quantum - leading + target));
            }
        }
    }
    codes
}

/// Moves the exponents or significands of a product's factors to one side.
fn within_product(i: &Instruction, case: &Case, at: usize, neighbours: &mut Vec<Case>) {
    let k = case.logical(i, at);
    let (a, b) = (i.a.decode(case.a[at]), i.b.decode(case.b[k]));
    if a.significand == 0 || b.significand == 0 || !a.is_finite() || !b.is_finite() {
        return;
    }
    let ((a_odd, a_quantum), (b_odd, b_quantum)) = (odd(&a), odd(&b));
    let mut push = |a_code: Option<u64>, b_code: Option<u64>| {
        if let (Some(a_code), Some(b_code)) = (a_code, b_code) {
            let mut changed = case.clone();
            (changed.a[at], changed.b[k]) = (a_code, b_code);
            neighbours.push(changed);
        }
    };
    let negative = a.negative != b.negative;
    let leading = |odd: u64, quantum: i32| quantum + 63 - odd.leading_zeros() as i32;
    // The exponent moves to the other factor.
    for (to_a, to_b) in [(leading(b_odd, b_quantum), 0), (0, leading(a_odd, a_quantum))] {
        let shift = if to_b == 0 { to_a } else { -to_b };
        push(
            exact_code(i.a, a.negative, a_odd, a_quantum + shift),
            exact_code(i.b, b.negative, b_odd, b_quantum - shift),
        );
    }
    // The whole product moves to one side, and 1 to the other.
    if let Some(product) = a_odd.checked_mul(b_odd) {
        let quantum = a_quantum + b_quantum;
        push(exact_code(i.a, negative, product, quantum), exact_code(i.b, false, 1, 0));
        push(exact_code(i.a, false, 1, 0), exact_code(i.b, negative, product, quantum));
    }
    // The sign moves to one side.
    push(exact_code(i.a, negative, a_odd, a_quantum), exact_code(i.b, false, b_odd, b_quantum));
    // The product moves to c.
    let product =
        a_odd.checked_mul(b_odd).and_then(|product| exact_code(i.c, negative, product, a_quantum + b_quantum));
    if let (Some(c), 0) = (product, case.c) {
        neighbours.push(Case { c, ..without(i, case, [CaseTerm::Product(at)]) });
    }
}

/// Scales all terms by a power of two that takes the largest or smallest exponent to 0, or nearer.
fn all_exponents(i: &Instruction, case: &Case, present: &[CaseTerm], neighbours: &mut Vec<Case>) {
    let exponents: Vec<i32> = present.iter().filter_map(|term| exponent(i, case, *term)).collect();
    let (Some(low), Some(high)) = (exponents.iter().min(), exponents.iter().max()) else { return };
    for by in [-high, -low, -(high + low) / 2, -high / 2, -high.signum(), -4 * high.signum(), 1, -1] {
        if by != 0 {
            neighbours.extend(with_scaled_terms(i, case, present, by));
        }
    }
}

/// The exponent of a term's leading bit (about); `None` for zeros, infinities and NaN.
fn exponent(i: &Instruction, case: &Case, term: CaseTerm) -> Option<i32> {
    match term {
        CaseTerm::Product(at) => Some(leading(i.a, case.a[at])? + leading(i.b, case.b[case.logical(i, at)])?),
        CaseTerm::Lone(_) => None,
        CaseTerm::C => leading(i.c, case.c),
    }
}

/// Multiplies some terms of `case` by `2^by`, exactly; in products, the first factor that allows it.
fn with_scaled_terms(i: &Instruction, case: &Case, some: &[CaseTerm], by: i32) -> Option<Case> {
    let mut changed = case.clone();
    let shifted = |format: &Format, code: u64| {
        let datum = format.decode(code);
        match datum.is_finite() && datum.significand != 0 {
            true => exact_code(format, datum.negative, datum.significand, datum.exponent + by),
            false => Some(code),
        }
    };
    for term in some {
        match *term {
            CaseTerm::Product(at) => {
                let k = case.logical(i, at);
                match shifted(i.a, case.a[at]) {
                    Some(code) => changed.a[at] = code,
                    None => changed.b[k] = shifted(i.b, case.b[k])?,
                }
            }
            CaseTerm::Lone(_) => {}
            CaseTerm::C => changed.c = shifted(i.c, case.c)?,
        }
    }
    Some(changed)
}

/// Moves a product to each lower free position.
fn lower_position(i: &Instruction, case: &Case, term: CaseTerm, neighbours: &mut Vec<Case>) {
    let CaseTerm::Product(at) = term else { return };
    let from = case.logical(i, at);
    for lower in 0..at {
        let to = case.logical(i, lower);
        if (case.a[lower], case.b[to]) == (0, 0) {
            let mut moved = case.clone();
            moved.a.swap(at, lower);
            moved.b.swap(from, to);
            neighbours.push(moved);
        }
    }
}

/// Sets the first positions in each chunk of a sparse form, and in all of them.
/// The elements of B move along.
fn plain_positions(i: &Instruction, case: &Case, neighbours: &mut Vec<Case>) {
    let Some(chunk) = i.chunk() else { return };
    let plain = |case: &Case, number: usize| {
        let mut changed = case.clone();
        let stored = number * chunk.kept..(number + 1) * chunk.kept;
        stored.clone().for_each(|at| changed.positions[at] = (at % chunk.kept) as u64);
        for k in number * chunk.length..(number + 1) * chunk.length {
            changed.b[k] = 0;
        }
        for at in stored {
            let to = changed.logical(i, at);
            changed.b[to] = case.b[case.logical(i, at)];
        }
        changed
    };
    let chunks = i.k / chunk.length;
    let each = (0..chunks).map(|number| plain(case, number));
    neighbours.extend(each.filter(|changed| changed.positions != case.positions));
    neighbours.push((0..chunks).fold(case.clone(), |case, number| plain(&case, number)));
}

/// Simplifies each scale of a block-scaled form, and all of them.
fn plain_scales(i: &Instruction, case: &Case, neighbours: &mut Vec<Case>) {
    let Some(scale) = i.scale else { return };
    let one = exact_code(scale.format, false, 1, 0).unwrap_or(0);
    let mut all = case.clone();
    all.scale_a.fill(one);
    all.scale_b.fill(one);
    neighbours.push(all);
    for at in 0..case.scale_a.len() {
        for code in simpler_codes(scale.format, case.scale_a[at]) {
            let mut changed = case.clone();
            changed.scale_a[at] = code;
            neighbours.push(changed);
        }
        for code in simpler_codes(scale.format, case.scale_b[at]) {
            let mut changed = case.clone();
            changed.scale_b[at] = code;
            neighbours.push(changed);
        }
    }
}

/// The significand without trailing zeros, and its quantum exponent.
fn odd(datum: &Decoded) -> (u64, i32) {
    let zeros = datum.significand.trailing_zeros();
    (datum.significand >> zeros, datum.exponent + zeros as i32)
}

/// The code of exactly `(-1)^negative * significand * 2^exponent`, if the format has it.
fn exact_code(format: &Format, negative: bool, significand: u64, exponent: i32) -> Option<u64> {
    let value = Real::Finite(Finite::exact(negative, significand.into(), exponent));
    let code = format.encode(&value, Rounding::Rz, Overflow::Saturate)?;
    let datum = format.decode(code);
    if !datum.is_finite() || datum.significand == 0 || datum.negative != negative {
        return None;
    }
    let zeros = significand.trailing_zeros();
    (odd(&datum) == (significand >> zeros, exponent + zeros as i32)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn exact_codes_are_exact_and_others_are_refused() {
        for format in format::FORMATS.iter().filter(|format| format.bits <= 8) {
            for code in 0..=format.code_mask() {
                let datum = format.decode(code);
                if datum.is_finite() && datum.significand != 0 {
                    let again = exact_code(format, datum.negative, datum.significand, datum.exponent);
                    assert_eq!(again.map(|code| format.decode(code)), Some(datum), "{format} {code:#x}");
                }
            }
        }
        let e4m3 = format::find("e4m3").unwrap();
        assert_eq!(exact_code(e4m3, false, 17, 0), None);
        assert_eq!(exact_code(e4m3, false, 1, 9), None);
        assert_eq!(exact_code(e4m3, false, 1, -10), None);
    }
}
