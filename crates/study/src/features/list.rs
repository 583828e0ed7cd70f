//! The features and their questions. `docs/features.md` explains the words of results.
//!
//! The rows of the model language's keys name the features that they decide.

use crate::arithmetic::feature_keys;

/// A feature of an arithmetic.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as tables have it.
    pub name: &'static str,
    /// The question that it answers.
    pub asks: &'static str,
}

impl Feature {
    /// The keys of a rule that decide it; the first always does, the others where a rule has them.
    pub fn keys(&self) -> Vec<String> {
        feature_keys(self.name)
    }
}

const fn feature(name: &'static str, asks: &'static str) -> Feature {
    Feature { name, asks }
}

/// Every feature, in the order of tables.
#[rustfmt::skip]
pub const FEATURES: &[Feature] = &[
    feature("subnormal A, B", "Does a subnormal operand keep its value in a normal product?"),
    feature("subnormal C", "Does a subnormal c keep its value in a normal sum?"),
    feature("subnormal D", "Does a sum of normal operands that is subnormal in D keep its value?"),
    feature("products", "Does the last bit of the longest product count?"),
    feature("product range", "Can a product beyond the largest number of D cancel?"),
    feature("order", "Which terms does one step sum, and in which order do steps follow?"),
    feature("c", "Where does c enter?"),
    feature("alignment", "How much of a small product survives when two large products cancel?"),
    feature("alignment of c", "How much of a small c survives when two large products cancel?"),
    feature("floor", "Which smallest exponent are terms aligned to?"),
    feature("extra bits", "How many bits does alignment keep below the last place of the result?"),
    feature("carry bits", "How many bits does a sum hold above the largest exponent?"),
    feature("normalisation", "Are products, or partial sums within a step, normalised?"),
    feature("sums", "How is the sum of an inner step rounded?"),
    feature("accumulator", "How many significant bits pass from step to step, or leave a single step?"),
    feature("result", "How is the last sum rounded to D?"),
    feature("overflow", "What replaces a sum beyond the largest number of D?"),
    feature("infinities", "What do infinity alone, infinity times zero, and infinity minus infinity give?"),
    feature("NaN", "Which codes stand for NaN?"),
    feature("zero", "Which sign has a sum of negative zeros, a sum that cancels, a negative sum that underflows?"),
    feature("monotonicity", "Can the result fall when no term does?"),
    feature("position", "Do equal operands give equal results in every row and column, and next to other operands?"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_decides_every_feature() {
        for feature in FEATURES {
            assert!(!feature.keys().is_empty(), "{}", feature.name);
        }
    }
}
