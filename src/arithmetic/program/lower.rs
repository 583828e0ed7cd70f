//! The shorthand keys of a rule as a program: groups of k in order, and how their results come together.

use super::{
    super::{Alignment, CPosition, Join, NanOperand, Parts, Rounded, Rule, Start, Step, ZeroSign},
    Addend, Destination, ElementaryOperation, Factors, Multiply, OperationStep, Program, Source, Sum,
    frame::Frame,
};
use crate::isa::Instruction;

/// The program of a rule without nodes.
///
/// # Errors
/// What keeps the rule from holding for this instruction, with the key.
pub(super) fn program(rule: &Rule, instruction: &Instruction) -> Result<Program, String> {
    let frame = Frame::new(rule, instruction)?;
    let mut lowering = Lowering { frame: &frame, steps: Vec::new(), group: None };
    if rule.step == Step::Integer {
        let wrap = rule.wrap.ok_or("the key 'wrap' is missing")?;
        let value = lowering.push("sum", ElementaryOperation::Integer(wrap));
        return Ok(frame.program(lowering.steps, value, false));
    }
    let value = lowering.whole()?;
    // Additions after the steps give one and the same NaN.
    let stays = rule.join == Join::Chain && rule.c == CPosition::First;
    let passes_nan = stays && rule.nan_operands.as_ref().is_some_and(|order| !order.is_empty());
    Ok(frame.program(lowering.steps, value, passes_nan))
}

struct Lowering<'a> {
    frame: &'a Frame<'a>,
    steps: Vec<OperationStep>,
    /// The group that steps belong to.
    group: Option<usize>,
}

