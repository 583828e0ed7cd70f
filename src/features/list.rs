//! The features, what each asks, and which keys of a rule decide it. The words of their cells stand in `docs/identify.md`.

/// A feature of an arithmetic.
#[derive(Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as tables have it.
    pub name: &'static str,
    /// What is asked.
    pub asks: &'static str,
    /// The keys of a rule that decide it: the first, and those others that a rule has.
    pub keys: &'static [&'static str],
}

const fn feature(name: &'static str, asks: &'static str, keys: &'static [&'static str]) -> Feature {
    Feature { name, asks, keys }
}

/// Every feature, in the order of tables.
#[rustfmt::skip]
pub const FEATURES: &[Feature] = &[
    feature("subnormal A, B", "what becomes of a subnormal operand whose product is a normal number", &["operand-subnormals", "unpack"]),
    feature("subnormal C", "what becomes of a subnormal c beside a normal product", &["operand-subnormals", "unpack-c"]),
    feature("subnormal D", "what becomes of a sum of normal operands that is subnormal in D", &["result-subnormals"]),
    feature("products", "whether the last bit of the longest product counts", &["product", "split"]),
    feature("product range", "whether a product beyond the largest number of D can cancel", &["product", "product-limit"]),
    feature("order", "which terms are summed in one step, and which step follows which", &["group", "parts", "lanes", "scale-sums", "join", "c", "late", "node"]),
    feature("c", "where c enters", &["c", "late"]),
    feature("alignment", "how much of a small product is left beside two large ones that cancel", &["alignment.bits", "alignment.rounding"]),
    feature("alignment of c", "the same of a small c", &["alignment.bits", "alignment.rounding", "late"]),
    feature("floor", "the smallest exponent to which terms are aligned", &["alignment.floor", "late"]),
    feature("extra bits", "how many bits alignment keeps below the last place of the result", &["alignment.bits", "result.format"]),
    feature("carry bits", "how many bits the sum has room for above the largest exponent", &["step"]),
    feature("normalisation", "whether products, or partial sums within a step, are normalised", &["normalised"]),
    feature("sums", "how the sum of a step is rounded where another step follows", &["result.rounding", "between"]),
    feature("accumulator", "how many significant bits pass from one step to the next, or of a single step come out", &["result.format", "between"]),
    feature("result", "how the last sum is rounded to D", &["result.rounding", "output"]),
    feature("overflow", "what a sum beyond the largest number of D becomes", &["result.overflow", "output"]),
    feature("infinities", "infinity alone, times zero, and minus infinity", &["nan"]),
    feature("NaN", "which codes stand for NaN", &["nan", "nan-operands"]),
    feature("zero", "the sign of a zero that is the sum of negative zeros, of numbers that cancel, and of a negative sum that underflows", &["zero"]),
    feature("monotonicity", "whether the result can fall when no term does", &["alignment.bits", "alignment.rounding", "normalised", "late"]),
    feature("position", "whether the same operands give the same in every row and column, and beside other ones", &["step"]),
];

/// The feature with this name.
///
/// # Panics
/// There is none.
pub(super) fn named(name: &str) -> &'static Feature {
    FEATURES.iter().find(|feature| feature.name == name).expect("cells have names of the table")
}
