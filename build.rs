//! Collects the data files of the program into tables, so that adding a file is all there is to it, and names the commit that
//! the program is built from. A file that is wrong fails the build, with its name and the line.

#[path = "build/collect.rs"]
mod collect;
#[path = "build/commit.rs"]
mod commit;
#[path = "build/language.rs"]
mod language;
#[path = "build/models.rs"]
mod models;
#[path = "build/targets.rs"]
mod targets;

use language::{arithmetic, base, format, isa, number};

fn main() {
    if let Err(message) = run() {
        println!("cargo::error={message}");
    }
}

fn run() -> Result<(), String> {
    // What the commit says is whether the sources are as it has them.
    collect::watch(["build.rs", "build", "src", "Cargo.toml", "Cargo.lock"]);
    println!("cargo::rustc-env=TCNUM_COMMIT={}", commit::name());

    let files = collect::files("targets", &["toml"])?;
    let mut targets = targets::read(&files)?;
    targets.sort_by_key(targets::Target::order);
    collect::write("targets.rs", &targets::table(&targets))?;
    let matrix = targets::relation(
        &targets,
        targets::Kind::Matrix,
        &["src/isa/nvidia.csv", "src/isa/amd.csv", "src/isa/arm.csv", "src/isa/x86.csv"],
    )?;
    collect::write("matrix_support.rs", &matrix)?;
    let scalar = targets::relation(&targets, targets::Kind::Scalar, &["src/isa/scalar.csv", "src/isa/scalar-x86.csv"])?;
    collect::write("scalar_support.rs", &scalar)?;

    collect::write("models.rs", &models::table(&collect::files("models", &["toml"])?, &targets)?)?;
    collect::write("kernels.rs", &collect::table(&collect::files("kernels", &["cu", "cuh"])?))?;
    collect::write("schedules.rs", &collect::table(&collect::files("schedules", &["toml", "csv"])?))?;
    collect::write("schemes.rs", &collect::table(&collect::files("schemes", &["toml"])?))
}
