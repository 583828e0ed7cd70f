//! Foundations: errors, threads, file reading, names, digests, functions for several instruction sets.
//! Shared with the program `tcnum` of the same version; no promise is made about them.

pub mod digest;
pub mod error;
pub mod named;
pub mod nearest;
pub mod parallel;
pub mod text;
pub mod threads;
pub mod vectors;
pub mod visible;
pub mod words;
