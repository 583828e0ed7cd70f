//! Number formats and block formats: codes, conversions and blocks.
//! Judges are standards, MPFR, packages of Python, and public bug reports.

mod blocks;
mod by_rule;
mod cases;
mod ggml;
#[path = "../../../../tests/common/machine.rs"]
mod machine;
mod mpfr;
mod public_cases;
mod python_blocks;
mod python_tables;
mod slices_exhaustive;
mod standards;
mod tabled;
mod tables;
