//! Random arithmetics: rules with every key of a model file, for every kind of instruction; and random operands for
//! them.
//!
//! The program accepts every rule. Most are the arithmetic of no hardware.

pub(crate) mod trees;

use std::fmt;

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
    strategy::Union,
};
use tcnum::{
    arithmetic::{Evaluator, KEYS, KeyTable, Model, Place, Rule, setting},
    format::{Class, FORMATS, Format, Zeros, find},
    isa::{self, Case, Instruction},
};

/// An instruction, and a model file with one rule for it.
#[derive(Clone)]
pub(crate) struct Arithmetic {
    /// The instruction.
    pub instruction: &'static Instruction,
    /// The model file.
    pub text: String,
}

impl Arithmetic {
    /// The reference evaluator of the rule.
    ///
    /// # Panics
    /// If the program refuses the rule.
    pub(crate) fn evaluator(&self) -> Evaluator {
        let model = Model::parse(&self.text, "random.toml").unwrap_or_else(|error| panic!("{error}\n{self:?}"));
        model.evaluator(self.instruction).unwrap_or_else(|error| panic!("{error}\n{self:?}"))
    }
}

impl fmt::Debug for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:\n{}", self.instruction, self.text)
    }
}

/// Draws an arithmetic of a random instruction.
/// Sparse, block-scaled, integer and other instructions have fixed shares, so that small tables are drawn as often as
/// large ones.
pub(crate) fn arithmetics() -> impl Strategy<Value = Arithmetic> {
    let kind = |wanted: fn(&Instruction) -> bool| isa::all().iter().filter(|i| wanted(i)).collect::<Vec<_>>();
    fn dense(i: &Instruction) -> bool {
        i.scale.is_none() && !i.is_sparse() && !i.d.is_integer()
    }
    let instruction = Union::new_weighted(vec![
        (6, select(kind(|i| dense(i) && i.a.bits > 8))),
        (3, select(kind(|i| dense(i) && i.a.bits <= 8))),
        (2, select(kind(|i| i.is_sparse() && i.scale.is_none() && !i.d.is_integer()))),
        (2, select(kind(|i| i.scale.is_some()))),
        (1, select(kind(|i| i.d.is_integer()))),
    ]);
    instruction.prop_flat_map(arithmetics_of)
}

/// Draws an arithmetic of one instruction.
pub(crate) fn arithmetics_of(instruction: &'static Instruction) -> impl Strategy<Value = Arithmetic> {
    let steps: &[&str] = match instruction {
        i if i.d.is_integer() => &["integer"],
        i if i.scale.is_some() => &["fused", "fused", "exact", "tree"],
        _ => &["fused", "fused", "fused", "exact", "fma", "sequential", "pairwise", "tree", "tree", "tree"],
    };
    select(steps).prop_flat_map(move |step| lines(instruction, step)).prop_map(move |mut lines| {
        if lines.iter().any(|line| line.contains("scale-sums")) {
            lines.retain(|line| !line.starts_with("normalised"));
        }
        // Only a rounded sum can have a sticky bit.
        if lines.iter().any(|line| line.starts_with("lanes") || line.starts_with("late")) {
            let plain = |line: &str| {
                line.split(", sticky = true").next().map_or(String::new(), |kept| match kept == line {
                    true => line.to_string(),
                    false => format!("{kept} }}\n"),
                })
            };
            lines.iter_mut().for_each(|line| *line = plain(line));
        }
        // A format that holds every number of the operands lacks those that infinities would be.
        if lines.iter().any(|line| line.starts_with("unpack")) {
            lines.retain(|line| !line.starts_with("special-") || !line.contains("finite"));
        }
        // c must enter somewhere.
        let has = |text| lines.iter().any(|line| line.contains(text));
        if !has("step = \"tree\"") && has("start = \"product\"") && !has("join = \"add\"") {
            lines.retain(|line| !line.starts_with("c = "));
            lines.push("c = \"last\"\n".into());
        }
        let head = "name = \"random\"\ntitle = \"a random arithmetic\"\nversion = 1\n\n[[rule]]\n";
        let text = format!(
            "{head}instructions = [\"{}\"]\nevidence = [{{ assumed = \"random\" }}]\n{}",
            instruction.name,
            lines.concat()
        );
        Arithmetic { instruction, text }
    })
}

