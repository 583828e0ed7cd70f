//! Keys that decide special operands, zeros and dropped bits: their meaning on operands worked out by hand.

use tcnum::{
    arithmetic::{Evaluator, Model},
    format::{Format, Overflow, Rounding},
    isa::{self, Case, Instruction, Tiles},
};

/// f16 products, f32 sums: 8 products and c.
const F16: &str = "mma.m16n8k8.f32.f16.f16.f32";
/// bf16 products, f32 sums: 16 products and c.
const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

/// Evaluator of a fused rule for an instruction, with further lines.
fn fused(instruction: &str, lines: &str) -> (Instruction, Evaluator) {
    let head = "name = \"own\"\ntitle = \"own\"\nversion = 1\n\n[[rule]]\nevidence = [{ assumed = \"a test\" }]\nstep = \"fused\"\n";
    let result = match lines.contains("result =") {
        true => "",
        false => "result = { format = \"f32\", rounding = \"RNE\" }\n",
    };
    let nan = isa::find(instruction).unwrap().d.nan().unwrap();
    let text = format!("{head}instructions = [\"{instruction}\"]\nnan = \"{nan:#x}\"\n{result}{lines}");
    let i = isa::find(instruction).unwrap();
    let evaluator = Model::parse(&text, "own.toml").unwrap().evaluator(&i).unwrap();
    (i, evaluator)
}

/// D of products of `pairs` (values of A and B by k) and c; the reference, the fast evaluator and its tiles agree.
fn d(instruction: &str, lines: &str, pairs: &[(f64, f64)], c: f64) -> f64 {
    let (i, evaluator) = fused(instruction, lines);
    let code = |format: &Format, value: f64| format.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap();
    let mut case = Case::zeros(&i);
    for (k, (a, b)) in pairs.iter().enumerate() {
        (case.a[k], case.b[k]) = (code(i.a, *a), code(i.b, *b));
    }
    case.c = code(i.c, c);
    let mut tiles = Tiles::zeros(&i, 1);
    tiles.place(&i, 0, 3, 5, &case);
    let d = evaluator.dot(&case);
    assert_eq!(evaluator.execute(&tiles).get(3 * i.n + 5), d, "{lines}");
    i.d.to_f64(d)
}

const ALIGNED: &str = "alignment = { bits = 24, rounding = \"RZ\" }\n";

#[test]
fn a_subnormal_c_is_flushed_apart_from_a_and_b() {
    let (small, tiny) = (2f64.powi(-24), 2f64.powi(-140));
    let of = |lines: &str| d(F16, &format!("{ALIGNED}{lines}"), &[(small, 1.0)], 0.0);
    let of_c = |lines: &str| d(F16, &format!("{ALIGNED}{lines}"), &[], tiny);
    assert_eq!((of(""), of_c("")), (small, tiny));
    let c = "c-subnormals = \"signed-zero\"\n";
    assert_eq!((of(c), of_c(c)), (small, 0.0));
    let operands = "operand-subnormals = \"signed-zero\"\nc-subnormals = \"keep\"\n";
    assert_eq!((of(operands), of_c(operands)), (0.0, tiny));
}

#[test]
fn operands_decide_infinities_before_an_overflow_of_a_step() {
    let huge = 2f64.powi(127);
    let pairs = [(huge, huge), (0.0, 0.0), (f64::NEG_INFINITY, 1.0)];
    // The first step overflows to infinity, and the second meets the opposite one.
    let lines = format!("{ALIGNED}group = 2\n");
    assert!(d(BF16, &lines, &pairs, 0.0).is_nan());
    assert_eq!(d(BF16, &format!("{lines}specials = \"operands\"\n"), &pairs, 0.0), f64::NEG_INFINITY);
    // Without an infinite operand, the overflow is the result.
    assert_eq!(d(BF16, &format!("{lines}specials = \"operands\"\n"), &pairs[..1], 0.0), f64::INFINITY);
    // Infinity times zero is invalid in any step.
    let invalid = [(f64::INFINITY, 0.0)];
    assert!(d(BF16, &format!("{lines}specials = \"operands\"\n"), &invalid, 1.0).is_nan());
}

