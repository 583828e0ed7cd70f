//! Plain sums in words, aspect by aspect.

use super::{BlockTree, LaneRest, PlainLanes, PlainSum, ProductRounding};
use crate::product::{AccumulatorJoin, Aspect, AspectWords};

impl PlainSum {
    /// The sum in a sentence, for `k` products.
    pub fn sentence(&self, k: usize) -> String {
        let shown = self.aspects(k).into_iter().filter(|aspect| !aspect.usual).map(|aspect| aspect.words);
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Each aspect of a sum of `k` products.
    pub fn aspects(&self, k: usize) -> Vec<AspectWords> {
        let register = self.register;
        let products = match self.products {
            ProductRounding::Rounded => format!("products rounded to {register}, then added"),
            ProductRounding::Fused => format!("multiply-adds in {register}"),
            ProductRounding::Exact if self.block.is_none() => {
                format!("the exact sum of all products, rounded once to {register}")
            }
            ProductRounding::Exact => format!("exact sums of products, rounded to {register}"),
        };
        let PlainLanes { count, piece, join, unrolled, rest } = self.lanes;
        let joined = match join {
            AccumulatorJoin::Order => "in order",
            AccumulatorJoin::Pairs => "in pairs",
            AccumulatorJoin::Halves => "by halves",
            AccumulatorJoin::Lanes => "by halves down to four, those in pairs",
        };
        let pieces = if piece == 1 { String::new() } else { format!(" of {piece} k") };
        let mut lanes = format!("in {count} accumulators{pieces} in turn, joined {joined}");
        if unrolled > 1 {
            lanes += &format!(", of {unrolled} vectors the last first");
        }
        if rest == LaneRest::After {
            lanes += ", the remaining k added after the join";
        }
        if count == 1 {
            lanes = "one accumulator".into();
        }
        let block = self.block.map_or_else(
            || "k in one block".to_string(),
            |block| match self.tree {
                BlockTree::Middle | BlockTree::Eighths => format!("in blocks of at most {block} k"),
                _ => format!("in blocks of {block} k"),
            },
        );
        let tree = match self.tree {
            BlockTree::Order => "joined in order",
            BlockTree::Running => "each block added to the sum so far",
            BlockTree::Pairs => "joined in pairs",
            BlockTree::Halves => "joined by halves",
            BlockTree::Middle => "k cut in its middle again and again",
            BlockTree::Eighths => "k cut in its middle again and again, at multiples of 8",
        };
        let order = count == 1 && self.block.is_none() && self.products != ProductRounding::Exact;
        let aspect = |aspect, usual, words: &str| AspectWords { aspect, usual, words: words.into() };
        let mut all = vec![
            aspect(Aspect::Products, false, &products),
            aspect(Aspect::Order, !order || k == 1, "k ascending"),
            aspect(Aspect::Accumulators, count == 1, &lanes),
            aspect(Aspect::Blocks, self.block.is_none(), &block),
        ];
        if self.block.is_some() {
            all.push(aspect(Aspect::Join, false, tree));
        }
        let output = format!("rounded to {} RNE", self.output);
        all.push(aspect(Aspect::Output, self.output == self.register, &output));
        all
    }
}
