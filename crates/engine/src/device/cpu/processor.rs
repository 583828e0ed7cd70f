//! Identification of this processor, by CPUID and by the operating system.

use super::{
    features::CpuFeatures,
    route::Route,
    unit::{CpuUnit, UNITS},
};
use crate::isa::{Target, targets};

/// A processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// Brand string.
    pub name: String,
    /// Vendor, family, model and stepping: `AuthenticAMD 26.2.1`.
    pub signature: String,
    /// Microcode version, where the operating system reports it.
    pub microcode: Option<String>,
    /// Features by which units are found.
    pub features: CpuFeatures,
}

impl Processor {
    /// Returns the processor that runs this program; `None` if its architecture is not supported.
    pub fn here() -> Option<&'static Processor> {
        static HERE: std::sync::OnceLock<Option<Processor>> = std::sync::OnceLock::new();
        HERE.get_or_init(identify).as_ref()
    }

    /// Units that the processor has and the program may use.
    pub fn units(&self) -> impl Iterator<Item = &'static CpuUnit> + '_ {
        UNITS.into_iter().filter(|unit| unit.check(&self.features).is_ok())
    }

    /// The architecture by family and model, where it is certain.
    /// It is not in a virtual machine, nor in a machine with units that the architecture lacks.
    pub fn architecture(&self) -> Option<&'static Target> {
        let named = || targets::named_processor(&self.signature, |instruction| self.has(instruction));
        if self.features.is_virtual() { None } else { named() }
    }

    /// The target with the most matrix instructions among those whose instructions the processor has.
    pub fn instructions(&self) -> Option<&'static Target> {
        targets::of_instructions(|instruction| self.has(instruction))
    }

    fn has(&self, instruction: &str) -> bool {
        Route::choose(instruction, |unit| unit.check(&self.features)).is_ok()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn identify() -> Option<Processor> {
    None
}

#[cfg(target_arch = "x86_64")]
fn identify() -> Option<Processor> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    use super::unit::leaves;
    let basic = __cpuid(0);
    let vendor = text(&[basic.ebx, basic.edx, basic.ecx]);
    let extended = __cpuid(0x8000_0000).eax;
    let name = match extended >= 0x8000_0004 {
        true => {
            let parts = (0x8000_0002..=0x8000_0004).map(__cpuid);
            text(&parts.flat_map(|part| [part.eax, part.ebx, part.ecx, part.edx]).collect::<Vec<_>>())
        }
        false => vendor.clone(),
    };
    // A missing subleaf answers zeros. Leaf 0x1e does not say how many subleaves it has.
    let answer = |(leaf, subleaf): (u32, u32)| {
        let there = leaf <= basic.eax && (subleaf == 0 || leaf == 0x1e || subleaf <= __cpuid_count(leaf, 0).eax);
        let registers = if there { Some(__cpuid_count(leaf, subleaf)) } else { None };
        registers.map_or([0; 4], |r| [r.eax, r.ebx, r.ecx, r.edx])
    };
    let version = __cpuid(1);
    let leaves = leaves().into_iter().map(|leaf| (leaf, answer(leaf))).collect();
    let state = if version.ecx >> 27 & 1 == 1 { kept_registers() } else { 0 };
    let mut features = CpuFeatures { leaves, state, tiles: Ok(()) };
    // Permission is not requested without tiles.
    if UNITS.iter().any(|unit| unit.has_tiles() && unit.check(&features).is_ok()) {
        features.tiles = ask_for_tiles();
    }
    let signature = format!("{vendor} {}", family_model_stepping(version.eax));
    Some(Processor { name, signature, microcode: microcode(), features })
}