#[test]
fn operands_decide_infinities_although_finite_sums_saturate() {
    let saturating = "alignment = { bits = 24, rounding = \"RZ\" }\nresult = { format = \"f32\", rounding = \"RZ\", overflow = \"saturate\" }\n";
    let of = |specials: &str, pairs: &[(f64, f64)]| d(BF16, &format!("{saturating}{specials}"), pairs, 0.0);
    let huge = 2f64.powi(127);
    let operands = "specials = \"operands\"\n";
    assert_eq!(of("", &[(f64::INFINITY, 1.0)]), f64::from(f32::MAX));
    assert_eq!(of(operands, &[(f64::INFINITY, 1.0)]), f64::INFINITY);
    assert_eq!(of(operands, &[(huge, huge)]), f64::from(f32::MAX));
}

#[test]
fn a_zero_product_counts_in_the_largest_exponent() {
    // Aligned to 1, the small product keeps its last bit; aligned to 0 * 2^15, of exponent 1, it does not.
    let bits = "alignment = { bits = 10, rounding = \"RZ\" }\n";
    let small = 1.0 + 2f64.powi(-10);
    let pairs = [(small, 1.0), (0.0, 2f64.powi(15))];
    assert_eq!(d(F16, bits, &pairs, 0.0), small);
    for words in ["products", "all"] {
        let lines = format!("{bits}zero-terms = \"{words}\"\n");
        // A zero has the exponent -14 of f16's smallest normal number.
        assert_eq!(d(F16, &lines, &pairs, 0.0), 1.0, "{words}");
        assert_eq!(d(F16, &lines, &[(small, 1.0), (0.0, 2f64.powi(14))], 0.0), small, "{words}");
    }
}

#[test]
fn a_zero_c_counts_only_if_all_zeros_do() {
    // c = 0 has the exponent -126, and the product 2^-133 to 2^-140 lies below it.
    let bits = "alignment = { bits = 10, rounding = \"RZ\" }\n";
    let product = [(2f64.powi(-67), 2f64.powi(-70))];
    assert_eq!(d(BF16, bits, &product, 0.0), 2f64.powi(-137));
    assert_eq!(d(BF16, &format!("{bits}zero-terms = \"products\"\n"), &product, 0.0), 2f64.powi(-137));
    assert_eq!(d(BF16, &format!("{bits}zero-terms = \"all\"\n"), &product, 0.0), 0.0);
}

#[test]
fn a_sticky_bit_sees_only_the_dropped_bits_in_its_reach() {
    // 1 and a product of 2^-e: 24 bits are kept, and half a unit of f32 is 2^-24.
    let of = |lines: &str, e: i32| {
        d(BF16, lines, &[(1.0, 1.0), (2f64.powi(-12), 2f64.powi(-12)), (2f64.powi(-e / 2), 2f64.powi(e / 2 - e))], 0.0)
    };
    let up = 1.0 + 2f64.powi(-23);
    let sticky = "alignment = { bits = 24, rounding = \"RZ\", sticky = true }\n";
    let reach = "alignment = { bits = 24, rounding = \"RZ\", sticky = true, reach = 3 }\n";
    for e in 25..=40 {
        assert_eq!(of(ALIGNED, e), 1.0, "{e}");
        assert_eq!(of(sticky, e), up, "{e}");
        assert_eq!(of(reach, e), if e <= 27 { up } else { 1.0 }, "{e}");
    }
}

#[test]
fn a_register_without_enough_carry_bits_wraps_or_saturates() {
    // Terms of 1 have the exponent 0, so that the register's numbers go from -2^(1 + carry) up in steps of 2^-24.
    let ones = |count: usize, sign: f64| vec![(sign, 1.0); count];
    for carry in 0..=3 {
        let half = 2f64.powi(1 + carry);
        for saturates in [false, true] {
            let rule =
                format!("alignment = {{ bits = 24, rounding = \"RZ\", carry = {carry}, saturates = {saturates} }}\n");
            for count in 1..=16 {
                for sign in [1.0, -1.0] {
                    let sum = sign * count as f64;
                    let held = match saturates {
                        true => sum.clamp(-half, half - 2f64.powi(-24)),
                        false => (sum + half).rem_euclid(2.0 * half) - half,
                    };
                    assert_eq!(d(BF16, &rule, &ones(count, sign), 0.0), f64::from(held as f32), "{rule}{sum}");
                }
            }
        }
    }
}

