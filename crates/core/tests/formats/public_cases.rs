//! Public questions and bug reports with a right answer by exact arithmetic.

use tcnum_core::{
    arithmetic::Model,
    format::{
        Format, Overflow, Rounding,
        block::{self, BlockFormat, Quantizer},
        find,
    },
    isa::{self, Case},
    softfloat::{Converter, Environment, Flags, Operation, Outcome, Unit},
};

use Overflow::{Infinity, Saturate, Standard};
use Rounding::{Rne, Ru, Rz};

/// Question, and the form of its answer.
enum Asked {
    /// One operation on codes, rounded to nearest: code of the result, and flags.
    Operation(&'static str, Operation, [u64; 3], Overflow),
    /// Number of ordered pairs of finite codes whose sum overflows.
    OverflowingSums(&'static str),
    /// Codes of numbers converted to a format.
    Numbers(&'static str, Rounding, Overflow, &'static [f64]),
    /// Codes of the first format converted to the second.
    Codes(&'static str, &'static str, Rounding, Overflow, &'static [u64]),
    /// One code of the first format converted to the second: code of the result, and flags.
    Conversion(&'static str, &'static str, u64),
    /// Block of a block format by a scale rule: code of the scale, and values of the elements.
    /// The numbers are first rounded to the third name, a format.
    Blocks(&'static str, &'static str, &'static str, &'static [f32]),
    /// Four numbers in one block of a format without its own scales, by the scale with the least squared error: the scale, and values of
    /// the elements.
    BestScale(&'static str, [f32; 4]),
    /// Formats of operands whose product X Y, of 2 by 2 numbers and summed in f32, has these decimals.
    OperandFormats([f32; 4], [f32; 4], [f32; 4]),
    /// Code of D for this code of C in an instruction of a model, with A and B zero.
    Zeros(&'static str, &'static str, u64),
}
use Asked::{BestScale, Blocks, Codes, Conversion, Numbers, OperandFormats, OverflowingSums, Zeros};

/// Threads, their questions and the right answers.
#[rustfmt::skip]
const CASES: &[(&str, Asked, &str)] = &[
    // Rounding to f32 first gives 0x3000.
    ("llvm#98389, #128450", Asked::Operation("f16", Operation::Fma, [0x520b, 0x00e9, 0x2ff6], Standard), "0x3001 inexact"),
    // 320 * 128.25 + 2^-24.
    ("llvm#98389, #128450", Asked::Operation("f16", Operation::Fma, [0x5d00, 0x5802, 0x0001], Standard), "0x7903 inexact"),
    ("llvm#104984", Asked::Operation("f32", Operation::Fma, [0x3e7f_ffff, 0x00ff_ffff, 0x8000_0001], Standard), "0x003fffff underflow inexact"),
    // 448 + 18 in e4m3; 57344 + 4096, a tie, in e5m2.
    ("rocm-systems#9556", Asked::Operation("e4m3", Operation::Add, [0x7e, 0x59, 0], Standard), "0x7f overflow inexact"),
    ("rocm-systems#9556", Asked::Operation("e4m3", Operation::Add, [0x7e, 0x59, 0], Saturate), "0x7e overflow inexact"),
    ("rocm-systems#9556", Asked::Operation("e5m2", Operation::Add, [0x7b, 0x6c, 0], Standard), "0x7c overflow inexact"),
    ("rocm-systems#9556", Asked::Operation("e5m2", Operation::Add, [0x7b, 0x6c, 0], Saturate), "0x7b overflow inexact"),
    ("rocm-systems#9556", OverflowingSums("e4m3"), "436"),
    // With one digit of precision a tie goes to the larger magnitude (IEEE 754-2019, 4.3.1). PR#398 takes the even
    // code, 0x80 and 0x7e.
    ("ml_dtypes PR#398, onnxruntime PR#28435", Numbers("e8m0", Rne, Standard, &[3.0, 0.75]), "0x81 0x7f"),
    ("ml_dtypes PR#398, onnxruntime PR#28435", Numbers("e8m0", Ru, Standard, &[1.125, 1.25, 5.0]), "0x80 0x80 0x82"),
    ("llvm PR#214919, TransformerEngine#2408", Codes("e8m0", "f32", Rne, Standard, &[0xff, 0x00]), "0x7fc00000 0x00400000"),
    ("onnx#6220", Numbers("e4m3fnuz", Rne, Standard, &[f64::INFINITY, f64::NEG_INFINITY]), "0x80 0x80"),
    ("onnx#6220", Numbers("e4m3fnuz", Rne, Saturate, &[f64::INFINITY, f64::NEG_INFINITY]), "0x7f 0xff"),
    ("microxcaling#4", Blocks("mxfp8-e4m3", "floor", "f32", &[957.0, 902.4, 960.0, 832.0]), "0x80: 896 896 896 832"),
    ("microxcaling#4", Blocks("mxfp8-e4m3", "up", "f32", &[957.0, 902.4, 960.0, 832.0]), "0x81: 960 896 960 832"),
    // In bf16 the number is 512.
    ("torchao PR#4725", Blocks("mxfp8-e4m3", "floor", "f32", &[511.999_97]), "0x7f: 448"),
    ("torchao PR#4725", Blocks("mxfp8-e4m3", "floor", "bf16", &[511.999_97]), "0x80: 512"),
    ("onnxruntime#16938, bitstring#342", Numbers("e4m3", Rne, Standard, &[1.8131605, 232.03683398099045]), "0x3f 0x77"),
    ("aiter#3992, OpenVINO#31391", Numbers("e2m1", Rne, Standard, &[0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -0.25]), "0x0 0x2 0x2 0x4 0x4 0x6 0x6 0x8"),
    // Rounding to f32 first gives 0x7bbc.
    ("julia#40315", Numbers("f16", Rne, Standard, &[63343.99805]), "0x7bbb"),
    ("dotnet#130583", Codes("f32", "bf16", Rne, Standard, &[0x7f80_0001, 0x7fff_ffff]), "0x7fc0 0x7fc0"),
    ("DeepGEMM#37", Zeros("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3", 0x4040_3017), "0x40403000"),
    ("DeepGEMM#37", Zeros("hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32", 0x4040_3017), "0x40403017"),
    // 49.5 / 50; a product with the reciprocal of 50 gives 0x3f7d70a3.
    ("pytorch#186618", Asked::Operation("f32", Operation::Div, [0x4246_0000, 0x4248_0000, 0], Standard), "0x3f7d70a4 inexact"),
    ("riscv-isa-sim#2284", Codes("bf16", "e4m3", Rz, Standard, &[0x5bf8]), "0x7e"),
    ("riscv-isa-sim#2284", Codes("bf16", "e4m3", Rz, Infinity, &[0x5bf8]), "0x7f"),
    ("TransformerEngine#2972, flashinfer#3264", BestScale("e2m1", [10.0, 20.0, 30.0, 40.0]), "10: 10 20 30 40"),
    ("jax#9973", OperandFormats(
        [0.3744, 0.1656, 0.4707, 0.1663], [0.3946, 0.1186, 0.1569, 0.3145], [0.174_051_28, 0.096_698_76, 0.211_809_16, 0.108_054_16],
    ), "bf16"),
    ("cutlass#3602, #3617", Codes("ue5m3", "f32", Rne, Standard, &[0xf8, 0xfe, 0xff]), "0x47800000 0x47e00000 0x7fc00000"),
    ("cutlass#3602, #3617", Numbers("ue5m3", Rne, Standard, &[200_000.0]), "0xff"),
    ("cva6#3276, cvfpu#94", Conversion("f64", "f32", 0x380f_ffff_e000_0000), "0x00800000 underflow inexact"),
    // The largest significand below 2^-125, divided by -2.
    ("cva6#3276, cvfpu#94", Asked::Operation("f32", Operation::Div, [0x00ff_ffff, 0xc000_0000, 0], Standard), "0x80800000 underflow inexact"),
    ("rocm-systems PR#8800", Numbers("e4m3", Rounding::Sr { random: 0, bits: 32 }, Standard, &[449.0]), "0x7e"),
    ("rocm-systems PR#8800", Numbers("e4m3", Rounding::Sr { random: u64::MAX, bits: 32 }, Standard, &[449.0]), "0x7f"),
    // 1.3125 * 7.96875 = 10.4375; -3.640625 * 0.298828125 = -1.0859375.
    ("tt-metal#12923, #16448", Asked::Operation("bf16", Operation::Mul, [0x3fa8, 0x40ff, 0], Standard), "0x4127 inexact"),
    ("tt-metal#12923, #16448", Asked::Operation("bf16", Operation::Mul, [0xc069, 0x3e99, 0], Standard), "0xbf8b inexact"),
    // 4, 1.25 and 128.
    ("FlyDSL#585, triton#11897", Numbers("e4m3", Rne, Standard, &[3.9, 1.3, 126.24]), "0x48 0x3a 0x70"),
];

impl Asked {
    fn answer(&self) -> tcnum_core::Result<String> {
        Ok(match *self {
            Asked::Operation(format, operation, operands, overflow) => {
                let format = find(format)?;
                let outcome =
                    Unit::new(format, Environment { overflow, ..Environment::default() })?.apply(operation, operands);
                flagged(format, outcome)
            }
            OverflowingSums(format) => {
                let format = find(format)?;
                let unit = Unit::new(format, Environment::default())?;
                let codes = || (0..=format.code_mask()).filter(|code| format.decode(*code).is_finite());
                let overflows = |x, y| unit.add(x, y).flags.contains(Flags::OVERFLOW);
                codes().map(|x| codes().filter(|y| overflows(x, *y)).count()).sum::<usize>().to_string()
            }
            Numbers(format, rounding, overflow, numbers) => {
                let format = find(format)?;
                let code = |x: &f64| format.encode_f64(*x, rounding, overflow).expect("every number has a code");
                listed(format, numbers.iter().map(code))
            }
            Codes(from, to, rounding, overflow, codes) => {
                let (from, to) = (find(from)?, find(to)?);
                let converter = Converter::new(from, to, Environment { rounding, overflow, ..Environment::default() });
                listed(to, codes.iter().map(|code| converter.convert(*code).code.expect("the format has NaN")))
            }
            Conversion(from, to, code) => {
                let to = find(to)?;
                flagged(to, Converter::new(find(from)?, to, Environment::default()).convert(code))
            }
            Blocks(block, rule, format, numbers) => {
                let format = find(format)?;
                let rule = block::find_rule(rule)?;
                let quantizer = Quantizer { rule, ..Quantizer::new(block::find(block).expect("a block format")) };
                let code = |x: f32| format.encode_f64(x.into(), Rne, Standard).expect("every number has a code");
                let blocks = quantizer.quantize_with(numbers.len(), numbers.len(), |i| format.value(code(numbers[i])));
                let values: Vec<String> = blocks.dequantize().iter().map(f32::to_string).collect();
                format!(
                    "{}: {}",
                    listed(quantizer.format.scale, blocks.scales.iter().map(|code| (*code).into())),
                    values.join(" ")
                )
            }
            BestScale(element, numbers) => {
                let format = BlockFormat::with_f32_scales(find(element)?, 1, numbers.len())?;
                let quantizer = Quantizer { rule: block::find_rule("mse")?, ..Quantizer::new(format) };
                let blocks = quantizer.quantize(&numbers, numbers.len());
                let values: Vec<String> = blocks.dequantize().iter().map(f32::to_string).collect();
                format!("{}: {}", format.scale.to_f64(blocks.scales[0].into()), values.join(" "))
            }
            OperandFormats(x, y, product) => {
                let mut names = Vec::new();
                for name in ["f32", "tf32", "f16", "bf16"] {
                    let format = find(name)?;
                    let rounded = |numbers: [f32; 4]| numbers.map(|number| rounded(format, number));
                    let ([a, b, c, d], [e, f, g, h]) = (rounded(x), rounded(y));
                    let sums = [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h];
                    names.extend((sums == product).then_some(name));
                }
                names.join(" ")
            }
            Zeros(model, instruction, c) => {
                let instruction = isa::find(instruction)?;
                let d = Model::load(model)?.evaluator(&instruction)?.dot(&Case { c, ..Case::zeros(&instruction) });
                instruction.d.hex(d)
            }
        })
    }
}

/// Code of an outcome, and its flags.
fn flagged(format: &Format, outcome: Outcome) -> String {
    let code = format.hex(outcome.code.expect("the format has NaN"));
    [code].into_iter().chain(outcome.flags.names().map(str::to_string)).collect::<Vec<_>>().join(" ")
}

/// Number of a format nearest to `number`.
fn rounded(format: &Format, number: f32) -> f32 {
    let code = format.encode_f64(number.into(), Rne, Standard).expect("every number has a code");
    format.to_f64(code) as f32
}

fn listed(format: &Format, codes: impl Iterator<Item = u64>) -> String {
    codes.map(|code| format.hex(code)).collect::<Vec<_>>().join(" ")
}

#[test]
fn public_questions_get_their_known_answers() {
    for (row, (thread, asked, right)) in CASES.iter().enumerate() {
        assert_eq!(asked.answer().unwrap(), *right, "row {row}, {thread}");
    }
}
