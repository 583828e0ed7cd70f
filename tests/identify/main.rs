//! `tcnum identify`: arithmetics that it never saw, worked out from answers alone.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod black_box;
mod blind;
mod features;
#[path = "../common/machine.rs"]
mod machine;
mod quick;
mod shipped;
