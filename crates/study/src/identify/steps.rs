//! The steps of a sum with what each does, and the rule that says so.

use super::candidate::{candidate, program};
use crate::{
    arithmetic::{
        self, Alignment, Conversion, Destination, ElementaryOperation, Node, NodeKind, NodeResult, Program,
        ResultTininess, Rounded, Rule, Subnormals, Term, ZeroSign,
    },
    format::{self, Format, Overflow, Rounding},
    isa::Instruction,
    order::{Leaf, Manner, Meeting, Order},
    softfloat::ResultTarget,
};

/// What a step adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The element of C.
    C,
    /// The product with this stored k.
    Product(usize),
    /// The result of another step.
    Step(usize),
}

impl Part {
    /// The stored k of a product.
    pub(super) fn product(&self) -> Option<usize> {
        match self {
            Part::Product(k) => Some(*k),
            _ => None,
        }
    }
}

/// One step of a sum.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// What it adds.
    pub parts: Vec<Part>,
    /// The terms of each part.
    pub leaves: Vec<Vec<Leaf>>,
    /// How masks saw the parts meet.
    pub manner: Manner,
    /// What it does.
    pub own: Own,
}

impl Step {
    /// Whether it is an ordinary addition of two.
    fn adds(&self) -> bool {
        self.own.cut.is_none() && self.parts.len() == 2 && self.own.zero.is_none()
    }
}

/// What a step does with its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Own {
    /// How it aligns them; `None`: it adds them exactly.
    pub cut: Option<Alignment>,
    /// Products whose places differ by remainder are aligned and added apart: the period, and how these sums are aligned.
    pub lanes: Option<(usize, Alignment)>,
    /// How the sum of the products is aligned with what is not a product, where that comes after them.
    pub late: Option<Late>,
    /// What the sum is rounded to.
    pub target: Target,
    /// What becomes of each product before.
    pub products: Products,
    /// The sign of a sum that is zero; `None`: what is meant where a rule says nothing, of two terms that of IEEE 754.
    pub zero: Option<ZeroSign>,
}

/// The bits that are kept of a sum of products and of what is added late, and how the rest is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Late {
    pub sum: i32,
    pub other: i32,
    pub rounding: Rounding,
    /// How far below the largest exponent what is added late is left out.
    pub drop: Option<i32>,
    pub floor: Option<i32>,
}

impl Late {
    /// The alignment of both.
    fn cut(self) -> Alignment {
        Alignment { floor: self.floor, ..Alignment::new(self.sum.max(self.other), self.rounding) }
    }
}

/// What numbers are rounded to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    pub format: &'static Format,
    pub rounding: Rounding,
    pub overflow: Overflow,
}

impl Target {
    /// Rounding to a format whose overflow is the usual one.
    pub(super) fn new(format: &'static Format, rounding: Rounding) -> Target {
        Target { format, rounding, overflow: Overflow::Standard }
    }
}

/// What becomes of the products of a step before they are added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Products {
    /// They stay what they are.
    Exact,
    /// They stay what they are; in an alignment the exponent of the leading bit counts.
    Normalised,
    /// They are rounded.
    Rounded(Target),
    /// Each is cut and rounded in a step of its own; without a target it is only cut.
    Alone(Option<Alignment>, Option<Target>),
    /// The first of two is cut and rounded as the sum is, the first one or the second.
    Started { second: bool },
}

impl Own {
    /// How the sum of the products is aligned.
    fn whole(&self) -> Option<Alignment> {
        self.lanes.map(|(_, cut)| cut).or(self.cut)
    }

    /// The last alignment.
    fn last(&self) -> Option<Alignment> {
        self.late.map(Late::cut).or(self.whole())
    }
}

/// The steps of a sum: the last one first, each before those that it takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SumSteps {
    pub steps: Vec<Step>,
    /// How the last value becomes a number of D.
    pub output: Rounding,
    /// The code of D for NaN.
    pub nan: u64,
}

impl SumSteps {
    /// The steps of an order, as they are where nothing is known: exact, in binary64.
    pub(super) fn of(order: &Order, nan: u64) -> Option<SumSteps> {
        let Order::Meeting(last) = order else { return None };
        let target = Target::new(format::find("f64").ok()?, Rounding::Rne);
        let products = Products::Exact;
        let own = Own { cut: None, lanes: None, late: None, target, products, zero: None };
        let mut steps = SumSteps { steps: Vec::new(), output: Rounding::Rne, nan };
        // A step takes its number before those that it takes, without recursion: chains are as deep as they are long.
        let mut open: Vec<(&Meeting, Option<(usize, usize)>)> = vec![(last, None)];
        while let Some((meeting, place)) = open.pop() {
            let number = steps.steps.len();
            if let Some((parent, part)) = place {
                steps.steps[parent].parts[part] = Part::Step(number);
            }
            let mut parts = Vec::new();
            for (at, part) in meeting.parts.iter().enumerate() {
                parts.push(match part {
                    Order::Leaf(Leaf::C) => Part::C,
                    Order::Leaf(Leaf::Product(k)) => Part::Product(*k),
                    Order::Meeting(below) => {
                        open.push((below, Some((number, at))));
                        Part::C
                    }
                });
            }
            let leaves = meeting.parts.iter().map(|part| part.leaves().into_iter().collect()).collect();
            steps.steps.push(Step { parts, leaves, manner: meeting.manner, own });
        }
        Some(steps)
    }

