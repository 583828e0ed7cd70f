//! Collects the models, targets and block formats into tables, so that a new file needs no other change.
//! A file that is wrong fails the build, with its name and the line.

#[path = "build/blocks.rs"]
mod blocks;
#[path = "build/language.rs"]
mod language;
#[path = "build/models.rs"]
mod models;
#[path = "build/targets.rs"]
mod targets;

use tcnum_collect as collect;

use language::{arithmetic, base, format, isa, number};

fn main() {
    if let Err(message) = run() {
        println!("cargo::error={message}");
    }
}

fn run() -> Result<(), String> {
    collect::watch(["build.rs", "build", "src"]);
    let files = collect::files("targets", &["toml"])?;
    let mut targets = targets::read(&files)?;
    targets.sort_by_key(targets::Target::order);
    collect::write("targets.rs", &targets::table(&targets))?;
    let matrix = targets::relation(
        &targets,
        targets::Kind::Matrix,
        &["src/isa/nvidia.csv", "src/isa/amd.csv", "src/isa/arm.csv", "src/isa/riscv.csv", "src/isa/x86.csv"],
    )?;
    collect::write("matrix_support.rs", &matrix)?;
    let scalar = targets::relation(&targets, targets::Kind::Scalar, &["src/isa/scalar.csv", "src/isa/scalar-x86.csv"])?;
    collect::write("scalar_support.rs", &scalar)?;
    collect::write("blocks.rs", &blocks::table(&collect::files("blocks", &["toml"])?)?)?;
    collect::write("models.rs", &models::table(&collect::files("models", &["toml"])?, &targets)?)
}
