//! The steps of a sum, what each of them does, and the rule that describes them.

use super::candidate::{candidate, program};
use crate::{
    arithmetic::{
        self, Alignment, Conversion, Destination, ElementaryOperation, Node, NodeKind, NodeResult, OverflowTest,
        Program, ResultTininess, Rounded, Rule, Subnormals, Term, ZeroSign, settings,
    },
    format::{self, Format, Overflow, Rounding},
    isa::Instruction,
    order::{Leaf, Manner, Meeting, Order},
    softfloat::ResultTarget,
};

/// A part that a step adds.
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
    /// The parts that it adds.
    pub parts: Vec<Part>,
    /// All terms below each part.
    pub leaves: Vec<Vec<Leaf>>,
    /// The way in which the parts meet, as masks showed.
    pub manner: Manner,
    /// The arithmetic of the step.
    pub arithmetic: StepArithmetic,
}

impl Step {
    /// True if it is an ordinary addition of two parts.
    fn adds(&self) -> bool {
        self.arithmetic.cut.is_none() && self.parts.len() == 2 && self.arithmetic.zero.is_none()
    }
}

/// The arithmetic of a step: how it aligns, rounds and treats its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepArithmetic {
    /// The alignment of the parts; `None` if they are added exactly.
    pub cut: Option<Alignment>,
    /// The number of lanes, and the alignment of the lanes' sums; `None` without lanes.
    /// Products whose places have the same remainder share a lane, which is aligned and added separately.
    pub lanes: Option<(usize, Alignment)>,
    /// The alignment of the products' sum with the other term, if that term is added late.
    pub late: Option<Late>,
    /// The format and rounding of the sum.
    pub target: Target,
    /// The treatment of each product before the sum.
    pub products: Products,
    /// The sign of a sum that is zero.
    /// `None`: the default of the language; for an addition of two terms this is the sign of IEEE 754.
    pub zero: Option<ZeroSign>,
}

/// The bits that are kept of a sum of products and of a late term, and the rounding of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Late {
    pub sum: i32,
    pub other: i32,
    pub rounding: Rounding,
    /// Largest distance of the late term below the largest exponent; beyond, it is dropped.
    pub drop: Option<i32>,
    pub floor: Option<i32>,
}

impl Late {
    /// The alignment of the sum and of the late term.
    fn cut(self) -> Alignment {
        Alignment { floor: self.floor, ..Alignment::new(self.sum.max(self.other), self.rounding) }
    }
}

/// The format and rounding to which numbers are rounded.
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

/// The treatment of the products of a step before they are added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Products {
    /// They stay exact.
    Exact,
    /// They stay exact; in an alignment the exponent of the leading bit counts.
    Normalised,
    /// They are rounded.
    Rounded(Target),
    /// Each is cut and rounded in a step of its own; without a target it is only cut.
    Alone(Option<Alignment>, Option<Target>),
    /// One of two products is first cut and rounded as the sum is: the first one, or the second.
    Started { second: bool },
}

impl StepArithmetic {
    /// The alignment of the sum of the products.
    fn products_cut(&self) -> Option<Alignment> {
        self.lanes.map(|(_, cut)| cut).or(self.cut)
    }

    /// The last alignment.
    fn last(&self) -> Option<Alignment> {
        self.late.map(Late::cut).or(self.products_cut())
    }
}

/// The steps of a sum, the last one first.
/// Each step comes before the steps whose results it adds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SumSteps {
    pub steps: Vec<Step>,
    /// The rounding of the last value to D.
    pub output: Rounding,
    /// The code of D for NaN.
    pub nan: u64,
    /// The keys that belong to no step.
    pub general: Rule,
}

