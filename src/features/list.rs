//! The features, and what each asks.

/// A feature of an arithmetic.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as tables have it.
    pub name: &'static str,
    /// What is asked.
    pub asks: &'static str,
    /// What the words of its cells mean.
    pub words: &'static str,
}

const fn feature(name: &'static str, asks: &'static str, words: &'static str) -> Feature {
    Feature { name, asks, words }
}

/// Every feature, in the order of tables.
#[rustfmt::skip]
pub const FEATURES: &[Feature] = &[
    feature("subnormal A, B", "what becomes of a subnormal operand whose product is a normal number",
        "kept, or flushed to zero"),
    feature("subnormal C", "what becomes of a subnormal c beside a normal product",
        "kept, or flushed to zero"),
    feature("subnormal D", "what becomes of a sum of normal operands that is subnormal in D",
        "kept, or flushed to zero"),
    feature("products", "whether the last bit of the longest product counts",
        "exact, or rounded"),
    feature("product range", "whether a product beyond the largest number of D can cancel",
        "kept: it can; infinite or NaN: it cannot"),
    feature("order", "which terms are summed in one step, and which step follows which",
        "as tcnum tree writes it"),
    feature("c", "where c enters",
        "with all products, the first ones or the first one; before the other sums; last, by an addition of its own"),
    feature("alignment", "how much of a small product is left beside two large ones that cancel",
        "bits after the binary point of the largest exponent, and how the rest is cut off; exact: all; none: no step has three terms"),
    feature("alignment of c", "the same of a small c",
        "as alignment"),
    feature("floor", "the smallest exponent to which terms are aligned",
        "the exponent; \"or less\": none is seen above it"),
    feature("extra bits", "how many bits alignment keeps below the last place of the result",
        "the number; Fasi et al. call them guard digits"),
    feature("carry bits", "how many bits the sum has room for above the largest exponent",
        "the most that were needed and were there, \"or more\" where all terms together need no more"),
    feature("normalisation", "whether products, or partial sums within a step, are normalised",
        "none, or which"),
    feature("sums", "how the sum of a step is rounded where another step follows",
        "the rounding; once: there is a single step"),
    feature("accumulator", "how many significant bits pass from one step to the next, or of a single step come out",
        "the number of bits, the leading one included"),
    feature("result", "how the last sum is rounded to D",
        "the rounding"),
    feature("overflow", "what a sum beyond the largest number of D becomes",
        "infinity, largest or NaN; of integers wraps or saturates"),
    feature("infinities", "infinity alone, times zero, and minus infinity",
        "IEEE: infinity, NaN and NaN; otherwise what differs"),
    feature("NaN", "which codes stand for NaN",
        "one code for all; or whose NaN is passed on, in order of preference, and the code of those that operations make"),
    feature("zero", "the sign of a zero that is the sum of negative zeros, of numbers that cancel, and of a negative sum that underflows",
        "IEEE, +0 or -0; otherwise the three"),
    feature("monotonicity", "whether the result can fall when no term does",
        "violated, with the input after which it does; or not seen"),
    feature("position", "whether the same operands give the same in every row and column, and beside other ones",
        "none: they do; row, column or neighbours: the result depends on them"),
];

/// The feature with this name.
///
/// # Panics
/// There is none.
pub(super) fn named(name: &str) -> &'static Feature {
    FEATURES.iter().find(|feature| feature.name == name).expect("cells have names of the table")
}
