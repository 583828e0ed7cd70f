//! The kernels that time instructions compile, and their loops have as many matrix instructions, or conversions, as runs. No GPU is needed:
//! NVRTC and nvdisasm do it; without them the test says that it is skipped.

use crate::machine::{NO_NVRTC, Need, amount, skip};
use rayon::prelude::*;
use tcnum::{
    device::{
        Metered, SHARED_LOADS,
        cuda::{
            architecture::{ARCHITECTURES, Architecture},
            compile, repeating, sass,
        },
    },
    isa::{
        self,
        scalar::{self, ScalarOperation},
    },
};

/// Runs in the body of a loop, about.
const BODY: u32 = 16;

/// What is wrong with the loops of `metered` in so many independent chains, if anything is.
fn fault(
    metered: &Metered,
    native: bool,
    independent: &[u32],
    loops: &[String],
    architecture: &Architecture,
) -> Option<String> {
    if matches!(metered, Metered::Load(_)) {
        return None;
    }
    let scalar = matches!(metered, Metered::Scalar(_));
    let counts = |opcode: &str| {
        let begins = opcode.split_once(".STEP").is_none_or(|(_, number)| number == "0");
        sass::is_call(opcode)
            || (begins && sass::is_matrix(opcode))
            || (scalar && sass::is_listed(opcode) && !opcode.starts_with("HFMA2"))
    };
    // Two conversions that pack a result each become one instruction, so that of them only single chains are looked at.
    let looked_at = if scalar { &independent[..1] } else { independent };
    looked_at.iter().find_map(|&chains| {
        let body = sass::body(loops, &format!("cost_{chains}"));
        let count: u32 = body.iter().filter(|(opcode, _)| counts(opcode)).map(|(_, count)| count).sum();
        let runs = BODY.checked_div(chains).map_or(1, |turns| turns * chains);
        let meant = if native { count == runs } else { count > 0 && count.is_multiple_of(runs) };
        (!meant).then(|| format!("{} on {}: {chains} runs, {body:?}", metered.name(), architecture.target))
    })
}

fn check(metered: impl Iterator<Item = (Metered, bool)>, architecture: &Architecture) {
    if compile::targets().is_err() {
        return skip(Need::Nvrtc, NO_NVRTC);
    }
    let Some(program) = sass::disassembler() else {
        return skip(Need::Nvdisasm, "there is no nvdisasm, so the loops are not looked at");
    };
    let every = amount(37, 7);
    let metered: Vec<(Metered, bool)> = metered.step_by(every).collect();
    let compiled = |(metered, _): &(Metered, bool)| {
        let (source, independent) = repeating(metered, architecture).unwrap();
        (compile::compile(&source, architecture.target).unwrap(), independent)
    };
    let compiled: Vec<_> = metered.par_iter().map(compiled).collect();
    let cubins: Vec<_> = compiled.iter().map(|(cubin, _)| (architecture.target, &cubin[..])).collect();
    let texts = sass::disassemble(&program, &cubins);
    let faults: Vec<String> = metered
        .iter()
        .zip(&compiled)
        .zip(texts)
        .filter_map(|(((metered, native), (_, independent)), text)| {
            let loops = sass::loops(&text.expect("nvdisasm takes the machine code"));
            fault(metered, *native, independent, &loops, architecture)
        })
        .collect();
    assert!(!metered.is_empty() && faults.is_empty(), "{} of {}:\n{}", faults.len(), metered.len(), faults.join("\n"));
}

fn hopper() -> &'static Architecture {
    ARCHITECTURES.iter().find(|architecture| architecture.target == "sm_90a").expect("it is in the table")
}

#[test]
fn the_loops_of_matrix_instructions_have_as_many_of_them_as_runs() {
    let architecture = hopper();
    let native = |i: &isa::Instruction| Some(i.support_on(architecture.table)?.emulation.is_none());
    let has = isa::all().iter().filter(|i| i.missing().is_none());
    check(has.filter_map(|i| Some((Metered::Matrix(i.clone()), native(i)?))), architecture);
}

/// Moves and integer instructions on Hopper, and two whose every second confinement to [0, 1] in a chain the compiler leaves out.
const NO_ARITHMETIC: [&str; 5] =
    ["cvt.f32.bf16", "cvt.rna.tf32.f32", "cvt.rna.satfinite.tf32.f32", "cvt.sat.f32.f16", "cvt.ftz.sat.f32.f16"];

#[test]
fn the_loop_of_a_chain_of_conversions_has_as_many_of_them_as_runs() {
    let architecture = hopper();
    let native = |form: &scalar::Form| Some(form.support_on(architecture.table)?.emulation.is_none());
    let conversion = |form: &scalar::Form| {
        let timed = form.operation == ScalarOperation::Convert && form.missing().is_none();
        timed && !NO_ARITHMETIC.contains(&form.ptx.as_str())
    };
    let has = scalar::all().iter().filter(|form| !form.is_of_processors() && conversion(form));
    check(has.filter_map(|form| Some((Metered::Scalar(form), native(form)?))), architecture);
}

#[test]
fn the_loops_of_loads_compile() {
    check(SHARED_LOADS.iter().map(|load| (Metered::Load(*load), true)), hopper());
}
