//! Operands of a case in words.

use std::ops::RangeInclusive;

use super::Subject;
use crate::{format::Format, isa::Case};

/// Equal neighbours from which on they are one range.
const RANGE: usize = 3;

/// Words the nonzero operands of a case: `a[0] 0x3c00 = 1, b[0] 0x4000 = 2, c 0x3f800000 = 1`.
/// Scalar instructions have all of them; three or more equal neighbours are one range: `a[0..7] 0x3c00 = 1`.
pub fn operands(subject: &Subject, case: &Case) -> String {
    let [a, b, c, _] = subject.formats();
    let one = |name: String, format: &Format, code: u64| {
        format!("{name} {} = {}", format.hex(code), format.decode(code).decimal())
    };
    let words = match subject {
        Subject::Scalar(_) => {
            let c = subject.has_c().then_some(case.c);
            let named = [("a", case.a.first().copied()), ("b", case.b.first().copied()), ("c", c)];
            named.into_iter().filter_map(|(name, code)| Some(one(name.into(), a, code?))).collect()
        }
        Subject::Matrix(i) => {
            let mut words = Vec::new();
            let met: Vec<usize> = (0..case.a.len()).map(|at| case.logical(i, at)).collect();
            let pair = |at: usize| (case.a[at], case.b[met[at]]);
            for run in runs(case.a.len(), |x, y| pair(x) == pair(y) && met[y] == met[x] + (y - x)) {
                let (first, last) = (*run.start(), *run.end());
                if pair(first) != (0, 0) {
                    words.push(one(named("a", first, last), a, case.a[first]));
                    words.push(one(named("b", met[first], met[last]), b, case.b[met[first]]));
                }
            }
            let lone = (0..case.b.len()).filter(|k| case.b[*k] != 0 && !met.contains(k));
            words.extend(lone.map(|k| one(format!("b[{k}] (not met)"), b, case.b[k])));
            if let Some(scale) = subject.scale() {
                for (name, codes) in [("scale a", &case.scale_a), ("scale b", &case.scale_b)] {
                    let ranges = runs(codes.len(), |x, y| codes[x] == codes[y]);
                    words.extend(
                        ranges
                            .into_iter()
                            .map(|run| one(named(name, *run.start(), *run.end()), scale, codes[*run.start()])),
                    );
                }
            }
            words.push(one("c".into(), c, case.c));
            words
        }
    };
    words.join(", ")
}

/// The elements from `first` to `last`: `a[0]`, `a[0..7]`.
fn named(name: &str, first: usize, last: usize) -> String {
    if first == last { format!("{name}[{first}]") } else { format!("{name}[{first}..{last}]") }
}

/// The runs of places, each like its first; fewer than [`RANGE`] places are runs of one.
fn runs(length: usize, is_like: impl Fn(usize, usize) -> bool) -> Vec<RangeInclusive<usize>> {
    let mut runs = Vec::new();
    let mut first = 0;
    while first < length {
        let end = (first + 1..length).find(|at| !is_like(first, *at)).unwrap_or(length);
        match end - first >= RANGE {
            true => runs.push(first..=end - 1),
            false => runs.extend((first..end).map(|at| at..=at)),
        }
        first = end;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn equal_neighbours_are_one_range_and_each_operand_is_named_once() {
        let i = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
        let mut case = Case::dense(vec![0x3c00; 8], vec![0x4000; 8], 0);
        case.a[3] = 0;
        case.b[3] = 0;
        case.b[7] = 0;
        let words = operands(&Subject::Matrix(&i), &case);
        assert_eq!(
            words,
            "a[0..2] 0x3c00 = 1, b[0..2] 0x4000 = 2, a[4..6] 0x3c00 = 1, b[4..6] 0x4000 = 2, a[7] 0x3c00 = 1, \
             b[7] 0x0000 = 0, c 0x00000000 = 0"
        );
    }

    /// Counterexample: positions of a chunk need not ascend.
    #[test]
    fn stored_elements_in_any_order_are_no_range() {
        let i = isa::all().iter().find(|i| i.chunk().is_some_and(|chunk| chunk.any_order)).unwrap();
        let mut case = Case::zeros(i);
        case.a.fill(0x38);
        case.b.fill(0x38);
        case.positions.chunks_mut(2).for_each(|chunk| chunk.reverse());
        let words = operands(&Subject::Matrix(i), &case);
        assert!(words.contains("a[0] 0x") && words.contains("b[1] 0x"), "{words}");
    }
}
