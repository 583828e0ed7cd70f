//! Routes from matrix instructions to units and machine instructions.

#[cfg(target_arch = "x86_64")]
use super::{machine, repeated};
use super::{
    unit::{self, Absence, CpuUnit},
    vector::Vector,
};
use crate::device::{Execution, ExecutionKind};

/// A machine instruction: adds the products of each row of A and B to the same row of C.
/// Tile registers take sixteen rows together.
///
/// # Safety
/// The machine has the unit, and the process may use it.
pub type MachineInstruction = unsafe fn(a: &[Vector], b: &[Vector], c: &mut [Vector]);

/// One way to execute a matrix instruction.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Name of the matrix instruction.
    pub instruction: &'static str,
    /// Unit that executes it.
    pub unit: &'static CpuUnit,
    /// Vendor's name of the machine instruction.
    pub opcode: &'static str,
    /// Machine instructions per tile.
    pub times: usize,
    /// The machine instruction.
    pub machine: MachineInstruction,
    /// Timing loops of the machine instruction.
    #[cfg(target_arch = "x86_64")]
    pub repeated: &'static [repeated::Repetition],
}

/// Stands for each machine instruction in programs for other architectures.
/// No processor there passes the check of a unit.
#[cfg(not(target_arch = "x86_64"))]
fn no_machine(_: &[Vector], _: &[Vector], _: &mut [Vector]) {}

macro_rules! routes {
    ($($instruction:literal: $unit:ident, $opcode:literal $(x $times:literal)?, $machine:ident, $repeated:ident;)*) => {
        &[$(Route {
            instruction: $instruction,
            unit: &unit::$unit,
            opcode: $opcode,
            times: 1 $(- 1 + $times)?,
            #[cfg(target_arch = "x86_64")]
            machine: machine::$machine,
            #[cfg(not(target_arch = "x86_64"))]
            machine: no_machine,
            #[cfg(target_arch = "x86_64")]
            repeated: repeated::$repeated,
        }),*]
    };
}

/// All routes; those with one machine instruction come before those with two.
#[rustfmt::skip]
pub static ROUTES: &[Route] = routes! {
    "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32": AMX_BF16, "TDPBF16PS", tdpbf16ps, TDPBF16PS;
    "tdpfp16ps.m16n16k32.f32.f16.f16.f32": AMX_FP16, "TDPFP16PS", tdpfp16ps, TDPFP16PS;
    "tdpbf8ps.m16n16k64.f32.e5m2.e5m2.f32": AMX_FP8, "TDPBF8PS", tdpbf8ps, TDPBF8PS;
    "tdpbhf8ps.m16n16k64.f32.e5m2.e4m3.f32": AMX_FP8, "TDPBHF8PS", tdpbhf8ps, TDPBHF8PS;
    "tdphbf8ps.m16n16k64.f32.e4m3.e5m2.f32": AMX_FP8, "TDPHBF8PS", tdphbf8ps, TDPHBF8PS;
    "tdphf8ps.m16n16k64.f32.e4m3.e4m3.f32": AMX_FP8, "TDPHF8PS", tdphf8ps, TDPHF8PS;
    "tdpbssd.m16n16k64.s32.s8.s8.s32": AMX_INT8, "TDPBSSD", tdpbssd, TDPBSSD;
    "tdpbsud.m16n16k64.s32.s8.u8.s32": AMX_INT8, "TDPBSUD", tdpbsud, TDPBSUD;
    "tdpbusd.m16n16k64.s32.u8.s8.s32": AMX_INT8, "TDPBUSD", tdpbusd, TDPBUSD;
    "tdpbuud.m16n16k64.s32.u8.u8.s32": AMX_INT8, "TDPBUUD", tdpbuud, TDPBUUD;
    "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32": AVX512_BF16, "VDPBF16PS", vdpbf16ps, VDPBF16PS;
    "vdpphps.m1n16k2.f32.f16.f16.f32": AVX10_2, "VDPPHPS", vdpphps, VDPPHPS;
    "vpdpbusd.m1n16k4.s32.u8.s8.s32": AVX512_VNNI, "VPDPBUSD", vpdpbusd, VPDPBUSD;
    "vpdpbusds.m1n16k4.s32.u8.s8.s32": AVX512_VNNI, "VPDPBUSDS", vpdpbusds, VPDPBUSDS;
    "vpdpwssd.m1n16k2.s32.s16.s16.s32": AVX512_VNNI, "VPDPWSSD", vpdpwssd, VPDPWSSD;
    "vpdpwssds.m1n16k2.s32.s16.s16.s32": AVX512_VNNI, "VPDPWSSDS", vpdpwssds, VPDPWSSDS;
    "vfmadd.m1n16k1.f32.f32.f32.f32": AVX512F, "VFMADD231PS", vfmadd231ps, VFMADD231PS;
    "vfmadd.m1n8k1.f64.f64.f64.f64": AVX512F, "VFMADD231PD", vfmadd231pd, VFMADD231PD;
    "vfmadd.m1n32k1.f16.f16.f16.f16": AVX512_FP16, "VFMADD231PH", vfmadd231ph, VFMADD231PH;
    "vpdpbusd.m1n16k4.s32.u8.s8.s32": AVX_VNNI, "VPDPBUSD" x 2, vpdpbusd_256, VPDPBUSD_256;
    "vpdpbusds.m1n16k4.s32.u8.s8.s32": AVX_VNNI, "VPDPBUSDS" x 2, vpdpbusds_256, VPDPBUSDS_256;
    "vpdpwssd.m1n16k2.s32.s16.s16.s32": AVX_VNNI, "VPDPWSSD" x 2, vpdpwssd_256, VPDPWSSD_256;
    "vpdpwssds.m1n16k2.s32.s16.s16.s32": AVX_VNNI, "VPDPWSSDS" x 2, vpdpwssds_256, VPDPWSSDS_256;
    "vfmadd.m1n16k1.f32.f32.f32.f32": FMA, "VFMADD231PS" x 2, vfmadd231ps_256, VFMADD231PS_256;
    "vfmadd.m1n8k1.f64.f64.f64.f64": FMA, "VFMADD231PD" x 2, vfmadd231pd_256, VFMADD231PD_256;
};

