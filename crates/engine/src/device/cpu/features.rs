//! Features of a processor, by CPUID and by the register state that the operating system saves.

/// Register state that an operating system saves for a program, as bits of XCR0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateComponents(u64);

impl StateComponents {
    /// 256-bit vectors.
    pub const AVX: StateComponents = StateComponents(0x6);
    /// 512-bit vectors and masks.
    pub const AVX512: StateComponents = StateComponents(0xe6);
    /// Tile registers.
    pub const TILES: StateComponents = StateComponents(0x6_0006);

    /// The bits of XCR0.
    pub fn bits(self) -> u64 {
        self.0
    }
}

/// The place of one feature in the answers of CPUID.
#[derive(Debug, PartialEq, Eq)]
pub struct CpuFeature {
    /// Vendor's name.
    pub name: &'static str,
    /// CPUID leaf and subleaf.
    pub leaf: (u32, u32),
    /// Register of the answer: 0 to 3 for EAX to EDX.
    pub register: usize,
    /// Bit of the register.
    pub bit: u32,
    /// Register state that the operating system must save for it.
    pub state: StateComponents,
}

/// The answers of a processor and its operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuFeatures {
    /// Registers of each queried CPUID leaf and subleaf.
    pub leaves: Vec<((u32, u32), [u32; 4])>,
    /// Register state that the operating system saves: XCR0.
    pub state: u64,
    /// Permission to use tile registers, or the error number of its refusal.
    pub tiles: Result<(), i64>,
}

/// The feature that a hypervisor sets.
const HYPERVISOR: CpuFeature =
    CpuFeature { name: "hypervisor", leaf: (1, 0), register: 2, bit: 31, state: StateComponents(0) };

impl CpuFeatures {
    /// Returns true in a virtual machine, which may report any family and model.
    pub fn is_virtual(&self) -> bool {
        self.has(&HYPERVISOR)
    }

    /// Returns true if the processor has a feature.
    pub fn has(&self, feature: &CpuFeature) -> bool {
        let of_leaf = |(leaf, _): &&((u32, u32), [u32; 4])| *leaf == feature.leaf;
        let leaf = self.leaves.iter().find(of_leaf);
        leaf.is_some_and(|(_, registers)| registers[feature.register] >> feature.bit & 1 == 1)
    }

    /// Returns true if the operating system saves this register state.
    pub fn keeps(&self, state: StateComponents) -> bool {
        self.state & state.0 == state.0
    }
}
