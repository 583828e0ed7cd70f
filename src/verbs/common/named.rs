//! Named values as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::base::named::Named;

/// Parses the name of a value of `T`.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::all().iter().map(|value| PossibleValue::new(value.name()));
    PossibleValuesParser::new(values)
        .map(|name| *T::all().iter().find(|value| value.name() == name).expect("clap admits these names alone"))
}
