//! Machine instructions of matrix units in timing loops.
//! A body has [`BODY`] runs on a number of independent sums; each run adds to the previous result of its sum.
//!
//! They are assembly, so that a loop has only the instruction, a decrement and a branch.

use std::arch::asm;

use super::vector::{ROWS, Vector, tile_configuration};

/// Runs in the body of a loop.
pub const BODY: u32 = 24;

/// Executes a number of bodies on A and B; the sums begin at zero.
///
/// # Safety
/// The machine has the unit, and the process may use it. A and B have 16 rows of 64 bytes. `bodies` is at least 1.
pub type Repeated = unsafe fn(a: &[Vector; ROWS], b: &[Vector; ROWS], bodies: u64);

/// One loop of a machine instruction.
#[derive(Debug, Clone, Copy)]
pub struct Repetition {
    /// Independent sums.
    pub independent: u32,
    /// The loop.
    pub run: Repeated,
}

/// Repeats `text` with each of the sums as its destination.
macro_rules! body {
    ($times:literal, $text:literal, $factors:literal, [$($sum:literal)+]) => {
        concat!("2:\n.rept ", $times, "\n", $($text, " ", $sum, $factors, "\n",)+ ".endr\ndec {n}\njnz 2b")
    };
}

/// Loops on 512-bit registers.
macro_rules! wide {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "` on 512 bits.")]
        pub static $name: &[Repetition] = {
            macro_rules! way {
                ($function:ident, $times:literal, [$sums:tt]) => {
                    #[allow(unsafe_code)]
                    #[target_feature(enable = "avx512f")]
                    unsafe fn $function(a: &[Vector; ROWS], b: &[Vector; ROWS], bodies: u64) {
                        // SAFETY: the pointers are to 64 bytes, which are only read; the machine has the instruction;
                        // the count is not 0.
                        unsafe {
                            asm!(
                                "vmovdqu64 zmm16, [{a}]",
                                "vmovdqu64 zmm17, [{b}]",
                                "vpxorq zmm0, zmm0, zmm0", "vmovdqa64 zmm1, zmm0", "vmovdqa64 zmm2, zmm0", "vmovdqa64 zmm3, zmm0",
                                "vmovdqa64 zmm4, zmm0", "vmovdqa64 zmm5, zmm0", "vmovdqa64 zmm6, zmm0", "vmovdqa64 zmm7, zmm0",
                                "vmovdqa64 zmm8, zmm0", "vmovdqa64 zmm9, zmm0", "vmovdqa64 zmm10, zmm0", "vmovdqa64 zmm11, zmm0",
                                body!($times, $text, ", zmm16, zmm17", $sums),
                                a = in(reg) a, b = in(reg) b, n = inout(reg) bodies => _,
                                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _,
                                out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
                                out("zmm16") _, out("zmm17") _,
                                options(nostack, readonly),
                            );
                        }
                    }
                };
            }
            way!(one, "24", [["zmm0"]]);
            way!(two, "12", [["zmm0" "zmm1"]]);
            way!(three, "8", [["zmm0" "zmm1" "zmm2"]]);
            way!(four, "6", [["zmm0" "zmm1" "zmm2" "zmm3"]]);
            way!(six, "4", [["zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5"]]);
            way!(eight, "3", [["zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7"]]);
            way!(twelve, "2", [["zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7" "zmm8" "zmm9" "zmm10" "zmm11"]]);
            &[
                Repetition { independent: 1, run: one },
                Repetition { independent: 2, run: two },
                Repetition { independent: 3, run: three },
                Repetition { independent: 4, run: four },
                Repetition { independent: 6, run: six },
                Repetition { independent: 8, run: eight },
                Repetition { independent: 12, run: twelve },
            ]
        };
    )*};
}

wide! {
    VDPBF16PS: "vdpbf16ps";
    VDPPHPS: "vdpphps";
    VPDPBUSD: "vpdpbusd";
    VPDPBUSDS: "vpdpbusds";
    VPDPWSSD: "vpdpwssd";
    VPDPWSSDS: "vpdpwssds";
    VFMADD231PS: "vfmadd231ps";
    VFMADD231PD: "vfmadd231pd";
    VFMADD231PH: "vfmadd231ph";
}

