//! Kits in C, for processors: assembly within the code of `kernels/kit/`.

use std::fmt::Write;

use super::{KitInputs, declared::array};
use crate::{
    Error, Result,
    device::cpu::{features::CpuFeature, route::Route},
    isa::{Instruction, operands},
};
use tcnum_engine::kernels;

const COMMON: &str = kernels::kit("kit.c");
const X86: &str = kernels::kit("x86.c");
const ARM: &str = kernels::kit("arm.c");
/// Outer products of SME, behind [`ARM`].
const SME: &str = kernels::kit("sme.c");
/// Instructions of Arm; the file says what its columns are.
const ARM_CODES: &str = kernels::kit("arm.csv");

/// Macro of [`SME`] that executes an instruction.
const STREAMING: &str = "STREAMING(";

/// The processors of a kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processors {
    X86,
    Arm,
}

/// The program in C.
///
/// # Errors
/// No processor has an instruction, or the instructions are of two kinds of processors.
pub(super) fn program(kits: &[KitInputs]) -> Result<String> {
    let units: Vec<(Processors, String)> =
        kits.iter().enumerate().map(|(at, kit)| unit(at, &kit.instruction)).collect::<Result<_>>()?;
    let of = |processors| {
        let named = kits.iter().zip(&units).filter(|(_, (of, _))| *of == processors);
        named.map(|(kit, _)| kit.instruction.name.as_str()).collect::<Vec<_>>()
    };
    let (x86, arm) = (of(Processors::X86), of(Processors::Arm));
    if let ([x86, ..], [arm, ..]) = (&x86[..], &arm[..]) {
        return Err(Error::request(format!(
            "{x86} is an instruction of x86-64, and {arm} is one of Arm; write a kit for each"
        )));
    }
    let (processors, template) = if arm.is_empty() { ("x86-64", X86) } else { ("64-bit Arm", ARM) };
    let mut text = format!(
        "// A kit of tcnum for {processors} processors, which tells arithmetics of matrix and dot-product instructions apart. Compile it, run\n\
         // it, and send back what it prints:\n//\n//     cc -O1 kit.c -o kit && ./kit > answers.txt\n//\n// GCC and Clang compile it. An \
         instruction that the processor lacks is named on stderr, and the exit status is 1.\n// Whoever has tcnum reads the answers with `tcnum \
         identify --answers answers.txt`.\n//\n"
    );
    for kit in kits {
        let _ = writeln!(text, "// {}: {} tiles", kit.instruction, kit.tiles.count);
    }
    text.push_str(COMMON);
    text.push_str(template);
    if units.iter().any(|(_, unit)| unit.contains(STREAMING)) {
        text.push_str(SME);
    }
    for ((at, kit), (_, unit)) in kits.iter().enumerate().zip(&units) {
        text.push_str(&tiles(at, kit)?);
        text.push_str(unit);
    }
    text.push_str("\nint main(void) {\n    int lacking = 0;\n");
    for at in 0..kits.len() {
        let _ = writeln!(text, "    lacking |= answer(&INSTRUCTION_{at}, &UNIT_{at});");
    }
    text.push_str("    return lacking || fflush(stdout) != 0;\n}\n");
    Ok(text)
}

/// The operands of an instruction.
fn tiles(at: usize, kit: &KitInputs) -> Result<String> {
    let (i, part) = (&kit.instruction, &kit.part);
    let mut text = format!("\n// {i}\n\n");
    for operand in operands(part) {
        let codes = kit.tiles.arrays().find(|(name, _)| *name == operand.name).map(|(_, codes)| codes);
        let codes = codes.ok_or_else(|| Error::request(format!("{i}: an operand is missing")))?;
        array(&mut text, &format!("{}_TILES_{at}", operand.name.to_uppercase()), codes);
    }
    let _ = writeln!(
        text,
        "static const Instruction INSTRUCTION_{at} = {{\n    \"{i}\", {}, {}, {}, {}, {}, A_TILES_{at}, B_TILES_{at}, C_TILES_{at}\n}};",
        kit.tiles.count,
        format_args!("{{{}, {}, {}, {}, {}}}", part.m, part.k, i.m, i.k, i.a.bytes()),
        format_args!("{{{}, {}, {}, {}, {}}}", part.k, part.n, i.k, i.n, i.b.bytes()),
        format_args!("{{{}, {}, {}, {}, {}}}", part.m, part.n, i.m, i.n, i.c.bytes()),
        format_args!("{{{}, {}, {}, {}, {}}}", part.m, part.n, i.m, i.n, i.d.bytes()),
    );
    Ok(text)
}

/// Returns true if kits in C have an instruction.
pub(super) fn has(i: &Instruction) -> bool {
    unit(0, i).is_ok()
}

