//! Features that are measured are those that the rule says, which a device does not tell.

use std::time::Duration;

use tcnum::{
    arithmetic::{
        CPosition, EvidenceKind, Model, OppositeInfinities, Rule, SpecialOperands, Step, Subnormals, ZeroSign,
        ZeroTimesInfinity, shipped,
    },
    format::{Format, Overflow, Rounding},
    isa::{self, Case, Instruction},
};
use tcnum_engine::{device, order};
use tcnum_study::{
    features::{Features, entry_of_c, measure, order_words},
    identify::identify,
};

use crate::{
    black_box::BlackBox,
    bounds::plan,
    designs::design,
    machine::amount,
    shipped::{distinct, listed},
};

/// The features of an instruction on a simulated device.
fn simulated(model: &str, i: &Instruction) -> Features {
    let mut device =
        device::open(Some(&device::DeviceName::Model(model.to_string())), Duration::from_secs(60)).unwrap();
    measure(device.as_mut(), i).unwrap_or_else(|error| panic!("{model}, {i}: {error}"))
}

/// What a rule says of each feature: what its cell must be where it can be asked.
struct Expected<'a> {
    rule: &'a Rule,
    i: &'a Instruction,
    features: &'a Features,
    wrong: Vec<String>,
}

impl Expected<'_> {
    /// The cell is this, or cannot be asked.
    fn is(&mut self, name: &str, word: &str) {
        if self.features.finding(name).is_some_and(|finding| finding != word) {
            self.wrong.push(format!("{name}: {:?}, not {word}", self.features.finding(name)));
        }
    }

    /// The cell can be asked, and is this.
    fn is_asked(&mut self, name: &str, word: &str) {
        if self.features.finding(name) != Some(word) {
            self.wrong.push(format!("{name}: {:?}, not {word}", self.features.finding(name)));
        }
    }

    /// A number, or a bound that this number does not pass.
    fn number(&mut self, name: &str, number: i32, words: &str, bound: &str) {
        let Some(finding) = self.features.finding(name) else { return };
        let within = match finding.strip_suffix(bound).and_then(|rest| rest.split(' ').next()?.parse::<i32>().ok()) {
            Some(least) if bound == " or more" => least <= number,
            Some(most) => number <= most,
            None => finding == format!("{number}{words}"),
        };
        if !within {
            self.wrong.push(format!("{name}: {finding}, not {number}{words}"));
        }
    }

    fn check(&mut self) {
        let rule = self.rule;
        self.is_asked("position", "none");
        if rule.step == Step::Integer {
            let wrap = if format!("{:?}", rule.wrap).contains("Saturate") { "saturates" } else { "wraps" };
            self.is_asked("overflow", wrap);
            self.is_asked("sums", "exact");
            return;
        }
        let flushed = |flushed: bool| if flushed { "flushed" } else { "kept" };
        let [operands, results] =
            [rule.operand_subnormals, rule.result_subnormals].map(|subnormals| subnormals != Subnormals::Keep);
        let of_targets = rule.result.is_some_and(|to| format!("{to:?}").contains("SignedZero"));
        self.is("subnormal A, B", flushed(operands));
        if rule.nodes.is_empty() {
            self.is("subnormal C", flushed(operands || results));
        }
        self.is("subnormal D", flushed(results || of_targets));
        let usual = rule.special_operands == SpecialOperands::Keep
            && rule.zero_times_infinity == ZeroTimesInfinity::Nan
            && rule.opposite_infinities == OppositeInfinities::Nan;
        if usual && rule.nodes.is_empty() {
            self.is_asked("infinities", "IEEE");
        }
        self.nan();
        // Flipped zeros are a unit of the last kept bit wherever a probe has zeros: what they show is irregular.
        if rule.alignment.is_some_and(|alignment| alignment.complement_zeros) {
            return;
        }
        let rounded = rule.product.is_some() || matches!(rule.step, Step::Sequential | Step::Pairwise);
        if rule.nodes.is_empty() && !rounded {
            self.is("products", "exact");
        }
        self.aligned();
        self.sums();
        self.zero();
        if rule.c == CPosition::Last {
            self.is("c", "last");
        }
        self.is("normalisation", if rule.normalised == Some(true) { "products" } else { "none" });
        let directed = rule
            .result
            .is_some_and(|to| matches!(to.rounding, Rounding::Rz | Rounding::Rd) && to.overflow == Overflow::Standard);
        let saturates = [rule.result.map(|to| to.overflow), rule.output.map(|to| to.overflow)].into_iter().flatten();
        let saturates =
            saturates.into_iter().any(|overflow| matches!(overflow, Overflow::Saturate | Overflow::SaturateFinite));
        if !saturates && rule.nodes.is_empty() {
            self.is("overflow", if directed { "largest" } else { "infinity" });
        }
        if rule.product_limit.is_some() {
            self.is("product range", "infinite");
        }
        match rule.step {
            Step::Fused | Step::Exact if rule.product_limit.is_none() => self.is("product range", "kept"),
            _ if rounded => self.is("product range", "infinite"),
            _ => {}
        }
    }

    fn nan(&mut self) {
        let Some(code) = self.rule.nan else { return };
        let code = self.i.d.hex(code);
        // A probe sees one NaN at a time, and the code of a NaN of A or B as one that is made.
        if self.rule.nan_factors.is_some() {
            return;
        }
        match &self.rule.nan_operands {
            None if self.rule.nodes.is_empty() => self.is_asked("NaN", &format!("one: {code}")),
            None => {}
            Some(order) => {
                let order: Vec<&str> = order.iter().map(|operand| operand.name()).collect();
                self.is_asked("NaN", &format!("passed on, {}; made {code}", order.join(" before ")));
            }
        }
    }

    fn aligned(&mut self) {
        let rule = self.rule;
        let word = match rule.step {
            Step::Fma | Step::Sequential | Step::Pairwise => "none",
            Step::Exact => "exact",
            _ => "",
        };
        if !word.is_empty() {
            // Short sums have no third term; short formats no terms that are far apart.
            let short = self.i.stored_k() < 2 && self.features.finding("alignment") == Some("none");
            if !short && !self.features.finding("alignment").is_some_and(|finding| finding.ends_with(" or more")) {
                self.is("alignment", word);
            }
            for name in ["floor", "extra bits", "carry bits", "normalisation"] {
                if word == "none" && self.features.finding(name).is_some() {
                    self.wrong.push(format!("{name} can be asked"));
                }
            }
            if word == "none" {
                self.is("monotonicity", "not seen");
            }
            return;
        }
        let Some(alignment) = rule.alignment else { return };
        let words = format!(" bits, {}", alignment.rounding.name());
        match &rule.lanes {
            None => self.number("alignment", alignment.bits, &words, " or more"),
            Some(lanes) => {
                let between = format!("{words}; between neighbours {} bits, {}", lanes.bits, lanes.rounding.name());
                self.number("alignment", alignment.bits, &between, " or more");
            }
        }
        match &rule.late {
            None => self.number("alignment of c", alignment.bits, &words, " or more"),
            // A c that is left out where its last bit would be kept has no width of its own.
            Some(late) if late.drop.is_some_and(|drop| drop <= late.c_bits) => {}
            Some(late) => {
                let drop = late.drop.map_or_else(String::new, |drop| format!(", left out beyond {drop}"));
                let words = format!(" bits, {}{drop}", late.rounding.name());
                self.number("alignment of c", late.c_bits, &words, " or more");
            }
        }
        let late = rule.late.and_then(|late| Some(late.floor? - (late.sum_bits - alignment.bits)));
        if let Some(floor) = alignment.floor.max(late) {
            self.number("floor", floor, "", " or less");
        }
    }

    /// Roundings and widths.
    fn sums(&mut self) {
        let (rule, d) = (self.rule, self.i.d);
        let Some(result) = rule.result else { return };
        let precision = |format: &Format| format.fraction_bits() as i32 + 1;
        let inner = rule.between.unwrap_or(result);
        let last = if rule.c == CPosition::Last { rule.addition.unwrap_or(result) } else { result };
        let narrowed = precision(d) < precision(last.format);
        let output = rule.output.map_or(Rounding::Rne, |output| output.rounding);
        let rounding = if narrowed { output } else { last.rounding };
        self.is("result", rounding.name());
        match self.features.finding("sums") {
            Some("once") | None => {
                self.number("accumulator", precision(d).min(precision(last.format)), " bits", " or more")
            }
            Some(_) => {
                self.is("sums", inner.rounding.name());
                self.number("accumulator", precision(inner.format), " bits", " or more");
            }
        }
        let Some(alignment) = rule.alignment else { return };
        let once = self.features.finding("sums") == Some("once");
        let of = if once { precision(d).min(precision(last.format)) } else { precision(inner.format) };
        self.is("extra bits", &(alignment.bits - (of - 1)).to_string());
    }

    fn zero(&mut self) {
        let rule = self.rule;
        let word = match rule.step {
            Step::Fused | Step::Exact if rule.zero.unwrap_or_default() == ZeroSign::Positive => "+0",
            // A sum that begins with +0 has lost what c was.
            Step::Fma if rule.c == CPosition::Last => "+0",
            _ if rule.result.is_some_and(|to| to.rounding == Rounding::Rd) => "IEEE, RD",
            _ => "IEEE",
        };
        // What underflows in the conversion to D keeps its sign.
        let narrowed = rule.result.is_some_and(|to| self.i.d.fraction_bits() < to.format.fraction_bits());
        let converted = narrowed && self.features.finding("zero") == Some("+0 of -0, +0 cancelled, -0 underflow");
        if rule.nodes.is_empty() && !converted {
            self.is("zero", word);
        }
    }
}

