//! Machine instructions of scalar forms, each on as many inputs as its registers have lanes.
//!
//! Each runs with its form's rounding direction in MXCSR; the usual direction is restored afterwards.

use std::arch::asm;

use super::{
    unit::{self, CpuUnit},
    vector::Vector,
};

/// A machine instruction: reads operand registers and writes result registers, with `mxcsr` as MXCSR.
///
/// # Safety
/// The machine has the unit.
pub type ScalarMachine = unsafe fn(mxcsr: u32, operands: [&[Vector]; 3], results: &mut [Vector]);

/// The route of a scalar form.
#[derive(Debug, Clone, Copy)]
pub struct ScalarRoute {
    /// Spelling of the form.
    pub ptx: &'static str,
    /// Unit that executes it.
    pub unit: &'static CpuUnit,
    /// MXCSR during execution.
    pub mxcsr: u32,
    /// The machine instruction.
    pub machine: ScalarMachine,
}

/// MXCSR with all exceptions masked and no flushing; bits 13 and 14 are the rounding direction.
const NEAREST: u32 = 0x1f80;
const DOWN: u32 = NEAREST | 1 << 13;
const UP: u32 = NEAREST | 2 << 13;
const TOWARD_ZERO: u32 = NEAREST | 3 << 13;

/// A form whose instructions turn operands in registers 1 to 3 into a result in register 0.
/// Whole registers are loaded and stored unless `load` and `store` say otherwise.
macro_rules! route {
    ($ptx:expr, $unit:ident, $mxcsr:expr, [$($line:expr),*]) => {
        route!($ptx, $unit, $mxcsr, load [
            "vmovdqu64 zmm1, [{a}]",
            "vmovdqu64 zmm2, [{b}]",
            "vmovdqu64 zmm3, [{c}]"
        ], [$($line),*], store ["vmovdqu64 [{d}], zmm0"])
    };
    ($ptx:expr, $unit:ident, $mxcsr:expr, load [$($load:expr),*], [$($line:expr),*], store [$($store:expr),*]) => {
        ScalarRoute {
            ptx: $ptx,
            unit: &unit::$unit,
            mxcsr: $mxcsr,
            machine: {
                #[allow(unsafe_code)]
                unsafe fn run(mxcsr: u32, [a, b, c]: [&[Vector]; 3], results: &mut [Vector]) {
                    let mut kept = 0u32;
                    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(results) {
                        // SAFETY: the pointers are to 64 bytes each (only the results are written) and to two words for
                        // MXCSR, which is restored; the machine has the instructions.
                        unsafe {
                            asm!(
                                "stmxcsr [{kept}]",
                                "ldmxcsr [{mxcsr}]",
                                $($load,)*
                                $($line,)*
                                $($store,)*
                                "ldmxcsr [{kept}]",
                                "/* {b} {c} */",
                                a = in(reg) a, b = in(reg) b, c = in(reg) c, d = in(reg) d,
                                mxcsr = in(reg) &mxcsr, kept = in(reg) &mut kept,
                                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                                options(nostack),
                            );
                        }
                    }
                }
                run
            },
        }
    };
}

/// The four directions of an instruction with embedded rounding.
macro_rules! rounded {
    ($name:literal, $unit:ident, [$($before:literal),*], $text:literal) => {
        [
            route!(concat!($name, ".rn"), $unit, NEAREST, [$($before,)* concat!($text, ", {{rn-sae}}")]),
            route!(concat!($name, ".rm"), $unit, NEAREST, [$($before,)* concat!($text, ", {{rd-sae}}")]),
            route!(concat!($name, ".rp"), $unit, NEAREST, [$($before,)* concat!($text, ", {{ru-sae}}")]),
            route!(concat!($name, ".rz"), $unit, NEAREST, [$($before,)* concat!($text, ", {{rz-sae}}")]),
        ]
    };
}