#[test]
fn terms_against_the_sign_of_c_are_one_unit_larger_where_bits_are_flipped() {
    // The largest exponent is 5, so that a unit is 2^-19. GMNGeoffrey measured the first sum on gfx1151 (ROCm/rocm-systems, issue 12056).
    let rule = "alignment = { bits = 24, rounding = \"RZ\", complement = true }\n";
    let unit = 2f64.powi(-19);
    let of = |pairs: &[(f64, f64)], c: f64| d(BF16, rule, pairs, c);
    assert_eq!(of(&[(32.0, 1.0), (24.0, 1.0)], -1.0), 55.0 + 2.0 * unit);
    assert_eq!(of(&[(32.0, 1.0), (24.0, 1.0)], 1.0), 57.0);
    assert_eq!(of(&[(-32.0, 1.0), (2.0, 1.0)], 2.0), f64::from((-28.0 - unit) as f32));
    // Zeros are no terms, and a zero c has a sign.
    assert_eq!(of(&[(-0.0, 1.0), (32.0, 1.0)], 1.0), 33.0);
    assert_eq!(of(&[(-32.0, 1.0)], 0.0), f64::from((-32.0 - unit) as f32));
}

#[test]
fn flipped_zeros_are_a_unit_unless_all_terms_are_zero() {
    // rocjitsu's gfx11: -1 * 0 + 1 * 1 + 0 is 0x3f7fffff.
    let rule = "alignment = { bits = 24, rounding = \"RZ\", complement = true, complement-zeros = true }\n";
    let of = |pairs: &[(f64, f64)], c: f64| d(BF16, rule, pairs, c);
    assert_eq!(of(&[(-1.0, 0.0), (1.0, 1.0)], 0.0), f64::from(f32::from_bits(0x3f7f_ffff)));
    assert_eq!(of(&[(-1.0, 0.0), (1.0, 0.0)], 0.0), 0.0);
    assert_eq!(of(&[(1.0, 0.0), (1.0, 1.0)], 0.0), 1.0);
    // The fifteen other products are +0, and c is -0.
    assert_eq!(of(&[(-1.0, 1.0)], -0.0), 15.0 * 2f64.powi(-24) - 1.0);
}

#[test]
fn the_exponent_of_c_counts_for_its_own_bits() {
    // The last kept bit lies `bits` below the largest product, or `c-bits` below c, whichever is higher.
    let cut = |value: f64, last: i32| (value.abs() * 2f64.powi(-last)).floor() * 2f64.powi(last) * value.signum();
    let cases = (-6..=6).flat_map(|of_product| (15..=30).map(move |shift| (of_product, shift)));
    for (of_c, (of_product, shift)) in
        [18, 22, 24, 26].into_iter().flat_map(|of_c| cases.clone().map(move |case| (of_c, case)))
    {
        let rule = format!("alignment = {{ bits = 22, rounding = \"RZ\", c-bits = {of_c} }}\n");
        let (product, small) = (2f64.powi(of_product), 1.5 * 2f64.powi(-shift));
        let last = (of_product - 22).max(-of_c);
        let expected: f64 = [-1.0, product, small].map(|value| cut(value, last)).iter().sum();
        let got = d(BF16, &rule, &[(product, 1.0), (small, 1.0)], -1.0);
        assert_eq!(got, f64::from(expected as f32), "{of_c} bits of c, 2^{of_product}, 1.5 * 2^-{shift}");
    }
}

#[test]
fn a_multiplier_keeps_bits_counted_from_the_exponents_of_its_factors() {
    let kept = |bits: i32, product: f64| (product.abs() * 2f64.powi(bits)).floor() / 2f64.powi(bits) * product.signum();
    for (a, b) in [(1.0078125, 1.0078125), (1.5, 1.5), (-1.9921875, 1.9921875)] {
        for bits in 0..=16 {
            let of = |scale: f64| d(BF16, &format!("{ALIGNED}product-bits = {bits}\n"), &[(a * scale, b)], 0.0);
            assert_eq!(of(1.0), kept(bits, a * b), "{a} * {b}, {bits} bits");
            assert_eq!(of(1024.0), 1024.0 * kept(bits, a * b), "{a} * {b}, {bits} bits");
        }
    }
}

#[test]
fn a_sticky_bit_with_a_place_is_a_bit_of_the_sum() {
    // Two products cancel, and the third lies below the last kept bit, 2^-24.
    let pairs = |small: f64| [(1.0, 1.0), (-1.0, 1.0), (small, 2f64.powi(-20))];
    let of = |lines: &str, small: f64| d(BF16, &format!("alignment = {{ bits = 24, {lines} }}\n"), &pairs(small), 0.0);
    for place in [1, 2, 9] {
        let with = |rounding: &str| format!("rounding = \"{rounding}\", sticky = true, sticky-place = {place}");
        let bit = 2f64.powi(-24 - place);
        assert_eq!(of(&with("RZ"), 2f64.powi(-10)), bit);
        assert_eq!(of(&with("RU"), 2f64.powi(-10)), 2f64.powi(-24) - bit);
        assert_eq!(of(&with("RZ"), 2f64.powi(-4)), 2f64.powi(-24));
    }
    assert_eq!(of("rounding = \"RZ\", sticky = true", 2f64.powi(-10)), 0.0);
}

