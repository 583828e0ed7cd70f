//! Classes of cases against an independent computation in integers of a fixed point.

use std::collections::HashSet;

use tcnum::{
    arithmetic::Model,
    isa::{self, Case},
};
use tcnum_engine::classes::{Capped, ClassKind as K, ClassStep, Classes, Counts, DroppedPart, Filled, TermKind, fill};

const E4M3: &str = "mma.m16n8k32.f32.e4m3.e4m3.f32";
/// Unit of the fixed point: all values of the test are multiples of `2^-UNIT`.
const UNIT: i32 = 80;

fn classes(model: &str, instruction: &str) -> Classes {
    Classes::new(Model::load(model).unwrap().evaluator(&isa::find(instruction).unwrap()).unwrap())
}

/// Exponent and value in units of a code of e4m3.
/// It has a sign, four bits of exponent with bias 7, three of the significand. The unit converts it to f16, where its subnormal numbers
/// are normal: the exponent is that of the leading bit.
fn e4m3(code: u64) -> (i32, i128) {
    let (exponent, trailing) = ((code >> 3 & 15) as i32, (code & 7) as i128);
    let significand = if exponent == 0 { trailing } else { trailing + 8 };
    let value = significand << (UNIT + exponent.max(1) - 10);
    (leading(value), if code >> 7 == 1 { -value } else { value })
}

fn leading(value: i128) -> i32 {
    127 - value.unsigned_abs().leading_zeros() as i32 - UNIT
}

fn capped(number: i32, last: i32) -> Capped {
    if number > last { Capped::Beyond(last) } else { Capped::At(number) }
}

/// Rounds to f32 (normal numbers), to nearest or toward zero, and adds the classes.
fn rounded(value: i128, nearest: bool, classes: &mut HashSet<K>) -> i128 {
    let negative = value < 0;
    if value == 0 {
        classes.insert(K::ResultZero { negative: false });
        return 0;
    }
    let quantum = 1u128 << (leading(value) - 23 + UNIT);
    let (units, rest) = (value.unsigned_abs() / quantum, value.unsigned_abs() % quantum);
    let odd = units % 2 == 1;
    let part = match rest.cmp(&(quantum / 2)) {
        _ if rest == 0 => DroppedPart::Nothing,
        std::cmp::Ordering::Less => DroppedPart::BelowHalf,
        std::cmp::Ordering::Equal => DroppedPart::Half { odd },
        std::cmp::Ordering::Greater => DroppedPart::AboveHalf,
    };
    classes.insert(K::Rounded { negative, part });
    let up = nearest && (part == DroppedPart::AboveHalf || part == DroppedPart::Half { odd: true });
    let result = (units + u128::from(up)) * quantum;
    if leading(result as i128) > leading(value) {
        classes.insert(K::RoundingCarry);
    }
    if negative { -(result as i128) } else { result as i128 }
}

/// The classes of the sum of two products, of its rounding, and of the addition of c.
fn expected(products: [(i32, i128); 2], c: i128) -> [HashSet<K>; 3] {
    let mut sets = [HashSet::new(), HashSet::new(), HashSet::new()];
    let [sum, result, added] = &mut sets;
    let products: Vec<(i32, i128)> = products.into_iter().filter(|(_, value)| *value != 0).collect();
    let largest = products.iter().map(|(exponent, _)| *exponent).max();
    let mut kept = Vec::new();
    for (exponent, value) in &products {
        let distance = largest.unwrap() - exponent;
        sum.insert(K::Shift(TermKind::Product, capped(distance, 26)));
        let quantum = 1i128 << (largest.unwrap() - 25 + UNIT);
        let part = value / quantum * quantum;
        if part != *value {
            sum.insert(K::Cut { term: TermKind::Product, negative: *value < 0 });
        }
        if part == 0 {
            sum.insert(K::CutWhole(TermKind::Product));
        }
        kept.push(part);
    }
    let total: i128 = kept.iter().sum();
    if let Some(highest) = kept.iter().filter(|part| **part != 0).map(|part| leading(*part)).max() {
        if total == 0 {
            sum.insert(K::CancelsToZero);
        } else if leading(total) > highest {
            sum.insert(K::SumCarry(leading(total) - highest));
        } else if leading(total) < highest && kept.iter().any(|part| *part < 0) && kept.iter().any(|part| *part > 0) {
            sum.insert(K::Cancellation(capped(highest - leading(total), 26)));
        }
    }
    let value = rounded(total, false, result);
    if value != 0 && c != 0 {
        let distance = leading(value) - leading(c);
        added.insert(match distance {
            0.. => K::FirstLarger(capped(distance, 25)),
            _ => K::SecondLarger(capped(-distance, 25)),
        });
        let highest = leading(value).max(leading(c));
        match value + c {
            0 => drop(added.insert(K::CancelsToZero)),
            sum if leading(sum) > highest => drop(added.insert(K::SumCarry(leading(sum) - highest))),
            sum if leading(sum) < highest => {
                added.insert(K::Cancellation(capped(highest - leading(sum), 25)));
            }
            _ => {}
        }
    }
    rounded(value + c, true, added);
    sets
}

