//! Instruction tables (`nvidia.csv`, `amd.csv`, `arm.csv`, `riscv.csv`, `x86.csv`) and look-up in them.
//!
//! A row describes an instruction; `targets/` lists its targets. Each NVIDIA row was assembled and disassembled, with
//! ptxas 13.0.88 (sm_70: 12.9.86; four ue8m0 scales and sm_107a: 13.5.37). For tcgen05, whose operand formats are in a descriptor,
//! the kinds were assembled; the formats are those of the PTX ISA. `scale_vec::NX` is N scales for the whole k of an
//! instruction: a scale of a sparse form covers twice as many elements along k as in the dense form with half the k.
//! `.block16` and `.block32` in names are the vendor's words, and count stored elements.
//!
//! AMD's rows of CDNA are the MFMA instructions of the instruction set references of CDNA 1 (gfx908) to CDNA 4 (gfx950),
//! in their first spelling. A tile of a form that computes several blocks (`.2b`, `.4b`, `.16b`) is one block. The rows of
//! RDNA are the dense V_WMMA (`vwmma`), and the V_DOT with the same arithmetic (`vdot2`, `vdot4`), whose lanes share one row
//! of A. A wave has 32 lanes, or 64 in `.w64`, which RDNA 4 sums in another order. `.clamp` saturates. The modifier NEG
//! selects the signs that the integer formats have.
//!
//! The x86 rows are the instructions of AMX, AVX-512 and FMA with their widest registers, by their mnemonics; a tile of a
//! lane-wise instruction has one row of A, which all lanes share.
//!
//! Arm's rows are forms of Advanced SIMD on registers of 128 bits (Arm Architecture Reference Manual, DDI 0487 M.a.a,
//! C7.2). In a matrix multiplication A is in Vn and B, by columns, in Vm. In a form by element A is the element of Vm
//! that every lane multiplies, and the columns of B are in Vn: the lanes of `bfdot` and `fdot`, the bottom or top
//! elements (`b`, `t`) of the long multiply-adds, the lower or upper half of Vn of `fmlal` and `fmlal2`. FPMR selects
//! the FP8 formats. `ummla` adds to unsigned numbers, which have the codes of s32. The forms of SME and SVE (C8.2, C9.2)
//! have registers of 512 bits (`fmopa`, `bfmopa`), or are one segment of 128 or 256 bits.
//!
//! RISC-V's rows are the batched dot products of Zvbdota with VLEN = 128 and 256 (A is vs1, the columns of B are the
//! registers of vs2), `vfwmaccbf16.vf` with eight elements, and the tiles of the Integrated Matrix Extension with
//! VLEN = 512, SEW = 32, lambda = 4 and LMUL = 1.

use std::sync::OnceLock;

use serde::Deserialize;

use super::{Chunk, Instruction, Kernel, Scale, by_description, machine_code, targets};
use crate::{
    Error, Result,
    base::nearest::nearest,
    format::{self, Format},
};

/// Characters of an unknown name that a message repeats.
const LONGEST_SHOWN: usize = 100;

const TABLES: &[&str] = &[
    include_str!("nvidia.csv"),
    include_str!("amd.csv"),
    include_str!("arm.csv"),
    include_str!("riscv.csv"),
    include_str!("x86.csv"),
];

/// Families whose n is a parameter, with the m of the listed forms and the smallest n.
const PARAMETRIC: &[(&str, &str, &str)] = &[("wgmma", ".m64n", "8"), ("tcgen05", ".m128n", "16")];

#[derive(Deserialize)]
struct InstructionRow<'a> {
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
    /// Overflow of integers where the name does not say it (`.satfinite`): true saturates.
    #[serde(default)]
    saturate: Option<bool>,
}

/// All instructions of the tables, in their order; wgmma and tcgen05 forms have their smallest n.
pub fn all() -> &'static [Instruction] {
    static INSTRUCTIONS: OnceLock<Vec<Instruction>> = OnceLock::new();
    INSTRUCTIONS.get_or_init(|| TABLES.iter().flat_map(|table| rows(table)).collect())
}

fn rows(table: &str) -> Vec<Instruction> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers().expect("an instruction table has a header line").clone();
    let row = |record: csv::StringRecord| {
        instruction(record.deserialize(Some(&headers)).expect("an instruction table has the columns of a row"))
    };
    reader.records().map(|record| row(record.expect("an instruction table is well-formed"))).collect()
}

