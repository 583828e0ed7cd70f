//! Named values as values of options.

use clap::{ValueEnum, builder::PossibleValue};

use crate::{
    base::named::Named,
    chain::Scaling,
    device::{OperandLayout, OperandValues},
    gemm::{AccumulatorJoin, BiasEntry, CEntry, KOrder, PartJoin, Residue, library::Values},
    inputs::{Distribution, Init, Op},
};

macro_rules! option_values {
    ($($type:ty),+) => {$(
        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                Self::all()
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.name()).help(self.meaning()))
            }
        }
    )+};
}
option_values!(
    Op,
    Scaling,
    Init,
    Distribution,
    AccumulatorJoin,
    BiasEntry,
    CEntry,
    KOrder,
    PartJoin,
    Residue,
    Values,
    OperandLayout,
    OperandValues
);
