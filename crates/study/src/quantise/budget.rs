//! The format of each tensor under a budget of bits, with the least loss within it.
//!
//! Tensors that loaders fuse into one product take one format. The sums of bits and losses of the products so far are kept where no other
//! sum has fewer bits and less loss. Of many such sums, some at even distances are kept: the result then is near the least loss, and
//! always within the budget.

use std::collections::BTreeMap;

use super::{QuantisationTarget, target::ScaleScope, tensor::TensorLosses};
use crate::{
    Error, Result,
    report::{Table, counted, three_digits},
    tensor::{FileContent, Plan, Recipe, Sharing, decibels, partners},
};

/// Sums that are kept, at most.
const KEPT: usize = 1 << 12;

crate::rows! {
    /// The format of a tensor in a plan.
    pub struct PlanRow in "plan" {
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// Its format.
        to: &'static str => shown("format").essential(),
        /// The rule for scales.
        rule: Option<&'static str> => shown("rule").beside().essential(),
        /// Sharing of scales.
        per: String => shown("per").beside().essential(),
        /// Number of values.
        values: u64 => shown("values"),
        /// Bits that a value takes, its share of the scales included.
        bits: f64 => shown("bits").essential(),
        /// Energy of its values over energy of their errors.
        sqnr: Option<f64> => shown("SQNR").unit("dB").essential(),
    }
}

/// Bits and loss of a tensor, or of fused ones, in a format.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Choice {
    bits: u64,
    loss: f64,
}

impl Choice {
    fn plus(self, other: Choice) -> Choice {
        Choice { bits: self.bits + other.bits, loss: self.loss + other.loss }
    }
}

/// A tensor with its losses in each format.
#[derive(Debug, Clone)]
struct MeasuredTensor {
    name: String,
    values: u64,
    signal: f64,
    choices: Vec<Choice>,
    /// Energy of the errors in each format.
    noise: Vec<f64>,
}

/// The tensors that are planned together.
#[derive(Debug, Default)]
pub(super) struct Budget {
    tensors: Vec<MeasuredTensor>,
}

impl Budget {
    /// Adds a tensor with its losses under each target.
    pub(super) fn add(&mut self, name: &str, targets: &[QuantisationTarget], results: &[TensorLosses]) {
        let energies = |result: &TensorLosses| result.losses.losses.energies;
        let choice = |(target, result): (&QuantisationTarget, &TensorLosses)| {
            let (values, scales) = (result.losses.losses.values, result.losses.scales.0.iter().sum());
            let bits = target.bits_a_value(values, scales, result.losses.tensor_scales) * values as f64;
            // The error of the product counts as that of values which change it alike.
            let product = result.product.filter(|product| product.signal > 0.0);
            let loss = product
                .map_or(energies(result).noise, |product| product.noise / product.signal * energies(result).signal);
            Choice { bits: bits.round() as u64, loss }
        };
        let first = results.first().map(|result| &result.losses.losses);
        self.tensors.push(MeasuredTensor {
            name: name.to_string(),
            values: first.map_or(0, |losses| losses.values),
            signal: first.map_or(0.0, |losses| losses.energies.signal),
            choices: targets.iter().zip(results).map(choice).collect(),
            noise: results.iter().map(|result| energies(result).noise).collect(),
        });
    }