/// Decodes the characters in registers, without padding.
#[cfg(target_arch = "x86_64")]
fn text(registers: &[u32]) -> String {
    let bytes: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
    let text: String = String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Decodes family, model and stepping from a version word, separated by points.
#[cfg(any(target_arch = "x86_64", test))]
fn family_model_stepping(version: u32) -> String {
    let field = |shift: u32, bits: u32| version >> shift & ((1 << bits) - 1);
    let base = field(8, 4);
    let family = if base == 15 { base + field(20, 8) } else { base };
    let model = if matches!(base, 6 | 15) { field(16, 4) << 4 | field(4, 4) } else { field(4, 4) };
    format!("{family}.{model}.{}", field(0, 4))
}

/// Reads XCR0.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn kept_registers() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller has checked that the operating system enables XGETBV, which reads register 0 into EDX:EAX.
    unsafe {
        std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Requests tiles from the kernel, which grants them to the whole process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[allow(unsafe_code)]
fn ask_for_tiles() -> Result<(), i64> {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let answer: i64;
    // SAFETY: this system call takes two numbers and changes only the registers that the process may use.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => answer,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if answer == 0 { Ok(()) } else { Err(answer) }
}

/// Grants tiles: other systems grant the register state that they save.
#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn ask_for_tiles() -> Result<(), i64> {
    Ok(())
}

/// Microcode version, from Linux.
#[cfg(target_arch = "x86_64")]
fn microcode() -> Option<String> {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = told.lines().find(|line| line.starts_with("microcode"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_the_vendors_document() {
        // Zen 5, Sapphire Rapids, Haswell.
        for (version, expected) in [(0x00b0_0f21, "26.2.1"), (0x0008_06f8, "6.143.8"), (0x0003_06c3, "6.60.3")] {
            assert_eq!(family_model_stepping(version), expected);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn an_architecture_is_named_only_where_nothing_speaks_against_it() {
        use super::super::unit::{AMX_BF16, AVX512_VNNI, FMA, leaves};
        let processor = |signature: &str, units: &[&CpuUnit], is_virtual: bool| {
            let mut leaves: Vec<((u32, u32), [u32; 4])> = leaves().into_iter().map(|leaf| (leaf, [0; 4])).collect();
            let mut set = |leaf: (u32, u32), register: usize, bit: u32| {
                leaves
                    .iter_mut()
                    .filter(|(known, _)| *known == leaf)
                    .for_each(|(_, registers)| registers[register] |= 1 << bit);
            };
            for feature in units.iter().flat_map(|unit| unit.features) {
                set(feature.leaf, feature.register, feature.bit);
            }
            if is_virtual {
                set((1, 0), 2, 31);
            }
            let features = CpuFeatures { leaves, state: u64::MAX, tiles: Ok(()) };
            Processor { name: "X".into(), signature: signature.into(), microcode: None, features }
        };
        let cascade_lake: &[&CpuUnit] = &[&FMA, &AVX512_VNNI];
        for (signature, units, is_virtual, architecture, instructions) in [
            ("GenuineIntel 6.85.7", cascade_lake, false, Some("cascadelake"), Some("cascadelake")),
            // A virtual machine that reports one processor's model and another's tiles.
            ("GenuineIntel 6.85.7", &[&FMA, &AVX512_VNNI, &AMX_BF16], false, None, Some("cascadelake")),
            ("GenuineIntel 6.85.7", cascade_lake, true, None, Some("cascadelake")),
            // Units that firmware or the kernel disables do not change the name.
            ("GenuineIntel 6.143.8", cascade_lake, false, Some("sapphirerapids"), Some("cascadelake")),
            ("SomeoneElse 1.2.3", cascade_lake, false, None, Some("cascadelake")),
            ("SomeoneElse 1.2.3", &[], false, None, None),
        ] {
            let processor = processor(signature, units, is_virtual);
            assert_eq!(processor.architecture().map(|target| target.name), architecture, "{signature}, {is_virtual}");
            assert_eq!(processor.instructions().map(|target| target.name), instructions, "{signature}, {is_virtual}");
        }
    }

    #[test]
    fn this_machine_says_what_it_is() {
        let known = cfg!(target_arch = "x86_64");
        assert_eq!(Processor::here().is_some(), known);
        if let Some(processor) = Processor::here() {
            assert!(!processor.name.is_empty() && processor.signature.split('.').count() == 3, "{processor:?}");
        }
    }

    /// The standard library's own detection covers most features.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn units_are_those_that_the_standard_library_finds() {
        use super::super::unit::{AVX_VNNI, AVX512_BF16, AVX512_FP16, AVX512_VNNI, AVX512F, F16C, FMA};
        let has = |unit: &CpuUnit| Processor::here().unwrap().units().any(|listed| listed == unit);
        assert_eq!(has(&FMA), is_x86_feature_detected!("fma"));
        assert_eq!(has(&F16C), is_x86_feature_detected!("f16c"));
        assert_eq!(has(&AVX512F), is_x86_feature_detected!("avx512f"));
        assert_eq!(has(&AVX512_VNNI), is_x86_feature_detected!("avx512vnni"));
        assert_eq!(has(&AVX_VNNI), is_x86_feature_detected!("avxvnni"));
        assert_eq!(has(&AVX512_BF16), is_x86_feature_detected!("avx512bf16"));
        assert_eq!(has(&AVX512_FP16), is_x86_feature_detected!("avx512fp16"));
    }
}