/// The line of a key, if it is drawn.
type Line = BoxedStrategy<String>;

fn always(key: &'static str, value: impl Strategy<Value = String> + 'static) -> Line {
    value.prop_map(move |value| format!("{key} = {value}\n")).boxed()
}

fn sometimes(key: &'static str, share: f64, value: impl Strategy<Value = String> + 'static) -> Line {
    option::weighted(share, value).prop_map(move |v| v.map_or_else(String::new, |v| format!("{key} = {v}\n"))).boxed()
}

fn word(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(of).prop_map(|word| format!("\"{word}\""))
}

fn lines(i: &'static Instruction, step: &'static str) -> Vec<Line> {
    let mut lines = vec![always("step", Just(format!("\"{step}\"")))];
    if step == "tree" {
        lines.push(any::<u64>().prop_map(move |seed| trees::lines(i, seed)).boxed());
        return lines;
    }
    if step == "integer" {
        let group = select(vec![1usize, 2, 3, 4, 8]).prop_map(|group| format!("\"saturate\"\ngroup = {group}"));
        lines.push(always("wrap", prop_oneof![word(&["wrap", "saturate"]), group]));
        lines.push(sometimes("accumulator", 0.3, (4..=i.d.bits).prop_map(|bits| bits.to_string())));
        lines.push(sometimes("group-bits", 0.3, (2..=24u32).prop_map(|bits| bits.to_string())));
        lines.push(sometimes("c-bits", 0.2, (2..=32u32).prop_map(|bits| bits.to_string())));
        return lines;
    }
    lines.extend([
        sometimes("operand-subnormals", 0.3, word(&["keep", "signed-zero", "positive-zero"])),
        sometimes("result-subnormals", 0.3, word(&["keep", "signed-zero", "positive-zero"])),
        sometimes("result-tininess", 0.3, word(trees::TININESS)),
        sometimes("join", 0.3, word(&["chain", "add"])),
        sometimes("c", 0.3, word(&["first", "last"])),
        sometimes("output", 0.3, conversion()),
        sometimes("unpack-c", 0.2, unpack(&[i.c])),
        always("nan", nan(i.d)),
    ]);
    if !scale_sums(i, step, &mut lines) {
        lines.push(sometimes("parts", 0.3, parts()));
        lines.push(sometimes("group", 0.7, (1..=i.stored_k()).prop_map(|group| group.to_string())));
        lines.push(sometimes("unpack", 0.2, unpack(&[i.a, i.b])));
    }
    match step {
        "fma" => fma(i, &mut lines),
        "fused" => {
            lines.extend(targets());
            lines.push(option::weighted(0.2, nans(i.d)).prop_map(Option::unwrap_or_default).boxed());
            lines.push(always("alignment", alignment()));
            lines.push(sometimes("normalised", 0.3, select(&["true", "false"][..]).prop_map(String::from)));
            lines.push(sometimes("lanes", 0.25, lanes()));
            lines.push(sometimes("late", 0.25, late()));
            lines.push(sometimes("zero", 0.5, word(&["positive", "negative", "ieee", "exact-positive", "common"])));
        }
        "exact" => {
            lines.extend(targets());
            lines.push(sometimes("zero", 0.5, word(&["positive", "negative", "ieee", "exact-positive", "common"])));
        }
        _ => {
            lines.extend(targets());
            lines.push(sometimes("start", 0.3, word(&["c", "product"])));
        }
    }
    if step != "fma" {
        lines.push(sometimes("product", 0.3, target(any_result())));
        lines.push(sometimes("product-limit", 0.2, (-40..=140i32).prop_map(|limit| limit.to_string())));
        lines.push(sometimes("product-bits", 0.15, (0..=24i32).prop_map(|bits| bits.to_string())));
    }
    lines.extend(others(i, step));
    lines
}