    /// The rule.
    pub(super) fn rule(&self, i: &Instruction) -> Rule {
        candidate(self.written(false, i.scale.is_some()), i)
    }

    /// The rule in which what could be ordinary additions are sums, whose zeros may have any sign.
    pub(super) fn rule_of_sums(&self, i: &Instruction) -> Rule {
        candidate(self.written(true, false), i)
    }

    /// The conversion to D, where it is not to nearest.
    pub(super) fn output(&self) -> Option<Conversion> {
        let conversion = Conversion { rounding: self.output, overflow: Overflow::Standard };
        Some(conversion).filter(|conversion| conversion.rounding != Rounding::Rne)
    }

    /// The program in which every step that may be one is a sum.
    pub(super) fn program(&self, i: &Instruction) -> Option<Program> {
        program(&self.rule_of_sums(i), i)
    }

    /// The steps that are one chain of additions with this one, which is the last of them: the products that they add, in order; and
    /// the first of them.
    fn chain(&self, last: usize) -> (Vec<usize>, usize) {
        let (mut at, mut added) = (last, Vec::new());
        while let (None, [Part::Product(k), Part::Step(below)] | [Part::Step(below), Part::Product(k)]) =
            (self.steps[at].own.cut, &self.steps[at].parts[..])
        {
            let Step { own, parts, .. } = &self.steps[*below];
            let started = Products::Started { second: false };
            let alike = *own == self.steps[at].own || Own { products: started, ..self.steps[at].own } == *own;
            let adds = self.steps[*below].adds() && parts.iter().any(|part| matches!(part, Part::Product(_)));
            if !alike || !adds || matches!(own.products, Products::Alone(..)) {
                break;
            }
            added.push(*k);
            at = *below;
        }
        added.reverse();
        (added, at)
    }

    /// The rule; with `sums` what could be ordinary additions are sums, too, and where products are scaled those of them:
    /// they are added in sums alone.
    fn written(&self, sums: bool, scaled: bool) -> Rule {
        let mut rule = Rule::default();
        (rule.nan, rule.output) = (Some(self.nan), self.output());
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let (chained, first) = if sums || scaled { (Vec::new(), number) } else { self.chain(number) };
            let own = self.steps[first].own;
            let Own { cut, target, products: form, .. } = own;
            let (mut products, mut terms) = (Vec::new(), Vec::new());
            let mut alone = |k: usize, cut: Option<Alignment>, result: NodeResult| {
                let name = format!("n{number}p{k}");
                rule.nodes.insert(name.clone(), sum(&[k], &[], cut, result));
                Term::from(name)
            };
            for part in &self.steps[first].parts {
                match (part, form) {
                    (Part::Product(k), Products::Alone(cut, target)) => {
                        let to = target.map_or(NodeResult::Aligned, |target| NodeResult::Rounded(target.rounded()));
                        terms.push(alone(*k, cut, to));
                    }
                    (Part::Product(k), Products::Started { second }) if cut.is_some() => {
                        let of_both = self.steps[first].parts.iter().filter_map(Part::product);
                        match of_both.clone().nth(usize::from(second)) == Some(*k) {
                            true => terms.push(alone(*k, cut, NodeResult::Rounded(target.rounded()))),
                            false => products.push(*k),
                        }
                    }
                    (Part::Product(k), _) => products.push(*k),
                    (Part::C, _) => terms.push(Term::from("c".to_string())),
                    (Part::Step(below), _) => {
                        terms.push(Term::from(format!("n{below}")));
                        open.push(*below);
                    }
                }
            }
            let kind = match (form, cut) {
                (Products::Started { .. }, None) => NodeKind::Fma,
                (_, None) if self.steps[first].adds() && !(sums || scaled && !products.is_empty()) => NodeKind::Add,
                _ => NodeKind::Sum,
            };
            if form == (Products::Started { second: true }) && cut.is_none() {
                products.reverse();
            }
            products.extend(chained);
            let formed = |mut node: Node| {
                if node.products.is_some() && kind != NodeKind::Fma {
                    node.normalised = (form == Products::Normalised && cut.is_some()).then_some(true);
                    node.product = match form {
                        Products::Rounded(target) => Some(target.rounded()),
                        _ => None,
                    };
                }
                node
            };
            if let Some((period, _)) = own.lanes {
                let mut lanes = Vec::new();
                for lane in 0..period.min(products.len()) {
                    let of_lane: Vec<usize> = products.iter().copied().skip(lane).step_by(period).collect();
                    let name = format!("n{number}l{lane}");
                    rule.nodes.insert(name.clone(), formed(sum(&of_lane, &[], cut, NodeResult::Aligned)));
                    lanes.push(Term::from(name));
                }
                lanes.append(&mut terms);
                (products, terms) = (Vec::new(), lanes);
            }
            if let Some(Late { sum: bits, other, drop, .. }) = own.late {
                let last = terms.pop().map_or_else(String::new, |term| term.name);
                let name = format!("n{number}s");
                rule.nodes.insert(name.clone(), formed(sum(&products, &terms, own.whole(), NodeResult::Aligned)));
                products = Vec::new();
                terms = vec![Term { name, bits: Some(bits), drop: None }, Term { name: last, bits: Some(other), drop }];
            }
            let mut node = formed(sum(&products, &terms, own.last(), NodeResult::Rounded(target.rounded())));
            node.kind = kind;
            node.zero = own.zero.filter(|zero| kind == NodeKind::Sum && *zero != ZeroSign::Positive);
            rule.nodes.insert(format!("n{number}"), node);
        }
        rule
    }
}

