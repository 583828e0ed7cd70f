//! The `tcnum` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    tcnum::verbs::main()
}