#[test]
fn special_operands_are_infinities_or_nan_or_numbers() {
    let of = |lines: &str, pairs: &[(f64, f64)], c: f64| d(BF16, &format!("{ALIGNED}{lines}"), pairs, c);
    let (infinite, one) = ([(f64::INFINITY, 1.0)], [(1.0, 1.0)]);
    assert_eq!(of("", &infinite, 0.0), f64::INFINITY);
    assert!(of("special-operands = \"nan\"\n", &infinite, 0.0).is_nan());
    assert!(of("special-operands = \"nan\"\n", &one, f64::INFINITY).is_nan());
    assert_eq!(of("special-operands = \"nan\"\nspecial-c = \"keep\"\n", &one, f64::INFINITY), f64::INFINITY);
    assert!(of("special-c = \"nan\"\n", &one, f64::INFINITY).is_nan());
    assert_eq!(of("special-c = \"nan\"\n", &infinite, 0.0), f64::INFINITY);
    // The code of infinity is 2^128 as a number, and a c with that code overflows again.
    let half = [(f64::INFINITY, 2f64.powi(-100))];
    assert_eq!(of("special-operands = \"finite\"\n", &half, 0.0), 2f64.powi(28));
    assert_eq!(of("special-operands = \"finite\"\n", &infinite, 0.0), f64::INFINITY);
    assert_eq!(of("special-c = \"finite\"\n", &[(-1.0, 2f64.powi(127))], f64::INFINITY), 2f64.powi(127));
}

#[test]
fn e4m3_without_nan_has_480() {
    const E4M3: &str = "mma.m16n8k32.f32.e4m3.e4m3.f32";
    let (i, evaluator) = fused(E4M3, &format!("{ALIGNED}special-operands = \"finite\"\nspecial-c = \"keep\"\n"));
    let mut case = Case::zeros(&i);
    (case.a[0], case.b[0]) = (0x7f, 0x38);
    assert_eq!(i.d.to_f64(evaluator.dot(&case)), 480.0);
    case.c = 0x7f80_0000;
    assert_eq!(evaluator.dot(&case), 0x7f80_0000);
}

#[test]
fn an_unpacked_number_beyond_its_format_is_refused() {
    let rule = "unpack-c = \"f32\"\nspecial-c = \"finite\"\n";
    let text = format!(
        "name = 'own'\ntitle = 'own'\nversion = 1\n[[rule]]\ninstructions = ['{BF16}']\nevidence = [{{ assumed = 'a test' }}]\n\
         step = 'exact'\nnan = '0x7fffffff'\nresult = {{ format = 'f32', rounding = 'RNE' }}\n{rule}"
    );
    let i = isa::find(BF16).unwrap();
    let refused = Model::parse(&text, "own.toml").and_then(|model| model.evaluator(&i).map(|_| ()));
    assert!(refused.unwrap_err().to_string().contains("lacks the largest of these numbers"));
}

#[test]
fn invalid_operations_give_nan_or_what_the_rule_says() {
    let of = |lines: &str, pairs: &[(f64, f64)], c: f64| d(BF16, &format!("{ALIGNED}{lines}"), pairs, c);
    let (product, negative) = ([(f64::INFINITY, 0.0), (2.0, 1.0)], [(f64::NEG_INFINITY, 0.0)]);
    assert!(of("", &product, 1.0).is_nan());
    assert_eq!(of("zero-times-infinity = \"zero\"\n", &product, 1.0), 3.0);
    assert_eq!(of("zero-times-infinity = \"infinity\"\n", &product, 1.0), f64::INFINITY);
    assert_eq!(of("zero-times-infinity = \"infinity\"\n", &negative, 1.0), f64::NEG_INFINITY);
    assert!(of("zero-times-infinity = \"zero\"\n", &[(f64::NAN, 0.0)], 1.0).is_nan());
    let opposite = [(f64::INFINITY, 1.0), (f64::NEG_INFINITY, 1.0)];
    for (word, value) in [("positive", f64::INFINITY), ("negative", f64::NEG_INFINITY)] {
        let lines = format!("opposite-infinities = \"{word}\"\n");
        assert!(of("", &opposite, 1.0).is_nan());
        assert_eq!(of(&lines, &opposite, 1.0), value);
        assert_eq!(of(&lines, &opposite[..1], f64::NEG_INFINITY), value);
        assert!(of(&lines, &opposite, f64::NAN).is_nan());
        // Sums of a chain overflow to opposite infinities.
        let chain = format!("{lines}group = 2\n");
        let huge = 2f64.powi(127);
        assert_eq!(of(&chain, &[(huge, 2.0), (0.0, 0.0), (f64::NEG_INFINITY, 1.0)], 0.0), value);
    }
}

