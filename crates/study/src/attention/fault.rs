//! Faults of kernels: which one explains the errors of O, and which ones the bound would miss.

use std::{collections::BTreeSet, ops::Range};

use super::{
    AttentionClaim, Causal, Mask, Operands, RowPlace, ScoreExtents,
    claim::Constants,
    row::{BoundedElement, RowState, RowSums, Scores, Weights},
};
use crate::{Result, base::work, product::places};

/// Keys of the pieces of which dropped tiles are made, and sizes of such tiles.
const PIECE: usize = 16;
const TILES: [usize; 4] = [16, 32, 64, 128];
/// Rows on which faults are tried.
const ROWS: usize = 16;
/// Lists of [`rows_by_error`].
const LISTS: usize = 3;

/// The difference of a faulty kernel from a right one.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    /// These keys are left out.
    Without(Range<usize>),
    /// These keys count twice.
    Twice(Range<usize>),
    /// The scale is another one.
    Scale(f64),
    /// The diagonal of the mask is moved by so many keys.
    Shift(isize),
    /// The mask is another one: the causal part, the window, and true for the given one.
    Masked(Option<Causal>, Option<usize>, bool),
    /// Values, or keys and values, are of the head that stands so many places behind.
    Values(usize),
    Keys(usize),
    /// Heads of K and V go to those of Q in turn.
    InTurn,
}

/// A fault that is tried.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Name in tables, the same for all places of a dropped tile.
    pub name: &'static str,
    /// Sentence that says what the kernel did, without a full stop.
    pub words: String,
    change: Change,
}

/// The cause of the errors of O.
#[derive(Debug, Clone)]
pub struct AttentionCause {
    /// The first fault that explains every row that was tried; `None` if none does.
    pub fault: Option<Fault>,
    /// Heads or rows to which the fault is confined, in words; `None` for a fault of all rows.
    pub region: Option<String>,
    /// Rows with errors that were tried.
    pub rows: usize,
    /// Rows without errors that were tried, where a fault explains the errors.
    pub right: usize,
}

/// A fault, and how often the bound finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPower {
    /// Name of the fault.
    pub name: &'static str,
    /// Places at which it was tried.
    pub places: usize,
    /// Places at which an element of the sample would be outside, however the kernel rounds.
    pub detected: usize,
}

/// The verdict of the bound on a sample of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionPower {
    /// Rows of the sample.
    pub rows: usize,
    /// The faults.
    pub faults: Vec<FaultPower>,
}

