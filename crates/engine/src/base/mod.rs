//! Basics of every layer: signals, standard input, whole files and wording; the core has the rest.

pub mod atomic;
pub mod available;
pub mod distinct;
mod early_sync;
#[cfg(feature = "figures")]
pub mod input;
pub mod interrupt;
pub mod parameters;
pub mod places;
pub mod sentence;
#[cfg(feature = "figures")]
pub mod signals;
mod special;
pub mod stage;
pub mod work;

pub use tcnum_core::base::{digest, error, named, nearest, parallel, text, threads, vectors, visible};
