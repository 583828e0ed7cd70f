//! The sum of a program as a tree, with equal parts joined: for pictures and sentences.

use super::joined::{chained, joined, leaves, merged};
use crate::arithmetic::{
    Destination, ElementaryOperation, Factors, IntegerSum, Multiply, Program, Scaling, Source, Sum, Wrap,
};

/// Leaves from which on two equal parts are joined; three are always.
const MANY: usize = 8;

/// A value of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Products, c or a zero.
    Leaf(Leaf),
    /// A step that adds its inputs.
    Step(Step),
}

/// A term, or several of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The name of one: `product`, `c (f32)`.
    pub(crate) name: String,
    /// The stored k of each product; empty for other terms.
    pub(crate) ks: Vec<usize>,
}

/// How a step adds its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Aligns, cuts and adds all at once.
    Aligned,
    /// Adds all at once without loss.
    Exact,
    /// An ordinary addition.
    Addition,
    /// A fused multiply-add.
    Fma,
}

/// A step, or several equal ones in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// How it adds.
    pub(crate) kind: StepKind,
    /// Its details, in lines: `aligned, cut at 25 bits RZ`.
    pub(crate) details: Vec<String>,
    /// The terms.
    pub inputs: Vec<Input>,
    /// Number of equal steps; each takes the sum of the step before.
    pub times: usize,
    /// The rounding between equal steps.
    pub between: Vec<String>,
}

/// An input of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The value.
    pub part: Part,
    /// The rounding of the value: `f32 (24 bits), RZ`.
    pub rounded: Vec<String>,
    /// How the step takes it: `cut at 24 bits`.
    pub treatment: Vec<String>,
    /// Number of equal parts.
    pub count: usize,
}

impl StepKind {
    /// Its name in pictures.
    fn name(self) -> &'static str {
        match self {
            StepKind::Aligned => "sum in one step",
            StepKind::Exact => "exact sum",
            StepKind::Addition => "sum of two",
            StepKind::Fma => "fused multiply-add",
        }
    }
}

impl Step {
    /// How it adds, in lines.
    pub fn lines(&self) -> Vec<String> {
        [self.kind.name().to_string()].into_iter().chain(self.details.iter().cloned()).collect()
    }
}

impl Leaf {
    /// Its name in a plural: `products of parts of significands`.
    pub(crate) fn plural(&self) -> String {
        self.name.replacen("product", "products", 1).replacen("exclusive or", "exclusive ors", 1)
    }

    /// The terms in lines: `8 products`, `k = 0 to 14 by 2`.
    pub fn lines(&self, count: usize) -> Vec<String> {
        match self.ks.len() {
            0 => vec![self.name.clone()],
            all => {
                let each = all / count.max(1);
                let number = match (each, count) {
                    (1, 0 | 1) => self.name.clone(),
                    (1, _) => format!("1 {} each", self.name),
                    (_, 0 | 1) => format!("{each} {}", self.plural()),
                    _ => format!("{each} {} each", self.plural()),
                };
                vec![number, format!("k = {}", range(&self.ks))]
            }
        }
    }
}

