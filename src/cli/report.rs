//! `tcnum report`.

use std::path::PathBuf;

use clap::Args;

use super::{Progress, options::output_path};
use crate::{
    Error, Result,
    base::atomic,
    document::{self, Results},
    report, tables,
};

/// Makes one document of kept results: a page, with tables and figures.
///
/// Example: tcnum report reports/h200/verify/all.json reports/h200/chain-all.json --out h200.html
///
/// The document says which chip it is about, which instructions are native, what the arithmetic of each is, how that was proven, what
/// cannot be known, how it differs from its neighbours, its errors, and every command, seed and version. A result is what a command
/// wrote with --output json. One that cannot be read is left out: exit status 1; where nothing can be read, no document is written.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// A result, as --output json --out FILE wrote it.
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// The document: FILE.html is one page that needs nothing else.
    #[arg(long, value_name = "FILE.html", value_parser = output_path, required = true)]
    out: PathBuf,
    /// Print nothing but what is wrong: no progress on standard error.
    #[arg(short, long)]
    quiet: bool,
}

/// Makes the document; the exit status.
///
/// # Errors
/// No result can be read; the document cannot be written, or has another ending.
pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    let ending = arguments.out.extension().unwrap_or_default();
    if !ending.eq_ignore_ascii_case("html") {
        return Err(Error::request(format!(
            "--out {}: a document is a page; give a name that ends in .html",
            arguments.out.display()
        )));
    }
    let progress = Progress::quiet_if(arguments.quiet);
    let declared = tables::declared();
    let (mut kept, mut wrong) = (Vec::new(), Vec::new());
    for path in &arguments.results {
        progress.step(&format!("reading {}", path.display()));
        match report::result(path, &declared) {
            Ok(result) => kept.push(result),
            Err(error) => wrong.push(error),
        }
    }
    progress.step("composing");
    drop(progress);
    wrong.iter().for_each(super::warn);
    if kept.is_empty() {
        return Err(Error::request("none of the results can be read; no document was written"));
    }
    if !wrong.is_empty() && arguments.out.exists() {
        let out = arguments.out.display();
        super::warn(&Error::request(format!(
            "{out} stays as it was: it would be replaced by a document that lacks some results"
        )));
        return Ok(1);
    }
    let document = document::compose(&Results::new(kept));
    atomic::write(&arguments.out, document::html(&document).as_bytes())?;
    Ok(u8::from(!wrong.is_empty()))
}