/// Keys with generators of their own, in an order on which the seeds of tests depend.
const DRAWN: &str = "instructions evidence unpack unpack-c operand-subnormals result-subnormals result-tininess split parts group step node \
                     product product-limit product-bits normalised scale-sums alignment lanes late zero start join c result between addition output \
                     wrap accumulator group-bits c-bits nan-operands nan";

/// Keys without generators: values near their absence.
fn others(i: &Instruction, step: &str) -> Vec<Line> {
    let place = Place::of(i);
    let others = KEYS.iter().filter(|key| !DRAWN.split(' ').any(|drawn| drawn == key.name));
    let of_step = others.filter(|key| key.variants.iter().any(|variant| variant.name() == step));
    let values = of_step.flat_map(|key| {
        let near = setting(key.name)?.near_values(KeyTable::Rule(&Rule::default()), &place, None);
        let values: Vec<String> = near.into_iter().filter_map(|(to, _)| Some(to?.toml().to_string())).collect();
        (!values.is_empty()).then(|| sometimes(key.name, 0.3, select(values)))
    });
    values.collect()
}

/// Sub-sums of block-scaled forms, and groups of them, where possible.
fn scale_sums(i: &'static Instruction, step: &str, lines: &mut Vec<Line>) -> bool {
    let Some(scale) = i.scale.filter(|_| step == "fused" || step == "exact") else { return false };
    let stored = scale.block * i.stored_k() / i.k;
    let sums: Vec<usize> = (1..=stored).filter(|sums| stored.is_multiple_of(*sums)).collect();
    let with = (select(sums), any::<Index>()).prop_map(move |(sums, multiple)| {
        let group = sums * (1 + multiple.index(i.stored_k() / sums));
        format!("scale-sums = {sums}\ngroup = {group}\n")
    });
    let without = option::of(1..=i.stored_k()).prop_map(|g| g.map_or_else(String::new, |g| format!("group = {g}\n")));
    lines.push(prop_oneof![with, without].boxed());
    true
}

/// Additional keys of chains of fused multiply-adds.
fn fma(i: &'static Instruction, lines: &mut Vec<Line>) {
    if [i.b, i.c, i.d].into_iter().any(|format| format != i.a) {
        lines.extend(targets());
        let start = sometimes("start", 0.3, word(&["c", "product"]));
        lines.push(prop_oneof![start, always("nan-operands", nan_operands())].boxed());
        return;
    }
    // Programs of one format have their own instructions.
    let handed_on =
        (target(Just(i.d)), nan_operands()).prop_map(|(to, order)| format!("result = {to}\nnan-operands = {order}\n"));
    let same = (targets(), option::of(word(&["c", "product"]))).prop_map(|(targets, start)| {
        targets.concat() + &start.map_or_else(String::new, |start| format!("start = {start}\n"))
    });
    lines.push(prop_oneof![handed_on, same].boxed());
}

fn nan_operands() -> impl Strategy<Value = String> {
    vec(word(&["a", "b", "c", "invalid"]), 1..=4).prop_map(|order| format!("[{}]", order.join(", ")))
}

/// The order of NaNs, and sometimes the code of those of A and B.
fn nans(d: &'static Format) -> impl Strategy<Value = String> {
    (nan_operands(), option::of(nan(d))).prop_map(|(order, of_factors)| {
        let of_factors = of_factors.filter(|_| order.contains("\"a\"") || order.contains("\"b\""));
        let of_factors = of_factors.map_or_else(String::new, |code| format!("nan-factors = {code}\n"));
        format!("nan-operands = {order}\n{of_factors}")
    })
}

/// Targets of step results, of results between groups, and of additions.
fn targets() -> Vec<Line> {
    vec![
        always("result", target(any_result())),
        sometimes("between", 0.2, target(any_result())),
        sometimes("addition", 0.2, target(any_result())),
    ]
}

