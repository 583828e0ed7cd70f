//! Registers in which a kernel's threads hold an instruction's operands.

use crate::{
    format::Format,
    isa::{Instruction, Kernel},
};

/// The threads that issue the instruction together, and their tiles.
pub(super) fn run(kernel: Kernel) -> (u32, u32) {
    match kernel {
        Kernel::Mma | Kernel::Wmma => (32, 1),
        Kernel::Mma884 => (32, 4),
        Kernel::Wgmma => (128, 1),
    }
}

/// The registers of one thread's part of an operand.
pub(super) struct Fragment {
    /// Format of the codes.
    pub format: &'static Format,
    /// Registers of a thread: 32-bit ones, or 64-bit ones for 64-bit codes.
    pub registers: usize,
}

impl Fragment {
    /// Bits of a code in a register: integers of 1 and 4 bits are packed, other codes are as in memory.
    pub(super) fn bits(&self) -> usize {
        match self.format.bits {
            bits @ (1 | 4) if self.format.is_integer() => bits as usize,
            _ => 8 * self.format.bytes(),
        }
    }
}

/// Fragments of an instruction's operands.
pub(super) struct Fragments {
    /// A; for sparse forms, its stored elements.
    pub a: Fragment,
    /// B.
    pub b: Fragment,
    /// C.
    pub c: Fragment,
    /// D.
    pub d: Fragment,
}

impl Fragments {
    pub(super) fn new(i: &Instruction, kernel: Kernel) -> Fragments {
        let (threads, tiles) = run(kernel);
        let fragment = |format: &'static Format, elements: usize| {
            let mut fragment = Fragment { format, registers: 0 };
            let bits = tiles as usize * elements * fragment.bits();
            // Small operands B leave some threads of a warpgroup without a register; there, B is never in registers.
            fragment.registers = (bits / (threads as usize * fragment.bits().max(32))).max(1);
            fragment
        };
        let mut fragments = Fragments {
            a: fragment(i.a, i.m * i.stored_k()),
            b: fragment(i.b, i.k * i.n),
            c: fragment(i.c, i.m * i.n),
            d: fragment(i.d, i.m * i.n),
        };
        // With f16, wmma keeps the registers of its first architecture in every shape, and lanes hold elements twice.
        if kernel == Kernel::Wmma && i.a.name == "f16" {
            (fragments.a.registers, fragments.b.registers) = (8, 8);
        }
        fragments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

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
}