#[test]
fn what_would_be_rounded_to_the_largest_number_overflows_where_the_exact_result_decides() {
    // The largest number of f16 is 65504; 65511 is rounded to it, 65520 to infinity.
    const F16_D: &str = "mma.m16n8k8.f16.f16.f16.f16";
    let of = |lines: &str, pairs: &[(f64, f64)], c: f64| d(F16_D, lines, pairs, c);
    let (below, above) = ([(7.0, 1.0)], [(16.0, 1.0)]);
    for (rounding, overflow, beyond) in [
        ("RNE", "standard", f64::INFINITY),
        ("RZ", "infinity", f64::INFINITY),
        ("RZ", "standard", 65504.0),
        ("RNE", "saturate", 65504.0),
    ] {
        let lines = |test: &str| {
            format!(
                "{ALIGNED}result = {{ format = \"f16\", rounding = \"{rounding}\", overflow = \"{overflow}\"{test} }}\n"
            )
        };
        let exact = lines(", overflow-test = \"exact\"");
        assert_eq!(of(&lines(""), &below, 65504.0), 65504.0, "{rounding} {overflow}");
        assert_eq!(of(&exact, &below, 65504.0), beyond, "{rounding} {overflow}");
        assert_eq!(of(&exact, &above, -65504.0), -65472.0, "{rounding} {overflow}");
        assert_eq!(of(&exact, &[], -65504.0), -65504.0, "{rounding} {overflow}");
        assert_eq!(of(&exact, &above, 65504.0), beyond, "{rounding} {overflow}");
        let of_rule = format!("{}overflow-test = \"exact\"\n", lines(""));
        assert_eq!(of(&of_rule, &below, 65504.0), beyond, "{rounding} {overflow}");
    }
    // 1053 * 1991 / 32 lies between 65516 and 65517.
    let of_products = |test: &str| {
        let product = format!("product = {{ format = \"f16\", rounding = \"RNE\"{test} }}\n");
        let lines = format!("{ALIGNED}{product}result = {{ format = \"f32\", rounding = \"RNE\" }}\n");
        of(&lines, &[(1053.0, 1991.0 / 32.0)], 0.0)
    };
    assert_eq!(of_products(""), 65504.0);
    assert_eq!(of_products(", overflow-test = \"exact\""), f64::INFINITY);
}

#[test]
fn the_sum_of_a_group_of_integer_products_saturates_before_it_is_added() {
    let i = isa::find("vpdpbusd.m1n16k4.s32.u8.s8.s32").unwrap();
    let of = |line: &str, b: [i8; 4], c: i32| {
        let wrap = if line.contains("wrap") { "" } else { "wrap = 'wrap'\n" };
        let text = format!(
            "name = 'own'\ntitle = 'own'\nversion = 1\n[[rule]]\ninstructions = ['{i}']\nevidence = [{{ assumed = 'a test' }}]\n\
             step = 'integer'\n{wrap}{line}"
        );
        let evaluator = Model::parse(&text, "own.toml").unwrap().evaluator(&i).unwrap();
        let mut case = Case::zeros(&i);
        for (k, b) in b.into_iter().enumerate() {
            (case.a[k], case.b[k]) = (255, u64::from(b as u8));
        }
        case.c = u64::from(c as u32);
        let mut tiles = Tiles::zeros(&i, 1);
        tiles.place(&i, 0, 0, 0, &case);
        assert_eq!(evaluator.execute(&tiles).get(0), evaluator.dot(&case), "{line}");
        evaluator.dot(&case) as u32 as i32
    };
    assert_eq!(of("", [127, 127, 1, 1], 5), 5 + 255 * 256);
    assert_eq!(of("group = 2\ngroup-bits = 16\n", [127, 127, 1, 1], 5), 5 + 32767 + 510);
    assert_eq!(of("group = 2\ngroup-bits = 16\n", [-128, -128, 127, -127], -5), -5 - 32768);
    assert_eq!(of("group = 2\ngroup-bits = 24\n", [-128, -128, 127, -127], -5), -5 - 65280);
    // c wraps into 24 bits, and the sum of it then saturates.
    assert_eq!(of("wrap = 'saturate'\naccumulator = 24\n", [127, 127, 1, 1], 3 << 23), (1 << 23) - 1);
    assert_eq!(
        of("wrap = 'saturate'\naccumulator = 24\nc-bits = 24\n", [127, 127, 1, 1], 3 << 23),
        255 * 256 - (1 << 23)
    );
    assert_eq!(
        of("wrap = 'saturate'\naccumulator = 24\nc-bits = 24\n", [127, 127, 1, 1], (5 << 22) - 1),
        (1 << 22) - 1 + 255 * 256
    );
}

