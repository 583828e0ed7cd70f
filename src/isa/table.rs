//! The instruction table (`nvidia.csv`) and finding an instruction in it.
//!
//! Each row was measured: a minimal kernel with the instruction was assembled for every target with ptxas
//! 13.0.88 (sm_70: 12.9.86) and disassembled. `native` lists the targets where one machine instruction does
//! it, `emulated` those where a sequence does, with the kind of lowering.

use std::sync::OnceLock;

use serde::Deserialize;

use super::{Instruction, Kernel, Scale, Support};
use crate::{Error, Result, format, nearest::nearest};

/// Families that exist but are not in the table, and where they exist.
const ABSENT: [(&str, &str); 2] =
    [("tcgen05", "datacentre Blackwell: sm_100a, sm_103a"), ("mfma", "AMD matrix cores: CDNA 1 to 4")];

/// Characters of an unknown name that a message repeats.
const LONGEST_SHOWN: usize = 100;

const TABLE: &str = include_str!("nvidia.csv");

#[derive(Deserialize)]
struct Row<'a> {
    name: &'a str,
    ptx: &'a str,
    m: usize,
    n: usize,
    k: usize,
    a: &'a str,
    b: &'a str,
    c: &'a str,
    d: &'a str,
    scale: &'a str,
    kernel: &'a str,
    native: &'a str,
    emulated: &'a str,
}

/// Every instruction of the table, in its order. wgmma forms stand with their smallest n.
pub fn all() -> &'static [Instruction] {
    static INSTRUCTIONS: OnceLock<Vec<Instruction>> = OnceLock::new();
    INSTRUCTIONS.get_or_init(|| {
        let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
        let headers = reader.headers().expect("nvidia.csv has a header line").clone();
        reader
            .records()
            .map(|record| {
                let record = record.expect("nvidia.csv is well-formed");
                instruction(record.deserialize(Some(&headers)).expect("nvidia.csv has the columns of a row"))
            })
            .collect()
    })
}

fn instruction(row: Row<'_>) -> Instruction {
    let format = |name| format::find(name).expect("nvidia.csv names formats of the format table");
    let support = |field: &str| -> Vec<Support> {
        let parse = |entry: &str| match entry.split_once(':') {
            None => Support { architecture: entry.into(), emulation: None },
            Some((architecture, how)) => Support { architecture: architecture.into(), emulation: Some(how.into()) },
        };
        field.split_whitespace().map(parse).collect()
    };
    let mut support = [support(row.native), support(row.emulated)].concat();
    support.sort_by_key(|s| s.architecture.trim_start_matches("sm_").trim_end_matches('a').parse::<u32>().unwrap_or(0));
    Instruction {
        name: row.name.into(),
        ptx: row.ptx.into(),
        m: row.m,
        n: row.n,
        k: row.k,
        a: format(row.a),
        b: format(row.b),
        c: format(row.c),
        d: format(row.d),
        scale: row.scale.split_once(':').map(|(name, block)| Scale {
            format: format(name),
            block: block.parse().expect("nvidia.csv gives a scale as FORMAT:BLOCK"),
        }),
        kernel: Kernel::parse(row.kernel),
        support,
    }
}

/// The instruction with this canonical name or vendor's full spelling, in any letter case.
///
/// For `wgmma` n is a parameter: `n8`, any other multiple of 8 up to 256 (integer operands: 8, 16, 24, 32, then
/// multiples of 16), or `nN` for the smallest.
///
/// # Errors
/// A name that no instruction has (the message gives the nearest), or an n that the form does not allow.
pub fn find(name: &str) -> Result<Instruction> {
    let wanted = &name.trim().to_ascii_lowercase();
    let is = |spelling: &str, wanted: &str| spelling.eq_ignore_ascii_case(wanted);
    let exact = |wanted: &str| all().iter().find(|i| is(&i.name, wanted) || is(&i.ptx, wanted)).cloned();
    if let Some(found) = exact(wanted) {
        return Ok(found);
    }
    if wanted.starts_with("wgmma")
        && let Some((n, smallest)) = replace_n(wanted, "8")
        && let Some(mut found) = exact(&smallest)
    {
        if n != "n" {
            found.n = checked_n(n, &found)?;
            found.name = replace_n(&found.name, n).expect("a wgmma name has an n").1;
            found.ptx = replace_n(&found.ptx, n).expect("a wgmma spelling has an n").1;
        }
        return Ok(found);
    }
    if let Some((family, architectures)) = ABSENT.iter().find(|(family, _)| wanted.starts_with(family)) {
        return Err(Error::request(format!(
            "{family} instructions ({architectures}) are not in the table yet and no device executes them; \
             `tcnum instructions` lists what there is"
        )));
    }
    // A hostile file can name anything.
    let shown: String = name.chars().take(LONGEST_SHOWN).collect();
    let cut = if shown.len() < name.len() { "..." } else { "" };
    Err(Error::request(format!(
        "unknown instruction '{shown}{cut}'; the nearest are {}. `tcnum instructions` lists all",
        nearest(&shown, all().iter().map(|i| i.name.as_str()), 3).join(", ")
    )))
}

/// The n of a shape `.m64n..k..` in `name`, and `name` with `n` in its place.
fn replace_n<'a>(name: &'a str, n: &str) -> Option<(&'a str, String)> {
    let start = name.find(".m64n")? + ".m64n".len();
    let end = start + name[start..].find('k')?;
    Some((&name[start..end], format!("{}{n}{}", &name[..start], &name[end..])))
}

fn checked_n(n: &str, form: &Instruction) -> Result<usize> {
    let integer = form.a.is_integer();
    n.parse()
        .ok()
        .filter(|&n: &usize| {
            (8..=256).contains(&n) && n.is_multiple_of(8) && !(integer && n > 24 && !n.is_multiple_of(16))
        })
        .ok_or_else(|| {
            let allowed =
                if integer { "8, 16, 24, or a multiple of 16 up to 256" } else { "a multiple of 8 up to 256" };
            Error::request(format!("n{n} is not a shape of {}: n is {allowed}", form.name))
        })
}
