//! Kernel sources, specialised for one instruction.
//!
//! A kernel is a prelude of definitions (shape, formats, register counts, and the instruction itself as an inline
//! assembly statement), `kernels/fragment.cuh`, `kernels/sparse.cuh` where A is sparse, the source of the instruction's
//! family, which holds the register layouts, and an entry. All that is written here comes from the instruction record.

use std::fmt::Write;

use super::{constants::constants, statement::statements};
use crate::{
    format::Format,
    isa::{Chunk, Instruction, Kernel},
    kernels::source,
};

const FRAGMENT: &str = source("fragment.cuh");
const SPARSE: &str = source("sparse.cuh");

/// Threads of a block: of every family a multiple of the threads that issue an instruction together.
const BLOCK_THREADS: u32 = 128;

/// A kernel for one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specialised {
    /// CUDA C++, complete: nothing is included.
    pub source: String,
    /// The name of its entry.
    pub entry: &'static str,
    /// Threads of a block: required by the kernel, not a choice.
    pub threads: u32,
    /// Tiles that a block works on at a time.
    pub tiles_per_block: u32,
}

/// The kernel that executes `instruction` on tiles in memory, `execute(a, b, c, positions, d, tiles)`, or `None` if no kernel
/// does (see [`Instruction::missing`]). `positions` is null for dense forms.
pub fn specialise(instruction: &Instruction) -> Option<Specialised> {
    with_entry(instruction, "execute", source("execute.cu"))
}

/// The family's source for `instruction` with `behind` it, which has the entry called `entry`.
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

/// The threads that issue the instruction together, and the tiles that they work on.
fn run(kernel: Kernel) -> (u32, u32) {
    match kernel {
        Kernel::Mma | Kernel::Wmma => (32, 1),
        Kernel::Mma884 => (32, 4),
        Kernel::Wgmma => (128, 1),
    }
}

/// Registers in which a thread holds its part of an operand.
pub(super) struct Fragment {
    /// Format of the codes.
    pub format: &'static Format,
    /// Registers of a thread: of 32 bits each, of 64 bits for 64-bit codes.
    pub registers: usize,
}

impl Fragment {
    /// Bits that a code takes in a register: integers of 4 bits are packed, every other code is as in memory.
    pub fn bits(&self) -> usize {
        match self.format.bits {
            4 if self.format.is_integer() => 4,
            _ => 8 * self.format.bytes(),
        }
    }
}

/// The fragments of an instruction's operands.
pub(super) struct Fragments {
    /// A: of sparse forms, its stored elements.
    pub a: Fragment,
    /// B.
    pub b: Fragment,
    /// C.
    pub c: Fragment,
    /// D.
    pub d: Fragment,
}

impl Fragments {
    fn new(i: &Instruction, kernel: Kernel) -> Fragments {
        let (threads, tiles) = run(kernel);
        let fragment = |format: &'static Format, elements: usize| {
            let mut fragment = Fragment { format, registers: 0 };
            let bits = tiles as usize * elements * fragment.bits();
            // Of a small B not every thread of a warpgroup would get one: it is never in registers there.
            fragment.registers = (bits / (threads as usize * fragment.bits().max(32))).max(1);
            fragment
        };
        let mut fragments = Fragments {
            a: fragment(i.a, i.m * i.stored_k()),
            b: fragment(i.b, i.k * i.n),
            c: fragment(i.c, i.m * i.n),
            d: fragment(i.d, i.m * i.n),
        };
        // Of f16, wmma has the registers of its first architecture in every shape: there, lanes hold elements twice.
        if kernel == Kernel::Wmma && i.a.name == "f16" {
            (fragments.a.registers, fragments.b.registers) = (8, 8);
        }
        fragments
    }
}

/// The definitions in front of the source.
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
    let chunk = i.chunk().unwrap_or(Chunk { length: 1, kept: 1, together: 1 });
    define("CHUNK_LENGTH", chunk.length);
    define("CHUNK_KEPT", chunk.kept);
    define("CHUNK_TOGETHER", chunk.together);
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

/// Whether A and B are column-major in registers, by the vendor's spelling.
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
    fn registers_hold_every_element_once() {
        for i in isa::all() {
            let Some(kernel) = i.kernel else { continue };
            let (threads, tiles) = run(kernel);
            let Fragments { a, b, c, d } = Fragments::new(i, kernel);
            let b_in_registers = kernel != Kernel::Wgmma;
            let f16_wmma = kernel == Kernel::Wmma && i.a.name == "f16";
            let operands = [
                (a, i.m * i.stored_k(), !f16_wmma),
                (b, i.k * i.n, b_in_registers && !f16_wmma),
                (c, i.m * i.n, true),
                (d, i.m * i.n, true),
            ];
            for (fragment, elements, _) in operands.into_iter().filter(|(.., once)| *once) {
                let bits = fragment.registers * threads as usize * fragment.bits().max(32);
                assert_eq!(bits, tiles as usize * elements * fragment.bits(), "{i} {}", fragment.format);
            }
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
}
