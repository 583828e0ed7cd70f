//! Collects the data files of the program into tables, so that adding a file is all there is to it, and names the commit that
//! the program is built from.

#[path = "build/collect.rs"]
#[allow(dead_code, reason = "what refuses a file is used in the core's build")]
mod collect;
#[path = "build/commit.rs"]
mod commit;

fn main() {
    if let Err(message) = run() {
        println!("cargo::error={message}");
    }
}

fn run() -> Result<(), String> {
    // What the commit says is whether the sources are as it has them.
    collect::watch(["build.rs", "build", "core", "src", "Cargo.toml", "Cargo.lock"]);
    println!("cargo::rustc-env=TCNUM_COMMIT={}", commit::name());
    collect::write("experiments.rs", &table(&collect::files("experiments", &["toml"])?))?;
    collect::write("kernels.rs", &table(&collect::files("kernels", &["cu", "cuh"])?))?;
    let mut layouts = collect::files("layouts", &["toml"])?;
    // A table of what is no layout.
    layouts.retain(|file| file.name != "undecoded");
    collect::write("layouts.rs", &table(&layouts))?;
    collect::write("schedules.rs", &table(&collect::files("schedules", &["toml", "csv"])?))?;
    collect::write("schemes.rs", &table(&collect::files("schemes", &["toml"])?))
}

/// The Rust expression of the files' names and texts, in their order.
fn table(files: &[collect::File]) -> String {
    let row = |file: &collect::File| format!("    ({:?}, {}),\n", file.name, file.included());
    format!("&[\n{}]\n", files.iter().map(row).collect::<String>())
}
