//! Masks: which keys a query attends to, and what is added to its scores.

use std::{ops::Range, sync::Arc};

use super::Operands;
use crate::{
    Error, Result,
    array::{Array, Content},
    base::named::named,
};

named! {
    /// The corner of the scores at which the diagonal of a causal mask begins or ends.
    pub enum Causal {
        UpperLeft = "upper-left": "Query i attends to keys 0..i, as in PyTorch";
        LowerRight = "lower-right": "The last query attends to all keys, as in FlashAttention";
    }
}

/// The mask of a claim.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// The diagonal; `None` without a causal mask.
    pub causal: Option<Causal>,
    /// Largest distance of a key from the diagonal.
    pub window: Option<usize>,
    /// Numbers that are added to the scores.
    pub given: Option<Arc<AddedScores>>,
    /// Keys by which the diagonal and the window are moved: zero but in a faulty mask.
    pub shift: isize,
}

/// Numbers that are added to scores, from a file; minus infinity excludes a key.
#[derive(Debug, Clone)]
pub struct AddedScores {
    values: Vec<f64>,
    /// Heads that the array holds: all, or one of several dimensions that counts for all.
    heads: Vec<usize>,
    rows: usize,
    columns: usize,
}

impl AddedScores {
    /// The mask in an array of shape (batch ..., heads, n_q, n_k), or that extends to it.
    ///
    /// Integers and Booleans are true where a query attends to a key; floating-point numbers are added.
    ///
    /// # Errors
    /// A shape that does not extend; a NaN or plus infinity; another type.
    pub fn of_array(array: &Array, operands: &Operands) -> Result<AddedScores> {
        let Operands { q, k, .. } = operands;
        let wanted: Vec<usize> = q.batch.iter().chain([&q.heads, &q.rows, &k.rows]).copied().collect();
        let fits = array.shape.len() <= wanted.len()
            && array
                .shape
                .iter()
                .rev()
                .zip(wanted.iter().rev())
                .all(|(extent, wanted)| *extent == 1 || extent == wanted);
        if !fits || array.shape.len() < 2 {
            return Err(Error::request(format!(
                "the shape of the mask is {:?}; the scores have {wanted:?}: each extent must be that or 1",
                array.shape
            )));
        }
        let values: Vec<f64> = match array.kind {
            Content::Format(format) if format.float().is_some() => {
                let (_, codes) = array.codes(None)?;
                codes.iter().map(|code| format.to_f64(code)).collect()
            }
            Content::Unsigned(1) | Content::Other("BOOL") => {
                array.bytes.iter().map(|byte| if *byte != 0 { 0.0 } else { f64::NEG_INFINITY }).collect()
            }
            kind => {
                return Err(Error::request(format!(
                    "the mask holds {}; give bytes that are 0 where a key is left out, or floating-point numbers that are added",
                    kind.type_name()
                )));
            }
        };
        if let Some(at) = values.iter().position(|value| value.is_nan() || *value == f64::INFINITY) {
            return Err(Error::request(format!(
                "the mask holds {} at position {at}; it takes finite numbers and minus infinity",
                values[at]
            )));
        }
        let (leading, last) = array.shape.split_at(array.shape.len() - 2);
        let leading_wanted = &wanted[..wanted.len() - 2];
        let missing = leading_wanted.len() - leading.len();
        let place = |head: usize| {
            let (mut rest, mut at, mut stride) = (head, 0, 1);
            for (dimension, extent) in leading_wanted.iter().enumerate().rev() {
                let index = rest % extent;
                rest /= extent;
                let held = if dimension < missing { 1 } else { leading[dimension - missing] };
                at += if held == 1 { 0 } else { index * stride };
                stride *= held;
            }
            at
        };
        Ok(AddedScores { values, heads: (0..q.count()).map(place).collect(), rows: last[0], columns: last[1] })
    }

    fn get(&self, head: usize, row: usize, key: usize) -> f64 {
        let row = if self.rows == 1 { 0 } else { row };
        let key = if self.columns == 1 { 0 } else { key };
        self.values[(self.heads[head] * self.rows + row) * self.columns + key]
    }
}

/// Extents of the scores of a head.
#[derive(Debug, Clone, Copy)]
pub struct ScoreExtents {
    /// Queries.
    pub queries: usize,
    /// Keys.
    pub keys: usize,
}

impl Mask {
    /// True if every query attends to every key with nothing added.
    pub fn is_empty(&self) -> bool {
        self.causal.is_none() && self.window.is_none() && self.given.is_none()
    }

    /// Keys that the causal mask and the window leave to a query.
    pub fn span(&self, row: usize, extents: ScoreExtents) -> Range<usize> {
        let ScoreExtents { queries, keys } = extents;
        let offset = match self.causal {
            Some(Causal::LowerRight) => keys as isize - queries as isize,
            _ => 0,
        };
        let diagonal = row as isize + offset + self.shift;
        let window = self.window.map_or(keys as isize + diagonal.abs(), |window| window as isize);
        let last = if self.causal.is_some() { diagonal } else { diagonal.saturating_add(window) };
        let clamped = |key: isize| key.clamp(0, keys as isize) as usize;
        let (from, to) = (clamped(diagonal.saturating_sub(window)), clamped(last.saturating_add(1)));
        from.min(to)..to
    }

    /// Fills in what is added to the scores of a query: minus infinity where a key is left out.
    pub(super) fn fill(&self, head: usize, row: usize, extents: ScoreExtents, added: &mut [f64]) {
        let span = self.span(row, extents);
        for (key, added) in added.iter_mut().enumerate() {
            *added = match &self.given {
                _ if !span.contains(&key) => f64::NEG_INFINITY,
                Some(given) => given.get(head, row, key),
                None => 0.0,
            };
        }
    }

    /// The mask in words, after a comma; empty without one.
    pub fn words(&self) -> String {
        let mut words = String::new();
        match self.causal {
            Some(Causal::UpperLeft) => words += ", causal from the upper left",
            Some(Causal::LowerRight) => words += ", causal to the lower right",
            None => (),
        }
        if let Some(window) = self.window {
            words += &format!(", a window of {window}");
        }
        if self.given.is_some() {
            words += ", the given mask";
        }
        words
    }
}