#[test]
fn a_zero_sum_has_the_common_sign_of_its_terms_also_of_those_that_were_cut() {
    let (far, one) = (-(2f64.powi(-20)), 1.0);
    let floored = "alignment = { bits = 4, rounding = \"RZ\", floor = 0 }\n";
    let negative = |zero: &str, pairs: &[(f64, f64)], c: f64, to: &str| {
        let result = format!("result = {{ format = \"f32\", rounding = \"{to}\" }}\n");
        let d = d(F16, &format!("{floored}{result}zero = \"{zero}\"\n"), pairs, c);
        assert_eq!(d, 0.0);
        d.is_sign_negative()
    };
    // Products that are left out would be +0.
    let all = |value: f64| vec![(value, one); 8];
    for to in ["RNE", "RD"] {
        // All terms are negative zeros.
        assert!(negative("common", &all(-0.0), -0.0, to) && negative("ieee", &all(-0.0), -0.0, to));
        // All are negative, and cut to nothing.
        assert!(negative("common", &all(far), far, to));
        assert_eq!(negative("ieee", &all(far), far, to), to == "RD");
        // Signs differ, or terms cancel.
        assert!(!negative("common", &all(far), 0.0, to));
        assert!(!negative("common", &[(one, one), (-one, one)], 0.0, to));
        assert_eq!(negative("ieee", &[(one, one), (-one, one)], 0.0, to), to == "RD");
    }
}

#[test]
fn a_zero_without_exponent_is_not_dropped_so_that_its_flipped_bits_count() {
    // n0 = 2^-24 is the frame and the largest exponent (-14); the bits of n1, which is -0, are flipped: a unit of 2^(-14 - 13).
    let text = r#"
        name = "own"
        title = "own"
        version = 1

        [[rule]]
        instructions = ["bfmla.m1n8k1.bf16.bf16.bf16.bf16"]
        evidence = [{ assumed = "a test" }]
        step = "tree"
        specials = "operands"
        special-operands = "keep"
        nan = "0x7fc0"
        split = { a = [4, 4], b = [1, 7] }
        node.n0 = { kind = "fma", products = [0], pieces = [[0, 0], [0, 1]], start = "c", result = { format = "f16", rounding = "RO" } }
        node.n1 = { kind = "add", products = [0], pieces = [[1, 0], [1, 1]], product = { format = "f32", rounding = "RU" }, result = { format = "f32", rounding = "RO" } }
        node.n2 = { kind = "sum", alignment = { bits = 28, rounding = "RO", floor = -73, complement = true, complement-zeros = true }, zero = "common", terms = [{ term = "n1", bits = 13, drop = 29 }, "n0"], result = { format = "f32", rounding = "RNA", overflow-test = "exact" } }
    "#;
    let i = isa::find("bfmla.m1n8k1.bf16.bf16.bf16.bf16").unwrap();
    let evaluator: Evaluator = Model::parse(text, "own.toml").unwrap().evaluator(&i).unwrap();
    let mut case = Case::zeros(&i);
    (case.a[0], case.b[0], case.c) = (0x3f80, 0x8000, 1);
    let mut tiles = Tiles::zeros(&i, 1);
    tiles.place(&i, 0, 0, 7, &case);
    let d = evaluator.dot(&case);
    assert_eq!(i.d.to_f64(d), 2f64.powi(-24) - 2f64.powi(-27));
    assert_eq!(evaluator.execute(&tiles).get(7), d);
}
