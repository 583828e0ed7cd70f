//! Settings of keys: what is known of a key beyond its type.

use std::ops::RangeInclusive;

use super::{
    keys::{Node, Rule},
    near::numbers,
    rule::Alignment,
    value::{KeyTable, KeyValue},
};
use crate::format::Format;

/// Setting of a key of a rule, or of a key within its table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    words: &'static str,
    property: Option<&'static str>,
    absent: Option<&'static str>,
    /// True if the words for its absence are the value meant then.
    usual: bool,
    joint: bool,
    general: bool,
    near: Option<fn(&Site) -> Values>,
    range: Option<fn(i64) -> RangeInclusive<i64>>,
    searched: Option<fn(&Site) -> Values>,
    /// Smallest and largest number.
    pub(super) limits: Option<[i32; 2]>,
    /// Features that it decides, whether a rule has it or not.
    pub(super) decides: &'static [&'static str],
    /// Features that it decides too in rules that have it.
    pub(super) shapes: &'static [&'static str],
}

/// Setting with the name `words`, without near values.
pub(super) const fn says(words: &'static str) -> Setting {
    Setting {
        words,
        property: None,
        absent: None,
        usual: false,
        joint: false,
        general: false,
        near: None,
        range: None,
        searched: None,
        limits: None,
        decides: &[],
        shapes: &[],
    }
}

impl Setting {
    /// Sets the property of the arithmetic that it belongs to, in the words of engineers.
    pub(super) const fn sets(self, property: &'static str) -> Setting {
        Setting { property: Some(property), ..self }
    }

    /// Sets the words for its absence.
    pub(super) const fn or(self, absent: &'static str) -> Setting {
        Setting { absent: Some(absent), ..self }
    }

    /// Sets the word meant by its absence.
    pub(super) const fn usual(self, word: &'static str) -> Setting {
        Setting { absent: Some(word), usual: true, ..self }
    }

    /// Sets its near values.
    pub(super) const fn near(self, near: fn(&Site) -> Values) -> Setting {
        Setting { near: Some(near), ..self }
    }

    /// Sets the range of numbers to search, and the near ones.
    pub(super) const fn ranged(self, range: fn(i64) -> RangeInclusive<i64>, near: fn(&Site) -> Values) -> Setting {
        Setting { range: Some(range), near: Some(near), ..self }
    }

    /// Sets values that only a search tries.
    pub(super) const fn searched(self, searched: fn(&Site) -> Values) -> Setting {
        Setting { searched: Some(searched), ..self }
    }

    /// Sets its smallest and its largest number.
    pub(super) const fn limited(self, limits: [i32; 2]) -> Setting {
        Setting { limits: Some(limits), ..self }
    }

    /// Marks a setting whose changes may show only together with another change.
    pub(super) const fn joint(self) -> Setting {
        Setting { joint: true, ..self }
    }

    /// Marks a setting of operands and results that means the same in every sum.
    pub(super) const fn general(self) -> Setting {
        Setting { general: true, ..self }
    }

    /// Sets the features that it decides.
    pub(super) const fn decides(self, features: &'static [&'static str]) -> Setting {
        Setting { decides: features, ..self }
    }

    /// Sets the features that it decides too in rules that have it.
    pub(super) const fn shapes(self, features: &'static [&'static str]) -> Setting {
        Setting { shapes: features, ..self }
    }

    /// Name in a few words.
    pub fn words(&self) -> &'static str {
        self.words
    }

    /// Property of the arithmetic that it belongs to; `None` within a table for the table's property.
    pub fn property(&self) -> Option<&'static str> {
        self.property
    }

    /// Meaning of its absence, if that is not "none".
    pub fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// Value meant by its absence.
    pub fn usual_value(&self) -> Option<KeyValue> {
        self.absent.filter(|_| self.usual).map(KeyValue::Word)
    }

    /// True if its changes may show only together with another change.
    pub fn is_joint(&self) -> bool {
        self.joint
    }

    /// True if it means the same in every sum.
    pub fn is_general(&self) -> bool {
        self.general
    }

    /// True if its values have near ones.
    pub fn has_near_values(&self) -> bool {
        self.near.is_some()
    }

    /// Values near to `value` of a rule or a node at `place`; `None` among them is the absence of the key.
    /// They are its neighbours, and numbers of a range to search (`true`).
    pub fn near_values(
        &self,
        table: KeyTable,
        place: &Place,
        value: Option<&KeyValue>,
    ) -> Vec<(Option<KeyValue>, bool)> {
        let near = self.near.map_or_else(Vec::new, |near| near(&Site { table, place, value }));
        let range = self.range.zip(value.and_then(KeyValue::number)).map(|(range, now)| range(now));
        let mut far = numbers(range.into_iter().flatten());
        far.retain(|to| to.as_ref() != value && !near.contains(to));
        near.into_iter().map(|to| (to, false)).chain(far.into_iter().map(|to| (to, true))).collect()
    }

    /// Values that a search for an unknown rule tries, beyond near ones.
    pub fn searched_values(&self, table: KeyTable, place: &Place, value: Option<&KeyValue>) -> Vec<Option<KeyValue>> {
        let mut all = self.searched.map_or_else(Vec::new, |searched| searched(&Site { table, place, value }));
        let near = self.near_values(table, place, value);
        all.retain(|to| near.iter().all(|(known, _)| known != to));
        all
    }
}

/// Properties of a rule's instruction on which near values depend.
#[derive(Debug, Clone)]
pub struct Place {
    /// Format of D.
    pub(in super::super) d: &'static Format,
    /// Number of stored k.
    pub(in super::super) stored_k: usize,
    /// True if blocks of its operands have scales.
    pub(in super::super) has_scales: bool,
    /// Some NaN codes of D.
    pub(in super::super) nans: Vec<u64>,
}

/// Place of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    /// The rule, or the node.
    pub(super) table: KeyTable<'a>,
    /// The instruction.
    pub(super) place: &'a Place,
    /// The value, also if it is the one meant by the key's absence; `None` without one.
    pub(super) value: Option<&'a KeyValue>,
}

/// Other values; `None` is the absence of the key.
pub(super) type Values = Vec<Option<KeyValue>>;

/// Widths of the language.
pub(super) const WIDTHS: fn(i64) -> RangeInclusive<i64> = |_| 0..=60;
/// Exponents around the current one.
pub(super) const EXPONENTS: fn(i64) -> RangeInclusive<i64> = |now| now - 24..=now + 24;

impl Site<'_> {
    pub(super) fn number(&self) -> Option<i64> {
        self.value.and_then(KeyValue::number)
    }

    /// Alignment of the rule's steps, or of the node.
    pub(super) fn alignment(&self) -> Option<Alignment> {
        match self.table {
            KeyTable::Rule(rule) => rule.alignment,
            KeyTable::Node(node) => node.alignment,
        }
    }

    /// The rule, if the value is not a node's.
    pub(super) fn rule(&self) -> Option<&Rule> {
        match self.table {
            KeyTable::Rule(rule) => Some(rule),
            KeyTable::Node(_) => None,
        }
    }

    /// The node that has the value.
    pub(super) fn node(&self) -> Option<&Node> {
        match self.table {
            KeyTable::Rule(_) => None,
            KeyTable::Node(node) => Some(node),
        }
    }

    /// True for a rule without nodes that lacks the key.
    pub(super) fn is_absent_in_groups(&self) -> bool {
        self.value.is_none() && self.rule().is_some_and(|rule| rule.nodes.is_empty())
    }
}
