//! The arithmetic of a program in two sentences: its sum; its subnormals, zeros, infinities and NaNs.

use super::{
    joined::leaves,
    tree::{Input, Leaf, Part, Step, StepKind, tree},
};
use crate::{
    arithmetic::{
        ElementaryOperation, OppositeInfinities, OverflowTest, Program, ResultTininess, SpecialOperands, Subnormals,
        ZeroSign, ZeroTimesInfinity,
    },
    base::sentence::capitalised,
    format::Overflow,
    report::counted,
};

/// Leaves from which on a sentence does not list the steps.
const MANY: usize = 12;

/// The arithmetic of a program: `16 products and c in one sum, ... Subnormals kept; ...`
pub fn sentences(program: &Program) -> String {
    let sum = capitalised(&sum(program)) + ".";
    match exceptions(program) {
        Some(rest) => format!("{sum} {}.", capitalised(&rest)),
        None => sum,
    }
}

/// The sum of a program in words, without a full stop.
fn sum(program: &Program) -> String {
    let root = tree(program);
    if leaves(&root.part) > MANY {
        return format!("{} and c in several different steps", products(program));
    }
    let mut clauses = Vec::new();
    let last = said(&root, 1, &mut clauses);
    // Equal steps on different terms are said once.
    let mut joined: Vec<String> = Vec::new();
    for same in clauses.chunk_by(|one, next| one == next) {
        joined.push(if same.len() == 1 { same[0].clone() } else { format!("{}, {} times", same[0], same.len()) });
    }
    if joined.is_empty() { last } else { joined.join("; ") }
}

fn products(program: &Program) -> String {
    counted(program.instruction.stored_k() as u64, "product")
}

/// The words for a value in the next step; adds the clauses of its own steps, the first step first.
fn said(input: &Input, times: usize, clauses: &mut Vec<String>) -> String {
    let step = match &input.part {
        Part::Leaf(leaf) => return term(leaf, input),
        Part::Step(step) => step,
    };
    let total = times * input.count;
    let rounded = rounded(step, input);
    if let Some(leaf) = binary_tree(input, total) {
        clauses.push(format!("{} in a binary tree of additions{rounded}", term(leaf.0, leaf.1)));
        return if total > 1 { format!("the {total} sums") } else { "their sum".into() };
    }
    let terms: Vec<String> =
        together(&step.inputs).iter().map(|input| said(input, total * step.times, clauses)).collect();
    let mut terms: Vec<String> = terms.into_iter().filter(|term| term != "+0").collect();
    // c comes last.
    terms.sort_by_key(|term| term == "c" || term.starts_with("c ("));
    let all = terms.len();
    terms.dedup();
    if all > terms.len() && terms[0].contains("sum") {
        terms[0] =
            if terms[0] == "their sum" { "both sums".into() } else { terms[0].replacen("the", "both times the", 1) };
    }
    let how = how(step, total);
    let details: String = step.details.iter().map(|detail| format!(", {detail}")).collect();
    clauses.push(format!("{} {how}{details}{rounded}", terms.join(" and ")));
    if total > 1 { format!("the {total} sums") } else { "their sum".into() }
}

/// The inputs of a step; products that it takes in one way are one input.
/// A chain of additions starts with some of its products.
fn together(inputs: &[Input]) -> Vec<Input> {
    let mut all: Vec<Input> = Vec::new();
    for input in inputs {
        let alike = |other: &&mut Input| (&other.rounded, &other.treatment) == (&input.rounded, &input.treatment);
        if let Part::Leaf(leaf) = &input.part
            && !leaf.ks.is_empty()
            && let Some(first) = all.iter_mut().filter(alike).find_map(|other| match &mut other.part {
                Part::Leaf(first) if first.name == leaf.name && !first.ks.is_empty() => Some(first),
                _ => None,
            })
        {
            first.ks.extend(&leaf.ks);
        } else {
            all.push(input.clone());
        }
    }
    all
}

/// The manner of `total` equal steps, or of chains of steps.
fn how(step: &Step, total: usize) -> String {
    let (one, many) = match step.kind {
        StepKind::Aligned => ("one sum", "sums"),
        StepKind::Exact => ("one exact sum", "exact sums"),
        StepKind::Addition => ("an addition", "additions"),
        StepKind::Fma => ("a fused multiply-add", "fused multiply-adds"),
    };
    let each = step.inputs.iter().filter_map(|input| match &input.part {
        Part::Leaf(leaf) if leaf.ks.len() > total * step.times => Some(leaf.ks.len() / (total * step.times)),
        _ => None,
    });
    let each = each.max().map_or_else(String::new, |each| format!(" of {each} products each"));
    match (total, step.times) {
        (1, 1) => format!("in {one}"),
        (1, times) => format!("in a chain of {times} {many}{each}"),
        (total, 1) => format!("in {total} {many}{each}"),
        (total, times) => format!("in {total} chains of {times} {many}{each}"),
    }
}

