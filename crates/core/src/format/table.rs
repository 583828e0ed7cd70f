//! The formats: one record each.

use super::{Encoding, Float, Format, Overflow, Specials, ValueTable, Zeros, published};

const IEEE_754: &str = "IEEE 754-2019";
const OFP8: &str = "OCP 8-bit Floating Point Specification (OFP8) 1.0";
const MX: &str = "OCP Microscaling Formats (MX) Specification 1.0";
const FNUZ: &str = "Noune et al., 8-bit Numerical Formats for Deep Neural Networks (2022)";
const PTX: &str = "NVIDIA PTX ISA 9.0";
/// Document of the widths, the NaN 0xff and the lack of infinities of ue5m3.
/// The bias follows from the largest number of intel/auto-round, 114,688.
const CUDA: &str = "NVIDIA CUDA Math API 13.4; bias assumed";
const SDM: &str = "Intel 64 and IA-32 Architectures Software Developer's Manual 2";

/// Signed format with both zeros, subnormals, IEEE 754 infinities and NaNs: basis of the records below.
pub(super) const IEEE: Float = Float {
    signed: true,
    exponent_bits: 0,
    trailing_bits: 0,
    padding_bits: 0,
    bias: 0,
    zeros: Zeros::Both,
    subnormals: true,
    specials: Specials::Ieee,
    overflow: Overflow::Infinity,
};
const FN: Float = Float { specials: Specials::AllOnesNan, overflow: Overflow::Nan, ..IEEE };
const UZ: Float =
    Float { zeros: Zeros::Positive, specials: Specials::NegativeZeroNan, overflow: Overflow::Nan, ..IEEE };
const FINITE: Float = Float { specials: Specials::None, overflow: Overflow::Saturate, ..IEEE };

const fn float(
    name: &'static str,
    aliases: &'static [&'static str],
    bits: u32,
    fields: Float,
    source: &'static str,
) -> Format {
    Format { name, aliases, bits, encoding: Encoding::Float(fields), source }
}

const fn integer(name: &'static str, aliases: &'static [&'static str], bits: u32, signed: bool) -> Format {
    Format { name, aliases, bits, encoding: Encoding::Integer { signed }, source: PTX }
}

const fn listed(
    name: &'static str,
    aliases: &'static [&'static str],
    bits: u32,
    values: &'static ValueTable,
    source: &'static str,
) -> Format {
    Format { name, aliases, bits, encoding: Encoding::Table(values), source }
}

/// All formats, in the order of tables.
#[rustfmt::skip]
pub static FORMATS: &[Format] = &[
    float("f64", &["fp64", "double", "binary64", "float64"], 64, Float { exponent_bits: 11, trailing_bits: 52, bias: 1023, ..IEEE }, IEEE_754),
    float("f32", &["fp32", "single", "float", "binary32", "float32"], 32, Float { exponent_bits: 8, trailing_bits: 23, bias: 127, ..IEEE }, IEEE_754),
    float("tf32", &["tensorfloat32", "tensorfloat-32", "xf32"], 32, Float { exponent_bits: 8, trailing_bits: 10, padding_bits: 13, bias: 127, ..IEEE }, PTX),
    float("f16", &["fp16", "half", "binary16", "float16"], 16, Float { exponent_bits: 5, trailing_bits: 10, bias: 15, ..IEEE }, IEEE_754),
    float("bf16", &["bfloat16", "bfloat"], 16, Float { exponent_bits: 8, trailing_bits: 7, bias: 127, ..IEEE }, "Intel BFLOAT16 Hardware Numerics Definition (2018)"),
    float("e4m3", &["fp8-e4m3", "e4m3fn", "fp8-e4m3fn", "float8-e4m3fn", "float8-e4m3"], 8, Float { exponent_bits: 4, trailing_bits: 3, bias: 7, ..FN }, OFP8),
    float("e4m3fnuz", &["fp8-e4m3fnuz", "float8-e4m3fnuz"], 8, Float { exponent_bits: 4, trailing_bits: 3, bias: 8, ..UZ }, FNUZ),
    float("e5m2", &["fp8-e5m2", "float8-e5m2"], 8, Float { exponent_bits: 5, trailing_bits: 2, bias: 15, ..IEEE }, OFP8),
    float("e5m2fnuz", &["fp8-e5m2fnuz", "float8-e5m2fnuz"], 8, Float { exponent_bits: 5, trailing_bits: 2, bias: 16, ..UZ }, FNUZ),
    float("e2m3", &["fp6-e2m3", "e2m3fn", "float6-e2m3fn"], 6, Float { exponent_bits: 2, trailing_bits: 3, bias: 1, ..FINITE }, MX),
    float("e3m2", &["fp6-e3m2", "e3m2fn", "float6-e3m2fn"], 6, Float { exponent_bits: 3, trailing_bits: 2, bias: 3, ..FINITE }, MX),
    float("e2m1", &["fp4", "fp4-e2m1", "e2m1fn", "float4-e2m1fn"], 4, Float { exponent_bits: 2, trailing_bits: 1, bias: 1, ..FINITE }, MX),
    float("e8m0", &["ue8m0", "e8m0fnu", "float8-e8m0fnu", "fp8-e8m0"], 8, Float { signed: false, zeros: Zeros::None, subnormals: false, exponent_bits: 8, trailing_bits: 0, bias: 127, ..FN }, MX),
    float("ue4m3", &["fp8-ue4m3"], 7, Float { signed: false, zeros: Zeros::Positive, exponent_bits: 4, trailing_bits: 3, bias: 7, ..FN }, PTX),
    float("ue5m3", &["fp8-ue5m3"], 8, Float { signed: false, zeros: Zeros::Positive, exponent_bits: 5, trailing_bits: 3, bias: 15, ..FN }, CUDA),
    float("e8m13", &["fp22"], 32, Float { exponent_bits: 8, trailing_bits: 13, padding_bits: 10, bias: 127, ..IEEE }, "measured: the FP8 accumulator of Ada and Hopper"),
    integer("s8", &["int8", "i8"], 8, true),
    integer("u8", &["uint8"], 8, false),
    integer("s4", &["int4", "i4"], 4, true),
    integer("u4", &["uint4"], 4, false),
    Format { source: SDM, ..integer("s16", &["int16", "i16"], 16, true) },
    integer("b1", &["u1", "bit", "uint1"], 1, false),
    integer("s32", &["int32", "i32"], 32, true),
    integer("u32", &["uint32", "ui32"], 32, false),
    integer("s64", &["int64", "i64"], 64, true),
    integer("u64", &["uint64", "ui64"], 64, false),
    listed("nf4", &["normalfloat4"], 4, &published::NF4, "bitsandbytes, csrc/kernels.cu (dQuantizeNF4); Dettmers et al., QLoRA (2023)"),
    listed("iq4nl", &["iq4-nl"], 4, &published::IQ4NL, "llama.cpp, ggml-common.h (kvalues_iq4nl), ggml-quants.c (best_index_int8)"),
    listed("hif8", &["hifloat8"], 8, &published::HIF8, "Luo et al., Ascend HiFloat8 Format for Deep Learning (2024)"),
    listed("posit8", &["posit8-2"], 8, &published::POSIT8, "Standard for Posit Arithmetic (2022)"),
];
