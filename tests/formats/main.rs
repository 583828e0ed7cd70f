//! Number formats and block formats: codes, conversions and blocks, against standards, MPFR, and packages of Python.

mod blocks;
mod cases;
#[path = "../common/machine.rs"]
mod machine;
mod mpfr;
mod python_blocks;
mod python_tables;
mod slices_exhaustive;
mod standards;
mod tables;