/// Numbers as a range: `0 to 15`, `0 to 14 by 2`, `0, 1, 4, 5 ... 13`.
fn range(ks: &[usize]) -> String {
    let mut ks = ks.to_vec();
    ks.sort_unstable();
    ks.dedup();
    let step = match ks[..] {
        [first, second, ..] => second - first,
        _ => 1,
    };
    match (&ks[..], ks.windows(2).all(|pair| pair[1] - pair[0] == step)) {
        ([one], _) => one.to_string(),
        ([first, .., last], true) if step == 1 => format!("{first} to {last}"),
        ([first, .., last], true) if ks.len() > 2 => format!("{first} to {last} by {step}"),
        ([x, y, z, w, .., last], _) if ks.len() > 5 => format!("{x}, {y}, {z}, {w} ... {last}"),
        _ => ks.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The tree of a program: its last value, with the conversions to D.
pub fn tree(program: &Program) -> Input {
    let builder = Builder { program };
    let (part, mut rounded) = builder.source(program.output.value);
    let d = destination_words(program.output.target.format, program.output.target.rounding.name());
    if rounded.last() != Some(&d) && !is_exact(program, &rounded) {
        rounded.push(d);
    }
    let root = Input { part: chained(part), rounded, treatment: Vec::new(), count: 1 };
    let least = if leaves(&root.part) > MANY { 2 } else { 3 };
    joined(root, least)
}

/// True if D has the format to which the last value is rounded, or the value is an integer.
fn is_exact(program: &Program, rounded: &[String]) -> bool {
    let d = program.output.target.format;
    d.is_integer() || rounded.last().is_some_and(|last| last.starts_with(&format!("{} ", d.name)))
}

fn destination_words(format: &crate::format::Format, rounding: &str) -> String {
    match format.is_integer() {
        true => format.name.to_string(),
        false => format!("{} ({} bits), {rounding}", format.name, format.fraction_bits() + 1),
    }
}

fn rounded(to: &Destination) -> String {
    destination_words(to.target.format, to.target.rounding.name())
}

struct Builder<'a> {
    program: &'a Program,
}

impl Builder<'_> {
    /// The value of a source, and its roundings.
    fn source(&self, source: Source) -> (Part, Vec<String>) {
        match source {
            Source::C => (leaf(format!("c ({})", self.program.addend().name), &[]), Vec::new()),
            Source::Zero => (leaf("+0".into(), &[]), Vec::new()),
            Source::Value(step) => self.value(step),
            Source::Product(step, at) => match self.program.products(step) {
                Some(multiply) => {
                    let factors = multiply.factors.get(at).map(|factors| vec![*factors]).unwrap_or_default();
                    let input = self.multiplied(multiply, &factors);
                    (input.part, input.rounded)
                }
                None => self.value(step),
            },
        }
    }

    fn value(&self, step: usize) -> (Part, Vec<String>) {
        match &self.program.steps[step].operation {
            ElementaryOperation::Multiply(multiply) => {
                let input = self.multiplied(multiply, &multiply.factors);
                (input.part, input.rounded)
            }
            ElementaryOperation::Sum(sum) => (self.sum(sum), Vec::new()),
            ElementaryOperation::Round { value, to, .. } => {
                let (part, mut words) = self.source(*value);
                words.push(rounded(to));
                (part, words)
            }
            ElementaryOperation::Add { terms, to, .. } => {
                let inputs = terms.iter().map(|term| self.input(*term, Vec::new())).collect();
                (step_of(StepKind::Addition, Vec::new(), inputs), vec![rounded(to)])
            }
            ElementaryOperation::Fma { factors, addend, to, .. } => {
                let product = self.product(std::slice::from_ref(factors), "product");
                let inputs = vec![product, self.input(*addend, Vec::new())];
                (step_of(StepKind::Fma, Vec::new(), inputs), vec![rounded(to)])
            }
            ElementaryOperation::Integer(sum) => (self.integer(sum), Vec::new()),
        }
    }

    fn input(&self, source: Source, treatment: Vec<String>) -> Input {
        let (part, rounded) = self.source(source);
        Input { part, rounded, treatment, count: 1 }
    }

    fn sum(&self, sum: &Sum) -> Part {
        let mut inputs = Vec::new();
        for multiply in sum.products.iter().filter_map(|step| self.program.products(*step)) {
            inputs.push(self.multiplied(multiply, &multiply.factors));
        }
        for addend in &sum.addends {
            let bits = addend.bits.map(|bits| format!("cut at {bits} bits"));
            let drop = addend.drop.map(|drop| format!("dropped {} below", drop.saturating_add(1)));
            inputs.push(self.input(addend.source, bits.into_iter().chain(drop).collect()));
        }
        let (mut kind, mut words) = (StepKind::Exact, Vec::new());
        match &sum.alignment {
            None => {}
            Some(alignment) => (kind, words) = (StepKind::Aligned, alignment.words()),
        }
        step_of(kind, words, inputs)
    }

    fn integer(&self, sum: &IntegerSum) -> Part {
        let i = &self.program.instruction;
        let ks: Vec<usize> = (0..i.stored_k()).collect();
        let name = if i.xor { "exclusive or" } else { "product" };
        let beyond = match sum.wrap {
            Wrap::Wrap => format!("modulo 2^{}", sum.bits),
            Wrap::Saturate => format!("saturated to {} bits", sum.bits),
        };
        let every = (sum.group < i.stored_k()).then(|| format!("after every {} products", sum.group));
        let of_groups = sum.group_bits.map(|bits| format!("sums of products saturated to {bits} bits"));
        let of_c = sum.c_bits.map_or_else(String::new, |bits| format!(" modulo 2^{bits}"));
        let inputs = [leaf(name.into(), &ks), leaf(format!("c ({}){of_c}", i.c.name), &[])];
        let exact = |part| Input { part, rounded: Vec::new(), treatment: Vec::new(), count: 1 };
        let words = [beyond].into_iter().chain(every).chain(of_groups).collect();
        step_of(StepKind::Exact, words, inputs.into_iter().map(exact).collect())
    }

    /// Products of a list, with their part of the scales.
    fn multiplied(&self, multiply: &Multiply, factors: &[Factors]) -> Input {
        let name = match (multiply.normalised, multiply.scaling) {
            (false, Scaling::Each) => "scaled product",
            (true, Scaling::Each) => "normalised scaled product",
            (true, _) => "normalised product",
            (false, _) => "product",
        };
        let mut input = self.product(factors, name);
        input.rounded.extend(multiply.rounded.as_ref().map(rounded));
        if let Scaling::Sums(run) = multiply.scaling {
            let inner = factors.chunks(run).map(|run| self.product(run, name));
            let step = |input| step_of(StepKind::Exact, vec!["times the scales".into()], vec![input]);
            let mut all = inner.map(|input| Input { part: step(input), ..input_of(Vec::new()) });
            let first = all.next().unwrap_or(input);
            return all.fold(first, |first, next| merged(first, next, true));
        }
        input
    }

    fn product(&self, factors: &[Factors], name: &str) -> Input {
        let complete = factors.iter().all(|pair| (pair.a, pair.b) == (u64::MAX, u64::MAX));
        let name = if complete { name.to_string() } else { format!("{name} of parts of significands") };
        let ks: Vec<usize> = factors.iter().map(|pair| pair.k).collect();
        Input { part: leaf(name, &ks), ..input_of(Vec::new()) }
    }
}