    /// The plan of least loss with at most so many bits a value.
    ///
    /// `names` are the formats as the user gave them.
    ///
    /// # Errors
    /// A budget below all formats; targets that are not written.
    pub(super) fn plan(self, targets: &[QuantisationTarget], names: &[String], bits: f64) -> Result<PlannedFormats> {
        if self.tensors.is_empty() {
            return Err(Error::request(format!(
                "‹budget={bits}›: every tensor holds NaNs, infinities or values that no weight has; choose others by ‹include›"
            )));
        }
        let mut products: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, tensor) in self.tensors.iter().enumerate() {
            products.entry(partners(&tensor.name)).or_default().push(at);
        }
        let values: u64 = self.tensors.iter().map(|tensor| tensor.values).sum();
        let sum = |tensors: &Vec<usize>| -> Vec<Choice> {
            let of = |target: usize| {
                tensors.iter().map(|at| self.tensors[*at].choices[target]).fold(Choice::default(), Choice::plus)
            };
            (0..targets.len()).map(of).collect()
        };
        let choices: Vec<Vec<Choice>> = products.values().map(sum).collect();
        let Some(chosen) = least(&choices, (bits * values as f64) as u64) else {
            let fewest = |choices: &Vec<Choice>| choices.iter().map(|choice| choice.bits).min().unwrap_or(0);
            let least = choices.iter().map(fewest).sum::<u64>() as f64 / values.max(1) as f64;
            return Err(Error::request(format!(
                "‹budget={bits}›: the narrowest formats of ‹to› take {} bits a value; raise the budget, or add a narrower format",
                three_digits(least)
            )));
        };
        let mut target_of = vec![0; self.tensors.len()];
        for (tensors, target) in products.values().zip(chosen) {
            tensors.iter().for_each(|at| target_of[*at] = target);
        }
        let (mut recipes, mut noise, mut bits_used) = (Vec::new(), 0.0, 0);
        let mut rows = Vec::new();
        for (tensor, at) in self.tensors.iter().zip(&target_of) {
            let target = &targets[*at];
            noise += tensor.noise[*at];
            bits_used += tensor.choices[*at].bits;
            rows.push(PlanRow {
                tensor: tensor.name.clone(),
                to: target.format_name(),
                rule: target.rule_name(),
                per: target.sharing_name(),
                values: tensor.values,
                bits: tensor.choices[*at].bits as f64 / tensor.values.max(1) as f64,
                sqnr: (tensor.signal > 0.0).then(|| decibels(tensor.noise[*at] / tensor.signal)),
            });
        }
        let mut kinds = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let of_target = self.tensors.iter().zip(&target_of).filter(|(_, chosen)| **chosen == at);
            let tensors: Vec<String> = of_target.map(|(tensor, _)| tensor.name.clone()).collect();
            if !tensors.is_empty() {
                kinds.push(format!("{} in {}", counted(tensors.len() as u64, "tensor"), target.format_name()));
                recipes.push(recipe(target, names, tensors)?);
            }
        }
        let signal: f64 = self.tensors.iter().map(|tensor| tensor.signal).sum();
        let sentence = format!(
            "The plan takes {} bits a value of {bits}, with {} dB of SQNR: {}.",
            three_digits(bits_used as f64 / values.max(1) as f64),
            three_digits(decibels(noise / signal)),
            kinds.join(", ")
        );
        Ok(PlannedFormats { sentence, table: Table::of("Plan", rows), plan: Plan { recipes } })
    }
}

/// A plan, in a sentence and as a table too.
#[derive(Debug)]
pub struct PlannedFormats {
    /// Bits, loss and formats.
    pub sentence: String,
    /// A row for each tensor.
    pub table: Table,
    /// The file.
    pub plan: Plan,
}

/// The recipe of some tensors in a target.
fn recipe(target: &QuantisationTarget, names: &[String], tensors: Vec<String>) -> Result<Recipe> {
    let name = target.format_name();
    let is_it = |given: &&String| match FileContent::named(given) {
        Ok(FileContent::Blocks(format)) => format.name == name,
        Ok(FileContent::Scalar(Some(format))) => format.name == name,
        _ => false,
    };
    let to = names.iter().find(is_it).cloned().unwrap_or_else(|| name.to_string());
    let per = match target {
        QuantisationTarget::Plain(_) => None,
        QuantisationTarget::Scaled { sharing: ScaleScope::Channel, .. } => {
            return Err(Error::request("‹per=channel›: a plan has scales for a row, a tensor or blocks; choose row"));
        }
        QuantisationTarget::Scaled { sharing, .. } => Some(sharing.to_string()),
        QuantisationTarget::Blocks { format, .. } => Some(Sharing::Block(format.rows, format.length).to_string()),
    };
    Ok(Recipe { to, scale_rule: target.rule_name().map(String::from), per, tensors })
}

/// A sum of choices, with the sum before it and the last choice.
#[derive(Clone, Copy)]
struct Sum {
    all: Choice,
    before: u32,
    last: u32,
}