/// A format for rounded sums.
fn any_result() -> impl Strategy<Value = &'static Format> {
    let holds_sums = |f: &&Format| f.has_nan() && f.float().is_some_and(|f| f.signed && f.zeros != Zeros::None);
    let usual: Vec<&Format> = ["f32", "f16"].map(|name| find(name).unwrap()).to_vec();
    prop_oneof![
        3 => select(usual),
        3 => select(FORMATS.iter().filter(holds_sums).collect::<Vec<_>>()),
        2 => select(registers()),
        1 => (2..=11u32, 1..=52u32).prop_map(|(x, y)| find(&format!("e{x}m{y}")).unwrap()).prop_filter("it has no NaN", holds_sums),
    ]
}

/// Formats by rule, as registers of hardware may have them.
pub(crate) fn registers() -> Vec<&'static Format> {
    let names = [
        "e8m10", "e8m12", "e8m14", "e8m17", "e8m21", "e8m22", "e8m24", "e8m26", "e8m27", "e8m30", "e9m22", "e10m23",
        "e11m20", "e11m30", "e5m9", "e5m12", "e6m9",
    ];
    names.map(|name| find(name).unwrap()).to_vec()
}

fn rounding() -> impl Strategy<Value = &'static str> {
    select(&["RNE", "RNA", "RZ", "RU", "RD", "RO"][..])
}

fn overflow() -> impl Strategy<Value = String> {
    select(
        &[
            "",
            ", overflow = \"standard\"",
            ", overflow = \"infinity\"",
            ", overflow = \"nan\"",
            ", overflow = \"saturate\"",
        ][..],
    )
    .prop_map(String::from)
}

fn target(format: impl Strategy<Value = &'static Format>) -> impl Strategy<Value = String> {
    (format, rounding(), overflow()).prop_map(|(format, rounding, overflow)| {
        format!("{{ format = \"{format}\", rounding = \"{rounding}\"{overflow} }}")
    })
}

fn conversion() -> impl Strategy<Value = String> {
    (rounding(), overflow()).prop_map(|(rounding, overflow)| format!("{{ rounding = \"{rounding}\"{overflow} }}"))
}

/// Bits kept in an alignment, often as many as hardware keeps.
fn bits() -> impl Strategy<Value = i32> {
    prop_oneof![10..=36i32, 0..=60i32]
}

fn alignment() -> impl Strategy<Value = String> {
    let reach =
        option::of(1..=20i32).prop_map(|reach| reach.map_or_else(String::new, |reach| format!(", reach = {reach}")));
    let place = option::weighted(0.3, 1..=8i32)
        .prop_map(|place| place.map_or_else(String::new, |place| format!(", sticky-place = {place}")));
    let sticky =
        option::weighted(0.2, (reach, place).prop_map(|(reach, place)| format!(", sticky = true{reach}{place}")));
    let sticky = sticky.prop_map(Option::unwrap_or_default);
    let end =
        (0..=8i32, any::<bool>()).prop_map(|(carry, saturates)| format!(", carry = {carry}, saturates = {saturates}"));
    let complement = any::<bool>().prop_map(|zeros| format!(", complement = true, complement-zeros = {zeros}"));
    let end = option::weighted(0.2, prop_oneof![3 => end, 1 => complement]).prop_map(Option::unwrap_or_default);
    let of_c = option::weighted(0.1, bits())
        .prop_map(|of_c| of_c.map_or_else(String::new, |bits| format!(", c-bits = {bits}")));
    (bits(), rounding(), floor(), sticky, end, of_c).prop_map(|(bits, rounding, floor, sticky, end, of_c)| {
        format!("{{ bits = {bits}, rounding = \"{rounding}\"{floor}{sticky}{end}{of_c} }}")
    })
}

fn floor() -> impl Strategy<Value = String> {
    option::of(prop_oneof![-160..=-100i32, -40..=20i32, -2000..=1100i32])
        .prop_map(|floor| floor.map_or_else(String::new, |floor| format!(", floor = {floor}")))
}

fn lanes() -> impl Strategy<Value = String> {
    (1..=5usize, bits(), rounding()).prop_map(|(period, bits, rounding)| {
        format!("{{ period = {period}, bits = {bits}, rounding = \"{rounding}\" }}")
    })
}

