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
    feature("subnormal A, B", "whether a subnormal operand keeps its value in a normal product", &["operand-subnormals", "unpack"]),
    feature("subnormal C", "whether a subnormal c keeps its value in a normal sum", &["operand-subnormals", "c-subnormals", "unpack-c"]),
    feature("subnormal D", "whether a sum of normal operands that is subnormal in D keeps its value", &["result-subnormals"]),
    feature("products", "whether the last bit of the longest product counts", &["product", "split"]),
    feature("product range", "whether a product beyond the largest number of D can cancel", &["product", "product-limit"]),
    feature("order", "which terms one step sums, and in which order steps follow", &["group", "parts", "lanes", "scale-sums", "join", "c", "late", "node"]),
    feature("c", "where c enters", &["c", "late"]),
    feature("alignment", "how much of a small product survives when two large ones cancel", &["alignment.bits", "alignment.rounding"]),
    feature("alignment of c", "how much of a small c survives when two large products cancel", &["alignment.bits", "alignment.rounding", "late"]),
    feature("floor", "the smallest exponent to which terms are aligned", &["alignment.floor", "late"]),
    feature("extra bits", "how many bits alignment keeps below the last place of the result", &["alignment.bits", "result.format"]),
    feature("carry bits", "how many bits a sum holds above the largest exponent", &["step"]),
    feature("normalisation", "whether products, or partial sums within a step, are normalised", &["normalised"]),
    feature("sums", "how the sum of an inner step is rounded", &["result.rounding", "between"]),
    feature("accumulator", "how many significant bits pass from step to step, or leave a single step", &["result.format", "between"]),
    feature("result", "how the last sum is rounded to D", &["result.rounding", "output"]),
    feature("overflow", "what replaces a sum beyond the largest number of D", &["result.overflow", "output"]),
    feature("infinities", "what infinity alone, times zero, and minus infinity give", &["nan", "specials"]),
    feature("NaN", "which codes stand for NaN", &["nan", "nan-operands"]),
    feature("zero", "the sign of a zero that is the sum of negative zeros, of numbers that cancel, and of a negative sum that underflows", &["zero"]),
    feature("monotonicity", "whether the result can fall when no term does", &["alignment.bits", "alignment.rounding", "normalised", "late"]),
    feature("position", "whether equal operands give equal results in every row and column, and next to other operands", &["step"]),
];

/// The feature with this name.
///
/// # Panics
/// There is no such feature.
pub(super) fn named(name: &str) -> &'static Feature {
    FEATURES.iter().find(|feature| feature.name == name).expect("cells have names of the table")
}
