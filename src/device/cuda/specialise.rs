//! Kernel sources, specialised for one instruction.
//!
//! A kernel is a prelude of definitions (shape, formats, register counts, and the instruction itself as an inline
//! assembly statement), `kernels/fragment.cuh`, the source of the instruction's family, which holds the register
//! layouts, and an entry. All that is written here comes from the instruction record.

use std::fmt::Write;

use super::constants::constants;
use crate::{
    format::Format,
    isa::{Chunk, Instruction, Kernel},
};

const FRAGMENT: &str = include_str!("../../../kernels/fragment.cuh");

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
    with_entry(instruction, "execute", include_str!("../../../kernels/execute.cu"))
}

/// The family's source for `instruction` with `behind` it, which has the entry called `entry`.
pub fn with_entry(instruction: &Instruction, entry: &'static str, behind: &str) -> Option<Specialised> {
    let kernel = instruction.kernel?;
    let family = match kernel {
        Kernel::Mma => include_str!("../../../kernels/mma.cu"),
        Kernel::Mma884 => include_str!("../../../kernels/mma884.cu"),
        Kernel::Wgmma => include_str!("../../../kernels/wgmma.cu"),
    };
    let (threads, tiles) = run(kernel);
    Some(Specialised {
        source: format!("{}{FRAGMENT}\n{family}\n{behind}", prelude(instruction, kernel)),
        entry,
        threads: BLOCK_THREADS,
        tiles_per_block: BLOCK_THREADS / threads * tiles,
    })
}

/// The threads that issue the instruction together, and the tiles that they work on.
fn run(kernel: Kernel) -> (u32, u32) {
    match kernel {
        Kernel::Mma => (32, 1),
        Kernel::Mma884 => (32, 4),
        Kernel::Wgmma => (128, 1),
    }
}

/// The definitions in front of the source.
fn prelude(i: &Instruction, kernel: Kernel) -> String {
    let flag = |on: bool| u8::from(on);
    let stored = i.stored_k();
    let mut text = format!(
        "#define M {}\n#define N {}\n#define K {}\n#define STORED_K {stored}\n#define SPARSE {}\n\
         #define BLOCK_THREADS {BLOCK_THREADS}\n",
        i.m,
        i.n,
        i.k,
        flag(i.is_sparse())
    );
    let chunk = i.chunk().unwrap_or(Chunk { length: 1, kept: 1, together: 1 });
    let _ = write!(text, "#define CHUNK_LENGTH {}\n#define CHUNK_KEPT {}\n", chunk.length, chunk.kept);
    let operands = [("A", i.a, i.m * stored), ("B", i.b, i.k * i.n), ("C", i.c, i.m * i.n), ("D", i.d, i.m * i.n)];
    for (operand, format, elements) in operands {
        let bits = 8 * format.bytes();
        let registers = registers(format, elements, kernel);
        let _ = write!(text, "#define {operand}_BITS {bits}\n#define {operand}_REGISTERS {registers}\n");
        text += &constants(&format!("Format{operand}"), format);
    }
    if let Some(scale) = i.scale {
        text += &constants("FormatScale", scale.format);
    }
    match kernel {
        Kernel::Mma => {}
        Kernel::Mma884 => {
            let [a, b] = column_major(i);
            let _ = write!(text, "#define A_COLUMN_MAJOR {}\n#define B_COLUMN_MAJOR {}\n", flag(a), flag(b));
        }
        Kernel::Wgmma => {
            let _ = writeln!(text, "#define A_IN_REGISTERS {}", flag(i.has_qualifier("rs")));
        }
    }
    text + &match kernel {
        Kernel::Mma | Kernel::Mma884 => mma_statement(i, kernel),
        Kernel::Wgmma => wgmma_statement(i),
    }
}

/// Registers in which a thread holds its part of an operand (32 bits each; 64 for 64-bit codes).
fn registers(format: &Format, elements: usize, kernel: Kernel) -> usize {
    let (threads, tiles) = run(kernel);
    let (threads, tiles) = (threads as usize, tiles as usize);
    let per_register = (4 / format.bytes()).max(1);
    // Of a small B not every thread of a warpgroup would get one: it is never in registers there.
    (tiles * elements / (threads * per_register)).max(1)
}

/// Whether A and B are column-major in registers, by the vendor's spelling.
fn column_major(i: &Instruction) -> [bool; 2] {
    let mut layouts = i.ptx.split('.').filter(|part| matches!(*part, "row" | "col")).map(|part| part == "col");
    [layouts.next().unwrap_or(false), layouts.next().unwrap_or(true)]
}