impl Route {
    /// Routes for the instruction of this name.
    pub fn of(instruction: &str) -> impl Iterator<Item = &'static Route> {
        ROUTES.iter().filter(move |route| route.instruction == instruction)
    }

    /// The execution that reports show.
    pub fn execution(&self) -> Execution {
        let (kind, opcode) = match self.times {
            1 => (ExecutionKind::Native, self.opcode.to_string()),
            times => (ExecutionKind::Emulated, format!("{times}x {}", self.opcode)),
        };
        Execution { kind, opcodes: vec![opcode] }
    }

    /// Returns the first route whose unit passes `check`.
    ///
    /// # Errors
    /// The unit that the first route lacks and why; `None` if there is no route.
    pub fn choose(
        instruction: &str,
        check: impl Fn(&CpuUnit) -> Result<(), Absence>,
    ) -> Result<&'static Route, Option<(&'static CpuUnit, Absence)>> {
        let mut missing = None;
        for route in Route::of(instruction) {
            match check(route.unit) {
                Ok(()) => return Ok(route),
                Err(absence) => missing = missing.or(Some((route.unit, absence))),
            }
        }
        Err(missing)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn routes_and_the_instructions_of_processors_are_one_to_one() {
        for i in isa::all().iter().filter(|i| i.is_of_processors()) {
            assert!(Route::of(&i.name).next().is_some(), "{i}");
        }
        for route in ROUTES {
            let i = isa::find(route.instruction).unwrap();
            assert_eq!(i.name, route.instruction);
            assert!(i.ptx.eq_ignore_ascii_case(route.opcode), "{i}: {}", route.opcode);
        }
    }

    #[test]
    fn what_is_missing_is_that_of_the_widest_registers() {
        let none = |_: &CpuUnit| Err(Absence::Processor("x"));
        let refused = |name: &str| Route::choose(name, none).unwrap_err().map(|(unit, _)| unit.name);
        assert_eq!(refused("vpdpbusd.m1n16k4.s32.u8.s8.s32"), Some("AVX512-VNNI"));
        assert_eq!(refused("mma.m16n8k16.f32.f16.f16.f32"), None);
        let narrow = |unit: &CpuUnit| if unit.name == "FMA" { Ok(()) } else { none(unit) };
        let route = Route::choose("vfmadd.m1n8k1.f64.f64.f64.f64", narrow).unwrap();
        assert_eq!((route.unit.name, route.execution().kind), ("FMA", ExecutionKind::Emulated));
        assert_eq!(route.execution().opcodes, ["2x VFMADD231PD"]);
    }
}
