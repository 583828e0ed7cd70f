//! Collects kernels, layouts of checkpoints, schedules, schemes and published values into tables, so that adding a file is all there is to it.

use tcnum_collect as collect;

fn main() {
    if let Err(message) = run() {
        println!("cargo::error={message}");
    }
}

fn run() -> Result<(), String> {
    collect::watch(["build.rs"]);
    let mut layouts = collect::files("layouts", &["toml"])?;
    // A table of what is no layout.
    layouts.retain(|file| file.name != "undecoded");
    for (name, files) in [
        ("kernels.rs", collect::files("kernels", &["cu", "cuh"])?),
        ("kits.rs", collect::files("kernels/kit", &["cu", "cuh", "c", "hip", "py", "csv"])?),
        ("layouts.rs", layouts),
        ("schedules.rs", collect::files("schedules", &["toml", "csv"])?),
        ("schemes.rs", collect::files("schemes", &["toml"])?),
    ] {
        collect::write(name, &collect::table(&files))?;
    }
    let included = |name, path| collect::write(name, &collect::File::read(path)?.included());
    included("undecoded.rs", "layouts/undecoded.toml")?;
    included("table-formats.rs", "experiments/table-formats.csv")
}