/// The rounding of a step's value: `, rounded to f32 (24 bits), RZ`.
fn rounded(step: &Step, input: &Input) -> String {
    let last = input.rounded.join(", then to ");
    match (&step.between[..], &last[..]) {
        (_, "") => String::new(),
        (between, last) if step.times > 1 && between != input.rounded => match between {
            [] => format!(", only the last rounded, to {last}"),
            between => format!(", each rounded to {}, the last to {last}", between.join(", then to ")),
        },
        (_, last) if step.times > 1 => format!(", each rounded to {last}"),
        (_, last) => format!(", rounded to {last}"),
    }
}

/// A term in words: `16 products (each rounded to f32 (24 bits), RNE)`; `c (cut at 27 bits)`.
fn term(leaf: &Leaf, input: &Input) -> String {
    let rounded = Some(input.rounded.join(", then to ")).filter(|rounded| !rounded.is_empty());
    let rounded = rounded.map(|rounded| format!("each rounded to {rounded}"));
    let clauses: Vec<String> = rounded.into_iter().chain(input.treatment.iter().cloned()).collect();
    let remark = if clauses.is_empty() { String::new() } else { format!(" ({})", clauses.join("; ")) };
    let name = match leaf.ks.len() {
        0 if leaf.name.starts_with("c (") => "c".into(),
        0 => leaf.name.clone(),
        1 => format!("1 {}", leaf.name),
        count => format!("{count} {}", leaf.plural()),
    };
    format!("{name}{remark}")
}

/// The leaf of a binary tree of equal ordinary additions, if a value is one.
fn binary_tree(input: &Input, total: usize) -> Option<(&Leaf, &Input)> {
    let (mut outer, mut total, mut depth) = (input, total, 0);
    loop {
        match &outer.part {
            Part::Step(Step { kind: StepKind::Addition, inputs, times: 1, .. }) => {
                let [inner] = &inputs[..] else { return None };
                depth += 1;
                match &inner.part {
                    Part::Leaf(leaf) => return (depth > 1 && leaf.ks.len() == 2 * total).then_some((leaf, inner)),
                    Part::Step(_) if inner.count == 2 && inner.rounded == input.rounded => total *= 2,
                    Part::Step(_) => return None,
                }
                outer = inner;
            }
            _ => return None,
        }
    }
}

/// The treatment of subnormals, zeros, infinities and NaNs; `None` for integers.
fn exceptions(program: &Program) -> Option<String> {
    let i = &program.instruction;
    if i.d.is_integer() {
        return None;
    }
    let mut parts = Vec::new();
    // A conversion to an operand's own format changes nothing.
    let formats = [i.a, i.b, i.c];
    let [a, b, c] = std::array::from_fn(|at| program.unpack[at].wider.filter(|wider| *wider != formats[at]));
    let wider = if a == b { vec![("A and B", a), ("C", c)] } else { vec![("A", a), ("B", b), ("C", c)] };
    parts.extend(wider.into_iter().filter_map(|(name, wider)| Some(format!("{name} first converted to {}", wider?))));
    parts.extend(subnormals(program));
    let [a, _, c] = program.unpack.map(|unpack| unpack.zeros);
    parts.extend(match (a, c) {
        (true, true) => Some("zero terms count in the alignment".to_string()),
        (true, false) => Some("zero products count in the alignment".into()),
        (false, true) => Some("a zero c counts in the alignment".into()),
        (false, false) => None,
    });
    let destinations: Vec<_> = program.operations().filter_map(ElementaryOperation::destination).collect();
    parts.extend(destinations.last().and_then(|to| match to.zero {
        ZeroSign::Positive | ZeroSign::Ieee => None,
        ZeroSign::Negative => Some("a zero result is -0".to_string()),
        ZeroSign::ExactPositive => Some("an exact zero is +0".to_string()),
        ZeroSign::Common => Some("a zero sum of negative terms is -0".to_string()),
    }));
    let overflow = destinations.iter().map(|to| to.target.overflow).chain([program.output.target.overflow]);
    parts.extend(overflow.into_iter().find_map(|overflow| match overflow {
        Overflow::Standard => None,
        Overflow::Infinity => Some("overflow to infinity".to_string()),
        Overflow::Nan => Some("overflow to NaN".to_string()),
        Overflow::Saturate => Some("overflow saturates".to_string()),
        Overflow::SaturateFinite => Some("overflow of finite results saturates".to_string()),
    }));
    let exact = destinations.iter().any(|to| to.overflow_test == OverflowTest::Exact);
    parts.extend(exact.then(|| "overflow decided before rounding".to_string()));
    parts.extend(program.specials.is_some().then(|| "infinities and NaNs decided before the sum".to_string()));
    parts.extend(special_values(program));
    parts.push(match program.output.passes_nan {
        true => "NaNs keep their payload".into(),
        false => format!("every NaN is {}", i.d.hex(program.output.target.nan)),
    });
    Some(parts.join("; "))
}