/// Faults that the operands and the claim allow.
fn faults(operands: &Operands, claim: &AttentionClaim) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut add = |name: &'static str, words: String, change: Change| faults.push(Fault { name, words, change });
    let (scale, width) = (claim.scale, operands.q.columns as f64);
    for (name, words, other) in [
        ("scale-missing", "The scale is missing", 1.0),
        ("scale-d", "The scale is 1 / d", 1.0 / width),
        ("scale-root-d", "The scale is 1 / sqrt(d)", 1.0 / width.sqrt()),
        ("scale-twice", "The scale is applied twice", scale * scale),
        ("scale-log2-e", "Scores are multiplied by log2(e), and e is raised to them", scale * std::f64::consts::LOG2_E),
        ("scale-ln-2", "2 is raised to the scores, without log2(e)", scale * std::f64::consts::LN_2),
    ] {
        if (other - scale).abs() > 1e-6 * scale.abs() {
            add(name, words.into(), Change::Scale(other));
        }
    }
    let Mask { causal, window, given, .. } = &claim.mask;
    if causal.is_some() || window.is_some() {
        add("mask-one-more", "The diagonal of the mask is one key to the right".into(), Change::Shift(1));
        add("mask-one-less", "The diagonal of the mask is one key to the left".into(), Change::Shift(-1));
    }
    if !claim.mask.is_empty() {
        add("mask-ignored", "The mask is ignored".into(), Change::Masked(None, None, false));
    }
    if given.is_some() && (causal.is_some() || window.is_some()) {
        add("given-mask-ignored", "The given mask is ignored".into(), Change::Masked(*causal, *window, false));
    }
    for other in Causal::ALL {
        let is_same = *causal == Some(other) || causal.is_some() && operands.q.rows == operands.k.rows;
        if !is_same {
            let words = format!("The mask is causal, {}", other.name());
            add("mask-causal", words, Change::Masked(Some(other), *window, given.is_some()));
        }
        if causal.is_none() && operands.q.rows == operands.k.rows {
            break;
        }
    }
    let heads = operands.k.heads;
    if heads > 1 {
        let mut shifts = vec![1, heads - 1];
        shifts.dedup();
        for shift in shifts {
            add("values-of-another-head", format!("V is of the head {shift} behind"), Change::Values(shift));
            add("keys-of-another-head", format!("K and V are of the head {shift} behind"), Change::Keys(shift));
        }
        if operands.q.heads > heads {
            add("heads-in-turn", "Heads of K and V serve the heads of Q in turn".into(), Change::InTurn);
        }
    }
    let keys = operands.k.rows;
    for (name, twice, size) in [
        ("dropped-16", "twice-16", TILES[0]),
        ("dropped-32", "twice-32", TILES[1]),
        ("dropped-64", "twice-64", TILES[2]),
        ("dropped-128", "twice-128", TILES[3]),
    ] {
        // The only tile cannot be dropped.
        for from in (0..keys).step_by(size).filter(|_| keys > size) {
            let tile = from..keys.min(from + size);
            let words = format!("Keys {}..{}", tile.start, tile.end - 1);
            add(name, format!("{words} are left out"), Change::Without(tile.clone()));
            add(twice, format!("{words} count twice"), Change::Twice(tile));
        }
    }
    faults
}

/// Sums over some keys of a row.
#[derive(Debug, Clone)]
struct Sums {
    row: RowSums,
    weighted: Vec<f64>,
    errors: Vec<f64>,
}

impl Sums {
    fn zero(columns: usize) -> Sums {
        Sums { row: RowSums::default(), weighted: vec![0.0; columns], errors: vec![0.0; columns] }
    }

    fn combined(&self, other: &Sums, sign: f64) -> Sums {
        let each = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x + sign * y).collect();
        Sums {
            row: if sign > 0.0 { self.row.plus(other.row) } else { self.row.minus(other.row) },
            weighted: each(&self.weighted, &other.weighted),
            errors: each(&self.errors, &other.errors),
        }
    }

    fn elements(&self, constants: &Constants) -> Option<Vec<BoundedElement>> {
        let pairs = self.weighted.iter().zip(&self.errors);
        pairs.map(|(weighted, errors)| constants.element(self.row, *weighted, *errors)).collect()
    }
}

/// A row, computed in full.
struct SampledRow {
    place: RowPlace,
    /// The list of places that it is of.
    list: usize,
    /// Sums of the pieces of the keys; empty without a bound.
    pieces: Vec<Sums>,
    total: Sums,
    elements: Option<Vec<BoundedElement>>,
}

/// The rows of a sample, with all that faults are tried with.
pub(super) struct Trial<'a> {
    operands: &'a Operands,
    claim: &'a AttentionClaim,
    constants: &'a Constants,
    rows: Vec<SampledRow>,
    faults: Vec<Fault>,
}

