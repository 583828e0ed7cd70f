//! Random trees: rules whose nodes have any kind, any k and any terms.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tcnum::{
    format::{FORMATS, Format, Zeros},
    isa::Instruction,
};

/// The lines of a rule with nodes, without its head, for one instruction.
pub(crate) fn lines(i: &Instruction, seed: u64) -> String {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(seed));
    let mut tree = Tree { draw: &mut draw, i, pieces: Vec::new(), nodes: Vec::new(), pool: vec![("c".into(), false)] };
    let split = tree.split();
    tree.leaves();
    while tree.pool.len() > 1 || tree.pool[0].0 == "c" || tree.pool[0].1 {
        tree.join();
    }
    let nodes = tree.nodes.concat();
    let flush = |draw: &mut Draw, key: &str| match draw.below(3) {
        0 => format!("{key} = \"{}\"\n", draw.pick(&["keep", "signed-zero", "positive-zero"])),
        _ => String::new(),
    };
    let nan = format!("nan = \"{:#x}\"\n", i.d.nan().expect("D has a NaN"));
    let tininess = match draw.below(3) {
        0 => format!("result-tininess = \"{}\"\n", draw.pick(TININESS)),
        _ => String::new(),
    };
    let operands = flush(&mut draw, "operand-subnormals") + &flush(&mut draw, "result-subnormals");
    let c = flush(&mut draw, "c-subnormals");
    let mut word = |key: &str, words: &[&str]| match draw.below(4) {
        0 => format!("{key} = \"{}\"\n", draw.pick(words)),
        _ => String::new(),
    };
    let special = word("specials", &["steps", "operands"]) + &word("zero-terms", &["ignored", "products", "all"]);
    let infinite = ["special-operands", "special-c"].map(|key| word(key, &["keep", "nan", "finite"])).concat();
    let invalid = word("zero-times-infinity", &["nan", "zero", "infinity"])
        + &word("opposite-infinities", &["nan", "positive", "negative"]);
    operands + &c + &special + &infinite + &invalid + &tininess + &split + &nan + &nodes
}

/// Definitions of tininess in model files.
pub(crate) const TININESS: &[&str] = &["before", "after", "after, unbounded exponent"];

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn rounding(&mut self) -> &'static str {
        self.pick(&["RNE", "RNA", "RZ", "RU", "RD", "RO"])
    }

    fn bits(&mut self) -> usize {
        if self.chance(3) { self.below(61) } else { 10 + self.below(27) }
    }

    fn target(&mut self) -> String {
        let sums = |f: &&&Format| f.has_nan() && f.float().is_some_and(|f| f.signed && f.zeros != Zeros::None);
        let all: Vec<&Format> = FORMATS.iter().filter(|f| sums(&f)).map(|f| f as &Format).collect();
        let registers = super::registers();
        let format = match self.below(4) {
            0 => all[self.below(all.len())].name,
            1 => registers[self.below(registers.len())].name,
            2 => "f16",
            _ => "f32",
        };
        let overflow = match self.below(4) {
            0 => format!(", overflow = \"{}\"", self.pick(&["infinity", "nan", "saturate"])),
            _ => String::new(),
        };
        let flush = match self.below(5) {
            0 => {
                let subnormals = self.pick(&["signed-zero", "positive-zero"]);
                format!(", subnormals = \"{subnormals}\", tininess = \"{}\"", self.pick(TININESS))
            }
            _ => String::new(),
        };
        let test = if self.chance(8) { ", overflow-test = \"exact\"" } else { "" };
        format!("{{ format = \"{format}\", rounding = \"{}\"{overflow}{flush}{test} }}", self.rounding())
    }

    /// An alignment of a rounded or unrounded sum.
    fn alignment(&mut self, rounded: bool) -> String {
        let floor = match self.below(3) {
            0 => format!(", floor = {}", self.below(320) as i64 - 300),
            _ => String::new(),
        };
        let sticky = match rounded && self.chance(5) {
            true if self.chance(2) => format!(", sticky = true, reach = {}", 1 + self.below(20)),
            true => ", sticky = true".into(),
            false if self.chance(12) => format!(", sticky = true, sticky-place = {}", 1 + self.below(6)),
            false => String::new(),
        };
        let end = match self.chance(8) {
            true if self.chance(3) => format!(", complement = true, complement-zeros = {}", self.chance(2)),
            true if self.chance(3) => format!(", c-bits = {}", self.bits()),
            true => format!(", carry = {}, saturates = {}", self.below(6), self.chance(2)),
            false => String::new(),
        };
        format!("alignment = {{ bits = {}, rounding = \"{}\"{floor}{sticky}{end} }}", self.bits(), self.rounding())
    }

    fn nans(&mut self) -> String {
        match self.below(5) {
            0 => format!(
                ", nan-operands = [\"{}\", \"{}\"]",
                self.pick(&["a", "b"]),
                self.pick(&["a", "b", "c", "invalid"])
            ),
            _ => String::new(),
        }
    }
}

struct Tree<'a> {
    draw: &'a mut Draw,
    i: &'a Instruction,
    /// Numbers of pieces of A and B.
    pieces: Vec<(usize, usize)>,
    nodes: Vec<String>,
    /// Unused values: names, and true for unrounded sums.
    pool: Vec<(String, bool)>,
}