/// A conversion to f16 with the instruction's own rounding.
macro_rules! to_half {
    ($ptx:literal, $mxcsr:expr, $rounding:literal) => {
        route!($ptx, F16C, $mxcsr, load ["vmovdqu ymm1, [{a}]", "vmovdqu ymm2, [{a} + 32]"], [
            concat!("vcvtps2ph xmm0, ymm1, ", $rounding),
            concat!("vcvtps2ph xmm3, ymm2, ", $rounding)
        ], store ["vmovdqu [{d}], xmm0", "vmovdqu [{d} + 16], xmm3", "vzeroupper"])
    };
}

/// All forms, by instruction.
#[rustfmt::skip]
static ROUTES: &[&[ScalarRoute]] = &[
    &[
        to_half!("vcvtps2ph.rn", NEAREST, "0"),
        to_half!("vcvtps2ph.rm", NEAREST, "1"),
        to_half!("vcvtps2ph.rp", NEAREST, "2"),
        to_half!("vcvtps2ph.rz", NEAREST, "3"),
        to_half!("vcvtps2ph.mxcsr.rn", NEAREST, "4"),
        to_half!("vcvtps2ph.mxcsr.rm", DOWN, "4"),
        to_half!("vcvtps2ph.mxcsr.rp", UP, "4"),
        to_half!("vcvtps2ph.mxcsr.rz", TOWARD_ZERO, "4"),
        route!("vcvtph2ps", F16C, NEAREST, load ["vmovdqu xmm1, [{a}]", "vmovdqu xmm2, [{a} + 16]"], [
            "vcvtph2ps ymm0, xmm1",
            "vcvtph2ps ymm3, xmm2"
        ], store ["vmovdqu [{d}], ymm0", "vmovdqu [{d} + 32], ymm3", "vzeroupper"]),
        route!("vcvtneps2bf16.rn.ftz", AVX512_BF16, TOWARD_ZERO, ["vpxord zmm0, zmm0, zmm0", "vcvtneps2bf16 ymm0, zmm1"]),
    ],
    &rounded!("vaddps", AVX512F, [], "vaddps zmm0, zmm1, zmm2"),
    &rounded!("vsubps", AVX512F, [], "vsubps zmm0, zmm1, zmm2"),
    &rounded!("vmulps", AVX512F, [], "vmulps zmm0, zmm1, zmm2"),
    &rounded!("vdivps", AVX512F, [], "vdivps zmm0, zmm1, zmm2"),
    &rounded!("vsqrtps", AVX512F, [], "vsqrtps zmm0, zmm1"),
    &rounded!("vfmadd213ps", AVX512F, ["vmovdqa64 zmm0, zmm2"], "vfmadd213ps zmm0, zmm1, zmm3"),
    &rounded!("vaddph", AVX512_FP16, [], "vaddph zmm0, zmm1, zmm2"),
    &rounded!("vsubph", AVX512_FP16, [], "vsubph zmm0, zmm1, zmm2"),
    &rounded!("vmulph", AVX512_FP16, [], "vmulph zmm0, zmm1, zmm2"),
    &rounded!("vdivph", AVX512_FP16, [], "vdivph zmm0, zmm1, zmm2"),
    &rounded!("vsqrtph", AVX512_FP16, [], "vsqrtph zmm0, zmm1"),
    &rounded!("vfmadd213ph", AVX512_FP16, ["vmovdqa64 zmm0, zmm2"], "vfmadd213ph zmm0, zmm1, zmm3"),
];

impl ScalarRoute {
    /// Finds the route of the form with this spelling.
    pub fn of(ptx: &str) -> Option<&'static ScalarRoute> {
        ROUTES.iter().copied().flatten().find(|route| route.ptx == ptx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::scalar;

    #[test]
    fn routes_and_the_forms_of_processors_are_one_to_one() {
        let forms = scalar::all().iter().filter(|form| form.is_of_processors());
        let mut count = 0;
        for form in forms {
            assert!(ScalarRoute::of(&form.ptx).is_some(), "{form}");
            count += 1;
        }
        assert_eq!(count, ROUTES.iter().map(|routes| routes.len()).sum::<usize>());
    }
}
