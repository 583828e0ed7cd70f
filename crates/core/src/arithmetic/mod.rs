//! Arithmetic of matrix instructions as data (`models/*.toml`), and its evaluation.
//!
//! A [`Model`] is a list of rules. Each rule covers instructions by name pattern and describes their dot-product-add.
//! For an instruction a rule is lowered to a [`Program`], which the [`Evaluator`] runs: one element at a time by the
//! reference, many at a time by the fast evaluator. Nothing here asks for a GPU by name.

pub mod disclosure;
mod evaluator;
mod fast;
mod language;
mod model;
mod near;
mod program;
mod random;
mod reference;
pub mod scalar_rule;
mod shipped;

pub use evaluator::Evaluator;
pub use language::{
    evidence::{Evidence, EvidenceKind, EvidenceSource, Grounds},
    file::Model,
    keys::{KEYS, Key, NODE_KEYS, Node, NodeKey, Rule, RuleKey, feature_keys, setting, settings},
    limits::holds_sums,
    node::{Indices, NodeKind, NodeResult, Term},
    rule::{
        Alignment, CPosition, Conversion, Join, Lanes, Late, NanOperand, OppositeInfinities, OverflowTest, Parts,
        ResultTininess, Rounded, SpecialOperands, Specials, Split, Start, Step, Subnormals, Wrap, ZeroSign, ZeroTerms,
        ZeroTimesInfinity,
    },
    setting::{Place, Setting},
    value::{KeyTable, KeyValue},
};
pub use program::{
    Addend, Destination, ElementaryOperation, Factors, IntegerSum, InvalidOperations, Multiply, OperationStep, Output,
    Program, Scaling, Source, Sum, Unpack,
};
pub use random::Neighbours;
pub use reference::{Explanation, ExplanationLine, Unrounded};
pub use shipped::{aliases, named, of_target, shipped, suggested};
