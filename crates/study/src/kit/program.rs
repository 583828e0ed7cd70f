//! The text of a kit: a program in CUDA C++ with its kernels and operands.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use super::KitInputs;
use crate::{
    Error, Result,
    device::cuda,
    isa::{Codes, Instruction, operands},
};

/// The language of a kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++, for NVIDIA GPUs.
    Cuda,
}

impl Language {
    /// The language of a file, by its ending.
    ///
    /// # Errors
    /// Another ending.
    pub fn of(file: &Path) -> Result<Language> {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("cu") => Ok(Language::Cuda),
            _ => Err(Error::request(format!("{}: a kit is CUDA C++, a file that ends in .cu", file.display()))),
        }
    }
}

/// The program that executes these tiles, and prints operands and results.
///
/// # Errors
/// There is no kernel for an instruction.
pub fn program(language: Language, kits: &[KitInputs]) -> Result<String> {
    match language {
        Language::Cuda => cuda_program(kits),
    }
}

fn cuda_program(kits: &[KitInputs]) -> Result<String> {
    let targets: BTreeSet<&str> =
        kits.iter().flat_map(|kit| kit.instruction.support.iter().map(|support| support.architecture)).collect();
    let mut text = String::from(
        "// A kit of tcnum, which tells arithmetics of matrix instructions apart. Compile it for your GPU's architecture, run it, and send back\n// what it prints:\n//\n",
    );
    for target in &targets {
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
    text.push_str(cuda::KIT);
    for (at, kit) in kits.iter().enumerate() {
        text.push_str(&cuda_instruction(at, kit)?);
    }
    text.push_str("\nint main() {\n");
    for at in 0..kits.len() {
        let _ = writeln!(text, "    instruction_{at}::answer();");
    }
    text.push_str("    return 0;\n}\n");
    Ok(text)
}

/// The kernel of an instruction, its operands, and the function that runs one on the other.
fn cuda_instruction(at: usize, kit: &KitInputs) -> Result<String> {
    let i = &kit.instruction;
    let source = cuda::kernel_source(i)?;
    let mut text = format!("\n// {i}\n\n#define execute execute_{at}\nnamespace instruction_{at} {{\n\n{source}\n");
    let _ = writeln!(text, "static const size_t TILES = {};", kit.tiles.count);
    // Positions of elements beyond the part must be valid, too.
    let padded = kit.tiles.resized(&kit.part, i);
    for operand in operands(&kit.part) {
        let codes = match operand.name {
            "positions" => padded.positions.as_ref(),
            name => kit.tiles.arrays().find(|(array, _)| *array == name).map(|(_, codes)| codes),
        };
        array(&mut text, operand.name, codes.ok_or_else(|| Error::request(format!("{i}: an operand is missing")))?);
    }
    text.push_str(&answer(i, &kit.part));
    text.push_str("\n}\n\n");
    for name in defined(&source).into_iter().chain(["execute"]) {
        let _ = writeln!(text, "#undef {name}");
    }
    Ok(text)
}

/// The codes of all tiles, as an array of bytes.
fn array(text: &mut String, name: &str, codes: &Codes) {
    let _ = write!(text, "static const unsigned char {}_TILES[] = {{", name.to_uppercase());
    for (at, byte) in codes.as_bytes().iter().enumerate() {
        text.push_str(if at % 32 == 0 { "\n    " } else { " " });
        let _ = write!(text, "{byte},");
    }
    text.push_str("\n};\n");
}

/// The function that executes the tiles and prints them.
fn answer(i: &Instruction, part: &Instruction) -> String {
    let shape = |rows: usize, columns: usize, all: [usize; 2], code: &str| {
        format!("{{{rows}, {columns}, {}, {}, sizeof({code}::Code)}}", all[0], all[1])
    };
    let mut lines = vec![
        format!("kit::Shape a_shape = {};", shape(part.m, part.stored_k(), [i.m, i.stored_k()], "A")),
        format!("kit::Shape b_shape = {};", shape(part.k, part.n, [i.k, i.n], "B")),
        format!("kit::Shape c_shape = {};", shape(part.m, part.n, [i.m, i.n], "C")),
        format!("kit::Shape d_shape = {};", shape(part.m, part.n, [i.m, i.n], "D")),
        "unsigned char* a = kit::on_gpu(A_TILES, TILES, a_shape);".into(),
        "unsigned char* b = kit::on_gpu(B_TILES, TILES, b_shape);".into(),
        "unsigned char* c = kit::on_gpu(C_TILES, TILES, c_shape);".into(),
        "unsigned char* positions = nullptr;".into(),
        "unsigned char* d;".into(),
        "// What a kernel leaves unwritten must not look like a result.".into(),
        "kit::check(cudaMalloc(&d, TILES * d_shape.whole()), \"cudaMalloc\");".into(),
        "kit::check(cudaMemset(d, 0xa5, TILES * d_shape.whole()), \"cudaMemset\");".into(),
    ];
    let mut printed = vec![
        "kit::print(\"A\", A_TILES + tile * a_shape.part(), a_shape.part());",
        "kit::print(\"B\", B_TILES + tile * b_shape.part(), b_shape.part());",
        "kit::print(\"C\", C_TILES + tile * c_shape.part(), c_shape.part());",
    ];
    if i.is_sparse() {
        lines.push(format!("kit::Shape positions_shape = {{{0}, {1}, {0}, {1}, 1}};", i.m, i.stored_k()));
        lines.push("positions = kit::on_gpu(POSITIONS_TILES, TILES, positions_shape);".into());
        lines.push(format!("const size_t printed_positions = {};", part.m * part.stored_k()));
        printed.push("kit::print(\"positions\", POSITIONS_TILES + tile * positions_shape.part(), printed_positions);");
    }
    printed.push("kit::print(\"D\", &answers[tile * d_shape.part()], d_shape.part());");
    lines.extend([
        "execute<<<(unsigned)TILES, BLOCK_THREADS>>>((const A::Code*)a, (const B::Code*)b, (const C::Code*)c,".into(),
        "                                            positions, (D::Code*)d, TILES);".into(),
        "kit::Bytes answers = kit::from_gpu(d, TILES, d_shape);".into(),
        format!("kit::begin(\"{i}\", {}, {});", part.m, part.n),
        "for (size_t tile = 0; tile < TILES; tile++) {".into(),
        "    printf(\"tile %zu\", tile);".into(),
    ]);
    lines.extend(printed.into_iter().map(|line| format!("    {line}")));
    lines.extend(["    printf(\"\\n\");".into(), "}".into(), "printf(\"end %zu\\n\", TILES);".into()]);
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

    #[test]
    fn a_file_with_another_ending_is_refused() {
        assert_eq!(Language::of(Path::new("kit.cu")).unwrap(), Language::Cuda);
        assert!(Language::of(Path::new("kit.rs")).unwrap_err().to_string().contains("ends in .cu"));
    }
}
