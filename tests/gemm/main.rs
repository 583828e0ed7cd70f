//! Matrix products made of instructions: computed against a plain loop, schedules as files, and the command.

#[test]
fn zz_write_schema() {
    std::fs::write("schemas/report.schema.json", tcnum::tables::report_schema()).unwrap();
    std::fs::write("schemas/columns.txt", tcnum::report::schema::promise(&tcnum::tables::declared())).unwrap();
}
mod between;
mod command;
mod compute;
mod library;
#[path = "../common/machine.rs"]
mod machine;
mod matching;
mod plain;
#[path = "../common/program.rs"]
mod program;
mod schedules;
