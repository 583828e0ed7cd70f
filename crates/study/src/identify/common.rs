//! Properties that missed outputs have in common, and that agreeing outputs lack.

use super::facts::Facts;
use crate::{
    comparison::{Answer, Discrepancy},
    format::Class,
    isa::Instruction,
    report::{counted, grouped},
};

/// Part of the missed outputs for which a property must hold to be said of all of them (0 to 1).
const MOST: f64 = 0.95;
/// Part of the missed outputs for which a property must hold to be said of some of them (0 to 1).
const SOME: f64 = 0.25;
/// Largest ratio of the rate among agreeing outputs to the rate among missed ones, if said of all.
const SEPARATING: f64 = 0.5;
/// Largest such ratio of a property that is said of some.
const SEPARATING_SOME: f64 = 0.15;
/// Rate among agreeing outputs above which a second property is added (0 to 1).
const UNCLEAR: f64 = 0.1;
/// Largest number of sentences, and of properties in one.
const LONGEST: usize = 2;

/// A property of a case and its answers.
struct Predicate {
    /// The property of an output in words: `a subnormal c`.
    words: &'static str,
    holds: fn(&Facts) -> bool,
}

/// Declares predicates, a row each.
macro_rules! predicates {
    ($($words:literal => $holds:expr,)*) => { &[$(Predicate { words: $words, holds: $holds },)*] };
}

/// All predicates; among equally good ones the first is said.
const PREDICATES: &[Predicate] = predicates! {
    "a NaN among the operands" => |f| f.has_operand(Class::Nan),
    "an infinity times zero" => |f| f.products.iter().any(|term| term.class == Class::Nan) && !f.has_operand(Class::Nan),
    "infinite terms of both signs" => |f| [true, false].iter().all(|sign| f.terms().any(|term| term.class == Class::Infinite && term.negative == *sign)),
    "an infinity among the operands" => |f| f.has_operand(Class::Infinite),
    "a subnormal operand in A or B" => |f| f.has_factor(Class::Subnormal),
    "a subnormal c" => |f| f.c.class == Class::Subnormal,
    "a zero product whose other factor is large" => |f| {
        let largest = f.terms().filter(|term| term.leading.is_some()).map(|term| term.nominal).max();
        largest.is_some_and(|largest| f.products.iter().any(|term| term.half_zero && term.nominal > largest))
    },
    "only terms below the smallest normal number of D" => |f| {
        let least = f.i.d.float().map(|float| float.emin());
        f.exponents().next().is_some() && least.is_some_and(|least| f.exponents().all(|exponent| exponent < least))
    },
    "an exact sum of zero" => |f| f.exponents().count() > 1 && f.exact().is_some_and(|sum| sum.class == Class::Zero),
    "only zero terms" => |f| f.terms().all(|term| term.class == Class::Zero),
    "a negative zero among the terms" => |f| f.terms().any(|term| term.class == Class::Zero && term.negative),
    "a result that overflows" => |f| f.exact().is_some_and(|sum| sum.class == Class::Infinite) && !f.has_operand(Class::Infinite),
    "terms more than 40 bits apart" => |f| f.span() > 40,
    "terms more than 24 bits apart" => |f| f.span() > 24,
    "terms more than 12 bits apart" => |f| f.span() > 12,
    "a result more than 12 bits below the largest term" => |f| is_cancelled(f, 12),
    "a subnormal result" => |f| f.result().class == Class::Subnormal,
    "a result of zero" => |f| f.result().class == Class::Zero,
    "an infinite result" => |f| f.result().class == Class::Infinite,
    "a NaN result" => |f| f.result().class == Class::Nan,
    "no product that is not zero" => |f| f.nonzero_products() == 0,
    "1 product that is not zero" => |f| f.nonzero_products() == 1,
    "2 products that are not zero" => |f| f.nonzero_products() == 2,
    "3 products that are not zero" => |f| f.nonzero_products() == 3,
    "c = 0" => |f| f.c.class == Class::Zero,
    "a c that is not zero" => |f| f.c.class != Class::Zero,
    "products of one sign" => |f| f.nonzero_products() > 1 && one_sign(f),
    "products of both signs" => |f| f.nonzero_products() > 1 && !one_sign(f),
    "a negative result" => |f| f.result().negative,
    "a positive result" => |f| !f.result().negative,
    "a result that is not exact" => |f| f.answer.case.is_inexact(f.i),
};

