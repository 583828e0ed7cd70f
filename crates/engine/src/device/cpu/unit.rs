//! Units of x86 processors, and the checks for them.

use super::features::{CpuFeature, CpuFeatures, StateComponents};

/// A unit that executes matrix or dot-product instructions, or scalar ones in vectors.
#[derive(Debug, PartialEq, Eq)]
pub struct CpuUnit {
    /// Name in the vendor's manual.
    pub name: &'static str,
    /// Features that it needs, its own last.
    pub features: &'static [CpuFeature],
    /// Processors that have it, for messages.
    pub where_found: &'static str,
}

/// The reason that a unit cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// The processor lacks this feature.
    Processor(&'static str),
    /// The operating system does not save the registers of this feature.
    State(&'static str),
    /// The operating system refuses tiles with this error number.
    Permission(i64),
}

const fn feature(
    name: &'static str,
    leaf: u32,
    subleaf: u32,
    register: usize,
    bit: u32,
    state: StateComponents,
) -> CpuFeature {
    CpuFeature { name, leaf: (leaf, subleaf), register, bit, state }
}

const AVX: StateComponents = StateComponents::AVX;
const AVX512: StateComponents = StateComponents::AVX512;
const TILES: StateComponents = StateComponents::TILES;

const FMA_BIT: CpuFeature = feature("FMA", 1, 0, 2, 12, AVX);
const F16C_BIT: CpuFeature = feature("F16C", 1, 0, 2, 29, AVX);
const AVX512F_BIT: CpuFeature = feature("AVX512F", 7, 0, 1, 16, AVX512);
const TILE_BIT: CpuFeature = feature("AMX-TILE", 7, 0, 3, 24, TILES);
const AVX10_BIT: CpuFeature = feature("AVX10", 7, 1, 3, 19, AVX512);

/// 256-bit fused multiply-adds.
pub static FMA: CpuUnit =
    CpuUnit { name: "FMA", features: &[FMA_BIT], where_found: "Intel Haswell, AMD Piledriver and later" };
/// Conversions to and from f16.
pub static F16C: CpuUnit =
    CpuUnit { name: "F16C", features: &[F16C_BIT], where_found: "Intel Ivy Bridge, AMD Piledriver and later" };
/// 512-bit arithmetic with embedded rounding.
pub static AVX512F: CpuUnit = CpuUnit {
    name: "AVX512F",
    features: &[AVX512F_BIT],
    where_found: "Intel's server processors since Skylake, AMD Zen 4 and later",
};
/// 512-bit dot products of integers.
pub static AVX512_VNNI: CpuUnit = CpuUnit {
    name: "AVX512-VNNI",
    features: &[AVX512F_BIT, feature("AVX512_VNNI", 7, 0, 2, 11, AVX512)],
    where_found: "Intel's server processors since Cascade Lake, AMD Zen 4 and later",
};
/// 256-bit dot products of integers.
pub static AVX_VNNI: CpuUnit = CpuUnit {
    name: "AVX-VNNI",
    features: &[feature("AVX_VNNI", 7, 1, 0, 4, AVX)],
    where_found: "Intel Alder Lake and Sapphire Rapids, AMD Zen 5 and later",
};
/// 512-bit dot products of bf16.
pub static AVX512_BF16: CpuUnit = CpuUnit {
    name: "AVX512-BF16",
    features: &[AVX512F_BIT, feature("AVX512_BF16", 7, 1, 0, 5, AVX512)],
    where_found: "Intel Cooper Lake and Sapphire Rapids, AMD Zen 4 and later",
};
/// 512-bit arithmetic on f16.
pub static AVX512_FP16: CpuUnit = CpuUnit {
    name: "AVX512-FP16",
    features: &[AVX512F_BIT, feature("AVX512_FP16", 7, 0, 3, 23, AVX512)],
    where_found: "Intel Sapphire Rapids and later",
};
/// Tile products of bf16.
pub static AMX_BF16: CpuUnit = CpuUnit {
    name: "AMX-BF16",
    features: &[TILE_BIT, feature("AMX-BF16", 7, 0, 3, 22, TILES)],
    where_found: "Intel Sapphire Rapids and later",
};
/// Tile products of 8-bit integers.
pub static AMX_INT8: CpuUnit = CpuUnit {
    name: "AMX-INT8",
    features: &[TILE_BIT, feature("AMX-INT8", 7, 0, 3, 25, TILES)],
    where_found: "Intel Sapphire Rapids and later",
};
/// Tile products of f16.
pub static AMX_FP16: CpuUnit = CpuUnit {
    name: "AMX-FP16",
    features: &[TILE_BIT, feature("AMX-FP16", 7, 1, 0, 21, TILES)],
    where_found: "Intel Granite Rapids and later",
};
/// Tile products of FP8.
pub static AMX_FP8: CpuUnit = CpuUnit {
    name: "AMX-FP8",
    features: &[TILE_BIT, feature("AMX-FP8", 0x1e, 1, 0, 4, TILES)],
    where_found: "Intel Diamond Rapids and later",
};
/// 512-bit dot products of f16.
///
/// Its feature is a version number in bits 0 to 7, not a bit. Bit 1 is set in versions 2 and 3 and clear in version 1.
pub static AVX10_2: CpuUnit = CpuUnit {
    name: "AVX10.2",
    features: &[AVX512F_BIT, AVX10_BIT, feature("AVX10.2", 0x24, 0, 1, 1, AVX512)],
    where_found: "Intel Diamond Rapids and later",
};

/// All units, the oldest first.
pub static UNITS: [&CpuUnit; 12] = [
    &F16C,
    &FMA,
    &AVX512F,
    &AVX512_VNNI,
    &AVX_VNNI,
    &AVX512_BF16,
    &AVX512_FP16,
    &AMX_BF16,
    &AMX_INT8,
    &AMX_FP16,
    &AMX_FP8,
    &AVX10_2,
];

/// CPUID leaves and subleaves that units need.
pub fn leaves() -> Vec<(u32, u32)> {
    let mut leaves: Vec<_> = UNITS.iter().flat_map(|unit| unit.features).map(|feature| feature.leaf).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

impl CpuUnit {
    /// Returns true if its registers are tiles, which the operating system grants on request only.
    pub fn has_tiles(&self) -> bool {
        self.features.iter().any(|feature| feature.state == TILES)
    }

    /// Checks that a processor with these features can use the unit.
    ///
    /// # Errors
    /// The missing feature or permission.
    pub fn check(&self, features: &CpuFeatures) -> Result<(), Absence> {
        if let Some(missing) = self.features.iter().find(|feature| !features.has(feature)) {
            return Err(Absence::Processor(missing.name));
        }
        match self.features.iter().find(|feature| !features.keeps(feature.state)) {
            Some(feature) => Err(Absence::State(feature.name)),
            None if self.has_tiles() => features.tiles.map_err(Absence::Permission),
            None => Ok(()),
        }
    }

    /// Explains why the unit cannot be used and what would provide it.
    pub fn explain(&self, absence: &Absence) -> String {
        let CpuUnit { name, where_found, .. } = self;
        match absence {
            Absence::Processor(feature) => {
                format!("this processor does not have {name} (its CPUID lacks {feature}); {where_found} have it")
            }
            Absence::State(feature) => format!(
                "the operating system does not save the registers of {feature}, which {name} needs; use a newer kernel, or \
                 enable them for the virtual machine"
            ),
            Absence::Permission(error) => format!(
                "the kernel refuses {name}: arch_prctl(ARCH_REQ_XCOMP_PERM) answers error {error}; Linux 5.16 or later grants it, \
                 unless a sandbox forbids the call or the signal stack is too small"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor that answers 1 to everything, after `change`.
    fn fabricated(change: impl FnOnce(&mut CpuFeatures)) -> CpuFeatures {
        let leaves = leaves().into_iter().map(|leaf| (leaf, [u32::MAX; 4])).collect();
        let mut features = CpuFeatures { leaves, state: u64::MAX, tiles: Ok(()) };
        change(&mut features);
        features
    }

    /// Removes a feature.
    fn remove(features: &mut CpuFeatures, feature: &CpuFeature) {
        let (_, registers) = features.leaves.iter_mut().find(|(leaf, _)| *leaf == feature.leaf).unwrap();
        registers[feature.register] &= !(1 << feature.bit);
    }

    #[test]
    fn a_unit_is_there_only_with_its_features_its_registers_and_a_permission() {
        assert!(UNITS.iter().all(|unit| unit.check(&fabricated(|_| {})).is_ok()));
        for unit in UNITS {
            for feature in unit.features {
                let without = fabricated(|features| remove(features, feature));
                assert_eq!(unit.check(&without), Err(Absence::Processor(feature.name)), "{}", unit.name);
            }
            let kept = fabricated(|features| features.state = 0);
            assert!(matches!(unit.check(&kept), Err(Absence::State(_))), "{}", unit.name);
            let refused = fabricated(|features| features.tiles = Err(-1));
            assert_eq!(unit.check(&refused).is_err(), unit.has_tiles(), "{}", unit.name);
        }
    }

    #[test]
    fn an_absence_says_which_unit_why_and_what_would_give_it() {
        for (absence, why, what) in [
            (Absence::Processor("AMX-TILE"), "does not have AMX-BF16 (its CPUID lacks AMX-TILE)", "Sapphire Rapids"),
            (Absence::State("AMX-TILE"), "does not save the registers of AMX-TILE", "a newer kernel"),
            (Absence::Permission(-95), "the kernel refuses AMX-BF16", "Linux 5.16"),
        ] {
            let said = AMX_BF16.explain(&absence);
            assert!(said.contains(why) && said.contains(what), "{said}");
        }
    }
}
