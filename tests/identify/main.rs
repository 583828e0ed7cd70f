//! `tcnum identify`: arithmetics that it never saw, worked out from answers alone.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod blind;
