//! Basics of every layer: signals, standard input, whole files and wording; the core has the rest.

pub(crate) mod atomic;
pub(crate) mod available;
pub(crate) mod distinct;
mod early_sync;
#[cfg(feature = "cli")]
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod parameters;
pub(crate) mod places;
pub(crate) mod sentence;
#[cfg(feature = "cli")]
pub(crate) mod signals;
mod special;
pub(crate) mod stage;
pub(crate) mod work;

pub(crate) use tcnum_core::base::{digest, error, named, nearest, parallel, text, threads, vectors, visible};
