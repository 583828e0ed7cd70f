//! Candidates of plain sums, from `schedules/plain.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{BlockTree, LaneRest, PlainLanes, PlainSum, ProductRounding};
use crate::{
    Error, Result,
    format::{self, Format},
    product::{AccumulatorJoin, file::value, shipped::shipped},
};

/// The rows of `schedules/plain.toml`.
static ROWS: LazyLock<PlainRows> =
    LazyLock::new(|| toml::from_str(shipped("plain").expect("a file of schedules/")).expect("a test reads the file"));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainRows {
    sum: Vec<PlainRow>,
}

/// A row: every combination of its values is a candidate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainRow {
    products: Vec<String>,
    #[serde(default = "single")]
    registers: Vec<String>,
    #[serde(default = "one")]
    lanes: Vec<usize>,
    #[serde(default = "one")]
    pieces: Vec<usize>,
    #[serde(default = "order")]
    joins: Vec<String>,
    #[serde(default = "one")]
    unrolled: Vec<usize>,
    #[serde(default = "in_lanes")]
    rests: Vec<String>,
    #[serde(default = "no_blocks")]
    blocks: Vec<usize>,
    #[serde(default = "order")]
    trees: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

fn single() -> Vec<String> {
    vec!["single".into()]
}

fn one() -> Vec<usize> {
    vec![1]
}

fn order() -> Vec<String> {
    vec!["order".into()]
}

fn in_lanes() -> Vec<String> {
    vec!["lanes".into()]
}

fn no_blocks() -> Vec<usize> {
    vec![0]
}

/// Sums of `k` products that are tried for these formats: usual ones first, equal ones once.
///
/// # Errors
/// A row with a word that no table has.
pub(in crate::product) fn candidates(
    [a, b]: [&'static Format; 2],
    d: &'static Format,
    k: usize,
) -> Result<Vec<PlainSum>> {
    let mut all: Vec<PlainSum> = Vec::new();
    for row in &ROWS.sum {
        for name in &row.registers {
            let Some(register) = register(name, [a, b], d)? else { continue };
            for sum in row.sums(register, d).map_err(Error::request)? {
                let sum = sum.simplified(k);
                if !sum.has_schedule() && !all.contains(&sum) {
                    all.push(sum);
                }
            }
        }
    }
    Ok(all)
}

/// The format that a word names for these matrices, if they have one.
fn register(name: &str, operands: [&'static Format; 2], d: &'static Format) -> Result<Option<&'static Format>> {
    let is_double = operands.contains(&format::find("f64")?) || d.name == "f64";
    Ok(match name {
        "single" => Some(format::find(if is_double { "f64" } else { "f32" })?),
        "double" => Some(format::find("f64")?).filter(|_| !is_double),
        "output" => Some(d).filter(|d| ["f16", "bf16"].contains(&d.name)),
        other => return Err(Error::request(format!("registers: '{other}' is not single, double or output"))),
    })
}

impl PlainRow {
    /// Every combination of the row's values.
    fn sums(&self, register: &'static Format, output: &'static Format) -> std::result::Result<Vec<PlainSum>, String> {
        let mut lanes = Vec::new();
        for (count, piece) in self.lanes.iter().flat_map(|count| self.pieces.iter().map(|piece| (*count, *piece))) {
            for (join, rest) in self.joins.iter().flat_map(|join| self.rests.iter().map(move |rest| (join, rest))) {
                let (join, rest) = (value::<AccumulatorJoin>("joins", join)?, value::<LaneRest>("rests", rest)?);
                lanes.extend(self.unrolled.iter().map(|unrolled| PlainLanes {
                    count,
                    piece,
                    join,
                    unrolled: *unrolled,
                    rest,
                }));
            }
        }
        let mut all = Vec::new();
        for (products, lanes) in self.products.iter().flat_map(|name| lanes.iter().map(move |lanes| (name, *lanes))) {
            let products = value::<ProductRounding>("products", products)?;
            for (block, tree) in self.blocks.iter().flat_map(|block| self.trees.iter().map(move |tree| (block, tree))) {
                let tree = value::<BlockTree>("trees", tree)?;
                let block = Some(*block).filter(|block| *block > 0);
                all.push(PlainSum { products, register, lanes, block, tree, output });
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_of_the_plain_sums_can_be_read() {
        let [single, half, double] = ["f32", "f16", "f64"].map(|name| format::find(name).unwrap());
        for (operands, d) in [(single, single), (half, half), (half, single), (double, double)] {
            let all = candidates([operands; 2], d, 1000).unwrap();
            assert!(all.len() > 100, "{}", all.len());
            let sentences: HashSet<String> = all.iter().map(|sum| sum.sentence(1000)).collect();
            assert_eq!(sentences.len(), all.len(), "two sums have one sentence");
        }
    }

    #[test]
    fn a_sum_of_two_products_is_added_once() {
        let single = format::find("f32").unwrap();
        let sums = candidates([single; 2], single, 2).unwrap();
        let sentences: Vec<String> = sums.iter().map(|sum| sum.sentence(2)).collect();
        assert_eq!(sentences.len(), 3, "{sentences:#?}");
    }
}