/// True if all products that are not zero have one sign.
fn one_sign(f: &Facts) -> bool {
    let mut signs = f.products.iter().filter(|product| product.class != Class::Zero).map(|product| product.negative);
    let first = signs.next();
    signs.all(|sign| Some(sign) == first)
}

/// True if the result is this many bits below the largest term.
fn is_cancelled(f: &Facts, bits: i32) -> bool {
    let result = f.result();
    let finite = matches!(result.class, Class::Normal | Class::Subnormal);
    let leading = result.exponent + 63 - result.significand.leading_zeros() as i32;
    finite && f.exponents().max().is_some_and(|largest| largest - leading > bits)
}

/// The outputs for which each predicate holds.
struct Table {
    missed: Vec<Vec<bool>>,
    agreeing: Vec<Vec<bool>>,
}

impl Table {
    fn of(i: &Instruction, missed: &[Answer], agreeing: &[Answer]) -> Table {
        let row = |answer: &Answer| {
            let facts = Facts::of(i, answer);
            PREDICATES.iter().map(|predicate| (predicate.holds)(&facts)).collect()
        };
        Table { missed: missed.iter().map(row).collect(), agreeing: agreeing.iter().map(row).collect() }
    }

    /// Parts of the missed and of the agreeing outputs for which all these predicates hold (0 to 1).
    fn rates(&self, all: &[usize]) -> [f64; 2] {
        [&self.missed, &self.agreeing].map(|rows| match rows.len() {
            0 => 0.0,
            count => rows.iter().filter(|row| all.iter().all(|at| row[*at])).count() as f64 / count as f64,
        })
    }

    /// The predicate that, together with the ones in `with`, best separates missed from agreeing outputs.
    /// The predicates hold together for at least the part `least` of the missed outputs.
    fn best(&self, with: &[usize], least: f64) -> Option<usize> {
        let ratio = if least < MOST { SEPARATING_SOME } else { SEPARATING };
        let base = if with.is_empty() { 1.0 } else { self.rates(with)[1] };
        let separates = |at: usize| {
            let [missed, agreeing] = self.rates(&[with, &[at]].concat());
            (missed >= least && agreeing <= ratio * missed * base).then_some((agreeing / missed, at))
        };
        let candidates = (0..PREDICATES.len()).filter(|at| !with.contains(at)).filter_map(separates);
        candidates.min_by(|x, y| f64::total_cmp(&x.0, &y.0)).map(|(_, at)| at)
    }

    /// Up to [`LONGEST`] predicates that together separate missed from agreeing outputs.
    /// They hold together for at least the part `least` of the missed outputs.
    fn together(&self, least: f64) -> Vec<usize> {
        let mut all: Vec<usize> = self.best(&[], least).into_iter().collect();
        while !all.is_empty() && all.len() < LONGEST && self.rates(&all)[1] > UNCLEAR {
            match self.best(&all, least) {
                Some(next) => all.push(next),
                None => break,
            }
        }
        all
    }
}

/// Describes in sentences the properties that missed outputs have in common.
/// `agreeing` is a sample of the other outputs; `noun` names a missed output in words.
pub(super) fn common(i: &Instruction, missed: &[Answer], agreeing: &[Answer], noun: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut table = Table::of(i, missed, agreeing);
    let mut least = MOST;
    while sentences.len() < LONGEST && !table.missed.is_empty() {
        let all = table.together(least);
        if all.is_empty() && least == MOST && sentences.is_empty() {
            least = SOME * table.missed.len() as f64 / missed.len() as f64;
            continue;
        }
        if all.is_empty() {
            break;
        }
        sentences.push(sentence(&table, &all, missed.len(), noun));
        if least == MOST {
            break;
        }
        table.missed.retain(|row| !all.iter().all(|at| row[*at]));
    }
    sentences.extend(manner(i, missed));
    sentences
}

fn sentence(table: &Table, all: &[usize], missed: usize, noun: &str) -> String {
    let words: Vec<&str> = all.iter().map(|at| PREDICATES[*at].words).collect();
    let count = table.missed.iter().filter(|row| all.iter().all(|at| row[*at])).count();
    let who = match count == missed {
        true if missed == 1 => format!("The {noun} has"),
        true => format!("All {} have", counted(missed as u64, noun)),
        false => format!("{} of {} have", grouped(count as i64), counted(missed as u64, noun)),
    };
    let others = match table.rates(all)[1] {
        0.0 => "no agreeing one does".into(),
        rate if rate < 0.001 => "fewer than 0.1 % of the agreeing ones do".into(),
        rate => format!("{:.1} % of the agreeing ones do", 100.0 * rate),
    };
    format!("{who} {}; {others}.", words.join(" and "))
}