impl SumSteps {
    /// The steps of an order before anything is known of them: exact, rounded to binary64.
    pub(super) fn of(order: &Order, nan: u64) -> Option<SumSteps> {
        let Order::Meeting(last) = order else { return None };
        let target = Target::new(format::find("f64").ok()?, Rounding::Rne);
        let products = Products::Exact;
        let arithmetic = StepArithmetic { cut: None, lanes: None, late: None, target, products, zero: None };
        let mut steps = SumSteps { steps: Vec::new(), output: Rounding::Rne, nan, general: Rule::default() };
        // A step is numbered before its parts. Not recursive, because a chain has one level for each of its steps.
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
            steps.steps.push(Step { parts, leaves, manner: meeting.manner, arithmetic });
        }
        Some(steps)
    }

    /// The steps with the keys of a rule that belong to no step.
    pub(super) fn with_general_keys(mut self, rule: &Rule) -> SumSteps {
        self.general = Rule::default();
        for (key, _) in settings().filter(|(_, setting)| setting.is_general()) {
            if let Some(value) = rule.value(&key) {
                self.general.set(&key, Some(&value));
            }
        }
        self
    }

    /// The rule that describes the steps.
    pub(super) fn rule(&self, i: &Instruction) -> Rule {
        candidate(self.written(false, i.scale.is_some()), i)
    }

    /// The rule with sums in place of ordinary additions; the zeros of sums may have any sign.
    pub(super) fn rule_of_sums(&self, i: &Instruction) -> Rule {
        candidate(self.written(true, false), i)
    }

    /// The conversion to D, if it is not to nearest.
    pub(super) fn output(&self) -> Option<Conversion> {
        let conversion = Conversion::new(self.output, Overflow::Standard);
        Some(conversion).filter(|conversion| conversion.rounding != Rounding::Rne)
    }

    /// The program with sums in place of ordinary additions.
    pub(super) fn program(&self, i: &Instruction) -> Option<Program> {
        program(&self.rule_of_sums(i), i)
    }

    /// The chain of additions that ends in step `last`.
    /// Returns the products that follow its first step, in order, and the number of the first step.
    fn chain(&self, last: usize) -> (Vec<usize>, usize) {
        let (mut at, mut added) = (last, Vec::new());
        while let (None, [Part::Product(k), Part::Step(below)] | [Part::Step(below), Part::Product(k)]) =
            (self.steps[at].arithmetic.cut, &self.steps[at].parts[..])
        {
            let Step { arithmetic, parts, .. } = &self.steps[*below];
            let started = Products::Started { second: false };
            let alike = *arithmetic == self.steps[at].arithmetic
                || StepArithmetic { products: started, ..self.steps[at].arithmetic } == *arithmetic;
            let adds = self.steps[*below].adds() && parts.iter().any(|part| matches!(part, Part::Product(_)));
            if !alike || !adds || matches!(arithmetic.products, Products::Alone(..)) {
                break;
            }
            added.push(*k);
            at = *below;
        }
        added.reverse();
        (added, at)
    }

    /// The rule of the steps, not yet a candidate.
    ///
    /// With `sums`, sums replace ordinary additions. With `has_scales`, sums replace the additions of products, because scaled products
    /// are added in sums alone.
    fn written(&self, sums: bool, has_scales: bool) -> Rule {
        let mut rule = self.general.clone();
        (rule.nan, rule.output) = (Some(self.nan), self.output());
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let (chained, first) = if sums || has_scales { (Vec::new(), number) } else { self.chain(number) };
            let arithmetic = self.steps[first].arithmetic;
            let StepArithmetic { cut, target, products: form, .. } = arithmetic;
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
                (_, None) if self.steps[first].adds() && !(sums || has_scales && !products.is_empty()) => NodeKind::Add,
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
            if let Some((period, _)) = arithmetic.lanes {
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
            if let Some(Late { sum: bits, other, drop, .. }) = arithmetic.late {
                let last = terms.pop().map_or_else(String::new, |term| term.name);
                let name = format!("n{number}s");
                rule.nodes.insert(
                    name.clone(),
                    formed(sum(&products, &terms, arithmetic.products_cut(), NodeResult::Aligned)),
                );
                products = Vec::new();
                terms = vec![Term { name, bits: Some(bits), drop: None }, Term { name: last, bits: Some(other), drop }];
            }
            let mut node = formed(sum(&products, &terms, arithmetic.last(), NodeResult::Rounded(target.rounded())));
            node.kind = kind;
            node.zero = arithmetic.zero.filter(|zero| kind == NodeKind::Sum && *zero != ZeroSign::Positive);
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
    /// The value of a key for a format and a rounding.
    pub(super) fn rounded(self) -> Rounded {
        let Target { format, rounding, overflow } = self;
        Rounded { overflow, ..Rounded::new(format, rounding) }
    }
}

/// Changes the arithmetic of step `number` of a program, as far as that needs the same operations.
pub(super) fn set(program: &mut Program, number: usize, arithmetic: &StepArithmetic, nan: u64) {
    let d = program.instruction.d;
    let destination = |target, zero| destination(target, (d, nan), zero);
    let name = format!("n{number}");
    for step in &mut program.steps {
        let Some(rest) = step.name.strip_prefix(&name) else { continue };
        // The name goes on after the number for parts of the step: p for a product, l for a lane, s for the sum before a late term.
        let kind = rest.chars().next();
        if kind.is_some_and(|kind| !['p', 'l', 's'].contains(&kind)) {
            continue;
        }
        let alone = kind == Some('p');
        let (cut, target) = match (arithmetic.products, kind) {
            (Products::Alone(cut, target), Some('p')) => (cut, target.unwrap_or(arithmetic.target)),
            (Products::Started { .. }, Some('p')) => (arithmetic.cut, arithmetic.target),
            (_, Some('l')) => (arithmetic.cut, arithmetic.target),
            (_, Some(_)) => (arithmetic.products_cut(), arithmetic.target),
            (_, None) => (arithmetic.last(), arithmetic.target),
        };
        match &mut step.operation {
            ElementaryOperation::Sum(sum) => {
                sum.alignment = cut;
                if let (Some(late), None, [sum, other]) = (arithmetic.late, kind, &mut sum.addends[..]) {
                    (sum.bits, other.bits, other.drop) = (Some(late.sum), Some(late.other), late.drop);
                }
            }
            ElementaryOperation::Round { to, .. } | ElementaryOperation::Fma { to, .. } => {
                to.target = destination(target, to.zero).target;
            }
            ElementaryOperation::Multiply(multiply) if !alone => {
                multiply.normalised = arithmetic.products == Products::Normalised;
                multiply.rounded = match arithmetic.products {
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
        overflow_test: OverflowTest::Rounded,
        target: ResultTarget { format, rounding, overflow, nan },
        subnormals: Subnormals::Keep,
        tininess: ResultTininess::After,
        zero,
    }
}
