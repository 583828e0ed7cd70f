//! Matrix products made of instructions: computed against a plain loop, schedules as files, and the command.

mod between;
mod captures;
mod command;
mod compute;
mod cublas_fp64;
mod emulate;
mod emulate_doubles;
mod kernel;
mod library;
#[path = "../common/machine.rs"]
mod machine;
mod matching;
mod plain;
#[path = "../common/program.rs"]
mod program;
mod schedules;
mod sums;
