//! Values of experiment files, by their names.

use std::{collections::BTreeMap, fmt::Display};

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{
    Error,
    base::named::Named,
    device::{SHARED_LOADS, SharedLoad},
    inputs::{Draw, Init, Op},
    isa::{self, Instruction},
    scheme::Scheme,
};

fn value<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn values<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| parse(name)).collect::<Result<_, E>>().map_err(D::Error::custom)
}

/// An instruction that the program itself can execute.
pub(super) fn instruction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instruction, D::Error> {
    value(deserializer, executed)
}

pub(super) fn instructions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Instruction>, D::Error> {
    values(deserializer, executed)
}

/// An instruction that need not be executed by the program itself.
pub(super) fn described<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instruction, D::Error> {
    value(deserializer, isa::find)
}

/// Substitutes by the name of the instruction.
pub(super) fn alternatives<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<Instruction>>, D::Error> {
    let named = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
    let resolve = |(name, others): (String, Vec<String>)| {
        let others = others.iter().map(|other| isa::find(other)).collect::<crate::Result<Vec<_>>>()?;
        Ok((isa::find(&name)?.name, others))
    };
    named.into_iter().map(resolve).collect::<crate::Result<_>>().map_err(D::Error::custom)
}

pub(super) fn loads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SharedLoad>, D::Error> {
    let names = || SHARED_LOADS.iter().map(|load| load.name).collect::<Vec<_>>().join("; ");
    let unknown = |name: &str| format!("'{name}' is not a load that is timed; expected one of: {}", names());
    values(deserializer, |name| {
        SHARED_LOADS.iter().find(|load| load.name == name).copied().ok_or_else(|| unknown(name))
    })
}

/// Schemes by name; `NAME:7..9` is several.
pub(super) fn schemes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Scheme>, D::Error> {
    Scheme::chosen(&Vec::<String>::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(super) fn draw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Draw, D::Error> {
    value(deserializer, Draw::parse)
}

pub(super) fn draws<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Draw>, D::Error> {
    values(deserializer, Draw::parse)
}

/// A value by its name on the command line.
pub(super) fn named<'de, D: Deserializer<'de>, T: Named>(deserializer: D) -> Result<T, D::Error> {
    value(deserializer, find)
}

pub(super) fn ops<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Op>, D::Error> {
    values(deserializer, find)
}

pub(super) fn inits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Init>, D::Error> {
    values(deserializer, find)
}

pub(super) fn two_ops<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[Op; 2], D::Error> {
    ops(deserializer)?.try_into().map_err(|_| D::Error::custom("expected two operations"))
}

fn find<T: Named>(name: &str) -> Result<T, String> {
    T::all().iter().copied().find(|value| value.name() == name).ok_or_else(|| {
        let known: Vec<&str> = T::all().iter().map(|value| value.name()).collect();
        format!("unknown name '{name}'; expected {}", known.join(", "))
    })
}

fn executed(name: &str) -> crate::Result<Instruction> {
    let instruction = isa::find(name)?;
    match instruction.missing() {
        Some(missing) => Err(Error::request(format!("{instruction} cannot be executed: {missing}"))),
        None => Ok(instruction),
    }
}