fn late() -> impl Strategy<Value = String> {
    (bits(), bits(), rounding(), option::of(-5..=60i32), floor()).prop_map(|(sum, c, rounding, drop, floor)| {
        let drop = drop.map_or_else(String::new, |drop| format!(", drop = {drop}"));
        format!("{{ sum-bits = {sum}, c-bits = {c}, rounding = \"{rounding}\"{drop}{floor} }}")
    })
}

/// Every remainder below a period, distributed over up to three parts (some may stay empty).
fn parts() -> impl Strategy<Value = String> {
    let dealt = |period: usize| vec(0..3usize, period).prop_map(move |parts| (period, parts));
    (1..=8usize).prop_flat_map(dealt).prop_map(|(period, parts)| {
        let of = |part: usize| (0..period).filter(|at| parts[*at] == part).collect::<Vec<_>>();
        format!("{{ period = {period}, residues = {:?} }}", [of(2), of(0), of(1)])
    })
}

/// A format that holds every number of the given formats.
fn unpack(formats: &[&Format]) -> impl Strategy<Value = String> + use<> {
    let all = FORMATS.iter().chain(registers());
    let wider: Vec<&Format> = all.filter(|wider| formats.iter().all(|f| wider.holds(f))).collect();
    select(wider).prop_map(|format| format!("\"{format}\""))
}

/// A NaN of the format.
fn nan(format: &'static Format) -> impl Strategy<Value = String> {
    let canonical = format.nan().expect("D has a NaN");
    any::<u64>().prop_map(move |random| {
        let code = canonical | random & format.code_mask();
        format!("\"{:#x}\"", if format.decode(code).class == Class::Nan { code } else { canonical })
    })
}

/// Random operands of one dot-product-add: any codes, or finite ones of few exponents with zeros and neighbours of
/// zero, whose terms overlap.
pub(crate) fn cases(i: &'static Instruction) -> impl Strategy<Value = Case> {
    let blocks = i.scale.map_or(0, |scale| i.k / scale.block);
    let scale = move || i.scale.map_or(Just(0u64).boxed(), |scale| codes(scale.format));
    let codes =
        (vec(codes(i.a), i.stored_k()), vec(codes(i.b), i.k), codes(i.c), vec(scale(), blocks), vec(scale(), blocks));
    (codes, vec(any::<Index>(), i.stored_k())).prop_map(move |((a, b, c, scale_a, scale_b), picks)| Case {
        a,
        b,
        c,
        positions: positions(i, &picks),
        scale_a,
        scale_b,
    })
}

fn codes(format: &'static Format) -> BoxedStrategy<u64> {
    let any_code = any::<u64>().prop_map(move |code| code & format.code_mask());
    let Some(float) = format.float() else { return any_code.boxed() };
    let (trailing, padding) = (float.trailing_bits, float.padding_bits);
    let (bias, sign) = (float.bias as u64, u64::from(float.signed) << (format.bits - 1));
    let near_one = (any::<bool>(), 0..12u64, any::<u64>()).prop_map(move |(negative, below, random)| {
        let exponent = bias.saturating_sub(below).max(u64::from(bias > 0));
        let significand = random & ((1 << trailing) - 1);
        ((exponent << trailing | significand) << padding | if negative { sign } else { 0 }) & format.code_mask()
    });
    let near_zero = (any::<bool>(), 0..4u64)
        .prop_map(move |(negative, small)| (small << padding | if negative { sign } else { 0 }) & format.code_mask());
    prop_oneof![6 => near_one, 2 => near_zero, 2 => any_code].boxed()
}

/// The positions of stored elements of sparse forms.
fn positions(i: &Instruction, picks: &[Index]) -> Vec<u64> {
    let Some(chunk) = i.chunk() else { return Vec::new() };
    let units = chunk.length / chunk.together;
    let mut positions = Vec::new();
    for pick in picks.chunks(chunk.kept) {
        let mut kept: Vec<usize> = (0..units).collect();
        for random in &pick[..units - chunk.kept / chunk.together] {
            kept.remove(random.index(kept.len()));
        }
        positions.extend(
            kept.iter().flat_map(|unit| (0..chunk.together).map(move |at| (unit * chunk.together + at) as u64)),
        );
    }
    positions
}
