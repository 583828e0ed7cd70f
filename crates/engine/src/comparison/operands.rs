//! Operands of a case in words.

use super::Subject;
use crate::{format::Format, isa::Case};

/// Words the nonzero operands of a case: `a[0] 0x3c00 = 1, b[0] 0x4000 = 2, c 0x3f800000 = 1`.
/// Scalar instructions have all of them.
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
            for (at, &k) in met.iter().enumerate().filter(|&(at, &k)| (case.a[at], case.b[k]) != (0, 0)) {
                words.push(one(format!("a[{at}]"), a, case.a[at]));
                words.push(one(format!("b[{k}]"), b, case.b[k]));
            }
            let lone = (0..case.b.len()).filter(|k| case.b[*k] != 0 && !met.contains(k));
            words.extend(lone.map(|k| one(format!("b[{k}] (not met)"), b, case.b[k])));
            if let Some(scale) = subject.scale() {
                for (name, codes) in [("scale a", &case.scale_a), ("scale b", &case.scale_b)] {
                    words.extend(codes.iter().enumerate().map(|(at, code)| one(format!("{name}[{at}]"), scale, *code)));
                }
            }
            words.push(one("c".into(), c, case.c));
            words
        }
    };
    words.join(", ")
}