#[test]
fn features_of_every_shipped_rule_are_those_that_its_keys_say() {
    let mut wrong = Vec::new();
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for i in distinct(&model).into_iter().step_by(amount(15, 6)) {
            let features = simulated(name, i);
            let rule = model.rule(i).unwrap();
            let mut expected = Expected { rule, i, features: &features, wrong: Vec::new() };
            expected.check();
            let program = model.evaluator(i).unwrap();
            if let (Some(order), Some(finding)) = (order::of_program(program.program()), features.finding("order"))
                && !finding.contains('?')
            {
                expected.is_asked("order", &order_words(&order));
                expected.is_asked("c", entry_of_c(&order));
            }
            if !expected.wrong.is_empty() {
                wrong.push(format!("{name}, {i}: {}", expected.wrong.join("; ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong.join("\n"), wrong.len());
}

/// What Fasi, Higham, Mikaitis and Pranesh found ("Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021): of
/// the V100, the T4 and the A100 with f16 operands and f32 results.
#[test]
fn the_published_table_of_fasi_et_al_comes_out() {
    let rows = [
        ("volta", "mma.m8n8k4.f32.f16.f16.f32", "0"),
        ("turing", "mma.m16n8k8.f32.f16.f16.f32", "1"),
        ("ampere", "mma.m16n8k16.f32.f16.f16.f32", "1"),
    ];
    for (model, name, extra) in rows {
        let features = simulated(model, listed(name));
        let is = |feature: &str, word: &str| assert_eq!(features.finding(feature), Some(word), "{model}: {feature}");
        // A. Subnormal numbers are operands and results.
        ["subnormal A, B", "subnormal C", "subnormal D"].iter().for_each(|feature| is(feature, "kept"));
        // B. Products are exact; sums begin with the largest term.
        is("products", "exact");
        // C. Sums are rounded toward zero.
        is("result", "RZ");
        // D. Guard digits: none on the V100, one on the others; no normalisation within a sum; results are not monotonic; two bits for
        // carries at least.
        is("extra bits", extra);
        is("normalisation", "none");
        is("monotonicity", "violated");
        let carry = features.finding("carry bits").unwrap().split(' ').next().unwrap().parse::<i32>().unwrap();
        assert!(carry >= 2, "{model}: {carry}");
    }
    // In f16 the last rounding is to nearest.
    for (model, name) in [("volta", "mma.m8n8k4.f16.f16.f16.f16"), ("ampere", "mma.m16n8k16.f16.f16.f16.f16")] {
        assert_eq!(simulated(model, listed(name)).finding("result"), Some("RNE"), "{model}");
    }
}

/// Features are those of a device that does not say what it is, in tiles that several cases share: there they are measured.
#[test]
fn a_device_that_does_not_tell_its_arithmetic_has_the_same_features() {
    for (name, instruction) in [
        ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
        ("ampere", "mma.m16n8k8.f16.f16.f16.f16"),
        ("x86", "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"),
        ("hopper", "mma.m16n8k32.s32.s8.u8.s32.satfinite"),
    ] {
        let (model, i) = (Model::load(name).unwrap(), listed(instruction));
        let mut hidden = BlackBox::new(&model);
        let mut measured = measure(&mut hidden, i).unwrap();
        assert!(
            measured.cells.iter().all(|cell| matches!(cell.rests_on, Some((EvidenceKind::Measured, _)))),
            "{name}, {i}"
        );
        let simulated = simulated(name, i);
        for (cell, expected) in measured.cells.iter_mut().zip(&simulated.cells) {
            cell.rests_on.clone_from(&expected.rests_on);
        }
        assert_eq!(measured, simulated, "{name}, {i}");
    }
}

/// `features` and `identify` begin with one measurement, whose answers the identified rule gives.
#[test]
fn features_of_a_device_are_those_of_the_rule_that_is_identified() {
    let shipped = [
        ("hopper", "mma.m16n8k8.f16.f16.f16.f16"),
        ("x86", "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32"),
        ("hopper", "mma.m16n8k32.s32.s8.u8.s32.satfinite"),
        ("cdna3", "mfma.16x16x4.f32.f32.f32.f32"),
        ("ampere", "mma.m16n8k16.f32.f16.f16.f32"),
    ];
    let shipped = shipped.into_iter().take(amount(3, 5)).map(|(name, i)| (Model::load(name).unwrap(), listed(i)));
    let drawn = [90, 210, 258].into_iter().take(amount(1, 3)).map(|number| design(20_261_122, number));
    let drawn = drawn.map(|design| (Model::parse(&design.text, "hidden.toml").unwrap(), design.instruction));
    for (model, i) in shipped.chain(drawn) {
        let identification = identify(&mut BlackBox::new(&model), i, plan(false, Duration::MAX)).unwrap();
        assert_eq!(identification.misses, 0, "{i}: {}", model.text());
        let rule = identification.model().unwrap();
        let [of_device, of_rule] = [&model, &rule].map(|model| measure(&mut BlackBox::new(model), i).unwrap());
        assert_eq!(of_device.cells, of_rule.cells, "{i}: {}", identification.text());
    }
}

/// A device whose rows differ is asked in one element alone, and says so.
#[test]
fn a_dependence_on_the_row_is_a_feature() {
    let (model, i) = (Model::load("ampere").unwrap(), listed("mma.m16n8k8.f32.bf16.bf16.f32"));
    let mut device = BlackBox::with_fault(&model, |part, _, _, codes| {
        for at in (0..codes.len()).filter(|at| at / part.n % part.m > 7) {
            codes.set(at, codes.get(at) ^ 1);
        }
        Ok(())
    });
    let features = measure(&mut device, i).unwrap();
    assert_eq!(features.finding("position"), Some("row or column"));
    // The first row is as it should be.
    assert_eq!(features.finding("alignment"), Some("24 bits, RZ"));
}

/// Li et al. ("FTTN: Feature-Targeted Testing for Numerical Properties of NVIDIA & AMD Matrix Accelerators", arXiv:2403.00232) report a
/// product that gives 0 on the V100, the A100 and the MI250X, 191.875 on the H100 and 255.875 on the MI100; its operands are not in
/// what they published. Two products of these features give the same five results: one finds what is left of small terms beside large
/// ones that cancel, and the other weighs it.
#[test]
fn five_generations_give_0_0_0_and_191_875_and_255_875_for_two_products() {
    let forms = [
        ("volta", "wmma.m16n16k16.f32.f16.f16.f32", 0.0),
        ("ampere", "mma.m16n8k16.f32.f16.f16.f32", 0.0),
        ("cdna2", "mfma.16x16x16.f32.f16.f16.f32", 0.0),
        ("hopper", "mma.m16n8k16.f32.f16.f16.f32", 191.875),
        ("cdna1", "mfma.16x16x16.f32.f16.f16.f32", 255.875),
    ];
    for (name, instruction, expected) in forms {
        let i = isa::find(instruction).unwrap();
        let evaluator = Model::load(name).unwrap().evaluator(&i).unwrap();
        let f16 = |value: f64| i.a.encode_f64(value, Rounding::Rne, Overflow::Standard).unwrap();
        let product = |row: &[f64], column: &[f64]| {
            let mut case = Case::zeros(&i);
            row.iter().enumerate().for_each(|(k, value)| case.a[k] = f16(*value));
            column.iter().enumerate().for_each(|(k, value)| case.b[k] = f16(*value));
            i.d.to_f64(evaluator.dot(&case))
        };
        // 2^12 * 2^13 + small - 2^12 * 2^13, of which 1 and 1/2 is left, or not.
        let row = [4096.0, 1.0, -4096.0];
        let left: Vec<f64> = [1.0, 0.5].iter().map(|small| product(&row, &[8192.0, *small, 8192.0])).collect();
        assert_eq!(product(&left, &[191.875, 128.0]), expected, "{name}: {left:?}");
    }
}