/// The choice of each product with the least sum of losses within a budget of bits.
/// `None` if there is none.
fn least(products: &[Vec<Choice>], budget: u64) -> Option<Vec<usize>> {
    let fewest: Vec<u64> =
        products.iter().map(|choices| choices.iter().map(|choice| choice.bits).min()).collect::<Option<_>>()?;
    let mut rest: u64 = fewest.iter().sum();
    let mut layers = vec![vec![Sum { all: Choice::default(), before: 0, last: 0 }]];
    for (choices, fewest) in products.iter().zip(&fewest) {
        rest -= fewest;
        let mut sums = Vec::new();
        for (before, sum) in (0..).zip(layers.last()?) {
            let all = (0..).zip(choices).map(|(last, choice)| Sum { all: sum.all.plus(*choice), before, last });
            sums.extend(all.filter(|sum| sum.all.bits + rest <= budget));
        }
        sums.sort_by(|x, y| x.all.bits.cmp(&y.all.bits).then(x.all.loss.total_cmp(&y.all.loss)));
        let mut best = f64::INFINITY;
        sums.retain(|sum| {
            let better = sum.all.loss < best;
            best = best.min(sum.all.loss);
            better
        });
        layers.push(thinned(sums));
    }
    let mut at = layers.last()?.len().checked_sub(1)?;
    let mut chosen = Vec::new();
    for layer in layers[1..].iter().rev() {
        chosen.push(layer[at].last as usize);
        at = layer[at].before as usize;
    }
    chosen.reverse();
    Some(chosen)
}

/// The first sum, and the last of each of some equal intervals of bits.
fn thinned(sums: Vec<Sum>) -> Vec<Sum> {
    let (Some(first), Some(last)) = (sums.first(), sums.last()) else { return sums };
    if sums.len() <= KEPT {
        return sums;
    }
    let (start, width) = (first.all.bits, (last.all.bits - first.all.bits) / KEPT as u64 + 1);
    let interval = |sum: &Sum| (sum.all.bits - start) / width;
    let ends = |at: &usize| *at == 0 || sums.get(at + 1).is_none_or(|next| interval(next) != interval(&sums[*at]));
    (0..sums.len()).filter(ends).map(|at| sums[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn products(count: usize, seed: &mut u32) -> Vec<Vec<Choice>> {
        let mut next = |below: u32| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*seed >> 8) % below
        };
        let mut product = || {
            let size = u64::from(next(50) + 1);
            (1..=4u64).map(|at| Choice { bits: size * (at + 3), loss: f64::from(next(1000)) / at as f64 }).collect()
        };
        (0..count).map(|_| product()).collect()
    }

    fn total(products: &[Vec<Choice>], chosen: &[usize]) -> Choice {
        products.iter().zip(chosen).fold(Choice::default(), |sum, (choices, at)| sum.plus(choices[*at]))
    }

    #[test]
    fn no_choice_within_the_budget_loses_less() {
        let mut seed = 5;
        for _ in 0..200 {
            let products = products(5, &mut seed);
            let most: u64 = products.iter().map(|choices| choices[3].bits).sum();
            let budget = most * u64::from(seed % 60 + 40) / 100;
            let every =
                (0..4usize.pow(5)).map(|code| (0..5u32).map(|at| code / 4usize.pow(at) % 4).collect::<Vec<usize>>());
            let sums = every.map(|chosen| total(&products, &chosen)).filter(|sum| sum.bits <= budget);
            let best = sums.map(|sum| sum.loss).reduce(f64::min);
            let chosen = least(&products, budget).map(|chosen| total(&products, &chosen));
            assert_eq!(chosen.map(|sum| sum.loss), best);
            assert!(chosen.is_none_or(|sum| sum.bits <= budget));
        }
    }

    #[test]
    fn many_products_stay_within_the_budget_and_near_the_bound() {
        let mut seed = 11;
        let mut products = products(300, &mut seed);
        // Sizes without a common measure, so that sums are many.
        products.iter_mut().enumerate().for_each(|(at, choices)| {
            choices.iter_mut().for_each(|choice| choice.bits = choice.bits * 1_000_003 + at as u64 * 7_919);
        });
        let most: u64 = products.iter().map(|choices| choices[3].bits).sum();
        let budget = most * 7 / 10;
        let sum = total(&products, &least(&products, budget).unwrap());
        assert!(sum.bits <= budget);
        // No choice loses less than the best at any price of a bit, the price subtracted.
        let bound = |price: f64| {
            let cost = |choice: &Choice| choice.loss + price * choice.bits as f64;
            let each = products.iter().map(|choices| choices.iter().map(cost).fold(f64::INFINITY, f64::min));
            each.sum::<f64>() - price * budget as f64
        };
        let best = (0..2000).map(|at| bound(1e-9 * 1.02f64.powi(at - 1000))).fold(0.0, f64::max);
        assert!(sum.loss <= 1.01 * best, "{} {best}", sum.loss);
        assert_eq!(least(&products, 10), None);
    }
}