fn input_of(rounded: Vec<String>) -> Input {
    Input { part: leaf(String::new(), &[]), rounded, treatment: Vec::new(), count: 1 }
}

fn leaf(name: String, ks: &[usize]) -> Part {
    Part::Leaf(Leaf { name, ks: ks.to_vec() })
}

fn step_of(kind: StepKind, details: Vec<String>, inputs: Vec<Input>) -> Part {
    Part::Step(Step { kind, details, inputs, times: 1, between: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::Model, isa};

    /// The tree as nested words.
    fn said(input: &Input, times: usize) -> String {
        let part = match &input.part {
            Part::Leaf(leaf) => leaf.lines(times * input.count).join(" "),
            Part::Step(step) => {
                let inputs: Vec<String> =
                    step.inputs.iter().map(|inner| said(inner, times * input.count * step.times)).collect();
                format!("{} x{} ({})", step.lines().join(", "), step.times, inputs.join(" + "))
            }
        };
        format!("{}x {part} -> {}", input.count, input.rounded.join(" -> "))
    }

    fn of(model: &str, instruction: &str) -> String {
        let program = Model::load(model).unwrap().program(&isa::find(instruction).unwrap()).unwrap();
        said(&tree(&program), 1)
    }

    #[test]
    fn one_step_takes_all_products_and_c() {
        let text = of("hopper", "mma.m16n8k16.f32.bf16.bf16.f32");
        assert!(text.contains("16 products k = 0 to 15") && text.contains("c (f32)"), "{text}");
        assert!(text.contains("cut at 25 bits RZ") && text.ends_with("-> f32 (24 bits), RZ"), "{text}");
    }

    #[test]
    fn equal_steps_in_a_row_are_one() {
        let text = of("volta", "wmma.m16n16k16.f32.f16.f16.f32");
        assert!(text.contains(" x4 (") && text.contains("4 products each k = 0 to 15"), "{text}");
        let text = of("cdna4", "mfma.16x16x128.f32.e4m3.e4m3.f32");
        assert!(text.contains(" x8 (") && text.contains("8 products each k = 0 to 126 by 2"), "{text}");
    }

    /// Few parts remain of every program, and no product is lost.
    #[test]
    fn the_tree_of_every_program_is_small_and_has_all_products() {
        fn products(input: &Input) -> usize {
            match &input.part {
                Part::Leaf(leaf) => leaf.ks.len(),
                Part::Step(step) => step.inputs.iter().map(products).sum(),
            }
        }
        for model in crate::arithmetic::shipped() {
            let model = Model::load(model).unwrap();
            for i in isa::all().iter().filter(|i| model.rule(i).is_some()) {
                let root = tree(&model.program(i).unwrap());
                assert!(leaves(&root.part) <= 16, "{} {i}: {}", model.name, said(&root, 1));
                assert!(products(&root) >= i.stored_k(), "{} {i}: {}", model.name, said(&root, 1));
            }
        }
    }
}
