//! The orders of the sums of a device's instructions.

mod ask;
#[cfg(feature = "figures")]
pub mod drawing;
pub mod table;

pub use ask::{DeviceOrders, InstructionOrder, find_all};
