//! Kits for NVIDIA GPUs: kernels of the device `cuda:N` within a program in CUDA C++, or in Python.

use std::{collections::BTreeSet, fmt::Write};

use super::{
    KitInputs,
    declared::{array, shapes},
};
use crate::{
    Error, Result,
    device::cuda,
    isa::{Codes, Instruction, operands},
};
use tcnum_engine::kernels;

const COMMON: &str = kernels::kit("gpu.cuh");
const CUDA: &str = kernels::kit("kit.cu");
const BLOCK_SCALE: &str = kernels::kit("block_scale.cu");
const PYTHON: &str = kernels::kit("kit.py");

/// The program in CUDA C++.
///
/// # Errors
/// There is no kernel for an instruction.
pub(super) fn program(kits: &[KitInputs]) -> Result<String> {
    let mut text = String::from(
        "// A kit of tcnum, which tells arithmetics of matrix instructions apart. Compile it for your GPU's architecture, run it, and send back\n// what it prints:\n//\n",
    );
    for target in &targets(kits) {
        let compute = target.replacen("sm", "compute", 1);
        let _ = writeln!(
            text,
            "//     nvcc -std=c++17 -gencode arch={compute},code={target} kit.cu -o kit && ./kit > answers.txt"
        );
    }
    text.push_str("//\n// Whoever has tcnum reads the answers with `tcnum identify --answers answers.txt`.\n//\n");
    for kit in kits {
        let _ = writeln!(text, "// {}: {} tiles", kit.instruction, kit.tiles.count);
    }
    text.push_str("#include <cuda_runtime.h>\n#define GPU(name) cuda##name\n");
    text.push_str(COMMON);
    text.push_str(CUDA);
    for (at, kit) in kits.iter().enumerate() {
        text.push_str(&instruction(at, kit)?);
    }
    text.push_str("\nint main() {\n");
    for at in 0..kits.len() {
        let _ = writeln!(text, "    instruction_{at}::answer();");
    }
    text.push_str("    return 0;\n}\n");
    Ok(text)
}

/// The program in Python, which compiles the kernels by NVRTC.
///
/// # Errors
/// There is no kernel for an instruction.
pub(super) fn python(kits: &[KitInputs]) -> Result<String> {
    let mut text = PYTHON.to_string();
    text.push_str("\n\nINSTRUCTIONS = [\n");
    for kit in kits {
        let (i, part) = (&kit.instruction, &kit.part);
        let source = kernel(i)?;
        let threads = source.lines().find_map(|line| line.strip_prefix("#define BLOCK_THREADS ")).unwrap_or("128");
        let _ = writeln!(text, "    {{\n        \"name\": \"{i}\",\n        \"tiles\": {},", kit.tiles.count);
        let architectures: Vec<&str> = i.support.iter().map(|support| support.architecture).collect();
        let _ = writeln!(text, "        \"architectures\": \"{}\",", architectures.join(" "));
        let _ = writeln!(
            text,
            "        \"threads\": {threads},\n        \"d\": ({}, {}, {}, {}, {}),",
            part.m,
            part.n,
            i.m,
            i.n,
            i.d.bytes()
        );
        let _ = writeln!(text, "        \"operands\": [");
        for (operand, all) in operands(part).into_iter().zip(operands(i)) {
            let codes = codes(kit, operand.name)?;
            let digits: String = codes.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            let rows = if operand.name == "positions" { all.rows } else { operand.rows };
            let name = if operand.name == "positions" { "positions".into() } else { operand.name.to_uppercase() };
            let _ = writeln!(
                text,
                "            (\"{name}\", ({rows}, {}, {}, {}, {}), {}, \"{digits}\"),",
                operand.columns,
                all.rows,
                all.columns,
                operand.format.bytes(),
                operand.rows
            );
        }
        let _ = writeln!(text, "        ],\n        \"source\": r\"\"\"\n{source}\"\"\",\n    }},");
    }
    text.push_str("]\n\nif __name__ == \"__main__\":\n    sys.exit(main(INSTRUCTIONS))\n");
    Ok(text)
}

