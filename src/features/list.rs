//! The features, and what each asks. The words of their cells stand in `docs/identify.md`.

/// A feature of an arithmetic.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as tables have it.
    pub name: &'static str,
    /// What is asked.
    pub asks: &'static str,
}

const fn feature(name: &'static str, asks: &'static str) -> Feature {
    Feature { name, asks }
}

/// Every feature, in the order of tables.
#[rustfmt::skip]
pub const FEATURES: &[Feature] = &[
    feature("subnormal A, B", "what becomes of a subnormal operand whose product is a normal number"),
    feature("subnormal C", "what becomes of a subnormal c beside a normal product"),
    feature("subnormal D", "what becomes of a sum of normal operands that is subnormal in D"),
    feature("products", "whether the last bit of the longest product counts"),
    feature("product range", "whether a product beyond the largest number of D can cancel"),
    feature("order", "which terms are summed in one step, and which step follows which"),
    feature("c", "where c enters"),
    feature("alignment", "how much of a small product is left beside two large ones that cancel"),
    feature("alignment of c", "the same of a small c"),
    feature("floor", "the smallest exponent to which terms are aligned"),
    feature("extra bits", "how many bits alignment keeps below the last place of the result"),
    feature("carry bits", "how many bits the sum has room for above the largest exponent"),
    feature("normalisation", "whether products, or partial sums within a step, are normalised"),
    feature("sums", "how the sum of a step is rounded where another step follows"),
    feature("accumulator", "how many significant bits pass from one step to the next, or of a single step come out"),
    feature("result", "how the last sum is rounded to D"),
    feature("overflow", "what a sum beyond the largest number of D becomes"),
    feature("infinities", "infinity alone, times zero, and minus infinity"),
    feature("NaN", "which codes stand for NaN"),
    feature("zero", "the sign of a zero that is the sum of negative zeros, of numbers that cancel, and of a negative sum that underflows"),
    feature("monotonicity", "whether the result can fall when no term does"),
    feature("position", "whether the same operands give the same in every row and column, and beside other ones"),
];

/// The feature with this name.
///
/// # Panics
/// There is none.
pub(super) fn named(name: &str) -> &'static Feature {
    FEATURES.iter().find(|feature| feature.name == name).expect("cells have names of the table")
}
