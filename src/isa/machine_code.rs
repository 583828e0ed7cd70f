//! Instructions by the names of their machine code (`machine_code.csv`), as disassemblers print them: `HMMA.16816.F32`.
//!
//! Each instruction of NVIDIA's that is one machine instruction was assembled and disassembled with ptxas 13.0.88 (sm_70: 12.9.86).
//! Where several have one machine instruction, they stand in order of preference: those of its shape first, `wmma` last.

use super::{Instruction, table};
use crate::{Error, Result, base::nearest::nearest};

const TABLE: &str = include_str!("machine_code.csv");

/// The first part of the names.
const FAMILIES: &[&str] = &["hmma", "imma", "dmma", "bmma", "qmma", "omma", "hgmma", "igmma", "qgmma", "bgmma"];

/// The name of a machine instruction, and the instructions that are it.
fn rows() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    TABLE.lines().skip(1).filter_map(|line| line.split_once(',')).map(|(name, those)| (name, those.split(' ')))
}

/// The instruction whose machine code has this name; `None` if it is not such a name.
///
/// # Errors
/// A request error: a name of the kind that no instruction here has, with the nearest; one that several have that compute
/// different things, with which.
pub(super) fn find(name: &str) -> Result<Option<Instruction>> {
    let of_kind = |family: &&str| name.split('.').next().is_some_and(|first| first.eq_ignore_ascii_case(family));
    let found = rows().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some((known, instructions)) = found else {
        if !FAMILIES.iter().any(|family| of_kind(&family)) {
            return Ok(None);
        }
        let (shown, names) = (name.to_ascii_uppercase(), rows().map(|(known, _)| known));
        let near: Vec<String> = nearest(&shown, names, 3)
            .into_iter()
            .map(|near| {
                let first = rows().find(|(known, _)| *known == near).and_then(|(_, mut those)| those.next());
                format!("{near} ({})", first.unwrap_or_default())
            })
            .collect();
        return Err(Error::request(format!(
            "no instruction has machine code of the name '{shown}'; the nearest are {}. `tcnum instructions` lists all by their own names",
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

    #[test]
    fn machine_code_finds_its_instruction() {
        for (code, name) in [
            ("HMMA.16816.F32", "mma.m16n8k16.f32.f16.f16.f32"),
            ("hmma.16816.f32.bf16", "mma.m16n8k16.f32.bf16.bf16.f32"),
            ("IMMA.16816.S8.U8", "mma.m16n8k16.s32.s8.u8.s32"),
        ] {
            assert_eq!(table::find(code).unwrap().name, name);
        }
        let error = table::find("HMMA.16816.F64").unwrap_err().to_string();
        assert!(error.contains("HMMA.16816.F32 (mma.m16n8k16.f32.f16.f16.f32)"), "{error}");
        assert!(find("mma.m16n8k16.f32.f16.f16.f33").unwrap().is_none());
    }
}