/// Treatments of infinities and NaNs that differ from IEEE 754.
fn special_values(program: &Program) -> Vec<String> {
    let mut words = Vec::new();
    let [a, _, c] = program.unpack.map(|unpack| unpack.specials);
    let operands = if a == c { vec![(a, "operands")] } else { vec![(a, "a and b"), (c, "c")] };
    for (specials, operands) in operands {
        words.extend(match specials {
            SpecialOperands::Keep => None,
            SpecialOperands::Nan => Some(format!("infinite {operands} count as NaN")),
            SpecialOperands::Finite => Some(format!("codes of infinities and NaNs are numbers in {operands}")),
        });
    }
    words.extend(match program.invalid.zero_times_infinity {
        ZeroTimesInfinity::Nan => None,
        ZeroTimesInfinity::Zero => Some("infinity times zero is zero".to_string()),
        ZeroTimesInfinity::Infinity => Some("infinity times zero is infinity".to_string()),
    });
    words.extend(match program.invalid.opposite_infinities {
        OppositeInfinities::Nan => None,
        OppositeInfinities::Positive => Some("infinity minus infinity is +infinity".to_string()),
        OppositeInfinities::Negative => Some("infinity minus infinity is -infinity".to_string()),
    });
    words
}

/// The treatment of subnormal operands and results.
fn subnormals(program: &Program) -> Vec<String> {
    let zero = |how: Subnormals| match how {
        Subnormals::Keep => None,
        Subnormals::SignedZero => Some("zero"),
        Subnormals::PositiveZero => Some("+0"),
    };
    let [a, b, c] = program.unpack.map(|unpack| zero(unpack.subnormals));
    let results = program.operations().filter_map(ElementaryOperation::destination).find_map(|to| {
        let when = match to.tininess {
            ResultTininess::Before => ", judged before rounding",
            ResultTininess::After => "",
            ResultTininess::AfterUnbounded => ", judged with an unbounded exponent",
        };
        zero(to.subnormals).map(|zero| format!("{zero}{when}"))
    });
    if [a, b, c].iter().all(Option::is_none) && results.is_none() {
        return vec!["subnormals kept".into()];
    }
    let of = |names: Vec<&str>, to: &str| format!("subnormal {} become {to}", names.join(", "));
    let mut parts = Vec::new();
    for to in ["zero", "+0"] {
        let operands = [("A", a), ("B", b), ("C", c)];
        let names: Vec<&str> =
            operands.iter().filter(|(_, becomes)| *becomes == Some(to)).map(|(name, _)| *name).collect();
        parts.extend((!names.is_empty()).then(|| of(names, to)));
    }
    parts.extend(results.map(|to| of(vec!["results"], &to)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::Model, isa};

    fn of(model: &str, instruction: &str) -> String {
        sentences(&Model::load(model).unwrap().program(&isa::find(instruction).unwrap()).unwrap())
    }

    #[test]
    fn usual_arithmetics_are_two_sentences() {
        for (model, instruction, words) in [
            (
                "hopper",
                "mma.m16n8k16.f32.bf16.bf16.f32",
                "16 products and c in one sum, aligned, cut at 25 bits RZ, exponent at least -133, rounded to f32 (24 bits), \
                 RZ. Subnormals kept; overflow to infinity; every NaN is 0x7fffffff.",
            ),
            (
                "ampere",
                "mma.m8n8k4.f64.f64.f64.f64",
                "4 products and c in a chain of 4 fused multiply-adds, each rounded to f64 (53 bits), RNE. Subnormals kept; \
                 NaNs keep their payload.",
            ),
            (
                "arm",
                "bfmmla.m2n2k4.f32.bf16.bf16.f32",
                "4 products (each rounded to f32 (24 bits), RO) in 2 additions of 2 products each, rounded to f32 (24 bits), \
                 RO; the 2 sums and c in a chain of 2 additions, each rounded to f32 (24 bits), RO. Subnormal A, B, C become \
                 zero; subnormal results become zero, judged before rounding; overflow to infinity; every NaN is 0x7fc00000.",
            ),
            ("x86", "vpdpwssds.m1n16k2.s32.s16.s16.s32", "2 products and c in one exact sum, saturated to 32 bits."),
            (
                "cdna3",
                "mfma.32x32x16.f32.e4m3fnuz.e4m3fnuz.f32",
                "8 products in one sum, aligned, cut at 24 bits RZ, 2 times; both sums in one sum, aligned, cut at 24 bits \
                 RD; their sum and c (cut at 24 bits; dropped 26 below) in one sum, aligned, cut at 31 bits RD, exponent at \
                 least -126, rounded to f32 (24 bits), RNE. Subnormals kept; every NaN is 0xffc00000.",
            ),
        ] {
            assert_eq!(of(model, instruction), words);
        }
    }

    #[test]
    fn every_shipped_arithmetic_is_said_in_few_words_that_count_its_products() {
        for model in crate::arithmetic::shipped() {
            let model = Model::load(model).unwrap();
            for i in isa::all().iter().filter(|i| model.rule(i).is_some()) {
                let words = sentences(&model.program(i).unwrap());
                assert!(words.ends_with('.') && words.len() < 600, "{} {i}: {words}", model.name);
                assert!(!words.contains(",,") && !words.contains("  "), "{} {i}: {words}", model.name);
                assert!(words.contains("product") || words.contains("exclusive or"), "{} {i}: {words}", model.name);
            }
        }
    }
}