/// An inline assembly statement under construction: its template so far, and its operands.
#[derive(Default)]
struct Statement {
    count: usize,
}

impl Statement {
    /// The template's `{%4, %5}` for the next `registers` operands, and their `"r"(x[0]), "r"(x[1])`.
    fn vector(&mut self, name: &str, format: &Format, registers: usize, direction: &str) -> (String, String) {
        let constraint = if format.bytes() == 8 { "l" } else { "r" };
        let range = self.count..self.count + registers;
        self.count = range.end;
        let template: Vec<String> = range.map(|n| format!("%{n}")).collect();
        let operands: Vec<String> =
            (0..registers).map(|r| format!("\"{direction}{constraint}\"(({name})[{r}])")).collect();
        (format!("{{{}}}", template.join(", ")), operands.join(", "))
    }

    /// The template's `%4` for one 64-bit operand, and its `"l"(x)`.
    fn descriptor(&mut self, name: &str) -> (String, String) {
        self.count += 1;
        (format!("%{}", self.count - 1), format!("\"l\"({name})"))
    }
}

fn mma_statement(i: &Instruction, kernel: Kernel) -> String {
    let mut statement = Statement::default();
    let count = |format, elements| registers(format, elements, kernel);
    let (d, d_operands) = statement.vector("d", i.d, count(i.d, i.m * i.n), "=");
    let (a, a_operands) = statement.vector("a", i.a, count(i.a, i.m * i.k), "");
    let (b, b_operands) = statement.vector("b", i.b, count(i.b, i.k * i.n), "");
    let (c, c_operands) = statement.vector("c", i.c, count(i.c, i.m * i.n), "");
    format!(
        "#define EXECUTE(d, a, b, c) asm volatile(\"{} {d}, {a}, {b}, {c};\" : {d_operands} : {a_operands}, \
         {b_operands}, {c_operands})\n",
        i.ptx
    )
}

fn wgmma_statement(i: &Instruction) -> String {
    let mut statement = Statement::default();
    let (d, d_operands) = statement.vector("d", i.d, registers(i.d, i.m * i.n, Kernel::Wgmma), "+");
    let a_in_registers = i.has_qualifier("rs");
    let (a, a_operands) = if a_in_registers {
        statement.vector("a", i.a, registers(i.a, i.m * i.k, Kernel::Wgmma), "")
    } else {
        statement.descriptor("a")
    };
    let (b, b_operands) = statement.descriptor("b");
    // After scale-d: the signs of A and B (floating-point), then their transpositions (16-bit, in shared memory).
    let immediates = match (i.a.is_integer(), i.a.bits, a_in_registers) {
        (true, ..) => "",
        (_, 16, false) => ", 1, 1, 0, 0",
        (_, 16, true) => ", 1, 1, 0",
        _ => ", 1, 1",
    };
    let lines = [
        "{".to_string(),
        ".reg .pred accumulate;".to_string(),
        "setp.ne.b32 accumulate, 1, 0;".to_string(),
        "wgmma.fence.sync.aligned;".to_string(),
        format!("{} {d}, {a}, {b}, accumulate{immediates};", i.ptx),
        "wgmma.commit_group.sync.aligned;".to_string(),
        "wgmma.wait_group.sync.aligned 0;".to_string(),
        "}".to_string(),
    ];
    format!(
        "#define EXECUTE(d, a, b) asm volatile(\"{}\" : {d_operands} : {a_operands}, {b_operands} : \"memory\")\n",
        lines.join("\\n")
    )
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
        for i in isa::all().iter().filter(|i| i.kernel.is_some()) {
            let kernel = i.kernel.unwrap();
            let (threads, tiles) = run(kernel);
            let (threads, tiles) = (threads as usize, tiles as usize);
            for (format, elements) in [(i.a, i.m * i.k), (i.c, i.m * i.n), (i.d, i.m * i.n)] {
                let bits = registers(format, elements, kernel) * threads * if format.bytes() == 8 { 64 } else { 32 };
                assert_eq!(bits, tiles * elements * 8 * format.bytes(), "{i} {format}");
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

    #[test]
    fn the_statement_spells_the_instruction_with_its_registers_in_order() {
        let source = specialise(&isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap()).unwrap().source;
        assert!(source.contains(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, \
             {%10, %11, %12, %13};"
        ));
        let source = specialise(&isa::find("wgmma.m64n8k16.f16.f16.f16.rs").unwrap()).unwrap().source;
        assert!(source.contains("{%0, %1}, {%2, %3, %4, %5}, %6, accumulate, 1, 1, 0;"));
    }
}