/// The manner in which most missed outputs differ.
fn manner(i: &Instruction, missed: &[Answer]) -> Option<String> {
    let ways: Vec<Discrepancy> =
        missed.iter().map(|answer| Discrepancy::between(i.d, answer.device, answer.model)).collect();
    let first = *ways.iter().max_by_key(|way| ways.iter().filter(|other| other == way).count())?;
    let count = ways.iter().filter(|way| **way == first).count();
    let all = if count == ways.len() { "all of them".to_string() } else { format!("{count} of {}", ways.len()) };
    (count as f64 >= MOST * ways.len() as f64 && ways.len() > 1).then(|| format!("In {all}: {}.", first.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{KeyValue, Model},
        identify::candidate::evaluator,
        inputs::{Corners, Sequence},
        isa,
        rule::Changed,
    };

    const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
    /// Random tiles that are compared.
    const TILES: usize = 400;

    /// Describes the outputs on which a model differs from the same model with other values of keys.
    fn said(model: &str, changes: &[(&str, KeyValue)]) -> Vec<String> {
        let i = Instruction { m: 4, ..isa::find(BF16).unwrap() };
        let rule = Changed::of(&Model::load(model).unwrap(), &i).unwrap().rule;
        let mut changed = rule.clone();
        for (key, value) in changes {
            assert!(changed.set(key, Some(value)));
        }
        let [ours, truth] = [rule, changed].map(|rule| evaluator(&rule, &i).expect("a valid rule"));
        let mut tiles = Corners::of(&i).tiles;
        tiles.extend(&Sequence::Random { seed: 3 }.tiles(&i, 0, TILES));
        let answers = (0..tiles.count * i.m * i.n).map(|at| {
            let case = tiles.case(&i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
            Answer { device: truth.dot(&case), model: ours.dot(&case), case }
        });
        let (missed, agreeing): (Vec<Answer>, Vec<Answer>) = answers.partition(|answer| answer.device != answer.model);
        assert!(!missed.is_empty(), "{changes:?}");
        common(&i, &missed, &agreeing, "missed output")
    }

    #[test]
    fn a_model_that_differs_in_one_property_is_described_by_it() {
        let word = KeyValue::Word;
        for (model, changes, words) in [
            ("hopper", &[("c-subnormals", word("signed-zero"))][..], "a subnormal c;"),
            (
                "hopper",
                &[("operand-subnormals", word("signed-zero")), ("c-subnormals", word("keep"))],
                "a subnormal operand in A or B;",
            ),
            ("hopper", &[("zero-terms", word("products"))], "a zero product whose other factor is large;"),
            (
                "hopper",
                &[("alignment.floor", KeyValue::Number(-126))],
                "only terms below the smallest normal number of D;",
            ),
            ("hopper", &[("nan", KeyValue::Code(0x7fc0_0000))], "a NaN result; no agreeing one does."),
            ("hopper", &[("zero", word("negative"))], "a result of zero; no agreeing one does."),
            ("hopper", &[("result.overflow", word("saturate"))], "a result that overflows;"),
            ("hopper", &[("result.rounding", word("RU"))], "a result that is not exact and a positive result;"),
            ("ampere", &[("specials", word("operands"))], "an infinity among the operands;"),
        ] {
            let said = said(model, changes).join(" ");
            assert!(said.contains(words), "{changes:?}: {said}");
        }
    }

    #[test]
    fn where_chance_decides_nothing_is_said_of_the_operands() {
        let i = Instruction { m: 4, ..isa::find(BF16).unwrap() };
        let tiles = Sequence::Random { seed: 5 }.tiles(&i, 0, TILES);
        let answers = (0..tiles.count).map(|tile| {
            let case = tiles.case(&i, tile, 0, 0);
            let hash = case.a.iter().chain(&case.b).fold(case.c, |sum, code| sum.wrapping_mul(31).wrapping_add(*code));
            Answer { device: 0x3f80_0000 ^ (hash % 2), model: 0x3f80_0000, case }
        });
        let (missed, agreeing): (Vec<Answer>, Vec<Answer>) = answers.partition(|answer| answer.device != answer.model);
        assert_eq!(common(&i, &missed, &agreeing, "missed output"), ["In all of them: 1 ulp larger on the device."]);
    }
}
