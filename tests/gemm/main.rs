//! Matrix products made of instructions: computed against a plain loop, schedules as files, and the command.

mod command;
mod compute;
#[path = "../common/machine.rs"]
mod machine;
mod matching;
mod plain;
#[path = "../common/program.rs"]
mod program;
mod schedules;

#[test]
fn zz_write_schema() {
    std::fs::write("schemas/report.schema.json", tcnum::tables::report_schema()).unwrap();
    std::fs::write("schemas/columns.txt", tcnum::report::schema::promise(&tcnum::tables::declared())).unwrap();
}