impl Lowering<'_> {
    fn push(&mut self, name: impl Into<String>, operation: ElementaryOperation) -> Source {
        self.steps.push(OperationStep { operation, group: self.group, name: name.into() });
        Source::Value(self.steps.len() - 1)
    }

    /// Where a result goes that one of these keys names, the first that is there.
    fn to(&self, keys: &[&Option<Rounded>], zero: ZeroSign) -> Result<Destination, String> {
        let to = keys.iter().find_map(|key| key.as_ref()).ok_or("the key 'result' is missing")?;
        Ok(self.frame.destination(to, zero))
    }

    /// The groups, the additions between them, and c.
    fn whole(&mut self) -> Result<Source, String> {
        let rule = self.frame.rule;
        let scaled = self.frame.instruction.scale.is_some();
        if scaled && !matches!(rule.step, Step::Fused | Step::Exact) {
            return Err(format!("'step' is '{}', but block scales need 'fused' or 'exact'", rule.step.name()));
        }
        let groups = groups(self.frame.instruction.stored_k(), rule.group, rule.parts.as_ref());
        let zero = match rule.step {
            Step::Fused | Step::Exact => rule.zero.unwrap_or_default(),
            _ => ZeroSign::Ieee,
        };
        let result = self.to(&[&rule.result], zero)?;
        let between = self.to(&[&rule.between, &rule.result], zero)?;
        let addition = self.to(&[&rule.addition, &rule.result], ZeroSign::Ieee)?;
        let (c_first, chained) = (rule.c == CPosition::First, rule.join == Join::Chain);
        let first = if c_first { Source::C } else { Source::Zero };
        let mut total = (!chained && c_first).then_some(Source::C);
        for (number, group) in groups.iter().enumerate() {
            self.group = Some(number);
            let to = if number + 1 == groups.len() || !chained { result } else { between };
            let from = if chained { total.unwrap_or(first) } else { Source::Zero };
            let sum = self.step(group, from, to)?;
            self.group = None;
            total = Some(match total {
                Some(previous) if !chained => self.add(previous, sum, addition),
                _ => sum,
            });
        }
        let total = total.unwrap_or(first);
        Ok(if c_first { total } else { self.add(total, Source::C, addition) })
    }

    /// The sum of a group and what it starts from.
    fn step(&mut self, group: &[usize], from: Source, to: Destination) -> Result<Source, String> {
        let start_product = self.frame.rule.start == Start::Product;
        Ok(match self.frame.rule.step {
            Step::Fused | Step::Exact => self.fused(group, from, to)?,
            Step::Fma => {
                let mut sum = from;
                for (position, &k) in group.iter().enumerate() {
                    sum = match position == 0 && start_product {
                        true => {
                            let product = self.multiply(&[k], None)?;
                            self.round("product", Source::Product(product, 0), to)
                        }
                        false => {
                            let factors = Factors { k, a: u64::MAX, b: u64::MAX };
                            let nans = self.nans();
                            self.push("sum", ElementaryOperation::Fma { factors, addend: sum, to, nans })
                        }
                    };
                }
                sum
            }
            Step::Sequential => {
                let products = self.products(group)?;
                let terms = (!start_product).then_some(from).into_iter().chain(products);
                terms.collect::<Vec<_>>().into_iter().reduce(|sum, term| self.add(sum, term, to)).unwrap_or(from)
            }
            Step::Pairwise => {
                let products = self.products(group)?;
                match self.pairwise(&products, to) {
                    None => from,
                    Some(sum) if start_product => sum,
                    Some(sum) => self.add(from, sum, to),
                }
            }
            Step::Integer | Step::Tree => unreachable!("these have no groups"),
        })
    }

    fn nans(&self) -> Vec<NanOperand> {
        self.frame.rule.nan_operands.clone().unwrap_or_default()
    }

    fn add(&mut self, x: Source, y: Source, to: Destination) -> Source {
        let to = Destination { zero: ZeroSign::Ieee, ..to };
        self.push("addition", ElementaryOperation::Add { terms: [x, y], to, nans: Vec::new() })
    }

    fn round(&mut self, name: &str, value: Source, to: Destination) -> Source {
        let passes_nan = !self.nans().is_empty();
        self.push(name, ElementaryOperation::Round { value, to, passes_nan })
    }

    /// The step that makes the products of a group.
    fn multiply(&mut self, group: &[usize], rounded: Option<Destination>) -> Result<usize, String> {
        let rule = self.frame.rule;
        let multiply = Multiply {
            factors: self.frame.factors(group),
            scaling: self.frame.scaling(rule.scale_sums, group)?,
            limit: rule.product_limit,
            rounded,
            normalised: rule.normalised == Some(true) && rule.scale_sums.is_none(),
            nans: Vec::new(),
        };
        self.push("product", ElementaryOperation::Multiply(multiply));
        Ok(self.steps.len() - 1)
    }

    /// Where the products go, if they are rounded.
    fn product(&self) -> Option<Destination> {
        let to = self.frame.rule.product.as_ref()?;
        Some(self.frame.destination(to, ZeroSign::Ieee))
    }

    fn products(&mut self, group: &[usize]) -> Result<Vec<Source>, String> {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let step = self.multiply(group, self.product())?;
        let count = self.frame.factors(group).len();
        Ok((0..count).map(|at| Source::Product(step, at)).collect())
    }

    /// The sum of the first half plus the sum of the second half.
    fn pairwise(&mut self, terms: &[Source], to: Destination) -> Option<Source> {
        match terms {
            [] => None,
            [term] => Some(*term),
            _ => {
                let (left, right) = terms.split_at(terms.len() / 2);
                let (left, right) = (self.pairwise(left, to)?, self.pairwise(right, to)?);
                Some(self.add(left, right, to))
            }
        }
    }

    /// A fused or exact step: the products and c in one sum; or in lanes, which are joined; or the products first, and a
    /// late c with their sum.
    fn fused(&mut self, group: &[usize], from: Source, to: Destination) -> Result<Source, String> {
        let rule = self.frame.rule;
        let early = Addend::from(from);
        let mut sum = if let Some(lanes) = &rule.lanes {
            let runs = rule.scale_sums.unwrap_or(1);
            let mut addends = Vec::new();
            for lane in 0..lanes.period {
                let of_lane = group.chunks(runs).skip(lane).step_by(lanes.period);
                let indices: Vec<usize> = of_lane.flatten().copied().collect();
                let product = self.multiply_scaled(&indices)?;
                let sum = self.sum(vec![product], Vec::new(), rule.alignment);
                addends.push(Addend::from(self.push(format!("lane {}", lane + 1), ElementaryOperation::Sum(sum))));
            }
            addends.extend(rule.late.is_none().then_some(early));
            let alignment = Alignment { bits: lanes.bits, rounding: lanes.rounding, floor: None };
            self.sum(Vec::new(), addends, Some(alignment))
        } else {
            let product = self.multiply_scaled(group)?;
            let addends = rule.late.is_none().then_some(early).into_iter().collect();
            self.sum(vec![product], addends, rule.alignment)
        };
        if let Some(late) = &rule.late {
            let products =
                Addend { bits: Some(late.sum_bits), ..self.push("products", ElementaryOperation::Sum(sum)).into() };
            let c = Addend { bits: Some(late.c_bits), drop: late.drop, ..early };
            let bits = late.sum_bits.max(late.c_bits);
            let alignment = Alignment { bits, rounding: late.rounding, floor: late.floor };
            sum = self.sum(Vec::new(), vec![products, c], Some(alignment));
        }
        let sum = self.push("sum", ElementaryOperation::Sum(sum));
        Ok(self.round("sum", sum, to))
    }

    /// A sum whose exponent is the one that it is aligned to.
    fn sum(&self, products: Vec<usize>, addends: Vec<Addend>, alignment: Option<Alignment>) -> Sum {
        Sum { products, addends, alignment, normalised: false, nans: self.nans() }
    }

    fn multiply_scaled(&mut self, indices: &[usize]) -> Result<usize, String> {
        let product = self.product().filter(|_| self.frame.rule.scale_sums.is_none());
        self.multiply(indices, product)
    }
}

/// The groups of k indices, in the order in which they are summed.
fn groups(k: usize, group: Option<usize>, parts: Option<&Parts>) -> Vec<Vec<usize>> {
    let parts: Vec<Vec<usize>> = match parts {
        None => vec![(0..k).collect()],
        Some(Parts { period, residues }) => {
            residues.iter().map(|part| (0..k).filter(|i| part.contains(&(i % period))).collect()).collect()
        }
    };
    parts.iter().flat_map(|part| part.chunks(group.unwrap_or(k)).map(<[usize]>::to_vec)).collect()
}
