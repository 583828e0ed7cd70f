//! The soft-float against the reference by MPFR ([`tcnum_core::softfloat::mpfr`]): codes and flags.
//!
//! Small spaces are visited completely (some of them by a sample, unless all is asked for). Large ones are drawn at
//! random, half of the cases near the edges. The ignored tests are the long ones, run once in release and reported:
//! `cargo test --release -p tcnum-core --features mpfr --test softfloat -- --ignored --nocapture --skip testfloat`.

mod conversions;
mod environments;
mod halves;
mod hosts;
#[path = "../../../../tests/common/machine.rs"]
mod machine;
mod many;
mod narrow;
mod operands;
mod random;
mod tally;
mod testfloat;
mod testfloat_level2;
mod tininess;