fn instruction(row: InstructionRow<'_>) -> Instruction {
    let format = |name| format::find(name).expect("an instruction table names formats of the format table");
    let a = format(row.a);
    Instruction {
        name: row.name.into(),
        ptx: row.ptx.into(),
        m: row.m,
        n: row.n,
        k: row.k,
        a,
        b: format(row.b),
        c: format(row.c),
        d: format(row.d),
        scale: row.scale.split_once(':').map(|(name, block)| Scale {
            format: format(name),
            block: block.parse().expect("an instruction table gives a scale as FORMAT:BLOCK"),
        }),
        sparse: row.name.split_once(".m").is_some_and(|(family, _)| family.ends_with(".sp")).then(|| chunk(a, row.ptx)),
        saturate: row.saturate.unwrap_or_else(|| row.name.split('.').any(|part| part == "satfinite")),
        xor: row.name.split('.').any(|part| part == "xor"),
        kernel: Kernel::parse(row.kernel),
        support: targets::matrix(row.name),
    }
}

/// Structured sparsity of the sparse instructions with this format of A.
fn chunk(a: &Format, ptx: &str) -> Chunk {
    let any_order = ptx.starts_with("mma.sp.");
    match a.bits {
        32 => Chunk { length: 2, kept: 1, together: 1, any_order },
        // The kinds f8f6f4 and mxf8f6f4 hold every number in a byte, and treat it as one of 8 bits.
        4 if !ptx.contains("f8f6f4") => Chunk { length: 8, kept: 4, together: 2, any_order },
        _ => Chunk { length: 4, kept: 2, together: 1, any_order },
    }
}

/// Instruction of the tables with this canonical name or vendor's full spelling, in any letter case.
pub(super) fn listed(name: &str) -> Option<&'static Instruction> {
    all().iter().find(|i| i.name.eq_ignore_ascii_case(name) || i.ptx.eq_ignore_ascii_case(name))
}

/// Instruction with this canonical name or vendor's full spelling, in any letter case.
///
/// For `wgmma` and `tcgen05` n is a parameter: the listed one, any other multiple of 8 up to 256 (integer operands of
/// wgmma: 8, 16, 24, then multiples of 16; tcgen05: multiples of 16), or `nN` for the smallest. Instructions read by
/// [`resolve`](super::resolve) are found, too.
///
/// # Errors
/// A name that no instruction has (the message suggests similar ones), or an n that the form does not allow.
pub fn find(name: &str) -> Result<Instruction> {
    if let Some(instruction) = search(name)? {
        return Ok(instruction);
    }
    // A hostile file can name anything.
    let shown: String = name.chars().take(LONGEST_SHOWN).collect();
    let cut = if shown.len() < name.len() { "..." } else { "" };
    Err(Error::request(format!(
        "unknown instruction '{shown}{cut}'; the nearest are {}. `tcnum instructions` lists all",
        nearest(&shown, all().iter().map(|i| i.name.as_str()), 3).join(", ")
    )))
}

/// Instruction with this name, like [`find`]; `None` if there is none.
pub fn known(name: &str) -> Option<Instruction> {
    search(name).ok().flatten()
}

fn search(name: &str) -> Result<Option<Instruction>> {
    let wanted = &name.trim().to_ascii_lowercase();
    let exact = |wanted: &str| listed(wanted).cloned();
    if let Some(instruction) = exact(wanted).or_else(|| by_description::known(wanted)) {
        return Ok(Some(instruction));
    }
    let parametric = PARAMETRIC.iter().find(|(family, ..)| wanted.starts_with(family));
    if let Some((_, m, smallest)) = parametric
        && let Some((n, listed)) = replace_n(wanted, m, smallest)
        && let Some(mut instruction) = exact(&listed)
    {
        if n != "n" {
            instruction.n = checked_n(n, &instruction)?;
            instruction.name = replace_n(&instruction.name, m, n).expect("a name with a parameter has an n").1;
            if let Some((_, ptx)) = replace_n(&instruction.ptx, m, n) {
                instruction.ptx = ptx;
            }
        }
        return Ok(Some(instruction));
    }
    machine_code::find(wanted)
}

/// The n of a shape `.m64n..k..` in `name` (`m` is `.m64n`), and `name` with `n` in its place.
fn replace_n<'a>(name: &'a str, m: &str, n: &str) -> Option<(&'a str, String)> {
    let start = name.find(m)? + m.len();
    let end = start + name[start..].find('k')?;
    Some((&name[start..end], format!("{}{n}{}", &name[..start], &name[end..])))
}