/// The kernel of an instruction, or the reason why a kit has none.
fn kernel(i: &Instruction) -> Result<String> {
    let ending = match i.family() {
        "mfma" | "vwmma" => Some("an instruction of AMD GPUs; name a file that ends in .hip"),
        _ if super::processor::has(i) => Some("an instruction of processors; name a file that ends in .c"),
        _ => None,
    };
    match (ending, i.missing()) {
        (Some(why), _) => Err(Error::request(format!("{i}: {why}"))),
        (None, Some(_)) if is_of_kit(i) => Err(Error::request(format!("{i}: name a file that ends in .cu"))),
        (None, Some(why)) => Err(Error::request(format!("{i}: {why}; a kit has the kernels of cuda:N, and so none"))),
        (None, None) => cuda::kernel_source(i),
    }
}

/// Returns true for instructions that a kit in CUDA C++ has, and `cuda:N` has not.
fn is_of_kit(i: &Instruction) -> bool {
    i.family() == "mma" && !i.is_sparse() && i.ptx.contains(".kind::")
}

/// The kernel of an instruction of [`is_of_kit`].
fn block_scale(i: &Instruction) -> String {
    // Codes of fewer than 8 bits take a byte each (4 bits: its middle), unless all operands have 4 bits.
    let bits = if i.k == 64 { 4 } else { 8 };
    let shift = |bits_of_code: u32| if bits == 8 && bits_of_code == 4 { 2 } else { 0 };
    let registers = i.d.bytes();
    let scales = i.scale.map_or(0, |scale| i.k / scale.block);
    let mut text = String::new();
    for (name, value) in [
        ("N", i.n),
        ("K", i.k),
        ("A_SHIFT", shift(i.a.bits)),
        ("B_SHIFT", shift(i.b.bits)),
        ("BITS", bits),
        ("D_BYTES", i.d.bytes()),
        ("REGISTERS", registers),
        ("SCALES", scales),
    ] {
        let _ = writeln!(text, "#define {name} {value}");
    }
    let vector = |first: usize, count: usize| {
        let all: Vec<String> = (first..first + count).map(|at| format!("%{at}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    let named = |name: &str, constraint: &str, count: usize| {
        let all: Vec<String> = (0..count).map(|at| format!("\"{constraint}\"(({name})[{at}])")).collect();
        all.join(", ")
    };
    let last = 2 * registers + 6;
    let (template, operands) = match scales {
        0 => (String::new(), ""),
        _ => (format!(", %{last}, {{0, 0}}, %{}, {{0, 0}}", last + 1), ", \"r\"(scale_a), \"r\"(scale_b)"),
    };
    let _ = writeln!(
        text,
        "#define EXECUTE(d, a, b, c, scale_a, scale_b) asm volatile(\"{} {}, {}, {}, {}{template};\" : {} : {}, {}, {}{operands})\n",
        i.ptx,
        vector(0, registers),
        vector(registers, 4),
        vector(registers + 4, 2),
        vector(registers + 6, registers),
        named("d", "=r", registers),
        named("a", "r", 4),
        named("b", "r", 2),
        named("c", "r", registers),
    );
    text + BLOCK_SCALE
}

/// The architectures that have one of the instructions.
fn targets(kits: &[KitInputs]) -> BTreeSet<&'static str> {
    kits.iter().flat_map(|kit| kit.instruction.support.iter().map(|support| support.architecture)).collect()
}

/// The codes of an operand.
///
/// Positions of elements beyond the part must be valid, too, and are those of all rows and columns.
fn codes(kit: &KitInputs, operand: &str) -> Result<Codes> {
    let codes = match operand {
        "positions" => kit.tiles.resized(&kit.part, &kit.instruction).positions,
        name => kit.tiles.arrays().find(|(array, _)| *array == name).map(|(_, codes)| codes.clone()),
    };
    codes.ok_or_else(|| Error::request(format!("{}: an operand is missing", kit.instruction)))
}

/// The kernel of an instruction, its operands, and the function that runs one on the other.
fn instruction(at: usize, kit: &KitInputs) -> Result<String> {
    let i = &kit.instruction;
    let source = if is_of_kit(i) { block_scale(i) } else { kernel(i)? };
    let mut text = format!("\n// {i}\n\n#define execute execute_{at}\nnamespace instruction_{at} {{\n\n{source}\n");
    let _ = writeln!(text, "static const size_t TILES = {};", kit.tiles.count);
    for operand in operands(&kit.part) {
        array(&mut text, &format!("{}_TILES", operand.name.to_uppercase()), &codes(kit, operand.name)?);
    }
    text.push_str(&answer(i, &kit.part));
    text.push_str("\n}\n\n");
    for name in defined(&source).into_iter().chain(["execute"]) {
        let _ = writeln!(text, "#undef {name}");
    }
    Ok(text)
}

/// The function that executes the tiles and prints them.
fn answer(i: &Instruction, part: &Instruction) -> String {
    let mut lines = shapes(i, part);
    lines.extend([
        "unsigned char* a = kit::on_gpu(A_TILES, TILES, a_shape);".into(),
        "unsigned char* b = kit::on_gpu(B_TILES, TILES, b_shape);".into(),
        "unsigned char* c = kit::on_gpu(C_TILES, TILES, c_shape);".into(),
        "unsigned char* d = kit::for_results(TILES, d_shape);".into(),
    ]);
    let mut printed = vec![
        "kit::print(\"A\", A_TILES + tile * a_shape.part(), a_shape.part());",
        "kit::print(\"B\", B_TILES + tile * b_shape.part(), b_shape.part());",
        "kit::print(\"C\", C_TILES + tile * c_shape.part(), c_shape.part());",
    ];
    if !is_of_kit(i) {
        lines.push("unsigned char* positions = nullptr;".into());
    }
    if i.is_sparse() {
        lines.push(format!("kit::Shape positions_shape = {{{0}, {1}, {0}, {1}, 1}};", i.m, i.stored_k()));
        lines.push("positions = kit::on_gpu(POSITIONS_TILES, TILES, positions_shape);".into());
        lines.push(format!("const size_t printed_positions = {};", part.m * part.stored_k()));
        printed.push("kit::print(\"positions\", POSITIONS_TILES + tile * positions_shape.part(), printed_positions);");
    }
    if let Some(scale) = i.scale {
        let (blocks, bytes) = (i.k / scale.block, scale.format.bytes());
        lines.push(format!("kit::Shape scale_a_shape = {{{}, {blocks}, {}, {blocks}, {bytes}}};", part.m, i.m));
        lines.push(format!("kit::Shape scale_b_shape = {{{blocks}, {}, {blocks}, {}, {bytes}}};", part.n, i.n));
        for name in ["a", "b"] {
            lines.push(format!(
                "unsigned char* scale_{name} = kit::on_gpu(SCALE_{0}_TILES, TILES, scale_{name}_shape);",
                name.to_uppercase()
            ));
        }
        printed.push("kit::print(\"scale_a\", SCALE_A_TILES + tile * scale_a_shape.part(), scale_a_shape.part());");
        printed.push("kit::print(\"scale_b\", SCALE_B_TILES + tile * scale_b_shape.part(), scale_b_shape.part());");
    }
    printed.push("kit::print(\"D\", &answers[tile * d_shape.part()], d_shape.part());");
    lines.push(match (is_of_kit(i), i.scale) {
        (true, Some(_)) => "execute<<<(unsigned)TILES, 32>>>(a, b, c, scale_a, scale_b, d);".into(),
        (true, None) => "execute<<<(unsigned)TILES, 32>>>(a, b, c, nullptr, nullptr, d);".into(),
        (false, _) => {
            "execute<<<(unsigned)TILES, BLOCK_THREADS>>>((const A::Code*)a, (const B::Code*)b, (const C::Code*)c,\n    \
                                                                    positions, (D::Code*)d, TILES);"
                .into()
        }
    });
    lines.extend([
        "kit::Bytes answers = kit::from_gpu(d, TILES, d_shape);".into(),
        format!("kit::begin(\"{i}\", {}, {});", part.m, part.n),
        "for (size_t tile = 0; tile < TILES; tile++) {".into(),
        "    printf(\"tile %zu\", tile);".into(),
    ]);
    lines.extend(printed.into_iter().map(|line| format!("    {line}")));
    lines.extend(["    printf(\"\\n\");".into(), "}".into(), "kit::end(TILES);".into()]);
    format!("\nstatic void answer() {{\n    {}\n}}\n", lines.join("\n    "))
}

/// The names of the macros that a source defines, each once.
fn defined(source: &str) -> Vec<&str> {
    let names = source.lines().filter_map(|line| line.trim_start().strip_prefix("#define "));
    let names = names.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
    names.collect::<BTreeSet<&str>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_macro_of_a_source_is_undefined_behind_it() {
        assert_eq!(defined("#define A 1\n  #define EXECUTE(d, a) x\n#define A 2\n"), ["A", "EXECUTE"]);
    }
}
