//! Named values as values of options.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::base::named::Named;

/// Parses the name of a value of `T`.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    one_of(T::all(), T::name)
}

/// Parses the name of one of these values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.iter().map(move |value| name(*value)))
        .map(move |given| *values.iter().find(|value| name(**value) == given).expect("clap admits these names alone"))
}
