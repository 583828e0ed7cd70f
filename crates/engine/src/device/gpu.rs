//! Description of a GPU.

/// One GPU, as the driver describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// N of `cuda:N`.
    pub ordinal: usize,
    /// Vendor's name: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Memory in bytes.
    pub memory: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Address on the PCI bus: `00000000:1b:00.0`.
    pub place: String,
}