#[test]
fn each_class_is_reported_exactly_when_it_occurs() {
    let classes = classes("hopper", E4M3);
    let number = |value: f32| ((f64::from(value) * 2f64.powi(UNIT)) as i128, u64::from(value.to_bits()));
    let tie = 1.0 + f32::EPSILON;
    let others = [
        (0x00, 0x00, 0.0),
        (0x38, 0x38, tie),
        (0xb8, 0x7e, -448.0),
        (0x01, 0x01, 2f32.powi(-30)),
        (0x81, 0x39, -tie / 512.0),
    ];
    let mut seen = HashSet::new();
    for (a1, b1, c) in others {
        for a0 in (0..=255).filter(|code| code & 0x7f != 0x7f) {
            for b0 in (0..=255).step_by(7).filter(|code| code & 0x7f != 0x7f) {
                let mut case = Case::zeros(classes.instruction());
                (case.a[0], case.b[0], case.a[1], case.b[1]) = (a0, b0, a1, b1);
                let (c, code) = number(c);
                case.c = code;
                let product = |a: u64, b: u64| {
                    let ((ea, a), (eb, b)) = (e4m3(a), e4m3(b));
                    (ea + eb, (a >> (UNIT / 2)) * (b >> (UNIT / 2)))
                };
                let expected = expected([product(a0, b0), product(a1, b1)], c);
                let places = classes.of(&case).places;
                for (step, set) in [1, 2, 6].into_iter().zip(&expected) {
                    let given: HashSet<K> = places
                        .iter()
                        .map(|at| classes.list()[*at])
                        .filter(|(other, _)| *other == ClassStep::Number(step))
                        .map(|(_, kind)| kind)
                        .collect();
                    assert_eq!(given, *set, "step {step} of {case:x?}");
                    seen.extend(set.iter().map(|kind| (step, *kind)));
                }
            }
        }
    }
    assert!(seen.len() > 80, "{}", seen.len());
}

#[test]
fn an_input_of_a_hole_has_its_class() {
    for (model, name) in
        [("hopper", E4M3), ("volta", "mma.m8n8k4.f32.f16.f16.f32"), ("hopper", "mma.m8n8k4.f64.f64.f64.f64")]
    {
        let classes = classes(model, name);
        let mut filled = Filled { inputs: Vec::new(), tried: 0 };
        fill(&classes, &Counts::new(&classes), 1, 6000, &mut filled).unwrap();
        assert!(filled.inputs.iter().flatten().count() * 2 > classes.list().len(), "{name}");
        for (at, input) in filled.inputs.iter().enumerate() {
            let Some(input) = input else { continue };
            let fed_back = classes.of(input);
            assert!(fed_back.places.contains(&at), "{name}: {:?} by {input:x?}", classes.list()[at]);
            assert_eq!(fed_back.d, classes.evaluator().dot(input));
        }
    }
}

#[test]
fn counts_do_not_depend_on_their_parts() {
    let classes = classes("hopper", E4M3);
    let cases = tcnum::inputs::Corners::cases(classes.instruction());
    let (mut all, mut parts) = (Counts::new(&classes), [Counts::new(&classes), Counts::new(&classes)]);
    for (number, case) in cases.iter().enumerate() {
        all.add(&classes, number as u64, case, Some(classes.evaluator().dot(case)));
        parts[number % 2].add(&classes, number as u64, case, Some(classes.evaluator().dot(case) ^ 1));
    }
    let [mut first, second] = parts;
    first.merge(second);
    let numbers = |counts: &Counts| -> Vec<(u64, Option<u64>)> {
        let of =
            |class: &tcnum_engine::classes::Exercised| (class.cases, class.first.as_ref().map(|(number, _)| *number));
        counts.classes.iter().map(of).collect()
    };
    assert_eq!(numbers(&all), numbers(&first));
    assert_eq!((all.differing, first.differing), (0, cases.len() as u64));
}