/// A node that sums these products and terms.
fn sum(products: &[usize], terms: &[Term], cut: Option<Alignment>, result: NodeResult) -> Node {
    let mut node = Node::default();
    node.products = Some(products).filter(|products| !products.is_empty()).map(|products| products.to_vec().into());
    (node.terms, node.alignment, node.result) = (terms.to_vec(), cut, Some(result));
    node
}

impl Late {
    /// The value of the key `late`.
    pub(super) fn late(self) -> arithmetic::Late {
        let Late { sum, other, rounding, drop, floor } = self;
        arithmetic::Late { drop, floor, ..arithmetic::Late::new([sum, other], rounding) }
    }
}

impl Target {
    /// The value of a key that says what numbers are rounded to.
    pub(super) fn rounded(self) -> Rounded {
        let Target { format, rounding, overflow } = self;
        Rounded { overflow, ..Rounded::new(format, rounding) }
    }
}

/// Lets the step with this number of a program do something else, as far as that takes no other operations.
pub(super) fn set(program: &mut Program, number: usize, own: &Own, nan: u64) {
    let d = program.instruction.d;
    let destination = |target, zero| destination(target, (d, nan), zero);
    let name = format!("n{number}");
    for step in &mut program.steps {
        let Some(rest) = step.name.strip_prefix(&name) else { continue };
        // The step itself, or a part of it.
        let kind = rest.chars().next();
        if kind.is_some_and(|kind| !['p', 'l', 's'].contains(&kind)) {
            continue;
        }
        let alone = kind == Some('p');
        let (cut, target) = match (own.products, kind) {
            (Products::Alone(cut, target), Some('p')) => (cut, target.unwrap_or(own.target)),
            (Products::Started { .. }, Some('p')) => (own.cut, own.target),
            (_, Some('l')) => (own.cut, own.target),
            (_, Some(_)) => (own.whole(), own.target),
            (_, None) => (own.last(), own.target),
        };
        match &mut step.operation {
            ElementaryOperation::Sum(sum) => {
                sum.alignment = cut;
                if let (Some(late), None, [sum, other]) = (own.late, kind, &mut sum.addends[..]) {
                    (sum.bits, other.bits, other.drop) = (Some(late.sum), Some(late.other), late.drop);
                }
            }
            ElementaryOperation::Round { to, .. } | ElementaryOperation::Fma { to, .. } => {
                *to = destination(target, to.zero);
            }
            ElementaryOperation::Multiply(multiply) if !alone => {
                multiply.normalised = own.products == Products::Normalised;
                multiply.rounded = match own.products {
                    Products::Rounded(target) => Some(destination(target, ZeroSign::Ieee)),
                    _ => None,
                };
            }
            _ => {}
        }
    }
}

fn destination(target: Target, (d, nan): (&Format, u64), zero: ZeroSign) -> Destination {
    let Target { format, rounding, overflow } = target;
    let nan = if format == d { nan } else { format.nan().unwrap_or(0) };
    Destination {
        target: ResultTarget { format, rounding, overflow, nan },
        subnormals: Subnormals::Keep,
        tininess: ResultTininess::After,
        zero,
    }
}
