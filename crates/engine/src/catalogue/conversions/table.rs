//! Rows of `conversions.csv` and `disagreements.csv`.

use std::sync::LazyLock;

use serde::{Deserialize, de::DeserializeOwned};

use super::{
    rule::{ConversionRule, format},
    spelled,
};
use crate::isa::{
    pattern,
    scalar::{self, Form, ScalarOperation},
};

/// A row of the table of conversions.
#[derive(Debug, Clone, Deserialize)]
pub struct Conversion {
    /// Instruction set.
    pub isa: String,
    /// Spellings: patterns, separated by semicolons.
    pub instruction: String,
    /// Format of the operand.
    pub source: String,
    /// Format of the result.
    pub destination: String,
    /// Rule in words; empty for an instruction of the scalar tables, `none` where nothing executes it.
    pub rule: String,
    /// Scale.
    pub scale: String,
    nan: String,
    infinity: String,
    too_large: String,
    tie: String,
    subnormal_in: String,
    subnormal_out: String,
    minus_zero: String,
    negative: String,
    /// Evidence: measurement, specification, literature, assumed.
    pub evidence: String,
    /// Device or document.
    pub reference: String,
    /// Remark.
    pub note: String,
}

/// Two public answers to one question on a conversion.
#[derive(Debug, Clone, Deserialize)]
pub struct Disagreement {
    /// Conversion in question.
    pub subject: String,
    /// Format of the operand.
    pub source: String,
    /// Format of the result.
    pub destination: String,
    /// Code of an operand; empty if no single one shows it.
    pub operand: String,
    /// First answer.
    pub first: String,
    /// Its code.
    pub first_result: String,
    /// Its rule in words; empty if the soft-float does not execute it.
    pub first_rule: String,
    /// Second answer.
    pub second: String,
    /// Its code.
    pub second_result: String,
    /// Its rule in words.
    pub second_rule: String,
    /// Decision.
    pub standing: String,
    /// Thread or document.
    pub reference: String,
}

static CONVERSIONS: LazyLock<Vec<Conversion>> = LazyLock::new(|| rows(include_str!("conversions.csv")));

/// Public disagreements.
pub static DISAGREEMENTS: LazyLock<Vec<Disagreement>> = LazyLock::new(|| rows(include_str!("disagreements.csv")));

/// All rows of the table, by instruction set.
pub fn conversions() -> &'static [Conversion] {
    &CONVERSIONS
}

fn rows<T: DeserializeOwned>(table: &str) -> Vec<T> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    reader.deserialize().map(|row| row.expect("the table is well-formed")).collect()
}

impl Conversion {
    /// Spellings, each a pattern.
    pub fn spellings(&self) -> impl Iterator<Item = &str> {
        self.instruction.split(';').map(str::trim)
    }

    /// The words of the row, in the order of [`super::COLUMNS`].
    pub fn stated(&self) -> [String; 8] {
        [
            &self.nan,
            &self.infinity,
            &self.too_large,
            &self.tie,
            &self.subnormal_in,
            &self.subnormal_out,
            &self.minus_zero,
            &self.negative,
        ]
        .map(Clone::clone)
    }

    /// True if a spelling or a format has this text, in lower case.
    pub(super) fn matches(&self, wanted: &str) -> bool {
        let named = |name: &String| name == wanted;
        self.spellings().any(|spelling| spelled(spelling, wanted)) || named(&self.source) || named(&self.destination)
    }

    /// Conversions of the scalar tables that the row describes.
    pub fn forms(&self) -> Vec<&'static Form> {
        let converts = |form: &&Form| form.operation == ScalarOperation::Convert;
        let begins = |spelling: &str, name: &str| name.starts_with(spelling.split('{').next().unwrap_or(""));
        let is = |spelling: &str, name: &str| begins(spelling, name) && pattern::matches(spelling, name);
        let described = |form: &&Form| self.spellings().any(|spelling| is(spelling, &form.ptx));
        scalar::all().iter().filter(converts).filter(described).collect()
    }

    /// Rules that the soft-float executes; `None` if it has none.
    /// There is one for each instruction of the scalar tables, or one.
    pub fn rules(&self) -> Option<Vec<ConversionRule>> {
        let read = |form| ConversionRule::read(form, &self.rule).expect("a rule of the table has words that are known");
        let forms = self.forms();
        match (forms.is_empty(), self.rule.as_str()) {
            (_, "none") | (true, "") => None,
            (false, _) => Some(forms.into_iter().cloned().map(read).collect()),
            (true, _) => Some(vec![read(Form::conversion(format(&self.source)?, format(&self.destination)?))]),
        }
    }
}

impl Disagreement {
    pub(super) fn matches(&self, wanted: &str) -> bool {
        let texts = [&self.subject, &self.source, &self.destination, &self.first, &self.second, &self.reference];
        texts.iter().any(|text| text.to_lowercase().contains(wanted))
    }
}
