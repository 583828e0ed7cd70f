//! Devices that need no GPU: models, recordings and programs.

mod arm;
mod cpu;
mod default_model;
mod determinism;
mod exec_device;
mod hostile_traces;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/program.rs"]
mod program;
mod replay;
mod specification;
mod verilator;
