//! NaNs, infinities and magnitudes that no weight has, in a sentence.

use crate::report::{counted, three_digits};

/// Tensors that the sentence names.
const NAMED: usize = 3;

/// Values of some tensors that are no plausible weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnsoundValues {
    nan: u64,
    infinite: u64,
    largest: f64,
    names: Vec<String>,
}

impl UnsoundValues {
    /// Largest magnitude that a weight or a buffer of a model has.
    pub const REASON: f64 = 1e9;

    /// Adds a tensor; returns true if it has such values.
    ///
    /// It has these numbers of NaNs and infinities, and this largest finite magnitude.
    pub fn add(&mut self, name: &str, [nan, infinite]: [u64; 2], largest: Option<f64>) -> bool {
        let beyond = largest.filter(|largest| *largest > UnsoundValues::REASON);
        if nan == 0 && infinite == 0 && beyond.is_none() {
            return false;
        }
        self.nan += nan;
        self.infinite += infinite;
        self.largest = self.largest.max(beyond.unwrap_or(0.0));
        self.names.push(name.to_string());
        true
    }

    /// Number of tensors with such values.
    pub fn tensors(&self) -> usize {
        self.names.len()
    }

    /// A sentence on these values; `None` if there are none.
    pub fn sentence(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.nan > 0 {
            parts.push(counted(self.nan, "NaN"));
        }
        match self.infinite {
            0 => {}
            1 => parts.push("1 infinity".into()),
            count => parts.push(format!("{count} infinities")),
        }
        if self.largest > 0.0 {
            parts.push(format!("magnitudes up to {}", three_digits(self.largest)));
        }
        let what = match parts.as_slice() {
            [] => return None,
            [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            parts => parts.concat(),
        };
        let named: Vec<String> = self.names.iter().take(NAMED).map(|name| format!("'{name}'")).collect();
        Some(match self.names.len() {
            1 => format!("{} holds {what}.", named[0]),
            count if count <= NAMED => format!("{} hold {what}.", named.join(", ")),
            count => format!("{count} tensors hold {what}, first {}.", named[0]),
        })
    }
}