fn checked_n(n: &str, form: &Instruction) -> Result<usize> {
    let allows = |n: usize| match form.m {
        128 => n.is_multiple_of(16),
        _ if form.a.is_integer() => n.is_multiple_of(8) && (n <= 24 || n.is_multiple_of(16)),
        _ => n.is_multiple_of(8),
    };
    n.parse().ok().filter(|&n: &usize| (8..=256).contains(&n) && allows(n)).ok_or_else(|| {
        let allowed = match form.m {
            128 => "a multiple of 16 up to 256",
            _ if form.a.is_integer() => "8, 16, 24, or a multiple of 16 up to 256",
            _ => "a multiple of 8 up to 256",
        };
        Error::request(format!("n{n} is not a shape of {}: n is {allowed}", form.name))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_what_the_columns_say() {
        let mut names = HashSet::new();
        for i in all() {
            assert!(names.insert(&i.name), "{i} is there twice");
            let shape = match i.family() {
                family @ ("mfma" | "vwmma" | "vdot2" | "vdot4") => format!("{family}.{}x{}x{}.", i.m, i.n, i.k),
                family => format!("{family}.m{}n{}k{}.", i.m, i.n, i.k),
            };
            let operands = match i.family().starts_with("wgmma") {
                true => format!("{}.{}.{}", i.d.name, i.a.name, i.b.name),
                false => format!("{}.{}.{}.{}", i.d.name, i.a.name, i.b.name, i.c.name),
            };
            assert!(i.name.starts_with(&format!("{shape}{operands}")), "{i}");
            assert!(!i.support.is_empty() && find(&i.name).as_ref() == Ok(i), "{i}");
            assert_eq!(i.scale.is_some(), i.qualifiers().any(|q| q.starts_with("block")), "{i}");
            let chunk = i.chunk().map_or(1, |chunk| chunk.length);
            assert!(i.k.is_multiple_of(chunk) && i.scale.is_none_or(|scale| i.k.is_multiple_of(scale.block)), "{i}");
        }
    }

    #[test]
    fn block_scaled_forms_have_as_many_scales_as_their_spelling_says() {
        let mut counted = 0;
        for i in all() {
            let Some((_, rest)) = i.ptx.split_once("scale_vec::") else { continue };
            let scales: usize = rest[..1].parse().unwrap();
            assert_eq!(i.scale.map(|scale| i.k / scale.block), Some(scales), "{i}");
            counted += 1;
        }
        assert!(counted > 50, "{counted}");
    }

    #[test]
    fn the_name_of_a_block_scaled_form_counts_stored_elements() {
        for i in all() {
            let Some(block) = i.qualifiers().find_map(|qualifier| qualifier.strip_prefix("block")) else { continue };
            let stored = i.scale.map(|scale| scale.block * i.stored_k() / i.k);
            assert_eq!(stored, Some(block.parse().unwrap()), "{i}");
        }
    }

    #[test]
    fn n_is_a_parameter_where_the_vendor_has_it_so() {
        let tcgen05 = find("tcgen05.m128n64k16.f32.bf16.bf16.f32").unwrap();
        assert_eq!((tcgen05.m, tcgen05.n, tcgen05.k), (128, 64, 16));
        assert_eq!(find("TCGEN05.m128nNk8.f32.tf32.tf32.f32").unwrap().n, 16);
        assert_eq!(find("wgmma.sp.m64n256k64.s32.s8.u8").unwrap().n, 256);
        for (name, allowed) in [
            ("tcgen05.m128n8k16.f32.bf16.bf16.f32", "a multiple of 16 up to 256"),
            ("wgmma.m64n40k32.s32.s8.u8", "8, 16, 24, or"),
            ("wgmma.m64n264k16.f32.f16.f16", "a multiple of 8 up to 256"),
        ] {
            let error = find(name).unwrap_err();
            assert!(error.exit_status() == 2 && error.to_string().contains(allowed), "{error}");
        }
    }

    #[test]
    fn the_first_spelling_of_amd_finds_its_row() {
        let i = find("v_mfma_f32_32x32x8f16").unwrap();
        assert_eq!((i.name.as_str(), i.family()), ("mfma.32x32x8.f32.f16.f16.f32", "mfma"));
        assert_eq!(i.architectures(), "gfx908, gfx90a, gfx942, gfx950");
        let blocks = find("mfma.4x4x4.f32.f16.f16.f32.16b").unwrap();
        assert!(blocks.has_qualifier("16b") && blocks.m == 4);
        let i = find("v_wmma_f32_16x16x16_f16").unwrap();
        assert_eq!((i.name.as_str(), i.family()), ("vwmma.16x16x16.f32.f16.f16.f32", "vwmma"));
        assert_eq!(i.architectures(), "gfx1100, gfx1151, gfx1201");
        assert!(find("vwmma.16x16x16.s32.s8.u8.s32.clamp").unwrap().saturate);
    }
}
