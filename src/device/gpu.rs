//! What is known of a GPU.

/// One GPU, as the driver describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The N of `cuda:N`.
    pub ordinal: usize,
    /// The vendor's name: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Its memory in bytes.
    pub memory: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Its place on the PCI bus: `00000000:1b:00.0`.
    pub place: String,
}
