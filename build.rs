//! Collects the files of `experiments/` into a table, so that adding a file is all there is to it, and names the commit that the
//! program is built from.

#[path = "build/commit.rs"]
mod commit;

use tcnum_collect as collect;

fn main() {
    collect::watch(["build.rs", "build", "src"]);
    println!("cargo::rustc-env=TCNUM_COMMIT={}", commit::name());
    let experiments = collect::files("experiments", &["toml"]);
    if let Err(message) = experiments.and_then(|files| collect::write("experiments.rs", &collect::table(&files))) {
        println!("cargo::error={message}");
    }
}
