//! What every layer uses: errors, signals, standard input, threads, files that are read or written whole, words for people, digests, and
//! functions compiled for several instruction sets.

pub(crate) mod atomic;
pub(crate) mod digest;
mod early_sync;
pub(crate) mod error;
#[cfg(feature = "cli")]
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod named;
pub(crate) mod nearest;
pub(crate) mod pace;
pub(crate) mod parallel;
pub(crate) mod places;
pub(crate) mod sentence;
#[cfg(feature = "cli")]
pub(crate) mod signals;
pub(crate) mod sorting;
mod special;
pub(crate) mod stage;
pub(crate) mod text;
pub(crate) mod threads;
pub(crate) mod vectors;
pub(crate) mod visible;
pub(crate) mod words;
