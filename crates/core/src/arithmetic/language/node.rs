//! Values of the keys of a node.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{rule::Rounded, values::format_and_rounding};
use crate::base::words::words;

/// Kind of sum of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeKind {
    /// Products and terms are aligned (unless `alignment` is absent), added exactly and rounded once.
    #[default]
    Sum,
    /// A chain of fused multiply-adds over the products, in their order.
    Fma,
    /// Ordinary additions of the terms, then the products, one after the other.
    Add,
}

words!(named pub NodeKind: "sum" = Sum, "fma" = Fma, "add" = Add);

impl NodeKind {
    /// All kinds.
    pub const ALL: &'static [NodeKind] = &[NodeKind::Sum, NodeKind::Fma, NodeKind::Add];
}

/// Destination of the result of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeResult {
    /// Rounded to a format.
    Rounded(Rounded),
    /// Unrounded: a term of another sum, with the exponent that it was aligned to.
    Aligned,
    /// Unrounded, with the exponent of its leading bit.
    Normalised,
}

impl<'de> Deserialize<'de> for NodeResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NodeResult, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Table(toml::Table),
        }
        match Written::deserialize(deserializer)? {
            Written::Word(word) if word == "aligned" => Ok(NodeResult::Aligned),
            Written::Word(word) if word == "normalised" => Ok(NodeResult::Normalised),
            Written::Word(word) => Err(D::Error::custom(format!(
                "unknown result '{word}'; expected a format, \"aligned\" or \"normalised\""
            ))),
            Written::Table(table) => format_and_rounding(table).map(NodeResult::Rounded).map_err(D::Error::custom),
        }
    }
}

/// Term of a node besides products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// `c`, or the name of a node.
    pub name: String,
    /// Fraction bits of the term in a sum; absent: the bits of the alignment.
    pub bits: Option<i32>,
    /// Largest distance of its exponent below the aligned one in a sum; beyond, it is ignored.
    /// Absent: no limit.
    pub drop: Option<i32>,
}

impl From<String> for Term {
    fn from(name: String) -> Term {
        Term { name, bits: None, drop: None }
    }
}

impl<'de> Deserialize<'de> for Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Term, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct TermTable {
            term: String,
            bits: Option<i32>,
            drop: Option<i32>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(String),
            Table(TermTable),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Name(name)) => Ok(name.into()),
            Ok(Written::Table(TermTable { term, bits, drop })) => Ok(Term { name: term, bits, drop }),
            Err(_) => Err(D::Error::custom("a term is a name, or { term = NAME, bits = BITS, drop = EXPONENTS }")),
        }
    }
}

/// List of k indices: slices `START:STOP:STEP` (each part optional) or plain indices, comma-separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indices(Vec<Slice>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: usize,
    stop: Option<usize>,
    step: usize,
}

impl Indices {
    /// Indices in order for an instruction with `k`; they may exceed it.
    pub(crate) fn of(&self, k: usize) -> Vec<usize> {
        self.0.iter().flat_map(|slice| (slice.start..slice.stop.unwrap_or(k)).step_by(slice.step)).collect()
    }

    /// The indices, if it lists them one by one.
    pub fn indices(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|slice| (slice.stop == slice.start.checked_add(1)).then_some(slice.start)).collect()
    }

    fn parse(text: &str) -> Result<Indices, String> {
        let bad = || {
            format!(
                "'{text}' is not a list of k; write slices START:STOP:STEP and indices with commas between, like \"0::2\""
            )
        };
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
        let part = |text: &str, absent: usize| if text.trim().is_empty() { Ok(absent) } else { number(text) };
        let slice = |text: &str| -> Result<Slice, String> {
            let parts: Vec<&str> = text.split(':').collect();
            match parts[..] {
                [index] => number(index).map(|start| Slice { start, stop: Some(start + 1), step: 1 }),
                [start, stop] | [start, stop, _] => {
                    let step = part(parts.get(2).copied().unwrap_or(""), 1)?;
                    let stop = if stop.trim().is_empty() { None } else { Some(number(stop)?) };
                    // No instruction has so many k that the list is long.
                    let far = stop.is_some_and(|stop| stop > 1 << 16);
                    if step == 0 || far { Err(bad()) } else { Ok(Slice { start: part(start, 0)?, stop, step }) }
                }
                _ => Err(bad()),
            }
        };
        text.split(',').map(slice).collect::<Result<_, _>>().map(Indices)
    }
}

impl From<Vec<usize>> for Indices {
    fn from(indices: Vec<usize>) -> Indices {
        let one = |start: usize| Slice { start, stop: start.checked_add(1), step: 1 };
        Indices(indices.into_iter().map(one).collect())
    }
}

impl fmt::Display for Indices {
    /// Slices as in a model file: `0::2`, `0:4, 8:12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Slice { start, stop, step }) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            if *stop == start.checked_add(1) {
                write!(f, "{start}")?;
                continue;
            }
            let stop = stop.map_or_else(String::new, |stop| stop.to_string());
            let step = if *step == 1 { String::new() } else { format!(":{step}") };
            write!(f, "{start}:{stop}{step}")?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Indices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Indices, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            List(Vec<usize>),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Text(text)) => Indices::parse(&text).map_err(D::Error::custom),
            Ok(Written::List(list)) => Ok(list.into()),
            Err(_) => Err(D::Error::custom("products are a list of k, or slices of them like \"0::2\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Indices;

    #[test]
    fn slices_and_indices_name_k_in_order() {
        let of = |text: &str, k| Indices::parse(text).unwrap().of(k);
        assert_eq!(of("0::2", 8), [0, 2, 4, 6]);
        assert_eq!(of("::", 3), [0, 1, 2]);
        assert_eq!(of("4:6, 1, 0", 8), [4, 5, 1, 0]);
        assert_eq!(of("6:9", 8), [6, 7, 8]);
        assert!(of("5:2", 8).is_empty());
        for bad in ["", "a", "1:2:3:4", "0::0", "-1", "1;2", "0:99999999999"] {
            assert!(Indices::parse(bad).is_err(), "{bad}");
        }
    }
}
