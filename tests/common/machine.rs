//! The equipment of the test machine, and the thoroughness of the run.

// Every test program compiles this file and uses a part of it.
#![allow(dead_code)]

use std::{
    cell::Cell,
    collections::BTreeSet,
    env,
    fs::OpenOptions,
    io::{self, Write},
    process::Command,
    sync::Mutex,
};

/// Equipment that a test may need beyond the build.
/// `TCNUM_REQUIRE` takes these names, separated by commas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Need {
    /// A C++ compiler.
    Cpp,
    /// A GPU of the test's generation.
    Gpu,
    /// NVRTC.
    Nvrtc,
    /// The absence of NVRTC, for tests of its absence.
    NoNvrtc,
    /// A disassembler of machine code.
    Nvdisasm,
    /// Python 3.
    Python,
    /// NumPy in that Python.
    Numpy,
    /// A cross compiler for aarch64 and QEMU's user mode emulation of it.
    Qemu,
    /// A user who is bound by file permissions.
    User,
    /// Bash.
    Bash,
    /// groff, to format manual pages.
    Groff,
    /// Node.js.
    Node,
    /// Chromium.
    Chromium,
    /// pdflatex and bibtex, with the packages of a LaTeX project.
    Pdflatex,
    /// Verilator.
    Verilator,
}

impl Need {
    const ALL: [Need; 15] = [
        Need::Cpp,
        Need::Gpu,
        Need::Nvrtc,
        Need::NoNvrtc,
        Need::Nvdisasm,
        Need::Python,
        Need::Numpy,
        Need::Qemu,
        Need::User,
        Need::Bash,
        Need::Groff,
        Need::Node,
        Need::Chromium,
        Need::Pdflatex,
        Need::Verilator,
    ];

    fn name(self) -> &'static str {
        match self {
            Need::Cpp => "c++",
            Need::Gpu => "gpu",
            Need::Nvrtc => "nvrtc",
            Need::NoNvrtc => "no-nvrtc",
            Need::Nvdisasm => "nvdisasm",
            Need::Python => "python",
            Need::Numpy => "numpy",
            Need::Qemu => "qemu",
            Need::User => "user",
            Need::Bash => "bash",
            Need::Groff => "groff",
            Need::Node => "node",
            Need::Chromium => "chromium",
            Need::Pdflatex => "pdflatex",
            Need::Verilator => "verilator",
        }
    }
}

/// The reason to skip tests of NVRTC.
pub(crate) const NO_NVRTC: &str = "there is no NVRTC (tools/nvrtc installs it)";

fn required() -> Vec<String> {
    let names = env::var("TCNUM_REQUIRE").unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(String::from).collect()
}

/// Reports a skipped test once per reason, past the capture of its output.
///
/// # Panics
/// If `TCNUM_REQUIRE` names the missing equipment.
pub(crate) fn skip(need: Need, why: &str) {
    assert!(!required().iter().any(|name| name == need.name()), "{why}, and TCNUM_REQUIRE names {}", need.name());
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap().insert(why.to_string()) {
        let _ = writeln!(io::stderr(), "skipped: {why}");
    }
    note_what_is_left_out();
}

/// Notes this thread's test in the file that `TCNUM_LEFT_OUT` names, for `tools/test --rest`.
fn note_what_is_left_out() {
    thread_local!(static NOTED: Cell<bool> = const { Cell::new(false) });
    let Some(path) = env::var_os("TCNUM_LEFT_OUT").filter(|_| !NOTED.replace(true)) else { return };
    let thread = std::thread::current();
    let name = thread.name().expect("a test asks on its own thread how much to do");
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes())).expect("tools/test has made the file");
}

/// A C++ compiler of the host, or `None` and a printed line.
pub(crate) fn cpp_compiler() -> Option<&'static str> {
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let compiler = ["c++", "g++", "clang++"].into_iter().find(starts);
    if compiler.is_none() {
        skip(Need::Cpp, "there is no C++ compiler");
    }
    compiler
}

/// Returns true if there is a Python 3; else prints a line.
pub(crate) fn has_python() -> bool {
    has_tool("python3", Need::Python)
}

/// Returns true if `tool --version` runs; else prints a line.
pub(crate) fn has_tool(tool: &str, need: Need) -> bool {
    let exists = Command::new(tool).arg("--version").output().is_ok();
    if !exists {
        skip(need, &format!("there is no {tool}"));
    }
    exists
}

/// A C compiler for aarch64 and an emulator of it, or `None` and a printed line.
pub(crate) fn aarch64_tools() -> Option<[&'static str; 2]> {
    let tools = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];
    let missing = tools.into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        skip(
            Need::Qemu,
            &format!("there is no {tool} (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)"),
        );
    }
    missing.is_none().then_some(tools)
}

/// Returns true for a complete run (`TCNUM_ALL`, set by `tools/test --all`), false for samples of long tests.
pub(crate) fn thorough() -> bool {
    let thorough = env::var_os("TCNUM_ALL").is_some();
    if !thorough {
        note_what_is_left_out();
    }
    thorough
}

/// The amount to test: `sample`, or `all` in a complete run.
pub(crate) fn amount<T>(sample: T, all: T) -> T {
    if thorough() { all } else { sample }
}

#[test]
fn what_is_required_is_known() {
    let known = Need::ALL.map(Need::name);
    let unknown: Vec<String> = required().into_iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "TCNUM_REQUIRE names {unknown:?}; known are {known:?}");
}
