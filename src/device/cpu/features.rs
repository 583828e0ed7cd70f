//! CpuFeatures of a processor: what CPUID answers, and what the operating system allows of it.

/// The registers that an operating system keeps for a program, as bits of XCR0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateComponents(u64);

impl StateComponents {
    /// Vectors of 256 bits.
    pub const AVX: StateComponents = StateComponents(0x6);
    /// Vectors of 512 bits and masks.
    pub const AVX512: StateComponents = StateComponents(0xe6);
    /// Tiles.
    pub const TILES: StateComponents = StateComponents(0x6_0006);
}

/// What a processor says of one feature, in the answer of CPUID.
#[derive(Debug, PartialEq, Eq)]
pub struct CpuFeature {
    /// The vendor's name.
    pub name: &'static str,
    /// The leaf and subleaf.
    pub leaf: (u32, u32),
    /// The register of the answer: 0 to 3 for EAX to EDX.
    pub register: usize,
    /// The bit of it.
    pub bit: u32,
    /// The registers that the operating system has to keep for it.
    pub state: StateComponents,
}

/// What a processor and its operating system answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuFeatures {
    /// The registers of each leaf and subleaf of CPUID that was asked for.
    pub leaves: Vec<((u32, u32), [u32; 4])>,
    /// The registers that the operating system keeps: XCR0.
    pub state: u64,
    /// Whether the operating system grants tiles to this process; else its error number.
    pub tiles: Result<(), i64>,
}

/// Set where a hypervisor runs the machine.
const HYPERVISOR: CpuFeature =
    CpuFeature { name: "hypervisor", leaf: (1, 0), register: 2, bit: 31, state: StateComponents(0) };

impl CpuFeatures {
    /// Whether the machine is a virtual one, which may give the processor any family and model.
    pub fn is_virtual(&self) -> bool {
        self.has(&HYPERVISOR)
    }

    /// Whether the processor has a feature.
    pub fn has(&self, feature: &CpuFeature) -> bool {
        let of_leaf = |(leaf, _): &&((u32, u32), [u32; 4])| *leaf == feature.leaf;
        let found = self.leaves.iter().find(of_leaf);
        found.is_some_and(|(_, registers)| registers[feature.register] >> feature.bit & 1 == 1)
    }

    /// Whether the operating system keeps these registers.
    pub fn keeps(&self, state: StateComponents) -> bool {
        self.state & state.0 == state.0
    }
}
