//! The features, their questions and their keys. `docs/features.md` explains the words of results.

/// A feature of an arithmetic.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as tables have it.
    pub name: &'static str,
    /// The question that it answers.
    pub asks: &'static str,
    /// The keys of a rule that decide it; the first always does, the others where a rule has them.
    pub keys: &'static [&'static str],
}

const fn feature(name: &'static str, asks: &'static str, keys: &'static [&'static str]) -> Feature {
    Feature { name, asks, keys }
}

/// Every feature, in the order of tables.
#[rustfmt::skip]
pub const FEATURES: &[Feature] = &[
    feature("subnormal A, B", "Does a subnormal operand keep its value in a normal product?", &["operand-subnormals", "unpack"]),
    feature("subnormal C", "Does a subnormal c keep its value in a normal sum?", &["operand-subnormals", "c-subnormals", "unpack-c"]),
    feature("subnormal D", "Does a sum of normal operands that is subnormal in D keep its value?", &["result-subnormals"]),
    feature("products", "Does the last bit of the longest product count?", &["product", "split"]),
    feature("product range", "Can a product beyond the largest number of D cancel?", &["product", "product-limit"]),
    feature("order", "Which terms does one step sum, and in which order do steps follow?", &["group", "parts", "lanes", "scale-sums", "join", "c", "late", "node"]),
    feature("c", "Where does c enter?", &["c", "late"]),
    feature("alignment", "How much of a small product survives when two large products cancel?", &["alignment.bits", "alignment.rounding"]),
    feature("alignment of c", "How much of a small c survives when two large products cancel?", &["alignment.bits", "alignment.rounding", "late"]),
    feature("floor", "Which smallest exponent are terms aligned to?", &["alignment.floor", "late"]),
    feature("extra bits", "How many bits does alignment keep below the last place of the result?", &["alignment.bits", "result.format"]),
    feature("carry bits", "How many bits does a sum hold above the largest exponent?", &["step"]),
    feature("normalisation", "Are products, or partial sums within a step, normalised?", &["normalised"]),
    feature("sums", "How is the sum of an inner step rounded?", &["result.rounding", "between"]),
    feature("accumulator", "How many significant bits pass from step to step, or leave a single step?", &["result.format", "between"]),
    feature("result", "How is the last sum rounded to D?", &["result.rounding", "output"]),
    feature("overflow", "What replaces a sum beyond the largest number of D?", &["result.overflow", "output"]),
    feature("infinities", "What do infinity alone, infinity times zero, and infinity minus infinity give?", &["nan", "specials"]),
    feature("NaN", "Which codes stand for NaN?", &["nan", "nan-operands"]),
    feature("zero", "Which sign has a sum of negative zeros, a sum that cancels, a negative sum that underflows?", &["zero"]),
    feature("monotonicity", "Can the result fall when no term does?", &["alignment.bits", "alignment.rounding", "normalised", "late"]),
    feature("position", "Do equal operands give equal results in every row and column, and next to other operands?", &["step"]),
];

/// The feature with this name.
///
/// # Panics
/// There is no such feature.
pub(super) fn named(name: &str) -> &'static Feature {
    FEATURES.iter().find(|feature| feature.name == name).expect("cells have names of the table")
}
