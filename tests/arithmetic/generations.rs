//! One small sum for every trait that tells generations of matrix units apart, each worked out by hand.

use tcnum::{
    arithmetic::Model,
    isa::{self, Case},
};

const F16_F32: &str = "mma.m16n8k16.f32.f16.f16.f32";
const WMMA: &str = "wmma.m16n16k16.f32.f16.f16.f32";

/// D of a model for products at the given k, and c.
fn dot(model: &str, instruction: &str, products: &[(usize, u64, u64)], c: u64) -> u64 {
    dot_with_scales(model, instruction, products, c, &[])
}

/// The same with the scales of A and B of some blocks; the others have code 0.
fn dot_with_scales(
    model: &str,
    instruction: &str,
    products: &[(usize, u64, u64)],
    c: u64,
    scales: &[(usize, u64, u64)],
) -> u64 {
    let i = isa::find(instruction).unwrap();
    let mut case = Case { c, ..Case::zeros(&i) };
    for &(k, a, b) in products {
        (case.a[k], case.b[k]) = (a, b);
    }
    for &(block, a, b) in scales {
        (case.scale_a[block], case.scale_b[block]) = (a, b);
    }
    Model::load(model).unwrap().evaluator(&i).unwrap().dot(&case)
}

/// The f32 code of 2^e, normal or subnormal.
fn power(e: i32) -> u64 {
    u64::from(if e < -126 { 1u32 << (e + 149) } else { ((e + 127) as u32) << 23 })
}

const NEGATIVE: u64 = 0x8000_0000;

/// 1 + 2^-F - 1 keeps 2^-F; one bit further on, nothing is left.
#[test]
fn the_last_bit_that_alignment_keeps() {
    // f16: 1 is 0x3c00, 2^-12 is 0x0c00, and 2^e is 0x0400*(e + 15).
    for (model, instruction, bits) in [
        ("volta", WMMA, 23),
        ("turing", WMMA, 24),
        ("ampere", F16_F32, 24),
        ("ada", F16_F32, 24),
        ("hopper", F16_F32, 25),
        ("blackwell", F16_F32, 25),
        ("blackwell", "tcgen05.m128n16k16.f32.f16.f16.f32", 25),
        ("blackwell-rtx", F16_F32, 25),
    ] {
        for (e, kept) in [(-bits, power(-bits)), (-bits - 1, 0)] {
            // 2^-12 times 2^(e + 12).
            let small = (e + 27) as u64 * 0x0400;
            let products = [(0, 0x3c00, 0x3c00), (1, 0x0c00, small), (2, 0xbc00, 0x3c00)];
            assert_eq!(dot(model, instruction, &products, 0), kept, "{model} {instruction}: 2^{e}");
        }
    }
}

/// 1 - 1 in the first four products, 2^-26 in the second four: only a unit of four does not meet them together.
#[test]
fn groups_along_k() {
    let products = [(0, 0x3c00, 0x3c00), (3, 0xbc00, 0x3c00), (4, 0x0400, 0x0c00)];
    assert_eq!(dot("volta", WMMA, &products, 0), power(-26));
    for model in ["turing", "ampere", "ada", "hopper", "blackwell", "blackwell-rtx"] {
        assert_eq!(dot(model, WMMA, &products, 0), 0, "{model}");
    }
    // The same across k = 8.
    let products = [(0, 0x3c00, 0x3c00), (7, 0xbc00, 0x3c00), (8, 0x0400, 0x0c00)];
    for (model, d) in [("ampere", power(-26)), ("ada", power(-26)), ("hopper", 0), ("blackwell-rtx", 0)] {
        assert_eq!(dot(model, F16_F32, &products, 0), d, "{model}");
    }
}

/// FP8: 13 bits on Ada and in Hopper's wgmma; as wide as f16 where it is emulated or on Blackwell.
#[test]
fn widths_of_fp8() {
    // e4m3: 1 is 0x38, 2^-6 is 0x08, 2^-7 is 0x04.
    let wgmma = "wgmma.m64n8k32.f32.e4m3.e4m3";
    let mma = "mma.m16n8k32.f32.e4m3.e4m3.f32";
    let tcgen05 = "tcgen05.m128n16k32.f32.e4m3.e4m3.f32";
    for (model, instruction, wide) in [
        ("ada", mma, false),
        ("hopper", wgmma, false),
        ("hopper", mma, true),
        ("blackwell", mma, true),
        ("blackwell", tcgen05, true),
        ("blackwell-rtx", mma, true),
    ] {
        let sum = |a, b| dot(model, instruction, &[(0, 0x38, 0x38), (1, a, b), (4, 0xb8, 0x38)], 0);
        assert_eq!(sum(0x08, 0x04), power(-13), "{model} {instruction}");
        assert_eq!(sum(0x04, 0x04), if wide { power(-14) } else { 0 }, "{model} {instruction}");
    }
}