impl<'a> Trial<'a> {
    /// Computes at most [`ROWS`] rows of each list, spread over all of it.
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn new(
        operands: &'a Operands,
        claim: &'a AttentionClaim,
        constants: &'a Constants,
        lists: &[Vec<RowPlace>],
    ) -> Result<Trial<'a>> {
        let trial = Trial { operands, claim, constants, rows: Vec::new(), faults: faults(operands, claim) };
        let places = lists
            .iter()
            .enumerate()
            .flat_map(|(list, places)| spread(places, ROWS).into_iter().map(move |place| (list, place)));
        let rows = work::map(places.collect::<Vec<_>>(), |(list, place)| {
            let pieces = trial.pieces(place, None).unwrap_or_default();
            let zero = Sums::zero(operands.v.columns);
            let total = pieces.iter().fold(zero, |sum, piece| sum.combined(piece, 1.0));
            let elements = total.elements(constants);
            Ok(SampledRow { place, list, pieces, total, elements })
        })?;
        Ok(Trial { rows, ..trial })
    }

    /// Sums of the pieces of a row's keys; `None` without a bound.
    fn pieces(&self, place: RowPlace, change: Option<&Change>) -> Option<Vec<Sums>> {
        let Operands { q, k, v, .. } = self.operands;
        let RowPlace { head, row } = place;
        let (mut key_head, mut scale, mut mask) =
            (self.operands.key_head(head), self.claim.scale, self.claim.mask.clone());
        let first = head / q.heads * k.heads;
        let behind = |shift: usize| first + (key_head - first + shift) % k.heads;
        let mut value_head = key_head;
        match change {
            Some(Change::Scale(other)) => scale = *other,
            Some(Change::Shift(shift)) => mask.shift = *shift,
            Some(Change::Masked(causal, window, keeps_given)) => {
                (mask.causal, mask.window) = (*causal, *window);
                mask.given = mask.given.filter(|_| *keeps_given);
            }
            Some(Change::Values(shift)) => value_head = behind(*shift),
            Some(Change::Keys(shift)) => {
                key_head = behind(*shift);
                value_head = key_head;
            }
            Some(Change::InTurn) => {
                key_head = first + head % q.heads % k.heads;
                value_head = key_head;
            }
            Some(Change::Without(_) | Change::Twice(_)) | None => (),
        }
        let query = q.row(head, row);
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let products = |key: usize| query.iter().zip(k.row(key_head, key)).map(|(x, y)| of(*x, *y)).sum();
            (0..k.rows).map(products).collect()
        };
        let (products, magnitudes) = (sum(&|x, y| x * y), sum(&|x, y| (x * y).abs()));
        let mut added = vec![0.0; k.rows];
        mask.fill(head, row, ScoreExtents { queries: q.rows, keys: k.rows }, &mut added);
        let scores = Scores { products: &products, magnitudes: &magnitudes, added: &added, scale };
        let mut weights = Weights::default();
        let RowState::Known(_) = weights.fill(self.constants, &scores) else { return None };
        let piece = |from: usize| {
            let mut sums = Sums::zero(v.columns);
            for key in from..k.rows.min(from + PIECE) {
                let (weight, error) = (weights.weights[key], weights.errors[key]);
                sums.row = sums.row.plus(RowSums { weights: weight, errors: error });
                for (column, value) in v.row(value_head, key).iter().enumerate() {
                    sums.weighted[column] += weight * value;
                    sums.errors[column] += error * value.abs();
                }
            }
            sums
        };
        Some((0..k.rows).step_by(PIECE).map(piece).collect())
    }

    /// Elements of a row by a faulty kernel; `None` without a bound.
    fn changed(&self, row: &SampledRow, change: &Change) -> Option<Vec<BoundedElement>> {
        let tile = |tile: &Range<usize>| {
            let zero = Sums::zero(self.operands.v.columns);
            let pieces = row.pieces.get(tile.start / PIECE..tile.end.div_ceil(PIECE))?;
            Some(pieces.iter().fold(zero, |sum, piece| sum.combined(piece, 1.0)))
        };
        let sums = match change {
            Change::Without(range) => row.total.combined(&tile(range)?, -1.0),
            Change::Twice(range) => row.total.combined(&tile(range)?, 1.0),
            other => {
                let zero = Sums::zero(self.operands.v.columns);
                self.pieces(row.place, Some(other))?.iter().fold(zero, |sum, piece| sum.combined(piece, 1.0))
            }
        };
        sums.elements(self.constants)
    }

    /// The first fault that explains the rows with errors, and as many of the others as a fault does.
    ///
    /// The lists are those of [`rows_by_error`].
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn cause(&self) -> Result<AttentionCause> {
        let explains = |fault: &Fault, row: &SampledRow| {
            // A row for which the fault has no bound says nothing against it, and nothing for it.
            let Some(elements) = self.changed(row, &fault.change) else { return row.list > 0 };
            let outputs = self.operands.o.row(row.place.head, row.place.row);
            outputs
                .iter()
                .zip(elements)
                .all(|(o, element)| (o - element.exact).abs() <= element.bound || self.constants.overflows(*o, element))
        };
        let list = |list: usize| self.rows.iter().filter(move |row| row.list == list);
        let reach = |fault: &Fault| (0..LISTS).take_while(|at| list(*at).all(|row| explains(fault, row))).count();
        let reaches = work::map(&self.faults, |fault| Ok(reach(fault)))?;
        let farthest = self.faults.iter().zip(reaches).min_by_key(|(_, reach)| std::cmp::Reverse(*reach));
        let (fault, reach) =
            farthest.filter(|(_, reach)| *reach > 0).map_or((None, 0), |(fault, reach)| (Some(fault), reach));
        let heads: BTreeSet<usize> = list(0).map(|row| row.place.head).collect();
        let region = match (fault, reach) {
            (None, _) | (_, LISTS) => None,
            (_, 1) => Some("in the rows with errors alone".into()),
            _ if heads.len() == 1 => Some(format!("in head {} alone", places(&heads))),
            _ => Some(format!("in heads {} alone", places(&heads))),
        };
        let right = (1..reach).map(|at| list(at).count()).sum();
        Ok(AttentionCause { fault: fault.cloned(), region, rows: list(0).count(), right })
    }

    /// The verdict of the bound on each fault.
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn power(&self) -> Result<AttentionPower> {
        let is_detected = |fault: &Fault| {
            self.rows.iter().any(|row| {
                let (Some(right), Some(wrong)) = (&row.elements, self.changed(row, &fault.change)) else {
                    return false;
                };
                let is_apart = |(right, wrong): (&BoundedElement, BoundedElement)| {
                    (right.exact - wrong.exact).abs() > right.bound + wrong.bound
                };
                right.iter().zip(wrong).any(is_apart)
            })
        };
        let detections = work::map(&self.faults, |fault| Ok(is_detected(fault)))?;
        let mut power: Vec<FaultPower> = Vec::new();
        for (fault, is_detected) in self.faults.iter().zip(detections) {
            let at = power.iter().position(|power| power.name == fault.name).unwrap_or_else(|| {
                power.push(FaultPower { name: fault.name, places: 0, detected: 0 });
                power.len() - 1
            });
            power[at].places += 1;
            power[at].detected += usize::from(is_detected);
        }
        Ok(AttentionPower { rows: self.rows.len(), faults: power })
    }
}

/// Rows with errors, the other rows of their heads, and the rows of other heads.
pub(super) fn rows_by_error(all: Vec<RowPlace>, errors: &BTreeSet<RowPlace>) -> [Vec<RowPlace>; LISTS] {
    let heads: BTreeSet<usize> = errors.iter().map(|place| place.head).collect();
    let mut lists: [Vec<RowPlace>; LISTS] = Default::default();
    for place in all {
        let list = if errors.contains(&place) { 0 } else { 1 + usize::from(!heads.contains(&place.head)) };
        lists[list].push(place);
    }
    lists
}

/// At most `most` of these places, the first and the last among them.
pub(super) fn spread(places: &[RowPlace], most: usize) -> Vec<RowPlace> {
    let count = places.len().min(most);
    (0..count).map(|at| places[if count < 2 { at } else { at * (places.len() - 1) / (count - 1) }]).collect()
}
