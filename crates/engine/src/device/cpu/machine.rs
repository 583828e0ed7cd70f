//! Machine instructions of matrix units, one function each.
//!
//! They are assembly, not intrinsics. A compiler may swap the factors of a product or compute one itself, and the order
//! of the operands decides which NaN results.

use std::arch::asm;

use super::vector::{ROWS, Vector, tile_configuration};

/// Functions that execute one instruction on 512-bit registers; C, A and B are its operands.
macro_rules! wide {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "` on each C, A and B.")]
        ///
        /// # Safety
        /// The machine has the instruction's unit, which implies AVX-512.
        #[allow(unsafe_code)]
        #[target_feature(enable = "avx512f")]
        pub unsafe fn $name(a: &[Vector], b: &[Vector], c: &mut [Vector]) {
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                // SAFETY: each pointer is to 64 bytes; only C's bytes are written; the machine has the instruction.
                unsafe {
                    asm!(
                        "vmovdqu64 zmm0, [{c}]",
                        "vmovdqu64 zmm1, [{a}]",
                        "vmovdqu64 zmm2, [{b}]",
                        concat!($text, " zmm0, zmm1, zmm2"),
                        "vmovdqu64 [{c}], zmm0",
                        a = in(reg) a, b = in(reg) b, c = in(reg) c,
                        out("zmm0") _, out("zmm1") _, out("zmm2") _,
                        options(nostack),
                    );
                }
            }
        }
    )*};
}

wide! {
    vdpbf16ps: "vdpbf16ps";
    vdpphps: "vdpphps";
    vpdpbusd: "vpdpbusd";
    vpdpbusds: "vpdpbusds";
    vpdpwssd: "vpdpwssd";
    vpdpwssds: "vpdpwssds";
    vfmadd231ps: "vfmadd231ps";
    vfmadd231pd: "vfmadd231pd";
    vfmadd231ph: "vfmadd231ph";
}

/// Functions that execute one instruction on both 256-bit halves of registers.
macro_rules! halves {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "` on both halves of each C, A and B.")]
        ///
        /// # Safety
        /// The machine has the instruction's unit, which implies AVX.
        #[allow(unsafe_code)]
        #[target_feature(enable = "avx")]
        pub unsafe fn $name(a: &[Vector], b: &[Vector], c: &mut [Vector]) {
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                // SAFETY: each pointer is to 64 bytes; only C's bytes are written; the machine has the instruction.
                unsafe {
                    asm!(
                        "vmovdqu ymm0, [{c}]",
                        "vmovdqu ymm1, [{a}]",
                        "vmovdqu ymm2, [{b}]",
                        concat!($text, " ymm0, ymm1, ymm2"),
                        "vmovdqu [{c}], ymm0",
                        "vmovdqu ymm0, [{c} + 32]",
                        "vmovdqu ymm1, [{a} + 32]",
                        "vmovdqu ymm2, [{b} + 32]",
                        concat!($text, " ymm0, ymm1, ymm2"),
                        "vmovdqu [{c} + 32], ymm0",
                        a = in(reg) a, b = in(reg) b, c = in(reg) c,
                        out("ymm0") _, out("ymm1") _, out("ymm2") _,
                        options(nostack),
                    );
                }
            }
        }
    )*};
}

halves! {
    vpdpbusd_256: "{{vex}} vpdpbusd";
    vpdpbusds_256: "{{vex}} vpdpbusds";
    vpdpwssd_256: "{{vex}} vpdpwssd";
    vpdpwssds_256: "{{vex}} vpdpwssds";
    vfmadd231ps_256: "vfmadd231ps";
    vfmadd231pd_256: "vfmadd231pd";
}

/// The configuration of the tiles of A, B and C.
const THREE_TILES: Vector = tile_configuration(3);

/// Functions that execute one instruction on tile registers.
macro_rules! tiles {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "` on each sixteen rows of C, A and B.")]
        ///
        /// # Safety
        /// The machine has the instruction's unit, and the process may use tiles.
        #[allow(unsafe_code)]
        pub unsafe fn $name(a: &[Vector], b: &[Vector], c: &mut [Vector]) {
            let (a, b, c) = (a.as_chunks::<ROWS>().0, b.as_chunks::<ROWS>().0, c.as_chunks_mut::<ROWS>().0);
            // SAFETY: the pointer is to the 64 bytes of a configuration; nothing else in this thread uses tiles.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &THREE_TILES, options(nostack, preserves_flags, readonly)) };
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                // SAFETY: each pointer is to 16 rows of 64 bytes, as configured; only C's rows are written; the machine
                // has the instruction.
                unsafe {
                    asm!(
                        "tileloadd tmm0, [{c} + {row}]",
                        "tileloadd tmm1, [{a} + {row}]",
                        "tileloadd tmm2, [{b} + {row}]",
                        concat!($text, " tmm0, tmm1, tmm2"),
                        "tilestored [{c} + {row}], tmm0",
                        a = in(reg) a, b = in(reg) b, c = in(reg) c, row = in(reg) 64usize,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _,
                        options(nostack, preserves_flags),
                    );
                }
            }
            // SAFETY: ends the use of tiles that began above in this thread.
            unsafe { asm!("tilerelease", options(nostack, preserves_flags, nomem)) };
        }
    )*};
}

tiles! {
    tdpbf16ps: "tdpbf16ps";
    tdpfp16ps: "tdpfp16ps";
    tdpbf8ps: "tdpbf8ps";
    tdpbhf8ps: "tdpbhf8ps";
    tdphbf8ps: "tdphbf8ps";
    tdphf8ps: "tdphf8ps";
    tdpbssd: "tdpbssd";
    tdpbsud: "tdpbsud";
    tdpbusd: "tdpbusd";
    tdpbuud: "tdpbuud";
}
