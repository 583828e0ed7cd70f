//! Bounds of the errors of products, in the arithmetic of each device.

use super::{
    Block, Chapter, Results, Source,
    arithmetic::Arithmetic,
    rows::Rows,
    sheets::{Sheet, short},
};
use crate::{
    Result,
    arithmetic::Model,
    base::distinct::distinct,
    bound::{Adversary, explain::explain, tables::relative_of},
    isa,
    product::{Schedule, bound::Claim},
    report::{Report, three_digits},
};

/// Terms of the sums whose bounds are compared with the literature.
const TERMS: usize = 4096;
/// Beginnings of the names of the literature's bounds.
const OTHERS: [&str; 2] = ["gamma_k", "block FMA"];

/// The bounds of instructions.
pub(super) struct Bounds(Vec<(String, BoundCells)>);

/// The cells of a bound.
///
/// Numbers: errors of the first and of a later step; for [`TERMS`] the bound, the attained error, and the bounds of the literature.
#[derive(Debug, Clone, PartialEq)]
struct BoundCells {
    instruction: String,
    losses: String,
    numbers: [f64; 6],
}

impl Bounds {
    /// The bounds of the first instruction of each arithmetic, in the model of its device.
    pub(super) fn of(all: &[Arithmetic], results: &Results) -> Bounds {
        let cells = |one: &Arithmetic| {
            Some((short(&one.chip), cells(&results.model_of(&one.chip)?, one.instructions.first()?).ok()??))
        };
        Bounds(all.iter().filter_map(cells).collect())
    }

    /// The least and the largest bound, in a sentence.
    pub(super) fn sentence(&self) -> Option<String> {
        let bound = |(device, cells): &(String, BoundCells)| {
            (cells.numbers[2], format!("{} ({} on {device})", three_digits(cells.numbers[2]), cells.instruction))
        };
        let mut all: Vec<(f64, String)> = self.0.iter().map(bound).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (least, most) = (all.first()?, all.last()?);
        Some(format!(
            "Relative to the sum of |a b|, the largest error of a sum of {TERMS} products is bounded by {} to {}.",
            least.1, most.1
        ))
    }

    /// The chapter.
    pub(super) fn chapter(&self) -> Chapter {
        if self.0.is_empty() {
            return Chapter { id: "bounds", heading: "Bounds", blocks: Vec::new() };
        }
        let exceeded = self.0.iter().filter(|(_, cells)| cells.numbers[3] > cells.numbers[5]).count();
        let formula = format!(
            "Let S be the sum of |a b|, L = k / k' the instructions that follow each other for one element of D, each with k' products, u the \
             unit of an alignment, and w the unit of a rounded result. For normal operands, without overflow, and for every order of k: \
             |D - exact| \u{2264} S (r + (L - 1) s), where r is the relative error of the first instruction and s the error of a later one, which \
             also has the sum of those before it. Both follow from the operations of the model; each loses what the column says. For one \
             fused sum of n products and c, cut at F bits toward zero and rounded toward zero to p bits, \
             r = (n - 2) 2^-F + max(2^(1-p), 2^-F) and s = (n - 1) 2^-F + max(2^(1-p), 2^-F); where D is rounded to nearest, \
             r = (n - 1) 2^-F + 2^-p and s = n 2^-F + 2^-p. The column attained has the error of constructed operands in the model: one \
             product sets the unit, and the others lose nearly that unit in one direction. gamma_k counts one rounding for each term. The block bound takes the inside of an instruction as exact: the \
             attained errors exceed it in {exceeded} of {} instructions. The command tcnum bound --explain repeats each row",
            self.0.len()
        );
        let key = Some("higham2002accuracy,blanchard2020mixed".into());
        let labels =
            ["instruction", "lost in an operation, at most", "r", "s", "bound", "attained", "gamma_k", "block"];
        let caption = format!("Bounds relative to S, for k = {TERMS} from the column bound on");
        let mut blocks = vec![Block::Source(Source { text: formula, key })];
        let rows = self.0.iter().map(|(device, cells)| row(device, cells));
        blocks.extend(Sheet::by_device(caption, &labels, &[3, 4, 5, 6, 7, 8], rows).full());
        Chapter { id: "bounds", heading: "Bounds", blocks }
    }
}

fn row(device: &str, cells: &BoundCells) -> Vec<String> {
    let text = |number: &f64| if number.is_finite() { three_digits(*number) } else { "none".into() };
    let numbers = cells.numbers.iter().map(text);
    [device, &cells.instruction, &cells.losses].into_iter().map(String::from).chain(numbers).collect()
}

/// The bound of an instruction in a model; `None` if it makes no products or no errors.
fn cells(model: &str, name: &str) -> Result<Option<BoundCells>> {
    let Some(instruction) = isa::known(name).filter(|i| i.d.float().is_some()) else { return Ok(None) };
    let k = instruction.k;
    let schedule = Schedule::new(instruction)?;
    let claim = Claim::of_schedule(Model::load(model)?, schedule.clone());
    let mut report = Report::new("bound", String::new());
    explain(&claim, &[TERMS], &mut report)?;
    let [operations, forms] = &report.tables[..] else { return Ok(None) };
    let formulas = Rows(operations)
        .iter()
        .map(|line| line.text("formula").replace("; 0 if the value has its format", " (0 if it fits)"));
    let losses = distinct(formulas.filter(|formula| !formula.starts_with("0 ")));
    let first = relative_of(&claim, k)?;
    let value = |name: &str| {
        Rows(forms).iter().find(|line| line.text("bound").starts_with(name)).and_then(|line| line.number("value"))
    };
    let bound = relative_of(&claim, TERMS)?;
    let later = (bound - first) / (TERMS / k - 1).max(1) as f64;
    let others = OTHERS.map(|name| value(name).unwrap_or(f64::NAN));
    let attained = Adversary::new(&claim, &schedule).largest(TERMS)?.unwrap_or(f64::NAN);
    let numbers = [first, later, bound, attained, others[0], others[1]];
    Ok((bound > 0.0).then(|| BoundCells { instruction: name.into(), losses: losses.join("; "), numbers }))
}