/// 2^-148 less something tiny, truncated, is 2^-149, unless the tiny term is cut: below 2^(floor - F).
#[test]
fn floors() {
    // bf16: 2^-74 is 0x1a80, and 2^e is 0x80*(e + 127).
    let power_bf16 = |e: i32| ((e + 127) as u64) << 7;
    for (model, quantum) in
        [("ampere", -156), ("ada", -156), ("hopper", -158), ("blackwell", -158), ("blackwell-rtx", -158)]
    {
        for (e, d) in [(quantum, 1), (quantum - 1, 2)] {
            let products = [(0, 0x1a80, 0x1a80), (1, power_bf16(-80), power_bf16(e + 80) | 0x8000)];
            assert_eq!(dot(model, "mma.m16n8k8.f32.bf16.bf16.f32", &products, 0), d, "{model}: 2^{e}");
        }
    }
    // f16 results: a tie, 2^-25, and a tiny term that decides it.
    for (model, instruction, quantum) in [
        ("volta", "wmma.m16n16k16.f16.f16.f16.f16", -42),
        ("turing", "mma.m16n8k8.f16.f16.f16.f16", -44),
        ("ampere", "mma.m16n8k8.f16.f16.f16.f16", -44),
        ("hopper", "mma.m16n8k8.f16.f16.f16.f16", -46),
        ("blackwell-rtx", "mma.m16n8k8.f16.f16.f16.f16", -46),
    ] {
        // 2^-24 * 2^e, subnormal in f16: codes 1 << (24 + e).
        let tiny = |e: i32| (0x0001, 1u64 << (48 + e));
        for (e, d) in [(quantum, 1), (quantum - 1, 0)] {
            let (a, b) = tiny(e);
            assert_eq!(dot(model, instruction, &[(0, 0x0c00, 0x0800), (1, a, b)], 0), d, "{model}: 2^{e}");
        }
    }
}

/// Mixed wmma forms convert C before, or D after.
#[test]
fn mixed_wmma_forms() {
    for model in ["turing", "ampere", "ada", "hopper", "blackwell", "blackwell-rtx"] {
        // c = 2^-24, subnormal in f16 and normal in f32, less 2^-24, plus 2^-48.
        let products = [(0, 0x8c00, 0x0c00), (1, 0x0001, 0x0001)];
        assert_eq!(dot(model, "wmma.m16n16k16.f32.f16.f16.f16", &products, 0x0001), power(-48), "{model}");
        // 65520 is beyond f16 to nearest.
        let form = "wmma.m16n16k16.f16.f16.f16.f32";
        assert_eq!(dot(model, form, &[], 0x477f_f000), 0x7c00, "{model}");
        assert_eq!(dot(model, form, &[], 0x477f_efff), 0x7bff, "{model}");
    }
}

/// CDNA 1 adds exactly, CDNA 2 in a tree of rounded additions, CDNA 3 within 24 bits.
#[test]
fn three_sums_of_cdna() {
    let i = "mfma.32x32x8.f32.f16.f16.f32";
    // f16: 2^15 is 0x7800, 2^-14 is 0x0400. 2^30, 2^-28, -2^30.
    let products = [(0, 0x7800, 0x7800), (1, 0x0400, 0x0400), (2, 0xf800, 0x7800)];
    assert_eq!(dot("cdna1", i, &products, 0), power(-28));
    assert_eq!(dot("cdna2", i, &products, 0), 0);
    assert_eq!(dot("cdna3", i, &products, 0), 0);
    // With the large ones in one pair the tree keeps the small one.
    let products = [(0, 0x7800, 0x7800), (1, 0xf800, 0x7800), (2, 0x0400, 0x0400)];
    assert_eq!(dot("cdna2", i, &products, 0), power(-28));
    // c enters CDNA 2's sum at the end of a group: 2^30 - 2^30 first, then 1.
    let products = [(0, 0x7800, 0x7800), (1, 0xf800, 0x7800)];
    assert_eq!(dot("cdna2", i, &products, power(0)), power(0));
}

