//! Random arithmetics such as hardware might have: every width, order and rounding, but no two oddities without need.

use std::fmt::Write as _;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tcnum::isa::{self, Instruction};

use crate::arithmetics::Arithmetic;

/// The design with this number of the sequence with this seed.
pub(crate) fn design(seed: u64, number: u64) -> Arithmetic {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut draw = Draw(random);
    let instruction = draw.instruction();
    let lines = draw.lines(instruction);
    let head = "name = \"hidden\"\ntitle = \"a design\"\nversion = 1\n\n[[rule]]\n";
    let text =
        format!("{head}instructions = [\"{}\"]\nevidence = [{{ assumed = \"random\" }}]\n{lines}", instruction.name);
    Arithmetic { instruction, text }
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Every kind in a fixed share.
    fn instruction(&mut self) -> &'static Instruction {
        let float = |i: &Instruction| !i.d.is_integer();
        let kind = match self.below(16) {
            0..8 => |i: &Instruction| i.scale.is_none() && !i.is_sparse() && i.a.bits > 8,
            8..11 => |i: &Instruction| i.scale.is_none() && !i.is_sparse() && i.a.bits <= 8,
            11..13 => |i: &Instruction| i.is_sparse() && i.scale.is_none(),
            13..15 => |i: &Instruction| i.scale.is_some(),
            _ => {
                let all: Vec<&Instruction> = isa::all().iter().filter(|i| i.d.is_integer()).collect();
                return self.pick(&all);
            }
        };
        let all: Vec<&Instruction> = isa::all().iter().filter(|i| float(i) && kind(i) && i.k <= 64).collect();
        self.pick(&all)
    }

    fn rounding(&mut self) -> &'static str {
        self.pick(&["RNE", "RNE", "RNE", "RZ", "RZ", "RZ", "RNA", "RU", "RD", "RO"])
    }

    fn target(&mut self, i: &Instruction) -> String {
        let formats: &[&str] = match i.d.name {
            "f64" => &["f64"],
            "f16" => &["f16", "f16", "f32"],
            "bf16" => &["bf16", "f32", "f32"],
            _ => &["f32", "f32", "f32", "f32", "tf32", "e8m13", "f64"],
        };
        let overflow = match self.below(10) {
            0 => format!(", overflow = \"{}\"", self.pick(&["infinity", "saturate", "nan"])),
            _ => String::new(),
        };
        format!("{{ format = \"{}\", rounding = \"{}\"{overflow} }}", self.pick(formats), self.rounding())
    }

    fn alignment(&mut self) -> String {
        let floor = match self.below(3) {
            0 => format!(", floor = {}", self.pick(&[-126, -127, -130, -132, -133, -140, -149, -14, -24, -32])),
            _ => String::new(),
        };
        format!("alignment = {{ bits = {}, rounding = \"{}\"{floor} }}", 10 + self.below(31), self.rounding())
    }

    fn divisor(&mut self, of: usize) -> usize {
        let all: Vec<usize> = (1..=of).filter(|at| of.is_multiple_of(*at)).collect();
        self.pick(&all)
    }

    fn lines(&mut self, i: &Instruction) -> String {
        if i.d.is_integer() {
            return format!("step = \"integer\"\nwrap = \"{}\"\n", self.pick(&["wrap", "saturate"]));
        }
        let d = i.d;
        let nan = d.nan().expect("D has a NaN");
        let mut text = format!("nan = \"{:#x}\"\n", if self.one_in(3) { nan | 1 << (d.bits - 1) } else { nan });
        for key in ["operand-subnormals", "result-subnormals"] {
            if self.one_in(6) {
                let _ = writeln!(text, "{key} = \"{}\"", self.pick(&["signed-zero", "positive-zero"]));
            }
        }
        if self.one_in(3) {
            return text + &self.tree(i);
        }
        let steps: &[&str] = match i.scale {
            Some(_) => &["fused", "fused", "fused", "exact"],
            None => &["fused", "fused", "fused", "fused", "exact", "fma", "sequential", "pairwise"],
        };
        let step = self.pick(steps);
        let k = i.stored_k();
        let _ = writeln!(text, "step = \"{step}\"\ngroup = {}", self.divisor(k));
        let _ = writeln!(text, "result = {}", self.target(i));
        let added = self.one_in(4);
        if added {
            text.push_str("join = \"add\"\n");
        }
        let last = self.one_in(3);
        if last {
            text.push_str("c = \"last\"\n");
        }
        if (added || last) && self.one_in(2) {
            let _ = writeln!(text, "addition = {}", self.target(i));
        }
        if k >= 4 && self.one_in(6) {
            let parts =
                self.pick(&["{ period = 2, residues = [[0], [1]] }", "{ period = 4, residues = [[0, 1], [2, 3]] }"]);
            let _ = writeln!(text, "parts = {parts}");
        }
        if step == "fused" {
            let _ = writeln!(text, "{}", self.alignment());
            if self.one_in(6) {
                text.push_str("normalised = true\n");
            }
            if self.one_in(8) {
                let (period, bits, rounding) = (self.pick(&[2, 4]), 14 + self.below(20), self.rounding());
                let _ = writeln!(text, "lanes = {{ period = {period}, bits = {bits}, rounding = \"{rounding}\" }}");
            }
            if self.one_in(8) && !last {
                let (sum, c, rounding) = (20 + self.below(16), 20 + self.below(8), self.rounding());
                let _ = writeln!(text, "late = {{ sum-bits = {sum}, c-bits = {c}, rounding = \"{rounding}\" }}");
            }
        }
        if (step == "sequential" || step == "pairwise") && self.one_in(2) {
            let _ = writeln!(text, "product = {}", self.target(i));
        }
        text
    }

    /// Blocks of k that are summed apart and joined in a tree; c at the end, at the beginning, or in the tree.
    fn tree(&mut self, i: &Instruction) -> String {
        let k = i.stored_k();
        let blocks = self.pick(&[1, 2, 2, 4, 4, 8]).min(k);
        let strided = self.one_in(3);
        let (chain, target, inner) = (i.scale.is_none() && self.one_in(3), self.target(i), self.alignment());
        let join_target = self.target(i);
        let mut text = String::new();
        let mut open: Vec<String> = Vec::new();
        for block in 0..blocks {
            let products = match strided {
                true => format!("\"{block}::{blocks}\""),
                false => format!("\"{}:{}\"", block * k / blocks, (block + 1) * k / blocks),
            };
            let kind = if chain { "kind = \"fma\"".into() } else { format!("kind = \"sum\", {inner}") };
            let _ = writeln!(text, "node.b{block} = {{ {kind}, products = {products}, result = {target} }}");
            open.push(format!("b{block}"));
        }
        let at = self.below(open.len() + 1);
        open.insert(at, "c".into());
        let (fused, joint) = (self.one_in(3), self.alignment());
        let mut number = 0;
        while open.len() > 1 {
            let count = if fused { open.len().min(self.pick(&[2, 3, 4, 8])) } else { 2 };
            let from = self.below(open.len() - count + 1);
            let terms: Vec<String> = open.drain(from..from + count).collect();
            let kind = if fused { format!("kind = \"sum\", {joint}") } else { "kind = \"add\"".into() };
            let _ = writeln!(text, "node.j{number} = {{ {kind}, terms = {terms:?}, result = {join_target} }}");
            open.insert(from, format!("j{number}"));
            number += 1;
        }
        text
    }
}