impl Tree<'_> {
    /// Significands are sometimes cut into pieces.
    fn split(&mut self) -> String {
        let precision = |format: &Format| format.float().expect("a float").precision();
        let (a, b) = (precision(self.i.a), precision(self.i.b));
        if self.i.scale.is_some() || a < 2 || b < 2 || !self.draw.chance(4) {
            self.pieces = vec![(0, 0)];
            return String::new();
        }
        let high = 1 + self.draw.below(a as usize - 1) as u32;
        let two = self.draw.chance(2);
        self.pieces = (0..2).flat_map(|x| (0..if two { 2 } else { 1 }).map(move |y| (x, y))).collect();
        let b = if two { format!(", b = [1, {}]", b - 1) } else { String::new() };
        format!("split = {{ a = [{high}, {}]{b} }}\n", a - high)
    }

    /// Nodes that share all k, and all pairs of pieces.
    fn leaves(&mut self) {
        let k = self.i.stored_k();
        if let Some(scale) = self.i.scale.filter(|_| self.draw.chance(2)) {
            let block = scale.block * k / self.i.k;
            let divisors: Vec<usize> = (1..=block).filter(|sums| block.is_multiple_of(*sums)).collect();
            let sums = divisors[self.draw.below(divisors.len())];
            return self.node(&format!("products = \"::\", scale-sums = {sums}"), &[]);
        }
        let parts = 1 + self.draw.below(k.min(4));
        let strided = self.draw.chance(2);
        for part in 0..parts {
            let products = match (strided, part * k / parts, (part + 1) * k / parts) {
                (true, ..) => format!("\"{part}::{parts}\""),
                (false, from, to) => format!("{:?}", (from..to).rev().collect::<Vec<_>>()),
            };
            if self.pieces.len() > 1 && self.draw.chance(2) {
                let (high, low) = self.pieces.split_at(self.pieces.len() / 2);
                for pairs in [high.to_vec(), low.to_vec()] {
                    let pairs: Vec<[usize; 2]> = pairs.iter().map(|(x, y)| [*x, *y]).collect();
                    self.node(&format!("products = {products}, pieces = {pairs:?}"), &[]);
                }
            } else {
                self.node(&format!("products = {products}"), &[]);
            }
        }
    }

    /// A node that sums up to three unused values.
    fn join(&mut self) {
        let count = (1 + self.draw.below(3)).max(usize::from(self.pool.len() > 1) + 1).min(self.pool.len());
        let terms: Vec<(String, bool)> =
            (0..count).map(|_| self.pool.remove(self.draw.below(self.pool.len()))).collect();
        self.node("", &terms);
    }

    fn node(&mut self, products: &str, terms: &[(String, bool)]) {
        let name = format!("n{}", self.nodes.len());
        let sum = self.i.scale.is_some() && !products.is_empty() || terms.iter().any(|(_, open)| *open);
        let kind = match self.draw.below(4) {
            _ if sum => "sum",
            0 if !products.is_empty() => "fma",
            1 => "add",
            _ => "sum",
        };
        let mut parts = vec![format!("kind = \"{kind}\"")];
        parts.extend((!products.is_empty()).then(|| products.to_string()));
        let mut open = false;
        let mut aligned = false;
        if kind == "sum" {
            aligned = self.draw.below(6) > 0;
            // Only an aligned sum can stay unrounded, and not the last one.
            open = aligned && self.draw.chance(3);
            parts.extend(aligned.then(|| self.draw.alignment(!open)));
            let has_unscaled_products = !products.is_empty() && !products.contains("scale-sums");
            let normalised = aligned && has_unscaled_products && self.draw.chance(4);
            parts.extend(normalised.then(|| "normalised = true".into()));
            let zero = !open && self.draw.chance(2);
            parts.extend(zero.then(|| {
                format!("zero = \"{}\"", self.draw.pick(&["positive", "negative", "ieee", "exact-positive", "common"]))
            }));
        }
        if kind != "fma" && !products.is_empty() && self.draw.chance(5) {
            parts.push(format!("product = {}", self.draw.target()));
        }
        if kind != "fma" && !products.is_empty() && self.draw.chance(6) {
            parts.push(format!("product-limit = {}", self.draw.below(180) as i64 - 40));
        }
        if kind != "fma" && !products.is_empty() && self.draw.chance(8) {
            parts.push(format!("product-bits = {}", self.draw.below(24)));
        }
        if kind == "fma" && self.draw.chance(2) {
            let rounded: Vec<usize> = (0..self.pool.len()).filter(|at| !self.pool[*at].1).collect();
            let start = match (self.draw.below(3), rounded.is_empty()) {
                (0, _) => "product".to_string(),
                (1, false) => self.pool.remove(rounded[self.draw.below(rounded.len())]).0,
                _ => "+0".into(),
            };
            parts.push(format!("start = \"{start}\""));
        }
        let term = |(name, _): &(String, bool), draw: &mut Draw| match aligned && draw.chance(3) {
            true => {
                let drop = if draw.chance(2) { format!(", drop = {}", draw.below(60)) } else { String::new() };
                format!("{{ term = \"{name}\", bits = {}{drop} }}", draw.bits())
            }
            false => format!("\"{name}\""),
        };
        let terms: Vec<String> = terms.iter().map(|operand| term(operand, self.draw)).collect();
        parts.extend((!terms.is_empty()).then(|| format!("terms = [{}]", terms.join(", "))));
        parts.push(match open {
            true => format!("result = \"{}\"", self.draw.pick(&["aligned", "normalised"])),
            false => format!("result = {}", self.draw.target()),
        });
        self.nodes.push(format!("node.{name} = {{ {}{} }}\n", parts.join(", "), self.draw.nans()));
        self.pool.push((name, open));
    }
}
