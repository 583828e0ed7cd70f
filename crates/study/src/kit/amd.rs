//! Kits in HIP, for AMD GPUs: compiler builtins within the code of `kernels/kit/kit.hip`.

use std::fmt::Write;

use super::{
    KitInputs,
    declared::{array, shapes},
};
use crate::{
    Error, Result,
    format::Format,
    isa::{Instruction, operands},
};
use tcnum_engine::kernels;

const COMMON: &str = kernels::kit("gpu.cuh");
const HIP: &str = kernels::kit("kit.hip");
const WMMA: &str = kernels::kit("wmma.hip");
/// Lanes of a wave that executes MFMA, and of one that executes WMMA.
const LANES: usize = 64;
const WMMA_LANES: usize = 32;

/// The program in HIP.
///
/// # Errors
/// An instruction is none of AMD's, or has no kernel here.
pub(super) fn program(kits: &[KitInputs]) -> Result<String> {
    let mut architectures: Vec<&str> =
        kits.iter().flat_map(|kit| kit.instruction.support.iter().map(|support| support.architecture)).collect();
    architectures.sort_unstable();
    architectures.dedup();
    let mut text = String::from(
        "// A kit of tcnum, which tells arithmetics of matrix instructions apart. Compile it for your GPU's architecture, run it, and send back\n\
         // what it prints:\n//\n",
    );
    for architecture in architectures {
        let _ = writeln!(text, "//     hipcc --offload-arch={architecture} kit.hip -o kit && ./kit > answers.txt");
    }
    text.push_str(
        "//\n// An instruction that the GPU lacks is named on stderr; leave it out if the compiler lacks its builtin.\n\
         // Whoever has tcnum reads the answers with `tcnum identify --answers answers.txt`.\n//\n",
    );
    for kit in kits {
        let _ = writeln!(text, "// {}: {} tiles", kit.instruction, kit.tiles.count);
    }
    text.push_str("#include <hip/hip_runtime.h>\n#define GPU(name) hip##name\n");
    text.push_str(COMMON);
    text.push_str(HIP);
    if kits.iter().any(|kit| kit.instruction.family() == "vwmma") {
        text.push_str(WMMA);
    }
    for (at, kit) in kits.iter().enumerate() {
        text.push_str(&instruction(at, kit)?);
    }
    text.push_str("\nint main() {\n    bool all = true;\n");
    for at in 0..kits.len() {
        let _ = writeln!(text, "    all = instruction_{at}::answer() && all;");
    }
    text.push_str("    return all ? 0 : 1;\n}\n");
    Ok(text)
}

