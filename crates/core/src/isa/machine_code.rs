//! Instructions by the names of their machine code (`machine_code.csv`): `HMMA.16816.F32`.
//!
//! Each NVIDIA instruction that is one machine instruction was assembled and disassembled with ptxas 13.0.88 (sm_70:
//! 12.9.86).
//! Instructions with the same machine code are in order of preference: the shape of the name first, `wmma` last.

use super::{Instruction, table};
use crate::{Error, Result, base::nearest::nearest};

const TABLE: &str = include_str!("machine_code.csv");

/// First parts of the names.
const FAMILIES: &[&str] = &["hmma", "imma", "dmma", "bmma", "qmma", "omma", "hgmma", "igmma", "qgmma", "bgmma"];

/// Names of machine instructions, each with the instructions that compile to it.
fn rows() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    TABLE.lines().skip(1).filter_map(|line| line.split_once(',')).map(|(name, those)| (name, those.split(' ')))
}

/// Names of the machine code of an instruction by its canonical name; empty if they are unknown.
pub fn machine_names(instruction: &str) -> Vec<&'static str> {
    rows().filter_map(|(name, mut those)| those.any(|known| known == instruction).then_some(name)).collect()
}

/// Instruction whose machine code has this name; `None` if it is no such name.
///
/// # Errors
/// A request error: an unknown name of this kind, with similar ones; a name of several instructions that compute
/// different things, with their names.
pub(super) fn find(name: &str) -> Result<Option<Instruction>> {
    let of_kind = |family: &&str| name.split('.').next().is_some_and(|first| first.eq_ignore_ascii_case(family));
    let row = rows().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some((known, instructions)) = row else {
        if !FAMILIES.iter().any(of_kind) {
            return Ok(None);
        }
        let shown = name.to_ascii_uppercase();
        let family = shown.split('.').next().unwrap_or_default();
        let alike = rows().map(|(known, _)| known).filter(|known| known.split('.').next() == Some(family));
        let near: Vec<String> = nearest(&name.to_ascii_lowercase(), alike, 3)
            .into_iter()
            .map(|near| {
                let row = rows().find(|(known, _)| *known == near.trim_matches('\''));
                format!("{near} ({})", row.and_then(|(_, mut those)| those.next()).unwrap_or_default())
            })
            .collect();
        return Err(Error::request(format!(
            "unknown machine instruction '{shown}'; the nearest are {}. `tcnum instructions` lists all instructions",
            near.join(", ")
        )));
    };
    let all: Vec<&Instruction> = instructions.filter_map(table::listed).collect();
    let operands = |i: &Instruction| (i.m, i.n, i.k, i.a, i.b, i.c, i.d, i.scale, i.saturate);
    match all.first() {
        Some(first) if all.iter().all(|other| operands(other) == operands(first)) => Ok(Some((*first).clone())),
        _ => {
            let names: Vec<&str> = all.iter().map(|i| i.name.as_str()).collect();
            Err(Error::request(format!(
                "{known} is the machine code of several instructions: {}; name one",
                names.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_instructions_of_the_table() {
        for (name, mut those) in rows() {
            assert!(those.all(|instruction| table::listed(instruction).is_some()), "{name}");
        }
    }

    /// Every measured name (`tests/facts`) of a single machine instruction is a row.
    #[test]
    fn every_measured_name_is_a_row() {
        let facts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/facts/ptx_instructions.csv");
        let mut reader = csv::Reader::from_path(facts).unwrap();
        let mut measured = 0;
        for fact in reader.deserialize() {
            let fact: std::collections::HashMap<String, String> = fact.unwrap();
            let code = fact["sass"].as_str();
            let Some(listed) = table::listed(&fact["ptx"]) else { continue };
            // Machine code of tcgen05 does not determine the operand formats.
            if fact["native"] != "yes"
                || code.contains(';')
                || code.is_empty()
                || listed.family().starts_with("tcgen05")
            {
                continue;
            }
            assert!(rows().any(|(known, _)| known == code), "{code} of {}", fact["ptx"]);
            measured += 1;
        }
        assert!(measured > 1000, "{measured}");
    }

    #[test]
    fn machine_code_finds_its_instruction() {
        for (code, name) in [
            ("HMMA.16816.F32", "mma.m16n8k16.f32.f16.f16.f32"),
            ("hmma.16816.f32.bf16", "mma.m16n8k16.f32.bf16.bf16.f32"),
            ("IMMA.16816.S8.U8", "mma.m16n8k16.s32.s8.u8.s32"),
        ] {
            assert_eq!(table::find(code).unwrap().name, name);
        }
        let error = table::find("HMMA.16816.F33").unwrap_err().to_string();
        assert!(error.contains("'HMMA.16816.F32' (mma.m16n8k16.f32.f16.f16.f32)"), "{error}");
        assert!(find("mma.m16n8k16.f32.f16.f16.f33").unwrap().is_none());
    }
}