#[test]
fn cdna2_flushes_subnormal_numbers() {
    let i = "mfma.32x32x8.f32.f16.f16.f32";
    // An operand of 2^-24 in f16; c of 2^-127.
    for (model, product, c) in [("cdna1", power(-24), power(-127)), ("cdna2", 0, 0), ("cdna3", power(-24), power(-127))]
    {
        assert_eq!(dot(model, i, &[(0, 0x0001, 0x3c00)], 0), product, "{model}");
        assert_eq!(dot(model, i, &[], power(-127)), c, "{model}");
    }
    // bf16: 2^-63 * 2^-64 is subnormal in f32, and so are 2^-126 - 1.5*2^-127 and c + 2^-126 = -2^-127.
    let i = "mfma.32x32x8.f32.bf16.bf16.f32";
    let [p63, p64, one] = [0x2000, 0x1f80, 0x3f80];
    assert_eq!(dot("cdna2", i, &[(0, p63, p64)], 0), 0);
    assert_eq!(dot("cdna3", i, &[(0, p63, p64)], 0), power(-127));
    assert_eq!(dot("cdna2", i, &[(0, p63, p63)], 0), power(-126));
    let c = NEGATIVE | power(-126) | 0x0040_0000;
    assert_eq!(dot("cdna2", i, &[(0, p63, p63)], c) & !NEGATIVE, 0);
    assert_eq!(dot("cdna2", i, &[(0, one, one)], c), power(0));
}

/// Products of 2^128: finite within a group of CDNA 1, infinite on CDNA 2 and 3.
#[test]
fn products_beyond_f32() {
    // bf16: 2^127 is 0x7f00, 2 is 0x4000, -1 is 0xbf80, -2 is 0xc000.
    let (one, two) = ("mfma.32x32x4.f32.bf16.bf16.f32", "mfma.32x32x8.f32.bf16.bf16.f32");
    let less = [(0, 0x7f00, 0x4000), (1, 0x7f00, 0xbf80)];
    let opposed = [(0, 0x7f00, 0x4000), (1, 0x7f00, 0xc000)];
    for (model, i, sum, cancelled) in [
        ("cdna1", one, power(127), 0),
        ("cdna2", two, 0x7f80_0000, 0xffc0_0000),
        ("cdna3", two, 0x7f80_0000, 0xffc0_0000),
    ] {
        assert_eq!(dot(model, i, &less, 0), sum, "{model}");
        assert_eq!(dot(model, i, &opposed, 0), cancelled, "{model}");
    }
}

/// CDNA 3 cuts toward minus infinity where c is joined, so that x and -x differ in magnitude.
#[test]
fn cdna3_is_asymmetric() {
    let i = "mfma.32x32x8.f32.f16.f16.f32";
    // c = 1 and a product of 2^-24 + 2^-32.
    assert_eq!(dot("cdna3", i, &[(0, 0x0c04, 0x0c00)], power(0)), power(0));
    assert_eq!(dot("cdna3", i, &[(0, 0x8c04, 0x0c00)], NEGATIVE | power(0)), NEGATIVE | power(0) | 1);
    // A product of 1 and a c of 2^-26: nothing, or the last bit of 24.
    assert_eq!(dot("cdna3", i, &[(0, 0x3c00, 0x3c00)], power(-26)), power(0));
    assert_eq!(dot("cdna3", i, &[(0, 0x3c00, 0x3c00)], NEGATIVE | power(-26)), power(0) - 1);
    // c = 0 counts as 2^-126: 2^-150 + 2^-160 keeps bits to 2^-157, a tie, and -2^-150 - 2^-160 is just beyond it.
    let i = "mfma.32x32x8.f32.bf16.bf16.f32";
    assert_eq!(dot("cdna3", i, &[(0, 0x1a00, 0x1a00), (1, 0x1780, 0x1780)], 0), 0);
    assert_eq!(dot("cdna3", i, &[(0, 0x9a00, 0x1a00), (1, 0x9780, 0x1780)], 0), NEGATIVE | 1);
}