/// The kernel of an instruction, its operands, and the function that runs one on the other.
fn instruction(at: usize, kit: &KitInputs) -> Result<String> {
    let i = &kit.instruction;
    let (kernel, lanes) = match i.family() {
        "vwmma" => (of_wave(i)?, WMMA_LANES),
        _ => (Lane::of(i)?.kernel(i), LANES),
    };
    let mut text = format!("\n// {i}\n\nnamespace instruction_{at} {{\n\n{kernel}");
    let _ = writeln!(text, "\nstatic const size_t TILES = {};", kit.tiles.count);
    for operand in operands(&kit.part) {
        let codes = kit.tiles.arrays().find(|(name, _)| *name == operand.name).map(|(_, codes)| codes);
        let codes = codes.ok_or_else(|| Error::request(format!("{i}: an operand is missing")))?;
        array(&mut text, &format!("{}_TILES", operand.name.to_uppercase()), codes);
    }
    let architectures: Vec<&str> = i.support.iter().map(|support| support.architecture).collect();
    let architectures = architectures.join(" ");
    let (m, n) = (kit.part.m, kit.part.n);
    let _ = write!(
        text,
        "
static bool answer() {{
    {}
    if (!kit::begin(\"{i}\", {m}, {n}, \"{architectures}\")) return false;
    unsigned char* a = kit::on_gpu(A_TILES, TILES, a_shape);
    unsigned char* b = kit::on_gpu(B_TILES, TILES, b_shape);
    unsigned char* c = kit::on_gpu(C_TILES, TILES, c_shape);
    unsigned char* d = kit::for_results(TILES, d_shape);
    execute<<<(unsigned)TILES, {lanes}>>>(a, b, c, d);
    kit::Bytes answers = kit::from_gpu(d, TILES, d_shape);
    for (size_t tile = 0; tile < TILES; tile++) {{
        printf(\"tile %zu\", tile);
        kit::print(\"A\", A_TILES + tile * a_shape.part(), a_shape.part());
        kit::print(\"B\", B_TILES + tile * b_shape.part(), b_shape.part());
        kit::print(\"C\", C_TILES + tile * c_shape.part(), c_shape.part());
        kit::print(\"D\", &answers[tile * d_shape.part()], d_shape.part());
        printf(\"\\n\");
    }}
    kit::end(TILES);
    return true;
}}

}}
",
        shapes(i, &kit.part).join("\n    "),
    );
    Ok(text)
}

/// The registers of one lane.
struct Lane {
    builtin: String,
    blocks: usize,
    /// Type and number of the elements that the builtin names, of A and of B.
    operand: (&'static str, usize),
    /// The same of C and D.
    result: (&'static str, usize),
}

impl Lane {
    /// The registers of an instruction.
    ///
    /// # Errors
    /// It is none of AMD's, has block scales, or one of the forms of f8f6f4.
    fn of(i: &Instruction) -> Result<Lane> {
        let refused = |why: &str| Error::request(format!("{i}: {why}"));
        if i.family() != "mfma" {
            return Err(refused("a kit in HIP has MFMA and WMMA instructions of AMD GPUs"));
        }
        if i.ptx.ends_with("f8f6f4") {
            return Err(refused("a kit has no MFMA instruction of f8f6f4, with or without block scales"));
        }
        let blocks = i.name.rsplit('.').next().and_then(|last| last.strip_suffix('b')?.parse().ok()).unwrap_or(1);
        let each = i.k * i.m * blocks / LANES;
        // The types in LLVM's list of builtins.
        let operand = match (i.a.is_integer(), i.a.bytes() * each) {
            (true, 4) => ("int", 1),
            (true, 16) => ("int", 4),
            (_, 8) if i.a.bytes() == 1 => ("long", 1),
            _ if i.a.name == "f16" => ("_Float16", each),
            _ if i.ptx.ends_with("_bf16") => ("__bf16", each),
            _ if i.a.name == "bf16" => ("short", each),
            _ if i.a.bytes() == 8 => ("double", each),
            _ => ("float", each),
        };
        let result = match (i.d.is_integer(), i.d.bytes()) {
            (true, _) => "int",
            (_, 8) => "double",
            _ => "float",
        };
        let builtin = format!("__builtin_amdgcn_{}", i.ptx.trim_start_matches("v_"));
        Ok(Lane { builtin, blocks, operand, result: (result, i.m * i.n * blocks / LANES) })
    }

    fn kernel(&self, i: &Instruction) -> String {
        format!(
            "{}{}\nEXECUTE({}, {}, {}, {}, {}, {}, Operand, Result, {}, {})\n",
            register("Operand", self.operand),
            register("Result", self.result),
            self.builtin,
            i.m,
            i.n,
            i.k,
            self.blocks,
            if i.d.bytes() == 8 { 1 } else { 4 },
            i.a.bytes(),
            i.d.bytes()
        )
    }
}

/// The type of a register: an element, or a vector of them.
fn register(name: &str, (element, count): (&str, usize)) -> String {
    match count {
        1 => format!("typedef {element} {name};\n"),
        count => format!("typedef {element} {name} __attribute__((ext_vector_type({count})));\n"),
    }
}

/// The kernel of a WMMA instruction on the GPUs of generations 11 and 12 that have it.
///
/// # Errors
/// Waves of 64 lanes.
fn of_wave(i: &Instruction) -> Result<String> {
    if i.name.ends_with(".w64") {
        return Err(Error::request(format!("{i}: a kit has waves of 32 lanes; leave out .w64")));
    }
    let has = |generation: &str| i.support.iter().any(|support| support.architecture.starts_with(generation));
    let narrow = if i.d.bytes() == 2 { ", false" } else { "" };
    let arguments = |last: &str| match i.a.is_integer() {
        true => {
            let is_signed = |format: &Format| format.largest(true) != 0;
            format!("{}, a, {}, b, c, {}", is_signed(i.a), is_signed(i.b), i.saturate)
        }
        false => format!("a, b, c{last}"),
    };
    let one = |each: usize, results: usize, ending: &str, last: &str| {
        // The types in LLVM's list of builtins.
        let operand = match i.a.name {
            "f16" => ("_Float16", each),
            "bf16" => ("short", each),
            _ => ("int", each * i.a.bits as usize / 32),
        };
        let result = match i.d.name {
            "f16" => "_Float16",
            "bf16" => "short",
            "s32" => "int",
            _ => "float",
        };
        format!(
            "{}{}static __device__ Result multiply(Operand a, Operand b, Result c) {{\n    return __builtin_amdgcn_{}_w32{ending}({});\n}}\n",
            register("Operand", operand),
            register("Result", (result, results)),
            i.ptx.trim_start_matches("v_"),
            arguments(last)
        )
    };
    let (eleven, twelve) = (one(i.k, 32 / i.d.bytes(), "", narrow), one(i.k / 2, 8, "_gfx12", ""));
    let text = match (has("gfx11"), has("gfx12")) {
        (true, true) => format!("#if defined(__GFX12__)\n{twelve}#else\n{eleven}#endif\n"),
        (true, false) => eleven,
        _ => twelve,
    };
    Ok(format!("{text}\nEXECUTE_WAVE({}, {}, {}, {})\n", i.k, i.a.bits, i.a.bytes(), i.d.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn a_wave_of_32_lanes_has_the_builtins_of_the_generations_that_have_the_instruction() {
        for (name, eleven, twelve) in [
            ("vwmma.16x16x16.f16.f16.f16.f16", "f16_16x16x16_f16_w32(a, b, c, false)", "f16_w32_gfx12(a, b, c)"),
            (
                "vwmma.16x16x16.s32.s8.u8.s32",
                "iu8_w32(true, a, false, b, c, false)",
                "iu8_w32_gfx12(true, a, false, b, c, false)",
            ),
            ("vwmma.16x16x16.f32.e4m3.e5m2.f32", "", "fp8_bf8_w32_gfx12(a, b, c)"),
        ] {
            let text = of_wave(&isa::find(name).unwrap()).unwrap();
            assert!(text.contains(eleven) && text.contains(twelve), "{text}");
            assert_eq!(text.contains("#else"), !eleven.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_lane_has_its_share_of_the_operands() {
        for i in isa::all().iter().filter(|i| i.family() == "mfma" && !i.ptx.ends_with("f8f6f4")) {
            let lane = Lane::of(i).unwrap();
            let bytes = |(element, count): (&str, usize)| {
                let one = match element {
                    "_Float16" | "__bf16" | "short" => 2,
                    "double" | "long" => 8,
                    _ => 4,
                };
                one * count
            };
            assert_eq!(bytes(lane.operand) * LANES, i.m * i.k * lane.blocks * i.a.bytes(), "{i}");
            assert_eq!(bytes(lane.result) * LANES, i.m * i.n * lane.blocks * i.d.bytes(), "{i}");
        }
        for (name, message) in
            [("mma.m16n8k16.f32.f16.f16.f32", "MFMA"), ("mfma.16x16x128.f32.e4m3.e4m3.f32", "f8f6f4")]
        {
            assert!(Lane::of(&isa::find(name).unwrap()).err().unwrap().to_string().contains(message), "{name}");
        }
    }
}
