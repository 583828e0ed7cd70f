//! Kernel sources, specialised for one instruction.
//!
//! A kernel is a prelude of definitions (shape, formats, register counts, and the instruction as inline assembly),
//! `kernels/fragment.cuh`, `kernels/sparse.cuh` for a sparse A, the source of the instruction's family with its
//! register layouts, and an entry. Everything generated here comes from the instruction record.

use std::fmt::Write;

use super::{
    constants::constants,
    fragments::{Fragments, run},
    statement::statements,
};
use crate::{
    isa::{Chunk, Instruction, Kernel},
    kernels::source,
};

const FRAGMENT: &str = source("fragment.cuh");
const SPARSE: &str = source("sparse.cuh");

/// Threads of a block: a multiple of the threads that issue an instruction together, in every family.
const BLOCK_THREADS: u32 = 128;

/// A kernel for one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specialised {
    /// Complete CUDA C++ source, without includes.
    pub source: String,
    /// Name of the entry.
    pub entry: &'static str,
    /// Threads of a block, as the kernel requires.
    pub threads: u32,
    /// Tiles of a block at a time.
    pub tiles_per_block: u32,
}

/// Generates the kernel `execute(a, b, c, positions, d, tiles)`, which executes `instruction` on tiles.
/// `None` if no kernel does (see [`Instruction::missing`]). `positions` is null for dense forms.
pub fn specialise(instruction: &Instruction) -> Option<Specialised> {
    with_entry(instruction, "execute", source("execute.cu"))
}

/// Generates the family's source for `instruction`, followed by `behind`, which has the entry `entry`.
pub fn with_entry(instruction: &Instruction, entry: &'static str, behind: &str) -> Option<Specialised> {
    let kernel = instruction.kernel?;
    let family = source(&format!("{}.cu", kernel.name()));
    let sparse = if instruction.is_sparse() { SPARSE } else { "" };
    let (threads, tiles) = run(kernel);
    Some(Specialised {
        source: [prelude(instruction, kernel).as_str(), FRAGMENT, sparse, family, behind].join("\n"),
        entry,
        threads: BLOCK_THREADS,
        tiles_per_block: BLOCK_THREADS / threads * tiles,
    })
}

/// The definitions before the source.
fn prelude(i: &Instruction, kernel: Kernel) -> String {
    let fragments = Fragments::new(i, kernel);
    let mut text = String::new();
    let mut define = |name: &str, value: usize| {
        let _ = writeln!(text, "#define {name} {value}");
    };
    [("M", i.m), ("N", i.n), ("K", i.k), ("STORED_K", i.stored_k()), ("BLOCK_THREADS", BLOCK_THREADS as usize)]
        .into_iter()
        .chain([("SPARSE", i.is_sparse().into())])
        .for_each(|(name, value)| define(name, value));
    let chunk = i.chunk().unwrap_or(Chunk { length: 1, kept: 1, together: 1, any_order: false });
    define("CHUNK_LENGTH", chunk.length);
    define("CHUNK_KEPT", chunk.kept);
    define("CHUNK_TOGETHER", chunk.together);
    define("CHUNK_ANY_ORDER", chunk.any_order.into());
    match kernel {
        Kernel::Mma | Kernel::Wmma => {}
        Kernel::Mma884 => {
            let [a, b] = column_major(i);
            define("A_COLUMN_MAJOR", a.into());
            define("B_COLUMN_MAJOR", b.into());
        }
        Kernel::Wgmma => define("A_IN_REGISTERS", i.has_qualifier("rs").into()),
    }
    let operands = [("A", &fragments.a), ("B", &fragments.b), ("C", &fragments.c), ("D", &fragments.d)];
    for (operand, fragment) in operands {
        define(&format!("{operand}_BITS"), fragment.bits());
        define(&format!("{operand}_REGISTERS"), fragment.registers);
    }
    let formats = operands.map(|(operand, fragment)| constants(&format!("Format{operand}"), fragment.format));
    let scale = i.scale.map_or_else(String::new, |scale| {
        format!("#define SCALE_BLOCK {}\n{}", scale.block, constants("FormatScale", scale.format))
    });
    [text, formats.concat(), scale, statements(i, kernel, &fragments)].concat()
}

/// Finds in the vendor's spelling if A and B are column-major in registers.
fn column_major(i: &Instruction) -> [bool; 2] {
    let mut layouts = i.ptx.split('.').filter(|part| matches!(*part, "row" | "col")).map(|part| part == "col");
    [layouts.next().unwrap_or(false), layouts.next().unwrap_or(true)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn exactly_the_executed_instructions_have_a_kernel() {
        for i in isa::all() {
            assert_eq!(specialise(i).is_some(), i.missing().is_none(), "{i}");
        }
    }

    #[test]
    fn the_layouts_of_m8n8k4_come_from_its_spelling() {
        let layouts = |name| column_major(&isa::find(name).unwrap());
        assert_eq!(layouts("mma.m8n8k4.f32.f16.f16.f32"), [false, true]);
        assert_eq!(layouts("mma.m8n8k4.f32.f16.f16.f32.row.row"), [false, false]);
        assert_eq!(layouts("mma.m8n8k4.f32.f16.f16.f32.col.row"), [true, false]);
        assert_eq!(layouts("mma.m8n8k4.f32.f16.f16.f32.col.col"), [true, true]);
    }

    fn source(name: &str) -> String {
        specialise(&isa::find(name).unwrap()).unwrap().source
    }

    #[test]
    fn the_statement_spells_the_instruction_with_its_registers_in_order() {
        assert!(source("mma.m16n8k16.f32.bf16.bf16.f32").contains(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, \
             {%10, %11, %12, %13};"
        ));
        assert!(
            source("wgmma.m64n8k16.f16.f16.f16.rs").contains("{%0, %1}, {%2, %3, %4, %5}, %6, accumulate, 1, 1, 0;")
        );
    }

    #[test]
    fn sparse_statements_have_half_of_a_and_the_metadata_at_selector_0() {
        assert!(source("mma.sp.m16n8k16.f32.f16.f16.f32").contains(
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, \
             {%8, %9, %10, %11}, %12, 0;"
        ));
        assert!(source("wgmma.sp.m64n8k32.f16.f16.f16").contains("{%0, %1}, %2, %3, %4, 0, accumulate, 1, 1, 0, 0;"));
    }

    #[test]
    fn wmma_loads_with_the_strides_of_packed_tiles() {
        let source = source("wmma.m8n32k16.f32.f16.f16.f16");
        for line in [
            "wmma.load.a.sync.aligned.row.m8n32k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 16;",
            "wmma.load.b.sync.aligned.col.m8n32k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 16;",
            "wmma.load.c.sync.aligned.row.m8n32k16.f16 {%0, %1, %2, %3}, [%4], 32;",
            "wmma.store.d.sync.aligned.row.m8n32k16.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 32;",
        ] {
            assert!(source.contains(line), "{line} in {source}");
        }
    }
}