/// In CDNA 3's FP8 forms a c more than 25 below the products is left out; even and odd k have exponents of their own.
#[test]
fn cdna3_fp8() {
    let i = "mfma.32x32x16.f32.e5m2fnuz.e5m2fnuz.f32";
    // e5m2fnuz: 1 is 0x40, 2^e is 0x40 + 4 e.
    let one = [(0, 0x40, 0x40)];
    assert_eq!(dot("cdna3", i, &one, NEGATIVE | power(-25)), power(0) - 1);
    assert_eq!(dot("cdna3", i, &one, NEGATIVE | power(-26)), power(0));
    // 2^12 - 2^12 in even positions, -2^-13 in an odd one, beside 2^12: 2^-13 is cut to -2^-12 where the lanes meet.
    let products = [(0, 0x58, 0x58), (2, 0xd8, 0x58), (1, 0x80 | 0x28, 0x24)];
    assert_eq!(dot("cdna3", i, &products, 0), NEGATIVE | power(-12));
    let products = [(0, 0x58, 0x58), (2, 0xd8, 0x58), (4, 0x80 | 0x28, 0x24)];
    assert_eq!(dot("cdna3", i, &products, 0), 0);
    // FNUZ: the code of -0 is the NaN.
    assert_eq!(dot("cdna3", i, &[(0, 0x80, 0x40)], 0), 0xffc0_0000);
}

#[test]
fn xf32_ignores_the_low_bits_of_its_container() {
    let i = "mfma.16x16x8.f32.tf32.tf32.f32";
    assert_eq!(dot("cdna3", i, &[(0, power(0) | 0x1fff, power(0))], 0), power(0));
    assert_eq!(dot("cdna3", i, &[(0, power(0) | 0x2000, power(0))], 0), power(0) | 0x2000);
}

/// f32: a chain, each step rounded to nearest: 1 + 2^-24 + 2^-24 stays 1.
#[test]
fn chains_of_fused_multiply_adds_on_amd() {
    let products = [(0, power(-24), power(0)), (1, power(-24), power(0))];
    for model in ["cdna1", "cdna2", "cdna3", "cdna4"] {
        assert_eq!(dot(model, "mfma.32x32x2.f32.f32.f32.f32", &products, power(0)), power(0), "{model}");
    }
}

/// The exponents of e8m0 scales are added to those of the products.
#[test]
fn scales_of_mxfp8() {
    let i = "mma.m16n8k32.f32.e4m3.e4m3.f32.ue8m0.block32";
    // Scales 2^10 and 2^-3; a NaN scale; 2^127 twice, of which only infinity is left.
    for (a, b, d) in [(137, 124, power(7)), (255, 127, 0x7fff_ffff), (254, 254, 0x7f80_0000), (0, 0, 0)] {
        assert_eq!(dot_with_scales("blackwell-rtx", i, &[(0, 0x38, 0x38)], 0, &[(0, a, b)]), d);
    }
}

/// NVFP4: sums of 16 products times both scales, aligned by the scales' exponents alone, at 35 bits.
#[test]
fn scales_of_nvfp4() {
    let forms = [
        ("blackwell-rtx", "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"),
        ("blackwell", "tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue4m3.block16"),
    ];
    for (model, i) in forms {
        // 16 products of 6*6, scales 1.75 and 0.5: 504.
        let products: Vec<_> = (16..32).map(|k| (k, 0x7, 0x7)).collect();
        assert_eq!(dot_with_scales(model, i, &products, 0, &[(1, 0x3e, 0x30)]), u64::from(504f32.to_bits()), "{model}");
        // 2^16 - 2^16 in two blocks; in a third the smallest scales, 2^-9 each, on a sum of 0.5 or 0.25: the last bit kept
        // weighs 2^(16 - 35).
        let scales = [(0, 0x78, 0x78), (1, 0x78, 0x78), (2, 0x01, 0x01)];
        let cancelled = [(0, 0x2, 0x2), (16, 0xa, 0x2)];
        for (small, d) in [(0x2, power(-19)), (0x1, 0)] {
            let products = [&cancelled[..], &[(32, 0x1, small)]].concat();
            assert_eq!(dot_with_scales(model, i, &products, 0, &scales), d, "{model} {small}");
        }
        assert_eq!(dot_with_scales(model, i, &[], 0, &[(3, 0x7f, 0x38)]), 0x7fff_ffff, "{model}");
    }
}
