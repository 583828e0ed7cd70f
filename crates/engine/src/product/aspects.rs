//! Schedules in words, aspect by aspect.

use super::{
    AccumulatorJoin, Accumulators, BiasEntry, CEntry, OperandRounding, PartJoin, PartTerms, Residue, ScaleUse,
    Schedule, register::Register,
};
use crate::{base::named::named, format::Rounding};

named! {
    /// Aspect of a schedule.
    pub enum Aspect {
        Instruction = "instruction": "the instruction";
        Operands = "operands": "the rounding of operands";
        Products = "products": "the rounding of products";
        Order = "order": "the order of k";
        Slab = "slab": "the slabs";
        Promotion = "promotion": "promotion";
        Accumulators = "accumulators": "the accumulators";
        Blocks = "blocks": "the blocks of k";
        Scales = "scales": "the use of scales";
        C = "c": "the entry of C";
        Bias = "bias": "the entry of the bias";
        Split = "split": "the split of k";
        Join = "join": "the joining of parts";
        Scaling = "alpha": "alpha";
        Output = "output": "the rounding of D";
    }
}

/// An aspect of a schedule in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AspectWords {
    /// The aspect.
    pub aspect: Aspect,
    /// The words, such as "k ascending".
    pub words: String,
    /// True if a sentence leaves them out.
    pub usual: bool,
}

impl Schedule {
    /// The schedule in a sentence, for a sum of `k` terms.
    pub fn sentence(&self, k: usize) -> String {
        let shown = self.aspects(k).into_iter().filter(|aspect| !aspect.usual).map(|aspect| aspect.words);
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Each aspect of the schedule that a sum of `k` terms has.
    pub fn aspects(&self, k: usize) -> Vec<AspectWords> {
        let i = &self.instruction;
        let parts = self.parts(k);
        let mut all = Vec::new();
        let mut add = |aspect, usual, words: String| all.push(AspectWords { aspect, words, usual });
        add(Aspect::Instruction, false, i.name.clone());
        add(Aspect::Operands, self.operands.is_none(), self.operand_words());
        add(Aspect::Order, false, format!("k {}", self.order.name()));
        let short = parts.iter().flatten().any(|piece| !piece.len().is_multiple_of(self.slab));
        let first = short && self.residue == Residue::First;
        let residue = if short { format!(", the short one {}", self.residue.name()) } else { String::new() };
        let steps = self.slab == i.k && !first;
        add(Aspect::Slab, steps, if steps { "no slabs".into() } else { format!("in slabs of {}{residue}", self.slab) });
        add(Aspect::Promotion, self.promote.is_none(), self.promotion_words());
        add(Aspect::Accumulators, self.accumulators.count == 1, self.accumulator_words());
        if let Some(scales) = &self.scales {
            let [a, b] = [scales.a, scales.b].map(|[x, y]| format!("{x} x {y}"));
            let words = match scales.multiply {
                ScaleUse::Fused => format!("scaled in blocks of {a} of A and {b} of B by fused multiply-adds"),
                ScaleUse::Rounded => format!("scaled in blocks of {a} of A and {b} of B each product rounded"),
                ScaleUse::End => "times the product of the scales of A and B".into(),
                ScaleUse::Each => "times the scale of A, then the scale of B".into(),
            };
            add(Aspect::Scales, false, words);
        }
        let c = match self.c {
            CEntry::End => "C added at the end".into(),
            CEntry::Rounded => format!("C added after rounding to {}", self.output.format),
            CEntry::Start => "beginning from C".into(),
        };
        add(Aspect::C, self.c == CEntry::End, c);
        let bias = match self.bias {
            BiasEntry::End => "the bias added at the end".into(),
            BiasEntry::Rounded => format!("the bias added after rounding to {}", self.output.format),
            BiasEntry::First => "the bias added to the first part".into(),
            BiasEntry::Start => "beginning from the bias".into(),
        };
        add(Aspect::Bias, self.bias == BiasEntry::End, bias);
        match &parts[..] {
            [first, .., _] => {
                let length: usize = first.iter().map(ExactSizeIterator::len).sum();
                let pieces = match self.split.terms {
                    PartTerms::Contiguous => String::new(),
                    PartTerms::Interleaved => format!(" in pieces of {} in turn", self.split.granule),
                };
                add(Aspect::Split, false, format!("split-k of {} parts of {length}{pieces}", parts.len()));
                add(Aspect::Join, false, self.join_words());
            }
            _ => add(Aspect::Split, true, "k in one part".into()),
        }
        add(Aspect::Scaling, self.alpha == 1.0, format!("times {}", self.alpha));
        let output = &self.output;
        let unrounded = output.format == i.d && output.rounding == Rounding::Rne;
        add(Aspect::Output, unrounded, format!("rounded to {} {}", output.format, output.rounding.name()));
        all
    }

    fn register_name(&self) -> &'static str {
        let i = &self.instruction;
        Register::of(i.d).map_or(i.d, Register::format).name
    }

    fn operand_words(&self) -> String {
        let i = &self.instruction;
        let formats = if i.a == i.b { i.a.to_string() } else { format!("{} and {}", i.a, i.b) };
        match self.operands {
            Some(OperandRounding { format, .. }) if i.a.holds(format) && i.b.holds(format) => {
                format!("operands widened from {format} to {formats}")
            }
            Some(OperandRounding { format, rounding }) => {
                format!("operands rounded from {format} to {formats} {}", rounding.name())
            }
            None => "operands unchanged".into(),
        }
    }

    fn promotion_words(&self) -> String {
        let Some(promote) = self.promote else { return "no promotion".into() };
        let halves = self
            .promote_halves
            .map_or_else(String::new, |halves| format!(", the rest in halves (of multiples of {halves})"));
        format!("promoted to {} every {promote}{halves}", self.register_name())
    }

    fn accumulator_words(&self) -> String {
        let Accumulators { count, granule, join } = self.accumulators;
        if count == 1 {
            return "one accumulator".into();
        }
        let how = match join {
            AccumulatorJoin::Order => "in order",
            AccumulatorJoin::Pairs => "in pairs",
            AccumulatorJoin::Halves => "by halves",
            AccumulatorJoin::Lanes => "by halves down to four, those in pairs",
        };
        let pieces = if granule == self.instruction.k { String::new() } else { format!(" of {granule} k") };
        format!("in {count} accumulators{pieces} in turn, joined {how}")
    }

    fn join_words(&self) -> String {
        let (register, output) = (self.register_name(), self.output.format);
        match self.split.join {
            PartJoin::Register => format!("joined in {register} in order"),
            PartJoin::Pairs => format!("joined in {register} in pairs"),
            PartJoin::Halves => format!("joined in {register} by halves"),
            PartJoin::Output => format!("each rounded to {output} and joined in {register} in order"),
            PartJoin::Serial => format!("each added to D in {output}"),
        }
    }
}
