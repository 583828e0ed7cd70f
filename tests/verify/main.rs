//! `tcnum verify`: campaigns, totals, mismatches, and wrong models that it has to catch.

mod campaign;
mod command;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/mutants.rs"]
mod mutants;
#[path = "../common/program.rs"]
mod program;
mod totals;
mod wrong_models;
