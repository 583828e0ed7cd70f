//! Monotonicity: a result must not fall when no term falls.
//!
//! A sum that is aligned to its largest term violates it. If that term moves to the next exponent, or an equal product has factors with
//! larger exponents, the small terms lose their last bit, together more than the largest term has grown (Mikaitis, "Monotonicity of
//! Multi-Term Floating-Point Adders", arXiv:2304.01407).

use super::{Finding, Measurement, UNKNOWN_WIDTH, UNSUITED, says, shows, unknown};
use crate::{
    Result,
    bench::{Term, TermAnswer, power, term},
    order::Leaf,
};

/// Asks pairs of sums in which no term of the second is below its counterpart in the first.
pub(super) fn measure(all: &mut Measurement) -> Result<Finding> {
    let Some(step) = all.steps.aligned() else { return says("not seen") };
    let Some(cut) = all.cuts.of_products() else { return unknown(UNKNOWN_WIDTH) };
    let bench = &mut all.bench;
    let e = bench.top();
    let leaves = all.cuts.leaves(step);
    // Small terms are lost next to 2^e, and kept next to a smaller term.
    let small = |leaf: &Leaf| power(*leaf, false, e - 1 - cut.bits);
    let mut pairs: Vec<[Vec<Term>; 2]> = Vec::new();
    let precision = bench.i.c.fraction_bits() as i32 + 1;
    if step.has_c() {
        let below = term(Leaf::C, false, (1 << precision) - 1, 1, e - precision);
        pairs.push(with([below, power(Leaf::C, false, e)], leaves.iter().map(small).collect()));
    }
    if let [first, others @ ..] = &leaves[..] {
        let values = [term(*first, false, 3, 3, e - 3), term(*first, false, 9, 1, e - 3)];
        let mut rest: Vec<Term> = others.iter().map(small).collect();
        if step.has_c() {
            rest.push(small(&Leaf::C));
        }
        pairs.push(with(values, rest.clone()));
        // Just above half a unit of the result, for results rounded to nearest.
        if let [half, others @ ..] = others {
            for width in [bench.i.d.fraction_bits() as i32 + 1, 14] {
                let mut rest: Vec<Term> = others.iter().map(small).collect();
                rest.push(power(*half, false, e - width));
                pairs.push(with(values, rest));
            }
        }
    }
    let sums: Vec<Vec<Term>> = pairs.into_iter().flatten().collect();
    let answers = bench.sums(&sums)?;
    let falls = |pair: &&[Option<TermAnswer>]| match pair {
        [Some(x), Some(y)] => match (x.finite(), y.finite()) {
            (Some(x), Some(y)) => !x.is_zero() && x.minus(&y).significand != 0 && !x.minus(&y).negative,
            _ => false,
        },
        _ => false,
    };
    let asked = answers.chunks(2).any(|pair| pair.iter().all(Option::is_some));
    match answers.chunks(2).find(falls) {
        Some([Some(first), _]) => shows("violated", first),
        _ if asked => says("not seen"),
        _ => unknown(UNSUITED),
    }
}

/// Two sums that differ in the first term.
fn with([x, y]: [Term; 2], rest: Vec<Term>) -> [Vec<Term>; 2] {
    [x, y].map(|first| [&[first][..], &rest[..]].concat())
}
