//! `tcnum verify`: campaigns, totals, mismatches, and wrong models that it has to catch.

mod campaign;
#[path = "../common/changed.rs"]
mod changed;
mod command;
mod interrupted;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/program.rs"]
mod program;
mod replayed;
mod totals;
mod typed;
mod wrong_models;