/// The unit of an instruction: its features and its machine instruction.
fn unit(at: usize, i: &Instruction) -> Result<(Processors, String)> {
    let routes: Vec<&Route> = Route::of(&i.name).collect();
    if !routes.is_empty() {
        return Ok((Processors::X86, x86_unit(at, &routes)));
    }
    match arm_unit(at, i) {
        Some(text) => Ok((Processors::Arm, text)),
        None => Err(Error::request(format!(
            "{i}: no processor executes it; a kit in C has instructions of x86-64 and Arm processors"
        ))),
    }
}

fn x86_unit(at: usize, routes: &[&Route]) -> String {
    let mut text = String::new();
    let mut ways = Vec::new();
    for (way, Route { unit, opcode, times, .. }) in routes.iter().enumerate() {
        let (registers, suffix) = match (unit.has_tiles(), times) {
            (true, _) => ("ON_TILES", "TILES"),
            (false, 1) => ("ON_512_BITS", "512"),
            (false, _) => ("ON_256_BITS", "256"),
        };
        let feature = |CpuFeature { name, leaf: (leaf, subleaf), register, bit, state }: &CpuFeature| {
            format!("{{\"{name}\", {leaf}, {subleaf}, {register}, {bit}, {:#x}}}", state.bits())
        };
        let features: Vec<String> = unit.features.iter().map(feature).collect();
        let _ = writeln!(text, "{registers}(execute_{at}_{way}, {opcode}_{suffix})");
        let _ = writeln!(text, "static const Feature FEATURES_{at}_{way}[] = {{{}}};", features.join(", "));
        ways.push(format!(
            "    {{\"{}\", \"{}\", FEATURES_{at}_{way}, {}, execute_{at}_{way}}},",
            unit.name,
            unit.where_found,
            features.len()
        ));
    }
    let count = ways.len();
    let ways = ways.join("\n");
    let _ = writeln!(
        text,
        "static const Way WAYS_{at}[] = {{\n{ways}\n}};\nstatic const Unit UNIT_{at} = {{WAYS_{at}, {count}}};"
    );
    text
}

fn arm_unit(at: usize, i: &Instruction) -> Option<String> {
    let rows = ARM_CODES.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect::<Vec<_>>());
    let of = |name: &str| i.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let mut rows = rows.filter(|row| row.first().is_some_and(|name| of(name)));
    let [_, code, feature, hwcap, hwcap2, first, stride] = rows.next()?.try_into().ok()?;
    let bit = |at: &str| if at.is_empty() { "0".to_string() } else { format!("1ull << {at}") };
    let number = |text: &str| text.parse().unwrap_or(0u32);
    let is_streaming = first == "za";
    let (execute, tile) = if is_streaming { (STREAMING, "on_za") } else { ("EXECUTE(", "on_registers") };
    let fp8 = |name: &str| matches!(name, "e4m3" | "e5m2");
    let is_fp8 = u8::from(fp8(i.a.name));
    let is_e4m3 = |name: &str| u8::from(name == "e4m3");
    Some(format!(
        "{execute}execute_{at}, \"{code}\")\nstatic const Unit UNIT_{at} = {{\n    {{\"{feature}\", {}, {}}}, {}, {}, {}, {is_fp8}, {}, {}, \
         execute_{at}, {}, {tile}\n}};\n",
        bit(hwcap),
        bit(hwcap2),
        u8::from(stride.is_empty()),
        number(first),
        number(stride),
        is_e4m3(i.a.name),
        is_e4m3(i.b.name),
        u8::from(is_streaming),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn every_instruction_of_processors_has_a_unit_in_c() {
        let is_of_arm = |i: &&Instruction| i.support.iter().any(|support| support.architecture.starts_with("armv"));
        for i in isa::all().iter().filter(|i| i.is_of_processors() || is_of_arm(i)) {
            let (processors, text) = unit(0, i).unwrap();
            let macros = text.lines().filter_map(|line| line.strip_prefix("ON_")?.split([' ', ')']).nth(1));
            for name in macros {
                assert!(X86.contains(&format!("#define {name} ")), "{i}: {name}");
            }
            assert_eq!(processors == Processors::Arm, text.contains("EXECUTE("), "{i}");
        }
        let of_sme = isa::all().iter().filter(|i| matches!(i.family(), "fmopa" | "bfmopa"));
        assert!(
            of_sme.clone().count() > 10 && of_sme.into_iter().all(|i| unit(0, i).unwrap().1.starts_with(STREAMING))
        );
        // The forms of SVE share their names with those on FP8.
        assert!(!has(&isa::find("fdot.m1n4k2.f32.f16.f16.f32").unwrap()));
        let gpu = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        assert!(unit(0, &gpu).unwrap_err().to_string().contains("no processor executes it"));
    }
}