/// Loops on 256-bit registers; a run is two instructions on two sums.
macro_rules! halves {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "` on two times 256 bits.")]
        pub static $name: &[Repetition] = {
            macro_rules! way {
                ($function:ident, $times:literal, [$sums:tt]) => {
                    #[allow(unsafe_code)]
                    #[target_feature(enable = "avx")]
                    unsafe fn $function(a: &[Vector; ROWS], b: &[Vector; ROWS], bodies: u64) {
                        // SAFETY: the pointers are to 64 bytes, which are only read; the machine has the instruction;
                        // the count is not 0.
                        unsafe {
                            asm!(
                                "vmovdqu ymm14, [{a}]",
                                "vmovdqu ymm15, [{b}]",
                                "vpxor ymm0, ymm0, ymm0", "vmovdqa ymm1, ymm0", "vmovdqa ymm2, ymm0", "vmovdqa ymm3, ymm0",
                                "vmovdqa ymm4, ymm0", "vmovdqa ymm5, ymm0", "vmovdqa ymm6, ymm0", "vmovdqa ymm7, ymm0",
                                "vmovdqa ymm8, ymm0", "vmovdqa ymm9, ymm0", "vmovdqa ymm10, ymm0", "vmovdqa ymm11, ymm0",
                                body!($times, $text, ", ymm14, ymm15", $sums),
                                a = in(reg) a, b = in(reg) b, n = inout(reg) bodies => _,
                                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                                out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                                out("ymm14") _, out("ymm15") _,
                                options(nostack, readonly),
                            );
                        }
                    }
                };
            }
            way!(one, "24", [["ymm0" "ymm1"]]);
            way!(two, "12", [["ymm0" "ymm1" "ymm2" "ymm3"]]);
            way!(three, "8", [["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5"]]);
            way!(four, "6", [["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5" "ymm6" "ymm7"]]);
            way!(six, "4", [["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5" "ymm6" "ymm7" "ymm8" "ymm9" "ymm10" "ymm11"]]);
            &[
                Repetition { independent: 1, run: one },
                Repetition { independent: 2, run: two },
                Repetition { independent: 3, run: three },
                Repetition { independent: 4, run: four },
                Repetition { independent: 6, run: six },
            ]
        };
    )*};
}

halves! {
    VPDPBUSD_256: "{{vex}} vpdpbusd";
    VPDPBUSDS_256: "{{vex}} vpdpbusds";
    VPDPWSSD_256: "{{vex}} vpdpwssd";
    VPDPWSSDS_256: "{{vex}} vpdpwssds";
    VFMADD231PS_256: "vfmadd231ps";
    VFMADD231PD_256: "vfmadd231pd";
}

/// The configuration of four sums and the tiles of A and B (numbers 6 and 7).
const EIGHT_TILES: Vector = tile_configuration(8);

/// Loops on tile registers.
macro_rules! tiles {
    ($($name:ident: $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "`.")]
        pub static $name: &[Repetition] = {
            macro_rules! way {
                ($function:ident, $times:literal, [$sums:tt]) => {
                    #[allow(unsafe_code)]
                    unsafe fn $function(a: &[Vector; ROWS], b: &[Vector; ROWS], bodies: u64) {
                        // SAFETY: the pointers are to a configuration and to 16 rows of 64 bytes, which are only read;
                        // the machine has the instruction; the count is not 0; nothing else in this thread uses tiles.
                        unsafe {
                            asm!(
                                "ldtilecfg [{tiles}]",
                                "tileloadd tmm6, [{a} + {row}]",
                                "tileloadd tmm7, [{b} + {row}]",
                                "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                                body!($times, $text, ", tmm6, tmm7", $sums),
                                "tilerelease",
                                tiles = in(reg) &EIGHT_TILES, a = in(reg) a, b = in(reg) b, row = in(reg) 64usize,
                                n = inout(reg) bodies => _,
                                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _, out("tmm6") _, out("tmm7") _,
                                options(nostack, readonly),
                            );
                        }
                    }
                };
            }
            way!(one, "24", [["tmm0"]]);
            way!(two, "12", [["tmm0" "tmm1"]]);
            way!(three, "8", [["tmm0" "tmm1" "tmm2"]]);
            way!(four, "6", [["tmm0" "tmm1" "tmm2" "tmm3"]]);
            &[
                Repetition { independent: 1, run: one },
                Repetition { independent: 2, run: two },
                Repetition { independent: 3, run: three },
                Repetition { independent: 4, run: four },
            ]
        };
    )*};
}

tiles! {
    TDPBF16PS: "tdpbf16ps";
    TDPFP16PS: "tdpfp16ps";
    TDPBF8PS: "tdpbf8ps";
    TDPBHF8PS: "tdpbhf8ps";
    TDPHBF8PS: "tdphbf8ps";
    TDPHF8PS: "tdphf8ps";
    TDPBSSD: "tdpbssd";
    TDPBSUD: "tdpbsud";
    TDPBUSD: "tdpbusd";
    TDPBUUD: "tdpbuud";
}

/// Executes dependent additions, 24 a body: one clock each on every x86-64 processor.
#[allow(unsafe_code)]
pub fn additions(bodies: u64) {
    // SAFETY: only registers change.
    unsafe {
        asm!(
            "2:",
            ".rept 24",
            "add {sum}, {sum}",
            ".endr",
            "dec {n}",
            "jnz 2b",
            sum = inout(reg) 1u64 => _, n = inout(reg) bodies.max(1) => _,
            options(nostack, nomem),
        );
    }
}
