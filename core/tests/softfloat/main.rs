//! The soft-float against the reference by MPFR ([`tcnum_core::softfloat::mpfr`]): codes and flags.
//!
//! What is small is visited as a whole (of some of it a sample, unless all is asked for), what is large is drawn at random with half
//! of it near the edges. The tests marked as ignored are
//! the long ones, run once in release and reported:
//! `cargo test --release -p tcnum-core --features mpfr --test softfloat -- --ignored --nocapture --skip testfloat`.

mod conversions;
mod environments;
mod halves;
mod hosts;
#[path = "../../../tests/common/machine.rs"]
mod machine;
mod many;
mod narrow;
mod operands;
mod random;
mod tally;
mod testfloat;
mod testfloat_level2;
mod tininess;
